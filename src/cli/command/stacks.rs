//! `stacks`: lists the stacks of a repository, or those that changed since a revision.

use std::path::{Path, PathBuf};

use crate::cli::args::setup::StacksListArgs;
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::stacks::changed::{self, StackRoot};
use crate::cli::stacks::targets;
use crate::load::{self, Config, LoadOptions, StackFiles};
use crate::report::Report;
use crate::report::stacks::{StackEntry, StackList};

/// Lists the stacks below the directories.
pub fn run(arguments: &StacksListArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    let given = if arguments.directories.is_empty() { vec![PathBuf::from(".")] } else { arguments.directories.clone() };
    let (mut roots, mut stacks) = (Vec::new(), Vec::new());
    for directory in targets::below(&given)?.into_iter().flatten() {
        let (entry, files) = entry(&directory);
        roots.push(StackRoot { directory, files });
        stacks.push(entry);
    }
    let mut status = ExitStatus::Done;
    if stacks.iter().any(|stack| stack.error.is_some()) {
        status = ExitStatus::Invalid;
    }
    if let Some(revision) = &arguments.changed_since {
        let changed = changed::since(context, revision, &given, &roots)?;
        stacks = stacks
            .into_iter()
            .zip(changed.stacks)
            .filter_map(|(stack, change)| change.map(|change| StackEntry { change: Some(change), ..stack }))
            .chain(changed.removed)
            .collect();
        stacks.sort_by(|a, b| a.directory.cmp(&b.directory));
    }
    let list = StackList { stacks, since: arguments.changed_since.clone() };
    context.output.report(&Report::Stacks(&list), arguments.format);
    Ok(status)
}

fn entry(directory: &Path) -> (StackEntry, StackFiles) {
    let (config, error) = match load::settings(directory, &LoadOptions::default()) {
        Ok(config) => (config, None),
        Err(problems) => (Config::default(), Some(problems.summary())),
    };
    let files = StackFiles::new(&config);
    let read = files.below(directory).iter().filter(|file| files.reads(&file.path)).count();
    let entry = changed::entry(directory.display().to_string(), &config);
    (StackEntry { files: read, error, ..entry }, files)
}
