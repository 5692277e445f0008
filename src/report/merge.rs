//! The checks of several files as one report: what each shard of a fleet wrote, or the job of each stack. Checks that
//! are missing, too old, in two files or unreadable are reported at their place and make the whole unknown: nothing is
//! concluded from incomplete input. No IO; the clock is passed in.

use std::time::Duration;

use super::check_document::{CheckDocument, SavedResult, SavedStack};
use super::fleet::{self, Fleet, FleetCommand, FleetPart, InputProblem, MergedFrom, NoResult, StackReport};
use crate::drift::{Check, Shard};
use crate::model::{Namespace, gathered, grouped};
use crate::report::prelude::*;

/// How far the clock of a checker may be ahead.
const CLOCK_DIFFERENCE: Duration = Duration::from_mins(5);
/// The maximum number of shards without a file that are named.
const MOST_NAMED: usize = 20;

/// The checks of several files.
#[derive(Debug)]
pub struct MergedChecks {
    /// The stacks, each with its [`FleetPart::apart`].
    parts: Vec<(SavedStack, Option<String>)>,
    problems: Vec<InputProblem>,
    from: MergedFrom,
}

/// What distinguishes two stacks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct StackId {
    directory: String,
    environment: Option<String>,
    /// Two calls may give different stacks the same name. In a shard of a list every entry has a digest that identifies
    /// it, even if another shard has its check.
    identity: Option<StackIdentity>,
    shard: Option<Shard>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum StackIdentity {
    /// The digest in the document of a shard.
    Digest(String),
    /// The service and the name of the stack.
    Named(String, Option<String>),
}

/// The entries of one stack, each with the name of its file.
type Found = Vec<(String, SavedResult)>;

