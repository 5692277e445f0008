//! The checks that need the service: connection, clock, token, and each namespace. One cause is reported once: what stops every
//! request ends the checks that need one.

use super::checked;
use crate::api::{ApiError, Failure, ListFields, Reader};
use crate::cli::command::prelude::*;
use crate::cli::service;
use crate::gate;
use crate::model::policy::{GateMode, Gates};
use crate::model::{Layout, ListRead, LiveItem};
use crate::report::facts::unread;
use crate::report::health::{Health, HealthStatus};

/// Seconds by which two clocks may differ.
const CLOCKS: i64 = 60;

/// The namespaces and kinds that a plan reads, and the lists that have definitions.
type Lists<'a> = (&'a [Namespace], &'a BTreeSet<KindName>, &'a BTreeSet<Scope>);

/// Checks the service.
pub async fn check(context: &Context, config: &Config, lists: Lists<'_>, with_token: bool, health: &mut Health) {
    let connected = async {
        let connection = service::connect_with(context, config, with_token).await?;
        Ok((connection.reader()?, connection.service().layout))
    };
    let Some((reader, layout)) = checked(health, "connection", connected.await) else { return };
    let first = lists.0.first().cloned().unwrap_or_else(Namespace::system);
    let error = reader.list(&Scope::endpoints(first), ListFields::Spec).await.err();
    if let Some(error) = &error {
        let says_it = matches!(error.failure, Failure::Tls(_) | Failure::ClientCertificate(_));
        let advice = advice(error, layout);
        // A failure that is neither of these and has no advice does not stop every request.
        if says_it || advice.is_some() {
            let check = health.add("connection", HealthStatus::Failed, error.failure.to_string());
            if let Some(advice) = advice {
                check.fix(advice);
            }
            return;
        }
    }
    let is_plain = reader.base_url().as_str().starts_with("http:");
    let message = if is_plain { "HTTP, on this machine" } else { "TLS, with a certificate that is trusted" };
    health.add("connection", HealthStatus::Ok, message);
    clock(reader.date(), context.environment.now(), health);
    match error {
        _ if !with_token => {}
        Some(error) if error.status() == Some(401) => {
            health
                .add("access", HealthStatus::Failed, format!("the token is refused: {}", error.failure))
                .fix("create a new API token in the console, and set it");
        }
        _ => {
            read_all(&reader, lists, health).await;
            gates(&reader, &config.safeguards.gates, context.environment.now(), health).await;
        }
    }
}

/// Checks the gates that depend on no object: they read what no other check reads.
async fn gates(reader: &Reader, gates: &Gates, now: Timestamp, health: &mut Health) {
    for finding in gate::check_events_of_all(reader, gates, now).await {
        let status = if finding.mode == GateMode::Block { HealthStatus::Failed } else { HealthStatus::Note };
        health.add("gate", status, finding.to_string());
        health.fix("an apply asks again; `gates:` in trueup.yaml says which of them block");
    }
}

/// What to do about a failure whose message does not say it.
fn advice(error: &ApiError, layout: Layout) -> Option<String> {
    match &error.failure {
        Failure::Connect(_) | Failure::TimedOut(_) | Failure::Cut(_) => {
            Some("check the URL, the network, and that the service runs".to_owned())
        }
        Failure::Redirected { .. } => Some("set base_url, or TRUEUP_BASE_URL, to where it points".to_owned()),
        failure if matches!(failure, Failure::Html) || error.status() == Some(404) => {
            let other = Layout::ALL.into_iter().find(|other| *other != layout).unwrap_or_default();
            Some(format!(
                "the base URL is that of the tenant's console, without a path; if it is, the service has other paths: \
                 layout: {other} in trueup.yaml, or --layout {other}"
            ))
        }
        _ => None,
    }
}

/// The difference between the clock of the service and ours.
fn clock(service: Option<Timestamp>, now: Timestamp, health: &mut Health) {
    let Some(service) = service else {
        health.add("clock", HealthStatus::NotChecked, "the service sends no date");
        return;
    };
    let seconds = now.as_second() - service.as_second();
    if seconds.abs() < CLOCKS {
        health.add("clock", HealthStatus::Ok, "as that of the service, to the minute");
    } else {
        let side = if seconds > 0 { "ahead of" } else { "behind" };
        let message =
            format!("this machine is {} minutes {side} the service: ages and expiries are wrong", seconds.abs() / 60);
        health.add("clock", HealthStatus::Failed, message).fix("set the clock of this machine, with NTP for example");
    }
}

