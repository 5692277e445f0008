//! The notes of a plan in words: what a reviewer should know besides the changes, such as endpoints that are not
//! managed. One table has the text of each note; notes with the same text and reason become one line.

use crate::model::grouped;
use crate::plan::{Note, Plan};
use crate::report::line::{Line, foreign};

const UNMANAGED: &str = "{{live endpoint}} in {{reason}} {{is|are}} not managed here: {{names}}";
const ORPHAN: &str = "{{endpoint}} of this stack in {{reason}} {{is|are}} no longer defined and nothing may be deleted there \
    (`namespaces:`, `kinds:` and `prune:` say where): {{names}}";
const OWNED: &str =
    "{{endpoint}} {{belongs to another object and is|belong to other objects and are}} left alone: {{names}}";
const UNSUPPORTED: &str =
    "{{endpoint}} cannot be read by this trueup ({{reason}}) and {{is|are}} left alone: {{names}}";
const UNKNOWN_FIELD: &str =
    "{{endpoint}} {{has|have}} the field {{reason}}, which this trueup does not know and keeps: {{names}}";
const EMPTY_NAMESPACE: &str =
    "{{names}}: nothing is there yet; the service answers the same for a namespace that does not exist";
const RECREATED: &str = "{{endpoint}} {{is|are}} created again and {{gets|get}} a new uid: {{names}}";
const RECREATED_REFERRED: &str = "{{endpoint}} {{is|are}} created again and {{gets|get}} a new uid; {{reason}} referred to the \
    old {{one|ones}}: {{names}}";
const REFERRERS_NOT_ASKED: &str = "{{endpoint}} would go, and the snapshot does not say who refers to {{it|them}} (an apply \
    asks; so does `snapshot --referrers`): {{names}}";
const COPIED: &str =
    "{{endpoint}} {{carries|carry}} copied ownership annotations and {{belongs|belong}} to no stack: {{names}}";
const UNSTACKED: &str =
    "{{endpoint}} {{was|were}} applied without a stack and {{is|are}} taken over by this one: {{names}}";
const OUTSIDE: &str = "{{endpoint}} of this stack in {{reason}} {{is|are}} outside of `namespaces:` (list it again or, with \
    `prune: owned`, delete {{it|them}} with --prune-namespace {{reason}}): {{names}}";
const OUTSIDE_UNREAD: &str =
    "{{names}}: this stack once had {{it|them}}, and what is left there could not be read ({{reason}})";
const DELETES_UNKNOWN: &str =
    "whether {{missing endpoint}} {{was|were}} deleted outside cannot be decided ({{reason}}): {{names}}";
const AWAITED: &str =
    "{{endpoint}} {{was|were}} moved here from stack {{reason}} and {{is|are}} not defined yet: {{names}}";
const NOT_DEFINED: &str = "stack {{reason}} does not define {{endpoint}} here, and does not delete {{it|them}} \
    before it has applied {{its definition|their definitions}}: {{names}}";
const LEFT: &str = "{{endpoint}} of stack {{reason}} {{stays|stay}} there, because the new stack does not define {{it|them}} \
    (to move {{it|them}} as well, name {{it|them}}): {{names}}";
const STILL_DEFINED: &str =
    "stack {{reason}} still defines {{endpoint}} (remove {{its definition|their definitions}} there): {{names}}";
const DIFFERS: &str = "{{endpoint}} {{differs|differ}} from {{its definition|their definitions}} in stack {{reason}}, \
    as its next plan shows: {{names}}";
const OUTSIDE_DEFINED: &str = "{{endpoint}} of this stack {{is|are}} outside of `namespaces:`, and another stack defines \
                               {{it|them}} (transfer {{it|them}} with {{reason}}): {{names}}";
const OUTSIDE_UNKNOWN: &str = "{{endpoint}} of this stack {{is|are}} outside of `namespaces:`, and whether another stack \
                               defines {{it|them}} is unknown ({{reason}}): {{names}}";
const NOT_OFFERED: &str = "{{reason}}: the service does not offer objects of this kind: {{names}}";
const RENAMED: &str = "{{endpoint}} {{moves|move}} {{names}}: a create there, then a delete here";
const DROPPED: &str = "{{endpoint}} {{has|have}} {{reason}}, which no definition names and an apply removes with what \
                       contains it: {{names}}";
const NOT_TAKEN: &str = "{{reason}} was applied and was not taken by the service: {{names}}";
const UNNAMED: &str = "{{names}} {{has|have}} {{reason}}, which {{its definition does|their definitions do}} not name and an \
    apply keeps (write it there to manage it)";