/// Merges the files with these names and bytes, or why they could not be read, at `now`. A check that is older than
/// `max_age`, is from the future, or was made with filters counts as unknown.
pub fn merge(
    files: impl IntoIterator<Item = (String, Result<Vec<u8>, String>)>,
    now: Timestamp,
    max_age: Duration,
) -> MergedChecks {
    let (mut problems, mut documents, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for (name, bytes) in files {
        if let Some(message) = bytes.as_ref().ok().and_then(|bytes| CheckDocument::failure(bytes)) {
            failed.push((name, message));
            continue;
        }
        let read = |bytes: Vec<u8>| CheckDocument::from_file(&bytes).map_err(|error| error.to_string());
        match bytes.and_then(read) {
            Ok(document) => documents.push((name, document)),
            Err(message) => problems.push(InputProblem { place: name, message }),
        }
    }
    // The failed checker of a shard is not that of one stack.
    if documents.iter().any(|(_, document): &(_, CheckDocument)| document.shard.is_some()) {
        problems.extend(failed.into_iter().map(|(place, message)| InputProblem { place, message }));
    } else {
        documents.extend(failed.into_iter().map(|(name, why)| (name.clone(), CheckDocument::failed(name, why))));
    }
    for (name, document) in &mut documents {
        let place = |problem: InputProblem| InputProblem { place: format!("{name}: {}", problem.place), ..problem };
        problems.extend(std::mem::take(&mut document.problems).into_iter().map(place));
    }
    let files = documents.len();
    keep_one_count(&mut documents, &mut problems);
    name_alike(&mut documents);
    problems.extend(missing(&documents));
    let times = || documents.iter().flat_map(|(_, document)| document.checks()).map(|check| check.now);
    let checked = times().min().zip(times().max());
    let mut parts = Vec::new();
    // The entries of each stack, in the order in which the files first name it.
    let stacks = grouped(documents.into_iter().flat_map(|(name, document)| {
        let is_sharded = document.shard.is_some();
        let stacks = document.stacks.into_iter();
        stacks.map(move |entry| (StackId::of(&entry, is_sharded), (name.clone(), entry.result)))
    }));
    let alike = alike(stacks.iter().map(|(id, _)| id));
    for (id, found) in stacks {
        let apart = id.apart(&alike);
        let result = whole_and_recent(the_one(found, &id.name(&alike), &mut problems), now, max_age);
        let StackId { directory, environment, .. } = id;
        parts.push((SavedStack { directory, environment, id: None, result }, apart));
    }
    let is_checked = |(part, _): &(SavedStack, _)| !matches!(part.result, Err(NoResult::Skipped(_)));
    if problems.is_empty() && !parts.iter().any(is_checked) {
        problems.push(InputProblem { place: ".".to_owned(), message: "no file contains a check".to_owned() });
    }
    MergedChecks { parts, problems, from: MergedFrom { files, checked } }
}

/// Leaves out the files of a list of stacks that was divided by another number than most.
fn keep_one_count(documents: &mut Vec<(String, CheckDocument)>, problems: &mut Vec<InputProblem>) {
    let mut counts: BTreeMap<u32, (usize, Option<Timestamp>)> = BTreeMap::new();
    for (_, document) in documents.iter() {
        let Some(shard) = document.shard else { continue };
        let (files, newest) = counts.entry(shard.of).or_default();
        *files += 1;
        *newest = (*newest).max(document.checks().map(|check| check.now).max());
    }
    let Some(kept) = counts.iter().max_by_key(|(_, rank)| **rank).map(|(of, _)| *of) else { return };
    documents.retain(|(name, document)| match document.shard {
        Some(shard) if shard.of != kept => {
            let checks = document.checks().count();
            let message = format!("it is shard {shard}, and others are of {kept}: its {checks} checks are left out");
            problems.push(InputProblem { place: name.clone(), message });
            false
        }
        _ => true,
    });
}

/// Gives a stack in a file that is not a shard the digest that the shards of a list have for it, if there is one, and a
/// stack without a check the environment that another file names for it.
fn name_alike(documents: &mut [(String, CheckDocument)]) {
    let stacks = documents.iter_mut().flat_map(|(_, document)| &mut document.stacks);
    let (checked, unchecked): (Vec<_>, Vec<_>) = stacks.partition(|entry| entry.result.is_ok());
    let named = unchecked.iter().filter(|entry| entry.environment.is_some());
    let named = named.chain(&checked).map(|entry| (entry.id.clone(), entry.environment.clone()));
    let environments: BTreeMap<_, _> = named.collect();
    for entry in unchecked.into_iter().filter(|entry| entry.id.is_some()) {
        entry.environment = environments.get(&entry.id).cloned().flatten();
    }
    type Named = (String, Option<String>, Option<(String, Option<String>, Option<String>)>);
    let named = |entry: &SavedStack| -> Named {
        let plan = entry.result.as_ref().ok().map(|check| &check.plan);
        let of = plan.map(|plan| (plan.service.base_url.clone(), plan.stack.clone(), plan.source.environment.clone()));
        (entry.directory.clone(), entry.environment.clone(), of)
    };
    let mut digests: BTreeMap<Named, BTreeSet<String>> = BTreeMap::new();
    for entry in documents.iter().flat_map(|(_, document)| &document.stacks) {
        let Some(digest) = &entry.id else { continue };
        let (directory, environment, of) = named(entry);
        // One without a check is known by its directory alone.
        for of in [None, of] {
            digests.entry((directory.clone(), environment.clone(), of)).or_default().insert(digest.clone());
        }
    }
    for entry in documents.iter_mut().flat_map(|(_, document)| &mut document.stacks).filter(|entry| entry.id.is_none())
    {
        let known = digests.get(&named(entry)).filter(|known| known.len() == 1);
        entry.id = known.and_then(|known| known.first().cloned());
    }
}

/// What the files of the shards of one list, or of one stack, contain.
#[derive(Default)]
struct SeenShards<'d> {
    shards: BTreeSet<u32>,
    namespaces: BTreeSet<&'d Namespace>,
    /// The namespaces that some of them leave to the others.
    elsewhere: BTreeSet<&'d Namespace>,
}

