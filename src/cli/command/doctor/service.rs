//! The checks that need the service: connection, path style, token, clock, and each namespace. One cause is reported once:
//! what stops every request ends the checks that need one.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::failed;
use crate::api::{self, ApiError, Failure, ListParameters, Reader};
use crate::cli::service::{self, TokenUse};
use crate::cli::{CommandError, Context, Result, settings};
use crate::kind::KindName;
use crate::load::Config;
use crate::model::{Key, Layout, ListRead, LiveItem, Namespace};
use crate::report::facts::unread;
use crate::report::health::{Health, HealthStatus};
use crate::report::text;

/// The namespace that every tenant has.
const SYSTEM: &str = "system";
/// Seconds by which two clocks may differ.
const CLOCKS: i64 = 60;

/// Checks the service.
pub async fn check(
    context: &Context,
    config: &Config,
    (namespaces, kinds): (&[Namespace], &BTreeSet<KindName>),
    with_token: bool,
    health: &mut Health,
) {
    let token = if with_token { TokenUse::Required } else { TokenUse::Left };
    let connected = async {
        let layout = settings::layout(context, config)?;
        let connection = service::connect_with(context, config, layout, token).await?;
        Ok::<_, CommandError>((connection.reader()?, layout))
    };
    let (reader, layout) = match connected.await {
        Ok(connected) => connected,
        Err(error) => return failed(health, "connection", &error),
    };
    let first = namespaces.first().cloned().or_else(|| Namespace::parse(SYSTEM).ok());
    let Some(first) = first else { return };
    let answer = list(&reader, &first).await;
    if !connection(&reader, &answer, health) {
        return;
    }
    clock(reader.date(), context.environment.now(), health);
    if is_wrong_path(&answer) {
        let other = Layout::ALL.into_iter().find(|other| *other != layout).unwrap_or_default();
        return path_style(context, config, (layout, other), (token, &first), health).await;
    }
    health.add("path style", HealthStatus::Ok, format!("{layout}"));
    if let Err(error) = &answer
        && error.status() == Some(401)
    {
        if with_token {
            health.add("access", HealthStatus::Failed, format!("the token is refused: {}", error.failure));
            health.fix("create a new API token in the console, and set it");
        }
        return;
    }
    if with_token {
        read_all(&reader, namespaces, kinds, health).await;
        let message = "no request shows it without writing; the first apply does";
        health.add("write access", HealthStatus::NotChecked, message);
    }
}

type Read = Result<ListRead, ApiError>;

async fn list(reader: &Reader, namespace: &Namespace) -> Read {
    let answer = reader.list(namespace, KindName::ENDPOINT, &ListParameters::with_spec()).await?;
    Ok(api::read_list(namespace, KindName::ENDPOINT, &answer.body))
}

/// Whether the service answers at all.
fn connection(reader: &Reader, answer: &Read, health: &mut Health) -> bool {
    let failure = match answer {
        Ok(_) => None,
        Err(error) => Some(&error.failure),
    };
    match failure {
        Some(failure @ Failure::Tls { .. }) => {
            health.add("connection", HealthStatus::Failed, failure.to_string());
            false
        }
        Some(failure @ (Failure::Connect { .. } | Failure::TimedOut { .. } | Failure::Cut { .. })) => {
            health.add("connection", HealthStatus::Failed, failure.to_string());
            health.fix("check the URL, the network, and that the service runs");
            false
        }
        Some(failure @ Failure::Redirected { .. }) => {
            health.add("connection", HealthStatus::Failed, failure.to_string());
            health.fix("set base_url, or TRUEUP_BASE_URL, to where it points");
            false
        }
        _ => {
            let is_plain = reader.base_url().as_str().starts_with("http:");
            let message = if is_plain { "HTTP, on this machine" } else { "TLS, with a certificate that is trusted" };
            health.add("connection", HealthStatus::Ok, message);
            true
        }
    }
}

/// Whether an answer means that the path is not the service's.
fn is_wrong_path(answer: &Read) -> bool {
    match answer {
        Ok(_) => false,
        Err(error) => error.status() == Some(404) || matches!(error.failure, Failure::Html),
    }
}

/// The service does not know the paths of the layout in use: does it know the other ones?
async fn path_style(
    context: &Context,
    config: &Config,
    (layout, other): (Layout, Layout),
    (token, namespace): (TokenUse, &Namespace),
    health: &mut Health,
) {
    let answer = async {
        let connection = service::connect_with(context, config, other, token).await.ok()?;
        Some(list(&connection.reader().ok()?, namespace).await)
    };
    match answer.await {
        Some(answer) if !is_wrong_path(&answer) => {
            health
                .add(
                    "path style",
                    HealthStatus::Failed,
                    format!("the service has the {other} paths, not the {layout} ones"),
                )
                .fix(format!("layout: {other} in trueup.yaml, or --layout {other}"));
        }
        _ => {
            health
                .add("path style", HealthStatus::Failed, "the service has neither the uniform nor the published paths")
                .fix("the base URL is probably wrong: it is that of the tenant's console, without a path");
        }
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
async fn read_all(reader: &Reader, namespaces: &[Namespace], kinds: &BTreeSet<KindName>, health: &mut Health) {
    if namespaces.is_empty() {
        health.add("namespaces", HealthStatus::NotChecked, "none is named").fix("namespaces: [NAME] in trueup.yaml");
        return;
    }
    let namespaces: BTreeSet<Namespace> = namespaces.iter().cloned().collect();
    let live = api::fetch(reader, &namespaces, kinds).await;
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
    for unread in unread::by_reason(live.unknown()) {
        health.add("namespace", HealthStatus::Failed, unread.line().unescaped());
        let is_refused = ["401", "403"].iter().any(|status| unread.reason.contains(&format!("answered {status}")));
        health.fix(match is_refused {
            true => "give the token's user a role that reads it, or take it off `namespaces:` or `kinds:`",
            false => "try again later: the service did not answer in full",
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Answer as _, TextView};

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
