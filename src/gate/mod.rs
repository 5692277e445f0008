//! Gates: is it safe to make changes now? Before an apply each gate asks the service one question: whether a site that
//! a changed object names is being upgraded, whether a DDoS event is open, or whether there are many security events.
//! Input are a plan and the gates' modes, output are findings; the finding of a blocking gate refuses the apply. A gate
//! that cannot get its answer reports that, and blocks if its mode is to block.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::api::upgrades::{self, UpgradePart, UpgradeState};
use crate::api::{Reader, ddos, events};
use crate::model::policy::{GateMode, Gates};
use crate::model::{Namespace, Object, displayed, neutral};
use crate::plan::{Action, Change, Plan, afterwards, targets};

/// By how much the clock of this machine may differ from that of the service.
const CLOCKS: SignedDuration = SignedDuration::from_mins(1);

/// What a gate found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateFinding {
    /// The gate.
    pub gate: &'static str,
    /// Whether the finding only warns or refuses the apply.
    pub mode: GateMode,
    /// The finding in words.
    pub text: String,
}

displayed!(GateFinding, |finding| "gate `{}`: {}", finding.gate, finding.text);

/// Asks the service for all gates that are on; asks nothing if the plan changes nothing.
pub async fn check(reader: &Reader, plan: &Plan, gates: &Gates, now: Timestamp) -> Vec<GateFinding> {
    let mut findings = Vec::new();
    if !plan.is_pending() {
        return findings;
    }
    if gates.upgrade != GateMode::Off {
        findings.extend(check_sites(reader, &sites(plan), gates.upgrade).await);
    }
    findings.extend(check_events_of_all(reader, gates, now).await);
    findings
}

/// The findings of the gates that do not depend on objects: those of DDoS and security events.
pub async fn check_events_of_all(reader: &Reader, gates: &Gates, now: Timestamp) -> Vec<GateFinding> {
    let (mut findings, system) = (Vec::new(), Namespace::system());
    if gates.ddos != GateMode::Off {
        let found = ddos::list(reader, &system, &ddos::DdosFilter::recent(now)).await;
        // The end of an event is a time of the service's clock.
        let now = reader.date().unwrap_or(now);
        findings.extend(judge_ddos(found.map_err(|error| error.to_string()), gates.ddos, now));
    }
    if gates.events != GateMode::Off {
        findings.extend(check_events(reader, system, gates, now).await);
    }
    findings
}

/// Whether the objects of a kind are sites: `site` itself, and views for which the service creates a site of the same
/// name, such as `securemesh_site_v2`. A `virtual_site` only selects sites.
fn is_site(kind: &str) -> bool {
    let sort = kind.trim_end_matches("_v2").strip_suffix("site");
    sort.is_some_and(|sort| sort.is_empty() || (sort.ends_with('_') && sort != "virtual_"))
}

/// The sites among the changed objects and their references, before and after the change. All sites of our tenant are
/// in `system`, whatever namespace a reference names.
fn sites(plan: &Plan) -> BTreeSet<String> {
    // The live state shows which tenants are ours; a plan from a file lacks them.
    let tenants = &plan.live_tenants;
    let of_object = |object: &Object| {
        let own = is_site(object.key.kind.as_str()).then(|| object.key.name.to_string());
        let ours = targets(object).into_iter().filter(|target| tenants.is_empty() || target.is_of(tenants));
        let referred = ours.filter(|target| target.kinds.iter().any(|kind| is_site(kind)));
        own.into_iter().chain(referred.map(|target| target.name)).collect::<Vec<_>>()
    };
    let of_change = |change: &Change| match &change.action {
        Action::Annotate { .. } => Vec::new(),
        Action::Create { .. } | Action::Delete { .. } => of_object(change.action.object()),
        Action::Replace { before, .. } | Action::Recreate { before, .. } => {
            let after = afterwards(change).map(|after| of_object(&after)).unwrap_or_default();
            [of_object(&before.endpoint), after].concat()
        }
    };
    plan.changes.iter().flat_map(of_change).collect()
}

async fn check_sites(reader: &Reader, sites: &BTreeSet<String>, mode: GateMode) -> Vec<GateFinding> {
    let gate = "upgrade";
    let (mut findings, system) = (Vec::new(), Namespace::system());
    for site in sites {
        let text = match upgrades::status(reader, &system, site).await {
            Ok(progress) => progress.and_then(|progress| upgrade_text(site, &progress)),
            // A missing site is not being upgraded; the service itself judges the reference.
            Err(error) if error.is_absent() => None,
            Err(error) => Some(format!("the upgrade status of `{site}` is unknown: {error}")),
        };
        findings.extend(text.map(|text| GateFinding { gate, mode, text }));
    }
    findings
}

