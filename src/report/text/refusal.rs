//! Refusals as text: why a plan is not applied, what is blocked, and which flag allows it.

use super::TextView;
use crate::model::Namespace;
use crate::plan::{ApprovalError, Plan, ScopeRead};
use crate::report::reason::block_reason;
use crate::report::unread::{self, Unread};
use crate::report::{Role, safe};

/// Why a plan is not applied, with what allows it where something can.
#[must_use]
pub fn refusal(refusal: &ApprovalError, view: &TextView) -> String {
    let mut text = String::new();
    let refused = view.palette.paint(Role::Wrong, "refused");
    match refusal {
        ApprovalError::Guards { guards } => {
            for guard in guards {
                let reason = guard.to_string();
                text.push_str(&format!("{refused}: {}\n", safe::line(&reason)));
            }
            let mut names: Vec<String> = guards.iter().map(|guard| format!("--allow {}", guard.name)).collect();
            names.dedup();
            text.push_str(&format!("  to allow it: {}\n", names.join(" ")));
        }
        ApprovalError::OtherDigest { base, .. } => {
            let reason = refusal.to_string();
            text.push_str(&format!("{refused}: {}\n", safe::line(&reason)));
            text.push_str(match base {
                true => "  if it was reviewed without --base: leave that out here, too\n",
                false => {
                    "  if it was reviewed with --base: give the same --base here, or what is behind it goes unseen\n"
                }
            });
            text.push_str(&format!("  plan again: {}\n", view.plan_command()));
        }
        ApprovalError::Changes { names } => {
            let reason = refusal.to_string();
            text.push_str(&format!("{refused}: {}\n", safe::line(&reason)));
            let flags: Vec<String> = names.iter().take(8).map(|name| format!("--allow {}", safe::line(name))).collect();
            text.push_str(&format!("  to allow it: {}\n", flags.join(" ")));
        }
        ApprovalError::NoDigest { .. } => {
            let reason = refusal.to_string();
            text.push_str(&format!("{refused}: {}\n", safe::line(&reason)));
        }
        ApprovalError::Unknown { namespaces } => {
            let unknown = namespaces.iter().map(|(namespace, reason)| (namespace, reason.as_str()));
            text.push_str(&unread(unknown, view));
            text.push_str("  to leave it out: --namespace with what is known, or --only\n");
        }
    }
    text.push_str("nothing was sent\n");
    text
}

/// Each reason why namespaces could not be read, with their names.
fn unread<'a>(unknown: impl Iterator<Item = (&'a Namespace, &'a str)>, view: &TextView) -> String {
    let line = |unread: &Unread<'_>| {
        let quoted = |name: &str| format!("`{}`", safe::line(name));
        let about = if let [one] = unread.names[..] { quoted(one) } else { "them".to_owned() };
        format!(
            "{}: could not read {}: {}\n  nothing is concluded about {about}: no changes, no verdict\n",
            view.palette.paint(Role::Wrong, "incomplete"),
            unread.listed(quoted),
            safe::line(unread.reason)
        )
    };
    unread::by_reason(unknown).iter().map(line).collect()
}

/// The namespaces whose read is unknown, and the status of each namespace.
#[must_use]
pub fn incomplete(plan: &Plan, view: &TextView) -> String {
    let mut text = unread(plan.unknown(), view);
    if text.is_empty() {
        return text;
    }
    let scopes: Vec<String> = plan
        .scope
        .iter()
        .map(|(namespace, scope)| match scope.read {
            ScopeRead::Unknown { .. } => format!("{namespace}: unknown"),
            ScopeRead::Complete { .. } if scope.in_sync == scope.definitions => {
                format!("{namespace}: in sync ({})", scope.in_sync)
            }
            ScopeRead::Complete { .. } => format!("{namespace}: {} of {} in sync", scope.in_sync, scope.definitions),
        })
        .collect();
    text.push_str(&format!("{}\n", scopes.join("   ")));
    text
}

/// What the plan blocked, for the report of an apply.
#[must_use]
pub fn blocked(plan: &Plan, view: &TextView) -> String {
    let mut text = String::new();
    for blocked in &plan.blocked {
        let (why, allow) = block_reason(blocked);
        let key = blocked.key.to_string();
        let allow = allow.map(|allow| format!("; to allow it: {allow}")).unwrap_or_default();
        text.push_str(&format!(
            "{}: {}: {why}{allow}\n",
            view.palette.paint(Role::Careful, "blocked"),
            safe::line(&key)
        ));
    }
    text
}