const WEAK: &str = "{{names}}: known from the published schemas alone, so which fields exclude each other, what a field \
    refers to and what the service fills in is unknown";
const OUTSIDE_KINDS: &str = "{{endpoint}} of this stack {{is|are}} of a kind that `kinds:` does not list (list {{reason}} \
    there, and `prune:` says whether a plan deletes {{it|them}}): {{names}}";
const OUTSIDE_KINDS_DEFINED: &str = "{{endpoint}} of this stack {{is|are}} of a kind that `kinds:` does not list, and \
    another stack defines {{it|them}} (transfer {{it|them}} with {{reason}}): {{names}}";
const OUTSIDE_KINDS_UNKNOWN: &str = "{{endpoint}} of this stack {{is|are}} of a kind that `kinds:` does not list, and \
    whether another stack defines {{it|them}} is unknown ({{reason}}): {{names}}";
const UNANNOTATED: &str =
    "{{endpoint}} {{is|are}} in sync without ownership annotations (--adopt takes ownership): {{names}}";
const NOT_ANNOTATED: &str = "{{endpoint}} {{is|are}} in sync, and {{its|their}} ownership annotations are not written: \
    {{reason}} may contain a secret, which a write would delete or replace (write the secret that was applied into \
    {{its definition|their definitions}}): {{names}}";

const IGNORED: &str = "{{reason}} of {{endpoint}} is not restored, because `ignore:` leaves it out: {{names}}";
const FOREIGN_EQUAL: &str = "{{endpoint}} {{is|are}} as defined and {{belongs|belong}} to stack {{reason}}: {{names}}";
const UNSHOWN: &str = "a write of {{endpoint}} contains {{reason}} of {{its definition|their definitions}}, and no answer \
    shows whether that is another one: {{names}}";

/// The maximum number of names that a note lists.
const NAMES: usize = 6;

/// The selected notes of a plan, a line each, in the order of the plan.
pub fn lines(plan: &Plan, is_selected: impl Fn(&Note) -> bool) -> Vec<Line<'static>> {
    let notes = plan.shown_notes().filter(|note| is_selected(note)).map(of);
    let notes = grouped(notes.map(|(text, reason, name)| ((text, reason), name)));
    notes.into_iter().map(|((text, reason), names)| line(text, &reason, &names)).collect()
}

