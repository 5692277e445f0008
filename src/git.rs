//! Definitions at another commit, read through the `git` program.
