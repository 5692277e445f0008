//! `stacks`: lists the stacks of a repository, or those that changed since a revision.

use crate::cli::command::prelude::*;
use crate::cli::stacks::changed::{self, ListedStack};
use crate::file::slashed;
use crate::load::{Diagnostic, Diagnostics, StackFiles};
use crate::model::Selector;
use crate::report::stacks::{StackEntry, StackList};

/// Lists the stacks of a repository, or those that changed since a revision.
///
/// A stack is a directory with a trueup.yaml. It has changed if a file that it reads in any of its environments
/// differs from that at the merge base of the revision and the current commit; what is not committed counts, too. A stack
/// that was removed since is listed as removed, with the endpoints that it defined and that nothing deletes any more.
#[derive(Debug, Args)]
#[command(
    name = "stacks",
    after_help = "Examples:\n  trueup stacks\n  trueup stacks teams --changed-since origin/main\n  trueup stacks --changed-since origin/main --format github-matrix\n  trueup stacks -l ring=canary"
)]
pub struct StacksListArgs {
    /// The directories to search [default: .]
    #[arg(value_name = "DIR")]
    pub directories: Vec<PathBuf>,
    /// Only the stacks that changed since this branch or commit
    #[arg(long, value_name = "REF")]
    pub changed_since: Option<String>,
    /// Only the stacks that were removed since then, with what they leave behind and the commands that delete it
    #[arg(long, requires = "changed_since")]
    pub removed: bool,
    /// Only the stacks and environments whose `labels:` meet the selector, such as `ring in (canary, early)`
    #[arg(long, short = 'l', value_name = "SELECTOR")]
    pub selector: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_STACKS))]
    pub format: Format,
}

impl Execute for StacksListArgs {
    const GLOBALS: GlobalOptions = Some(&[]);

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        let given = if self.directories.is_empty() { vec![PathBuf::from(".")] } else { self.directories.clone() };
        let selector = self.selector.as_deref().map(Selector::parse).transpose();
        let selector = selector.context("in `--selector`").with_status(ExitStatus::Usage)?.unwrap_or_default();
        let (mut roots, mut stacks, mut errors) = (Vec::new(), Vec::new(), BTreeMap::new());
        let (found, without) = targets::below_if_any(&given)?;
        for directory in found {
            let (entry, files, problems) = entry(&directory);
            errors.extend(problems.map(|problems| (entry.directory.clone(), problems)));
            if let Some(entry) = selected(&selector, entry) {
                roots.push(ListedStack { directory, files });
                stacks.push(entry);
            }
        }
        let (mut commit, mut is_found) = (String::new(), !stacks.is_empty());
        let mut without = without.first();
        if let Some(revision) = &self.changed_since {
            let mut changed = changed::since(context, revision, &given, &roots)?;
            if self.removed {
                changed.stacks.iter_mut().for_each(|change| *change = None);
            }
            commit = changed.commit;
            // The last stack of a directory may be the one that was removed.
            without = without.filter(|_| changed.removed.is_empty());
            let removed: Vec<StackEntry> =
                changed.removed.into_iter().filter_map(|stack| selected(&selector, stack)).collect();
            is_found |= !removed.is_empty();
            let with_change = |(stack, change): (StackEntry, Option<_>)| {
                change.map(|change| StackEntry { change: Some(change), ..stack })
            };
            stacks = stacks.into_iter().zip(changed.stacks).filter_map(with_change).chain(removed).collect();
            stacks.sort_by(|a, b| a.directory.cmp(&b.directory));
        }
        if let Some(directory) = without {
            return Err(targets::none_below(directory));
        }
        if let Some(selector) = self.selector.as_ref().filter(|_| !is_found) {
            let error = error!(Usage, "`--selector {selector}` selects no stack");
            return Err(error.hint("to see the labels of the stacks: trueup stacks"));
        }
        let list = StackList { stacks, since: self.changed_since.clone(), only_removed: self.removed, commit };
        if self.format == Format::Matrix {
            check_matrix(&list)?;
        }
        let mut status = ExitStatus::Done;
        for problems in list.stacks.iter().filter_map(|stack| errors.get(&stack.directory)) {
            status = context.wrong(problems).status;
        }
        context.output.report(&list, self.format);
        Ok(status)
    }
}

/// Rejects directories whose names a forge would expand or cannot contain.
fn check_matrix(list: &StackList) -> Result<()> {
    let names: Vec<String> = list.outside_of_matrix().map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        return Ok(());
    }
    Err(error!(Invalid, "a matrix cannot name {}", names.join(", "))
        .hint("rename it: forges expand `$`, and control and invisible characters are not part of a name"))
}

/// The stack with those of its environments whose labels meet the selector, if any do. A stack with unreadable settings
/// is kept.
fn selected(selector: &Selector, mut stack: StackEntry) -> Option<StackEntry> {
    let meets = |stack: &StackEntry, environment: Option<&str>| {
        let labels = stack.labels(environment);
        selector.matches(|key| labels.get(key))
    };
    if stack.error.is_some() || stack.environments.is_empty() {
        return Some(stack).filter(|stack| stack.error.is_some() || meets(stack, None));
    }
    let named = std::mem::take(&mut stack.environments);
    stack.environments = named.into_iter().filter(|name| meets(&stack, Some(name))).collect();
    stack.environment_labels.retain(|name, _| stack.environments.contains(name));
    let is_met = meets(&stack, None);
    let is_selected = |name: &Option<String>| name.as_ref().map_or(is_met, |name| stack.environments.contains(name));
    stack.left.iter_mut().for_each(|left| left.retain(|left| is_selected(&left.environment)));
    Some(stack).filter(|stack| !stack.environments.is_empty())
}

/// The stack in a directory, the files that it reads, and why its settings cannot be read.
fn entry(directory: &Path) -> (StackEntry, StackFiles, Option<Diagnostics>) {
    let (config, problems) = match load::settings(directory, &LoadOptions::default()) {
        Ok(config) => (config, None),
        Err(problems) => (Config::default(), Some((problems.summary(), problems))),
    };
    let files = StackFiles::new(&config);
    let (read, problems) = match files.below(directory) {
        Ok(read) => (read.len(), problems),
        Err(error) => {
            let what = error.to_string();
            let problem = || Diagnostic::without_place(what.clone(), "is this the right directory?").into();
            (0, problems.or_else(|| Some((what.clone(), problem()))))
        }
    };
    let (error, problems) = problems.unzip();
    (StackEntry { files: read, error, ..changed::entry(slashed(directory), &config) }, files, problems)
}