/// Reads the lists of each namespace that a plan needs.
async fn read_all(reader: &Reader, (namespaces, kinds, defined): Lists<'_>, health: &mut Health) {
    if namespaces.is_empty() {
        health.add("namespaces", HealthStatus::NotChecked, "none is named").fix("namespaces: [NAME] in trueup.yaml");
        return;
    }
    let namespaces: BTreeSet<Namespace> = namespaces.iter().cloned().collect();
    let live = api::fetch(reader, Scope::each(&namespaces, kinds)).await;
    for namespace in &namespaces {
        let lists = live.lists.iter().filter(|(scope, _)| scope.namespace == *namespace);
        let read: Vec<(KindName, &BTreeMap<Key, LiveItem>)> =
            lists.filter_map(|(scope, list)| Some((scope.kind, list.items()?))).collect();
        let objects: usize = read.iter().map(|(_, items)| items.len()).sum();
        let noun = KindName::noun(read.iter().map(|(kind, _)| *kind));
        if objects > 0 {
            let message = format!("`{namespace}` can be read: {}", text::count(objects, noun));
            health.add("namespace", HealthStatus::Ok, message);
        } else if !read.is_empty() {
            let message = format!("`{namespace}` is empty, or does not exist: the service answers the same");
            health.add("namespace", HealthStatus::Note, message);
        }
    }
    let (not_offered, unknown): (Vec<_>, Vec<_>) =
        live.unknown().partition(|(scope, _)| matches!(live.lists[*scope], ListRead::NotOffered));
    // Like a plan, which is incomplete if a list with definitions is not offered.
    let (needed, listed): (Vec<_>, Vec<_>) = not_offered.into_iter().partition(|(scope, _)| defined.contains(scope));
    let needed = (needed, HealthStatus::Failed, "remove its definitions, unless another service or layout offers it");
    let listed = (listed, HealthStatus::Note, "take it off `kinds:`, unless another service offers it");
    for (scopes, status, fix) in [needed, listed] {
        for unread in unread::by_reason(scopes.into_iter()) {
            health.add("namespace", status, unread.line().unescaped()).fix(fix);
        }
    }
    for unread in unread::by_reason(unknown.into_iter()) {
        health.add("namespace", HealthStatus::Failed, unread.line().unescaped());
        let is_refused =
            ["401", "403"].iter().any(|status| unread.reason.starts_with(&format!("the service answered {status}")));
        health.fix(match is_refused {
            true => "give the token's user a role that reads it, or take it off `namespaces:` or `kinds:`",
            false => "try again later: the service did not answer in full",
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Report as _, TextView};

    #[test]
    fn what_a_failure_is_chooses_the_advice_and_not_its_words() {
        let advice = |failure| {
            let (operation, subject) = (api::Operation::ObjectList, String::new());
            advice(&ApiError { operation, subject, failure, request_id: None }, Layout::Uniform)
        };
        let reason = "the proxy has no client certificate";
        assert!(advice(Failure::Cut(reason.to_owned())).is_some_and(|advice| advice.contains("the network")));
        assert_eq!(advice(Failure::ClientCertificate(reason)), None);
    }

    #[test]
    fn clocks_may_differ_by_less_than_a_minute() {
        let found = |service: Option<&str>| {
            let mut health = Health::default();
            let now = "2026-11-21T10:00:00Z".parse().expect("a time");
            clock(service.map(|time| time.parse().expect("a time")), now, &mut health);
            health.text(&TextView::default())
        };
        assert!(found(Some("2026-11-21T09:59:01Z")).starts_with("ok "));
        assert!(found(Some("2026-11-21T09:40:00Z")).contains("20 minutes ahead of the service"));
        assert!(found(Some("2026-11-21T12:00:00Z")).contains("120 minutes behind the service"));
        assert!(found(None).starts_with("not checked "));
    }
}
