//! Where the secrets are that a plan or a journal names by their digests: in the definitions of now, or in those of a commit
//! that was applied.

use super::at_commit::CommitLookup;
use crate::cli::context::LazyRepository;
use crate::cli::prelude::*;
use crate::cli::{Context, settings};
use crate::model::{Desired, Ownership, SealedSecrets};
use crate::plan::{Change, PlanOrigin};
use crate::run::RunRecord;

/// The definitions that may have the secrets of the objects that a run wrote over: those of the working directory, and
/// those of the commits that the objects named. Empty if answers show everything that the run wrote.
pub fn before_run(context: &Context, record: &RunRecord) -> Vec<Desired> {
    let mut writes = record.writes();
    writes.retain(|write| !write.key.kind.is_endpoint() && write.key.kind.message().hides());
    if writes.is_empty() {
        return Vec::new();
    }
    let before = writes.iter().filter_map(|write| Ownership::read(&write.before.as_ref()?.endpoint.annotations));
    let commits = before.filter_map(|ownership| ownership.applied?.commit().map(str::to_owned)).collect();
    definitions(context, |_| commits)
}

/// The secrets that a plan from a file or a journal needs, as far as the definitions of the working directory, or of the
/// commit that a rollback restores, have them.
pub fn of_plan(context: &Context, plan: &Plan) -> SealedSecrets {
    let commits = |here: &Desired| {
        // For any other plan, a secret of an earlier commit may have been replaced since.
        if !matches!(plan.source.origin, PlanOrigin::Rollback(_)) {
            return BTreeSet::new();
        }
        let sealed = here.sealed();
        let lacks = |change: &&Change| change.sealed().iter().any(|digest| !sealed.contains(digest));
        let lacking = plan.changes.iter().filter(lacks).filter_map(|change| change.ownership.as_ref()?.commit());
        lacking.collect()
    };
    SealedSecrets::of(&definitions(context, commits))
}

/// The definitions of the stack of `--config`, else of the working directory, and of these commits. What cannot be read
/// is left out: then each object whose secret is missing fails by itself.
fn definitions(context: &Context, commits: impl FnOnce(&Desired) -> BTreeSet<String>) -> Vec<Desired> {
    let options = settings::load_options(context);
    let Ok(loaded) = load::directory(settings::directory(context), &options) else { return Vec::new() };
    let mut all = vec![loaded.desired.clone()];
    let repository = LazyRepository::new(context, &loaded.root);
    for commit in commits(&loaded.desired) {
        let Ok(repository) = repository.open() else { break };
        let then = CommitLookup::new(&loaded, repository, &commit).load().unwrap_or_default();
        all.extend(then.loaded.map(|loaded| loaded.desired));
    }
    all
}
