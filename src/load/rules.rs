//! Checks that the settings of a stack require for every definition: its namespace is listed, it does not
//! set ownership annotations, and there is room for them.

use std::collections::BTreeSet;

use super::config::{self, Config, SettingPlaces};
use super::diagnostic::Diagnostic;
use super::suggestion::did_you_mean;
use crate::kind::{self, KindName};
use crate::model::policy::IgnoreRule;
use crate::model::{
    COMMIT_DIGITS, Field, Key, LONGEST_ANNOTATION, LONGEST_RUN, Name, Namespace, Object, Ownership, Problem, Segment,
    WireMetadata, is_ownership_annotation,
};

/// The number of fields, labels and annotations that always fit into `trueup/applied`.
const SURELY_FITTING: usize = 60;

/// The rules of `ignore:` without an effect: they name an object that is not defined, or a field that its kind does not
/// have, so that an apply would change the field meant. This is a note, because another environment may define the
/// object; an unknown kind is an error.
pub(super) fn ignored_in_vain(
    config: &Config,
    settings: &SettingPlaces<'_>,
    is_defined: impl Fn(&Key) -> bool,
) -> Vec<Diagnostic> {
    let why = |IgnoreRule { object, field }: &IgnoreRule| {
        let (kind, name) = match object.split_once(':') {
            Some((kind, name)) => (KindName::find(kind), name),
            None => (None, &**object),
        };
        if let Some(kind) = kind.filter(|kind| Field::of_kind(*kind, &field.to_string()).is_none()) {
            return Some(format!("{kind} has no such field"));
        }
        if object.contains(kind::GLOB) {
            // Objects that a glob matches may be defined later, but only in a namespace of the stack.
            let namespace = name.split_once('/')?.0;
            let is_outside = !namespace.contains(kind::GLOB) && !config.namespaces.is_empty();
            let is_outside = is_outside && config.namespaces.iter().all(|one| one.as_str() != namespace);
            return is_outside.then(|| format!("the stack has no namespace `{namespace}`"));
        }
        let is_of = |kind: KindName| Key::parse(&format!("{kind}:{name}")).is_ok_and(|key| is_defined(&key));
        let is_found = kind.map_or_else(|| KindName::all().any(is_of), is_of);
        (!is_found).then(|| "no definition has this NAMESPACE/NAME".to_owned())
    };
    let found = config.safeguards.ignore.iter().filter_map(|rule| {
        let IgnoreRule { object, field } = rule;
        let error = |why: &str| {
            let what = format!("`ignore: {{object: {object}, field: {field}}}` has no effect: {why}");
            settings.error("ignore", &config::rule(object, &field.to_string()), what)
        };
        if let Some(kind) = kind::unknown_in(object) {
            let near = did_you_mean(kind, KindName::all().map(KindName::as_str), || "see trueup kinds".to_owned());
            return Some(error(&format!("unknown kind `{kind}`")).with_help(near));
        }
        Some(error(&why(rule)?).into_note())
    });
    found.collect()
}

/// Whether `unchecked:` lets a definition set the field `name` at this path, even if it is not described.
pub(super) fn is_unchecked(config: &Config, path: &str, name: &str) -> bool {
    !name.contains('.') && config.unchecked.contains(&format!("{path}.{name}"))
}

/// The problems of metadata that the settings forbid.
pub(super) fn check(config: &Config, metadata: &WireMetadata) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(namespace) = &metadata.namespace {
        problems.extend(unlisted(config, namespace));
    }
    for (key, _) in
        metadata.annotations.iter().flatten().filter(|(key, value)| is_ownership_annotation(key) && value.is_some())
    {
        let path = vec!["metadata".into(), "annotations".into(), Segment::Key(key.clone().into())];
        let what = format!("a definition may not set `{key}`");
        problems.push(Problem::key(path, what, "trueup writes it itself: remove it"));
    }
    problems
}

/// The problem that the settings list namespaces, but not this one.
fn unlisted(config: &Config, namespace: &str) -> Option<Problem> {
    let listed = || config.namespaces.iter().map(Namespace::as_str);
    if listed().any(|listed| listed == namespace) || config.namespaces.is_empty() || namespace.is_empty() {
        return None;
    }
    let names: BTreeSet<&str> = listed().collect();
    let label = did_you_mean(namespace, names, || "list it there, or move the definition".to_owned());
    let what = format!("the namespace `{namespace}` is not listed under `namespaces:` in trueup.yaml");
    Some(Problem::value(vec!["metadata".into(), "namespace".into()], what, label))
}

/// The problems of an object without enough room for its ownership annotations.
pub(super) fn check_room(config: &Config, endpoint: &Object) -> Vec<Problem> {
    let count = endpoint.spec.names().count() + endpoint.labels.len() + endpoint.annotations.len();
    if !config.safeguards.ownership_annotations || count <= SURELY_FITTING {
        return Vec::new();
    }
    let (run, commit) = ("r".repeat(LONGEST_RUN), "c".repeat(COMMIT_DIGITS));
    let stack = config.stack.as_ref().map(Name::as_str);
    let annotations = Ownership::of(endpoint, stack, &run).at_commit(Some(&commit)).annotations();
    let too_long = annotations.into_iter().filter(|(_, value)| value.len() > LONGEST_ANNOTATION);
    let problem = |(key, value): (&str, String)| {
        let what = format!(
            "`{key}` would be {} characters long for this many labels and annotations, above the allowed \
             {LONGEST_ANNOTATION}",
            value.len()
        );
        let label = "remove some, or set `ownership_annotations: false` in trueup.yaml";
        Problem::key(vec!["metadata".into()], what, label)
    };
    too_long.map(problem).collect()
}
