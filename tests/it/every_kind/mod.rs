//! Many random objects of every kind, without a service and without a process. `TRUEUP_SEED` repeats a run,
//! `TRUEUP_OBJECTS` says how many objects of each kind, `TRUEUP_KIND` names the only kind.

mod edited;
mod items;
mod mutations;
mod odd_answers;
mod readers;
mod round_trip;
mod schemas;
mod shapes;

use std::collections::BTreeSet;

use trueup::kind::{self, Kind};
use trueup::load::{self, Diagnostic, LoadOptions, SourceFile};
use trueup::model::Desired;

use crate::support::objects::{self, Specs};

/// How many objects of each kind are made.
fn count(default: usize) -> usize {
    let count = std::env::var("TRUEUP_OBJECTS").ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    eprintln!("TRUEUP_OBJECTS={count}");
    count
}

/// Every kind but endpoint, which is read by a reader of its own and has its own properties in `properties`.
fn kinds() -> Vec<&'static Kind> {
    let only = std::env::var("TRUEUP_KIND").ok();
    objects::kinds().into_iter().filter(|kind| only.as_deref().is_none_or(|only| only == kind.name)).collect()
}

/// The generator of a kind: a failure is repeated by `TRUEUP_SEED` and `TRUEUP_KIND`.
fn specs(seed: u64, kind: &Kind) -> Specs {
    let number = kind::all().position(|other| other.name == kind.name).and_then(|at| u64::try_from(at).ok());
    Specs::new(seed.wrapping_mul(1009).wrapping_add(number.unwrap_or_default()))
}

/// The definitions in these texts, one a file; the names of the files that have problems go with the first of them.
fn load(texts: &[(String, String)]) -> Result<Desired, (BTreeSet<String>, Vec<Diagnostic>)> {
    let file =
        |(name, text): &(String, String)| SourceFile { path: format!("{name}.yaml"), bytes: text.clone().into_bytes() };
    let options = LoadOptions { threads: Some(1), ..LoadOptions::default() };
    match load::sources(texts.iter().map(file).collect(), &options) {
        Ok(loaded) => Ok(loaded.desired),
        Err(found) => {
            let name = |problem: &Diagnostic| problem.file().map(|file| file.trim_end_matches(".yaml").to_owned());
            Err((found.list.iter().filter_map(name).collect(), found.list))
        }
    }
}
