//! Refusals as text: why a plan is not applied, what is blocked, and which flag allows it.

use super::{TextView, draw};
use crate::model::Namespace;
use crate::plan::{ApprovalError, BlockedChange, Plan, ScopeRead};
use crate::report::facts::reason::block_reason;
use crate::report::facts::{plan as facts, unread};
use crate::report::view::{self, Line, code, foreign, line};
use crate::report::{Role, safe};

/// Why a plan is not applied, with what allows it where something can.
#[must_use]
pub fn refusal(refusal: &ApprovalError, view: &TextView) -> String {
    let refused =
        |reason: &Line<'_>| format!("{}: {}\n", view.palette.paint(Role::Wrong, "refused"), view.plain(reason));
    let reason = || refused(&line![foreign(refusal.to_string())]);
    let hint = |words: &Line<'_>| format!("  {}\n", view.plain(words));
    let allow = |names: &mut dyn Iterator<Item = String>| {
        let flags: Vec<String> = names.map(|name| format!("--allow {}", safe::shell(&name))).collect();
        hint(&line!["to allow it: ", code(flags.join(" "))])
    };
    let text = match refusal {
        ApprovalError::Guards { guards } => {
            let reasons: String = guards.iter().map(|guard| refused(&facts::guard(guard))).collect();
            let mut names: Vec<String> = guards.iter().map(|guard| guard.name.to_string()).collect();
            names.dedup();
            reasons + &allow(&mut names.into_iter())
        }
        ApprovalError::OtherDigest { base, .. } => {
            let base = match base {
                true => "if it was reviewed without --base: leave that out here, too",
                false => "if it was reviewed with --base: give the same --base here, or what is behind it goes unseen",
            };
            reason() + &hint(&line![base]) + &hint(&line!["plan again: ", code(view.plan_command())])
        }
        ApprovalError::Changes { names } => reason() + &allow(&mut names.iter().take(8).cloned()),
        ApprovalError::NoDigest { .. } => reason(),
        ApprovalError::Unknown { namespaces } => {
            let unknown = namespaces.iter().map(|(namespace, reason)| (namespace, reason.as_str()));
            unread(unknown, view) + &hint(&line!["to leave it out: --namespace with what is known, or --only"])
        }
    };
    text + "nothing was sent\n"
}

/// Each reason why namespaces could not be read, with their names.
fn unread<'a>(unknown: impl Iterator<Item = (&'a Namespace, &'a str)>, view: &TextView) -> String {
    view::unread(&unread::by_reason(unknown)).iter().map(|one| draw::alarm(one, view)).collect()
}

/// The namespaces whose read is unknown, and the status of each namespace.
#[must_use]
pub fn incomplete(plan: &Plan, view: &TextView) -> String {
    let text = unread(plan.unknown(), view);
    if text.is_empty() {
        return text;
    }
    let scopes = plan.scope.iter().map(|(namespace, scope)| {
        let status = match scope.read {
            ScopeRead::Unknown { .. } => line!["unknown"],
            ScopeRead::Complete { .. } if scope.in_sync == scope.definitions => line!["in sync (", scope.in_sync, ")"],
            ScopeRead::Complete { .. } => line![scope.in_sync, " of ", scope.definitions, " in sync"],
        };
        line![code(namespace.as_str()), ": ", status]
    });
    format!("{text}{}\n", view.plain(&Line::joined(scopes, "   ")))
}

/// What the plan blocked, for the report of an apply.
#[must_use]
pub fn blocked(plan: &Plan, view: &TextView) -> String {
    let line = |blocked: &BlockedChange| {
        let (why, allow) = block_reason(blocked);
        let allow = allow.map(|allow| line!["; to allow it: ", code(allow)]);
        let text = view.plain(&line![view::key(&blocked.key), ": ", why, allow]);
        format!("{}: {text}\n", view.palette.paint(Role::Careful, "blocked"))
    };
    plan.blocked.iter().map(line).collect()
}