fn upgrade_text(site: &str, progress: &upgrades::UpgradeProgress) -> Option<String> {
    match progress.status {
        UpgradeState::InProgress => {
            Some(format!("site `{site}` is being upgraded to {}", neutral(&progress.version, 60)))
        }
        UpgradeState::Failed => {
            let reason = neutral(&progress.failure_reason, 200);
            Some(format!("the upgrade of site `{site}` failed: {reason}"))
        }
        UpgradeState::Unknown if !progress.is_upgrade() => None,
        UpgradeState::Unknown | UpgradeState::Other(_) => {
            Some(format!("the upgrade of site `{site}` has the status `{}`", progress.status))
        }
        UpgradeState::Scheduled | UpgradeState::Completed | UpgradeState::Skipped => {
            let is_active = |part: &UpgradePart| matches!(part.status, UpgradeState::InProgress | UpgradeState::Failed);
            let part = progress.parts().into_iter().find(is_active)?.status;
            Some(format!(
                "the upgrade of site `{site}` has the status `{}`, and a part of it `{part}`",
                progress.status
            ))
        }
    }
}

fn judge_ddos(found: Result<Vec<ddos::DdosEvent>, String>, mode: GateMode, now: Timestamp) -> Option<GateFinding> {
    let text = match found {
        Ok(events) => {
            let open: Vec<String> = events
                .iter()
                .filter(|event| event.is_open(now))
                .map(|event| if event.name.is_empty() { &event.id } else { &event.name })
                .map(|name| format!("`{}`", neutral(name, 60)))
                .collect();
            if open.is_empty() {
                return None;
            }
            let events = if open.len() == 1 { "event" } else { "events" };
            format!("{} open DDoS {events}: {}", open.len(), open.join(", "))
        }
        Err(error) => format!("the DDoS events are unknown: {error}"),
    };
    Some(GateFinding { gate: "ddos", mode, text })
}

async fn check_events(reader: &Reader, system: Namespace, gates: &Gates, now: Timestamp) -> Option<GateFinding> {
    let start = now.saturating_sub(SignedDuration::from_mins(i64::from(gates.events_minutes))).ok()?;
    let query = events::EventQuery {
        start_time: Some(start.to_string()),
        end_time: Some(now.to_string()),
        limit: Some(1),
        ..events::EventQuery::new(system)
    };
    let found = events::query(reader, &query).await.map(|page| page.total()).map_err(|error| error.to_string());
    judge_events(found, reader.date().unwrap_or(now).duration_since(now), gates)
}

