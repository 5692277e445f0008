//! What is wrong with a plan, as the error of a command: lists that could not be read, and references of definitions that lead
//! nowhere.

use std::path::PathBuf;

use crate::cli::stacks::{declared, defined_elsewhere};
use crate::cli::{CommandError, Result, Stack};
use crate::load::{Diagnostic, Searches, SourceMap};
use crate::model::{Key, Scope};
use crate::plan::{BrokenReference, Plan, WrittenReference};
use crate::report::facts::unread;

/// The error of a plan if nothing could be read, for one reason: a report would add nothing to it.
pub fn unread(plan: &Plan) -> Option<CommandError> {
    let unread = unread::whole(plan)?;
    Some(error!(Unknown, "{}", unread.of_service(&plan.service.base_url)).hint(unread.consequence()))
}

/// Rejects a plan from an incomplete read.
///
/// # Errors
/// A list could not be read.
pub fn require_complete(plan: &Plan, hint: &str) -> Result<()> {
    match unread(plan) {
        Some(error) => Err(error.hint(hint)),
        None => require_all_read(plan.unknown(), hint),
    }
}

/// The error of lists that could not be read, each cause once.
///
/// # Errors
/// A list could not be read.
pub fn require_all_read<'a>(unknown: impl Iterator<Item = (&'a Scope, &'a str)>, hint: &str) -> Result<()> {
    match unread::messages(unknown).as_slice() {
        [] => Ok(()),
        messages => Err(error!(Unknown, "{}", messages.join("; ")).hint(hint)),
    }
}

/// Rejects a plan with broken references, and reports each at its place.
///
/// # Errors
/// A reference is broken.
pub fn require_references(stack: &Stack<'_>, plan: &Plan) -> Result<()> {
    let mut broken = plan.broken_references().peekable();
    if broken.peek().is_none() {
        return Ok(());
    }
    let (context, places) = (stack.context, SourceMap::new(&stack.loaded));
    let defined: Vec<String> = stack.loaded.desired.definitions.keys().map(Key::to_string).collect();
    let searches = Searches::default();
    let mut tops = context.tenants.tops.borrow().clone();
    tops.insert(declared::top(&stack.loaded.root));
    let own = context.environment.directory_from_here(&stack.loaded.root);
    let help = |target: &Key| {
        let definer = |top: &PathBuf| {
            let (config, key) = (&stack.loaded.config, std::slice::from_ref(target));
            defined_elsewhere::keys(context, (top, None), config, key).remove(target)?.ok()
        };
        match tops.iter().find_map(definer) {
            Some(directory) if directory == own => {
                return "another environment of this stack defines it: define it here, or choose that one with --env"
                    .to_owned();
            }
            Some(directory) => return format!("the stack in {directory} defines it: apply that first"),
            None => {}
        }
        match searches.nearest(&target.to_string(), defined.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "define it, or remove the reference".to_owned(),
        }
    };
    let errors = broken.map(|broken| broken_reference(&places, broken, help)).collect();
    Err(context.wrong(&places.problems(errors)))
}

fn broken_reference(places: &SourceMap<'_>, broken: &BrokenReference, help: impl FnOnce(&Key) -> String) -> Diagnostic {
    match broken {
        BrokenReference::Missing(reference)
        | BrokenReference::LeftOut(reference)
        | BrokenReference::Unread(reference) => {
            let target = &reference.target;
            let message = format!("`{target}` is neither defined nor live");
            places.error(&message, &help(target), &[place(reference, "referred to here".to_owned())])
        }
        BrokenReference::Deleted(reference) => {
            let key = &reference.target;
            let message = format!("`{key}` would be deleted, and a definition refers to it");
            let help = format!("define it again, or remove the reference; to delete it anyway: --allow referred={key}");
            places.error(&message, &help, &[place(reference, "referred to here".to_owned())])
        }
        BrokenReference::Circle(references) => {
            let message = format!("none of these objects can be created first: {}", circle(references));
            let label = |reference: &WrittenReference| format!("refers to `{}`", reference.target);
            let of_all: Vec<_> = references.iter().map(|reference| place(reference, label(reference))).collect();
            places.error(&message, "create one of them without its reference first", &of_all)
        }
        BrokenReference::LiveCircle(references) => {
            let message = format!("none of these objects can be deleted first: {}", circle(references));
            places.error(&message, "define one of them without its reference, apply that, and delete them then", &[])
        }
    }
}

fn place(reference: &WrittenReference, label: String) -> (&Key, &str, String) {
    (&reference.by, &reference.path, label)
}

/// `a -> b -> a`
fn circle(references: &[WrittenReference]) -> String {
    let keys = references.iter().chain(references.first()).map(|reference| format!("`{}`", reference.by));
    keys.collect::<Vec<_>>().join(" -> ")
}