/// The line of the notes that have a text and a reason in common.
fn line(text: &'static str, reason: &str, names: &[String]) -> Line<'static> {
    let mut pieces = text.split("{{");
    let begin = Line::default().and(pieces.next().unwrap_or_default());
    pieces.filter_map(|piece| piece.split_once("}}")).fold(begin, |line, (part, after)| {
        let words = match (part, part.split_once('|')) {
            ("names", _) => Line::some_of(names.iter().cloned(), NAMES),
            ("reason", _) => line![foreign(reason.to_owned())],
            (_, Some((one, many))) => line![if names.len() == 1 { one } else { many }],
            // Only the keys of other kinds than endpoints name their kind.
            (noun, None) if names.iter().any(|name| name.contains(':')) => {
                let noun = match noun {
                    "endpoint" => "object",
                    "live endpoint" => "live object",
                    "missing endpoint" => "missing object",
                    other => other,
                };
                Line::count(names.len(), noun)
            }
            (noun, None) => Line::count(names.len(), noun),
        };
        line.and(words).and(after)
    })
}

/// The text of a note, the reason that it shares with others, and the name of what it is about. In a text,
/// `{{is|are}}` depends on the number of names, and `{{endpoint}}` is that number with the noun.
fn of(note: &Note) -> (&'static str, String, String) {
    let none = String::new;
    match note {
        Note::Unmanaged { key } => (UNMANAGED, key.namespace.to_string(), key.to_string()),
        Note::Orphan { key } => (ORPHAN, key.namespace.to_string(), key.to_string()),
        Note::Unannotated { key } => (UNANNOTATED, none(), key.to_string()),
        Note::NotAnnotated { key, path } => (NOT_ANNOTATED, path.clone(), key.to_string()),
        Note::Unshown { key, path } => (UNSHOWN, path.clone(), key.to_string()),
        Note::Ignored { key, field } => (IGNORED, field.to_string(), key.to_string()),
        Note::ForeignEqual { key, stack } => (FOREIGN_EQUAL, stack.clone(), key.to_string()),
        Note::Owned { key, owner } => (OWNED, none(), format!("{key} (of {owner})")),
        Note::Unsupported { key, reason } => (UNSUPPORTED, reason.clone(), key.to_string()),
        Note::UnknownField { key, path } => (UNKNOWN_FIELD, path.clone(), key.to_string()),
        Note::Unnamed { key, path, .. } => (UNNAMED, path.clone(), key.to_string()),
        Note::NotTaken { key, path } => (NOT_TAKEN, path.clone(), key.to_string()),
        Note::DroppedField { key, path } => (DROPPED, path.clone(), key.to_string()),
        Note::EmptyNamespace { namespace } => (EMPTY_NAMESPACE, none(), namespace.to_string()),
        Note::NotOffered { scope } => (NOT_OFFERED, scope.kind.to_string(), scope.namespace.to_string()),
        Note::Recreated { key, referrers } if referrers.is_empty() => (RECREATED, none(), key.to_string()),
        Note::Recreated { key, referrers } => {
            let by: Vec<String> = referrers.iter().map(ToString::to_string).collect();
            (RECREATED_REFERRED, by.join(", "), key.to_string())
        }
        Note::ReferrersNotAsked { key } => (REFERRERS_NOT_ASKED, none(), key.to_string()),
        Note::Loaded { text } => ("{{reason}}", text.clone(), none()),
        Note::Copied { key, of: Some(of) } => (COPIED, none(), format!("{key} (of {of})")),
        Note::Copied { key, of: None } => (COPIED, none(), key.to_string()),
        Note::Unstacked { key } => (UNSTACKED, none(), key.to_string()),
        Note::Awaited { key, from } => (AWAITED, from.clone(), key.to_string()),
        Note::Left { key, stack } => (LEFT, stack.clone(), key.to_string()),
        Note::NotDefined { key, stack } => (NOT_DEFINED, stack.clone(), key.to_string()),
        Note::StillDefined { key, stack } => (STILL_DEFINED, stack.clone(), key.to_string()),
        Note::Differs { key, stack } => (DIFFERS, stack.clone(), key.to_string()),
        Note::Renamed { key, to } => (RENAMED, none(), format!("from {key} to {to}")),
        Note::Outside { key, transfer: Some(command), .. } => (OUTSIDE_DEFINED, command.clone(), key.to_string()),
        Note::Outside { key, unknown: Some(reason), .. } => (OUTSIDE_UNKNOWN, reason.clone(), key.to_string()),
        Note::Outside { key, .. } => (OUTSIDE, key.namespace.to_string(), key.to_string()),
        Note::OutsideKinds { key, transfer: Some(command), .. } => {
            (OUTSIDE_KINDS_DEFINED, command.clone(), key.to_string())
        }
        Note::OutsideKinds { key, unknown: Some(reason), .. } => {
            (OUTSIDE_KINDS_UNKNOWN, reason.clone(), key.to_string())
        }
        Note::OutsideKinds { key, .. } => (OUTSIDE_KINDS, key.kind.to_string(), key.to_string()),
        Note::OutsideUnread { scope, reason } => (OUTSIDE_UNREAD, reason.clone(), scope.to_string()),
        Note::DeletesUnknown { key, reason } => (DELETES_UNKNOWN, reason.clone(), key.to_string()),
        Note::Weak { kind } => (WEAK, none(), kind.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Key;
    use crate::report::sample_tests;

    #[test]
    fn what_belongs_to_many_others_is_one_note() {
        let mut plan = sample_tests::plan(1, false);
        let key = |name: &str, n: u8| Key::parse(&format!("shop/{name}{n}")).expect("a key");
        let owned = |n| Note::Owned { key: key("a", n), owner: format!("origin_pool:shop/p{n}") };
        let copied = |n| Note::Copied { key: key("a", n), of: (n < 19).then(|| key("b", n)) };
        for (notes, said) in [
            (
                (0..20).map(owned).collect::<Vec<_>>(),
                "20 objects belong to other objects and are left alone: shop/a0 (of origin_pool:shop/p0), ",
            ),
            (
                (0..20).map(copied).collect(),
                "20 endpoints carry copied ownership annotations and belong to no stack: shop/a0 (of shop/b0), ",
            ),
        ] {
            plan.notes = notes;
            let lines: Vec<String> = lines(&plan, |_| true).iter().map(Line::unescaped).collect();
            assert!(lines.len() == 1 && lines[0].starts_with(said) && lines[0].len() < 400, "{lines:?}");
        }
    }
}