fn judge_events(found: Result<Option<u64>, String>, clocks: SignedDuration, gates: &Gates) -> Option<GateFinding> {
    let Gates { events_minutes: minutes, events_threshold: threshold, .. } = gates;
    let text = match found {
        Ok(Some(hits)) if hits > *threshold => {
            format!("{hits} security events in the last {minutes} minutes, more than {threshold}")
        }
        Ok(Some(_)) if clocks.abs() < CLOCKS => return None,
        Ok(Some(_)) => {
            "the clock of this machine is not that of the service: others than the latest security events were counted"
                .to_owned()
        }
        Ok(None) => "the service does not say how many security events there are".to_owned(),
        Err(error) => format!("the security events are unknown: {error}"),
    };
    Some(GateFinding { gate: "events", mode: gates.events, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_event_is_found_and_an_unknown_answer_is_reported() {
        let event = |end: &str| -> ddos::DdosEvent {
            serde_json::from_value(serde_json::json!({"id": "1", "name": "flood", "end_time": end})).expect("an event")
        };
        let now = "2026-01-02T00:00:00Z".parse().expect("a time");
        let judge = |found, mode| judge_ddos(found, mode, now);
        for ended in ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-02T01:00:00+02:00"] {
            assert_eq!(judge(Ok(vec![event(ended)]), GateMode::Block), None, "{ended}");
        }
        for open in ["", "0001-01-01T00:00:00Z", "2026-01-02T00:00:01Z", "soon"] {
            let open = judge(Ok(vec![event(open)]), GateMode::Block).expect("a finding");
            assert_eq!(open.to_string(), "gate `ddos`: 1 open DDoS event: `flood`");
        }
        let before_its_start =
            ddos::DdosEvent { start_time: Some("2026-01-01T22:00:00Z".to_owned()), ..event("1970-01-01T00:00:00Z") };
        assert!(judge(Ok(vec![before_its_start]), GateMode::Block).is_some());
        assert!(judge(Err("403".to_owned()), GateMode::Warn).is_some());
    }

    #[test]
    fn a_site_is_one_of_any_make_and_not_what_selects_sites() {
        for site in ["site", "securemesh_site", "securemesh_site_v2", "aws_vpc_site"] {
            assert!(is_site(site), "{site}");
        }
        for other in ["virtual_site", "website", "site_mesh_group", "endpoint"] {
            assert!(!is_site(other), "{other}");
        }
    }

    #[test]
    fn few_events_are_believed_only_where_the_clocks_agree() {
        let gates = Gates { events: GateMode::Block, events_minutes: 15, events_threshold: 10, ..Gates::default() };
        let judge = |found, minutes| {
            let found = judge_events(found, SignedDuration::from_mins(minutes), &gates);
            found.map(|finding| finding.text).unwrap_or_default()
        };
        assert_eq!(judge(Ok(Some(10)), 0), "");
        for minutes in [-30, 30] {
            assert!(judge(Ok(Some(0)), minutes).starts_with("the clock of this machine is not that of the service"));
            assert_eq!(judge(Ok(Some(11)), minutes), "11 security events in the last 15 minutes, more than 10");
        }
        assert!(judge(Ok(None), 0).starts_with("the service does not say"));
        assert_eq!(judge(Err("403".to_owned()), 0), "the security events are unknown: 403");
    }

    #[test]
    fn an_upgrade_in_progress_or_failed_is_found_and_a_completed_one_is_not() {
        let progress = |status: &str| -> upgrades::UpgradeProgress {
            let body = serde_json::json!({"status": status, "version": "crt-1", "failure_reason": "disk full"});
            serde_json::from_value(body).expect("a progress")
        };
        for harmless in ["COMPLETED", "SKIPPED", "SCHEDULED"] {
            assert_eq!(upgrade_text("ce01", &progress(harmless)), None, "{harmless}");
        }
        for (status, shown) in [("ROLLING_BACK", "ROLLING_BACK"), ("UNKNOWN", "UNKNOWN"), ("", "UNKNOWN")] {
            let text = format!("the upgrade of site `ce01` has the status `{shown}`");
            assert_eq!(upgrade_text("ce01", &progress(status)), Some(text));
        }
        let failed = upgrades::UpgradeProgress { version: String::new(), ..progress("UNKNOWN") };
        assert!(upgrade_text("ce01", &failed).is_some(), "an upgrade that failed is one");
        let none = upgrades::UpgradeProgress { failure_reason: String::new(), ..failed };
        assert_eq!(upgrade_text("ce01", &none), None);
        let node = serde_json::json!({"node_level_upgrade": {"results": [{"name": "n", "status": "IN_PROGRESS"}]}});
        let node: upgrades::UpgradeProgress = serde_json::from_value(node).expect("a progress");
        assert!(upgrade_text("ce01", &node).is_some(), "a node that is upgraded");
        let os_setup = upgrades::OsSetup { status: UpgradeState::InProgress, ..Default::default() };
        assert!(upgrade_text("ce01", &upgrades::UpgradeProgress { os_setup, ..none.clone() }).is_some());
        for (part, status, shown) in [
            ("validation", "FAILED", Some("`COMPLETED`, and a part of it `FAILED`")),
            ("os_upgrade_progress", "In_Progress", Some("`COMPLETED`, and a part of it `IN_PROGRESS`")),
            ("os_upgrade_progress", "COMPLETED", None),
        ] {
            let body = serde_json::json!({"status": "COMPLETED", part: {"status": status}});
            let text = upgrade_text("ce01", &serde_json::from_value(body).expect("a progress"));
            assert_eq!(text, shown.map(|shown| format!("the upgrade of site `ce01` has the status {shown}")), "{part}");
        }
        assert!(upgrade_text("ce01", &progress("In_Progress")).is_some_and(|text| text.contains("crt-1")));
        assert!(upgrade_text("ce01", &progress("FAILED")).is_some_and(|text| text.contains("disk full")));
    }
}
