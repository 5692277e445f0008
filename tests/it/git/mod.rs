//! What trueup asks git: that it runs nothing, names the right commits, and takes nothing that git
//! cannot show for an absence.

mod absence;
mod blame;
mod histories;
mod left_out;
mod processes;
mod programs;
