//! The evidence of a run as text: what was planned and approved by whom, every change with its times, and the end.

use super::change::sign;
use super::{TextView, history};
use crate::report::{Role, safe};
use crate::run::{ChangeProgress, Evidence};

/// The evidence, whose digest is as the file says.
#[must_use]
pub fn evidence(evidence: &Evidence, digest: &str, view: &TextView) -> String {
    let optional = |word: &str, value: &Option<String>| value.as_ref().map(|value| format!("{word} {value}"));
    let mut lines = vec![format!(
        "Evidence of run {}, written by trueup {}",
        view.palette.paint(Role::Strong, &evidence.run),
        safe::line(&evidence.tool_version)
    )];
    let mut add = |parts: Vec<Option<String>>| {
        let text = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        if !text.is_empty() {
            lines.push(format!("  {}", safe::line(&text)));
        }
    };
    let plan = &evidence.plan;
    add(vec![
        Some(evidence.service.base_url.clone()),
        optional("stack", &evidence.stack),
        optional("environment", &evidence.environment),
        optional("commit", &evidence.commit),
    ]);
    add(vec![
        Some(format!("began {}, ended {}", evidence.started, evidence.ended)),
        Some(format!("exit code {}", evidence.exit_code)),
    ]);
    add(vec![
        optional("planned by", &plan.planned_by),
        optional("run by", &evidence.trigger.actor.clone().or_else(|| evidence.user.clone())),
        Some(history::trigger(&evidence.trigger)).filter(|text| !text.is_empty()),
    ]);
    let allowed = plan.allowed.iter().map(|allowed| match &allowed.by {
        Some(by) => format!("{} by {by}", allowed.name),
        None => allowed.name.clone(),
    });
    let allowed = allowed.collect::<Vec<_>>().join(", ");
    add(vec![
        Some(format!("plan {} of {}", plan.digest, plan.source)),
        (!allowed.is_empty()).then(|| format!("allowed: {allowed}")),
    ]);
    let policy = evidence.policy.as_ref().map(|policy| format!("policy {} (SHA-256 {})", policy.path, policy.sha256));
    add(vec![policy]);
    lines.push(String::new());
    for step in &evidence.changes {
        let (mark, role) = sign(step.action);
        let role = if step.result.is_done() { role } else { Role::Wrong };
        let key = step.key.to_string();
        let progress = ChangeProgress::Ended(step);
        let requests = step.requests.last().map(|id| format!(", request {id}")).unwrap_or_default();
        let result = history::result(progress) + &history::times(progress) + &requests;
        lines.push(format!("  {} {:<46}  {}", view.palette.paint(role, mark), safe::line(&key), safe::line(&result)));
    }
    lines.push(String::new());
    let unmade = evidence.changes.iter().filter(|step| !step.result.is_done()).count();
    let done = evidence.changes.len() - unmade;
    lines.push(format!("{done} of {} done.", evidence.changes.len()));
    let verified = history::verified(&evidence.verification, plan.blocked.len(), unmade, view);
    lines.extend((!verified.is_empty()).then(|| verified.trim_end().to_owned()));
    lines.push(view.palette.paint(Role::Quiet, format!("digest {digest}, as the file says")).to_string());
    lines.join("\n") + "\n"
}