/// The shards, of the list of stacks and of each single stack, that no file contains.
fn missing(documents: &[(String, CheckDocument)]) -> Vec<InputProblem> {
    let mut seen: BTreeMap<(Option<StackId>, u32), SeenShards<'_>> = BTreeMap::new();
    for (_, document) in documents {
        if let Some(Shard { index, of }) = document.shard {
            seen.entry((None, of)).or_default().shards.insert(index);
        }
        for entry in &document.stacks {
            let Ok(check) = &entry.result else { continue };
            let Some(Shard { index, of }) = check.shard else { continue };
            let id = StackId { shard: None, ..StackId::of(entry, document.shard.is_some()) };
            let seen = seen.entry((Some(id), of)).or_default();
            seen.shards.insert(index);
            seen.namespaces.extend(check.plan.scope.keys().map(|scope| &scope.namespace));
            seen.elsewhere.extend(&check.elsewhere);
        }
    }
    let problem = |place| InputProblem { place, message: "no file contains it".to_owned() };
    let mut problems = Vec::new();
    let alike = alike(seen.keys().filter_map(|(id, _)| id.as_ref()));
    for ((id, of), seen) in &seen {
        let of_what = id.as_ref().map(|id| format!(" of {}", id.name(&alike))).unwrap_or_default();
        let absent: Vec<u32> = (1..=*of).filter(|index| !seen.shards.contains(index)).collect();
        problems.extend(absent.iter().take(MOST_NAMED).map(|index| problem(format!("shard {index}/{of}{of_what}"))));
        if let Some(more @ 1..) = absent.len().checked_sub(MOST_NAMED) {
            problems.push(problem(format!("{more} more shards of {of}{of_what}")));
        }
        // If no shard is missing, the checkers of the stack read different lists of namespaces.
        let left = seen.elsewhere.difference(&seen.namespaces).filter(|_| absent.is_empty());
        problems.extend(left.map(|namespace| problem(format!("namespace {namespace}{of_what}"))));
    }
    problems
}

impl StackId {
    fn of(entry: &SavedStack, is_sharded: bool) -> Self {
        let check = entry.result.as_ref().ok();
        let named = |plan: &Plan| StackIdentity::Named(plan.service.base_url.clone(), plan.stack.clone());
        let identity = match &entry.id {
            Some(digest) => Some(StackIdentity::Digest(digest.clone())),
            // Earlier versions wrote no id.
            None => check.filter(|_| !is_sharded).map(|check| named(&check.plan)),
        };
        Self {
            directory: entry.directory.clone(),
            environment: entry.environment.clone(),
            identity,
            shard: check.and_then(|check| check.shard),
        }
    }

    /// What distinguishes it from another stack of its directory and environment: jobs in different repositories all
    /// check `.`. And the shard, if it is of a single stack.
    fn apart(&self, alike: &BTreeSet<(String, Option<String>)>) -> Option<String> {
        let is_alike = alike.contains(&(self.directory.clone(), self.environment.clone()));
        let stack = match &self.identity {
            Some(StackIdentity::Named(url, Some(stack))) if is_alike => Some(format!("{stack} at {url}")),
            Some(StackIdentity::Named(url, None)) if is_alike => Some(url.clone()),
            Some(StackIdentity::Digest(id)) if is_alike => Some(format!("id {}", safe::line(id))),
            _ => None,
        };
        let shard = self.shard.map(|shard| format!("shard {shard}"));
        let all: Vec<String> = stack.into_iter().chain(shard).collect();
        Some(all.join(", ")).filter(|all| !all.is_empty())
    }

    fn name(&self, alike: &BTreeSet<(String, Option<String>)>) -> String {
        let apart = self.apart(alike);
        let details: Vec<&str> = self.environment.iter().chain(&apart).map(String::as_str).collect();
        fleet::name(&self.directory, &details).into_owned()
    }
}

/// The directories, with their environments, that several stacks have.
fn alike<'i>(ids: impl Iterator<Item = &'i StackId>) -> BTreeSet<(String, Option<String>)> {
    let known = ids.map(|id| ((id.directory.clone(), id.environment.clone()), &id.identity));
    let known: BTreeMap<_, BTreeSet<&Option<StackIdentity>>> = gathered(known);
    known.into_iter().filter(|(_, stacks)| stacks.len() > 1).map(|(name, _)| name).collect()
}

