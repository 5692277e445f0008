//! The references for which the definitions of a stack are wrong, as errors at their places.

use crate::cli::output::diagnostics;
use crate::cli::{Context, Result, Stack};
use crate::load::{self, Diagnostic, SourceMap};
use crate::model::Key;
use crate::plan::{BrokenReference, Plan, WrittenReference};

/// Refuses a plan of definitions whose references are wrong.
///
/// # Errors
/// There are such.
pub fn refuse(context: &Context, stack: &Stack, plan: &Plan) -> Result<()> {
    let places = SourceMap::new(&stack.loaded);
    let errors: Vec<Diagnostic> = plan.broken_references().map(|broken| error(stack, &places, broken)).collect();
    if errors.is_empty() { Ok(()) } else { Err(diagnostics::error(context, &places.problems(errors))) }
}

fn error(stack: &Stack, places: &SourceMap<'_>, broken: &BrokenReference) -> Diagnostic {
    match broken {
        BrokenReference::Missing(reference)
        | BrokenReference::LeftOut(reference)
        | BrokenReference::Unread(reference) => {
            let target = reference.target.to_string();
            let defined: Vec<String> = stack.loaded.desired.definitions.keys().map(Key::to_string).collect();
            let help = match load::nearest(&target, defined.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "define it, or remove the reference".to_owned(),
            };
            let message = format!("`{target}` is neither defined nor live");
            places.error(&message, &help, &[place(reference, "referred to here".to_owned())])
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