/// The entry that counts: the newest check, if there are several. A skipped one counts only if there is no other.
fn the_one(found: Found, stack: &str, problems: &mut Vec<InputProblem>) -> SavedResult {
    let found = found.into_iter().filter(|(_, result)| !matches!(result, Err(NoResult::Elsewhere)));
    let (skipped, mut results): (Found, Found) =
        found.partition(|(_, result)| matches!(result, Err(NoResult::Skipped(_))));
    if results.len() > 1 {
        let files: Vec<&str> = results.iter().map(|(file, _)| file.as_str()).collect();
        let message = format!("{} have a result for it: the newest check is shown", files.join(" and "));
        problems.push(InputProblem { place: stack.to_owned(), message });
    }
    results.sort_by_key(|(_, result)| result.as_ref().ok().map(|check| check.now));
    let unknown = || Err(NoResult::Unknown("no file contains a check".to_owned()));
    results.pop().or_else(|| skipped.into_iter().next()).map_or_else(unknown, |(_, result)| result)
}

/// The result, unless its check is too old, is from the future, or is not of the whole stack.
fn whole_and_recent(result: SavedResult, now: Timestamp, max_age: Duration) -> SavedResult {
    let check = result?;
    let unknown = |reason| Err(NoResult::Unknown(reason));
    let filters = &check.plan.source.filters;
    if !filters.is_empty() || check.plan.left_out > 0 {
        let filters = filters.iter().map(|filter| safe::line(filter)).collect::<Vec<_>>().join(" ");
        return unknown(format!("it was checked with filters ({filters}), so the rest of it is not known"));
    }
    let mut times = vec![("it was checked", Some(check.now))];
    // A check against a snapshot is of the service as it was then.
    let snapshot = check.plan.source.snapshot.as_ref();
    times.extend(snapshot.map(|taken| ("its snapshot was taken", taken.parse().ok())));
    for (of_what, seen) in times {
        let Some(seen) = seen else { return unknown(format!("{of_what} at a time that cannot be read")) };
        let when = || time::minute(seen);
        if Duration::try_from(seen.duration_since(now)).is_ok_and(|ahead| ahead > CLOCK_DIFFERENCE) {
            return unknown(format!("{of_what} at {}, which is in the future", when()));
        }
        let age = Duration::try_from(now.duration_since(seen)).unwrap_or_default();
        if age > max_age {
            let (ago, allowed) = (time::age(age), time::age(max_age));
            return unknown(format!("{of_what} at {}, {ago} ago, and {allowed} are allowed", when()));
        }
    }
    Ok(check)
}

impl CheckDocument {
    fn checks(&self) -> impl Iterator<Item = &Check> {
        self.stacks.iter().filter_map(|entry| entry.result.as_deref().ok())
    }
}

impl MergedChecks {
    /// The report over all of them.
    pub fn fleet(&self) -> Fleet<'_> {
        let parts = self.parts.iter().map(|(part, apart)| part.part(apart.clone())).collect();
        let problems = self.problems.clone();
        Fleet { problems, merged: Some(self.from), ..Fleet::new(FleetCommand::Drift, parts) }
    }
}

impl SavedStack {
    fn part(&self, apart: Option<String>) -> FleetPart<'_> {
        let environment = self.environment.iter().map(|name| ("env", name));
        let given = self.result.iter().flat_map(|check| &check.flags);
        let given = given.flat_map(|(flag, values)| values.iter().map(|value| (flag.as_str(), value)));
        let flags = environment.chain(given).map(|(flag, value)| format!(" --{flag} {}", safe::shell(value))).collect();
        let call = format!("{}{flags}", safe::shell(&self.directory));
        FleetPart {
            directory: self.directory.clone(),
            environment: self.environment.clone(),
            apart,
            id: String::new(),
            own: TextView { command: format!("trueup drift {call}"), call, flags, ..TextView::default() },
            outcome: self.result.as_ref().map(|check| StackReport::Checked(check)).map_err(Clone::clone),
        }
    }
}
