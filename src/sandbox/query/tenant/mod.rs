//! The tenant file: what a sandbox is filled with. A YAML document with `kind: tenant` lists
//! namespaces, sites and their upgrades, software versions, DDoS events, security events (written out
//! or as a recipe for many) and endpoints that are there from the start. Relative times such as `-2h`
//! are resolved when the file is read, so that a freshly started sandbox has recent events.

mod file;
mod when;

use std::collections::BTreeSet;
use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::ddos;
use super::event::generator::{MOST_EVENTS, Recipe};
use super::event::store::{Event, WHOLE_TENANT};
use super::upgrade::{Site, Stage, Upgrade, UpgradeEnd};
use super::version::Version;
use crate::sandbox::Seed;
use file::{Ends, Kind, TenantFile};

/// What a tenant file says, with its times resolved.
#[derive(Clone, Debug)]
pub struct Tenant {
    pub(super) digest: String,
    pub(super) read_at: Timestamp,
    name: Option<String>,
    namespaces: Vec<String>,
    pub(super) sites: Vec<Site>,
    pub(super) versions: Vec<Version>,
    pub(super) ddos_events: Vec<ddos::Event>,
    /// As written in the file and as generated, in the order of time.
    pub(super) security_events: Vec<Event>,
    endpoints: Vec<Seed>,
}

/// Why a text is no tenant file.
#[derive(Debug, thiserror::Error)]
pub enum TenantError {
    /// Not YAML, or not of the expected shape; the message tells the place.
    #[error("not a tenant file: {0}")]
    Shape(String),
    #[error("the tenant file breaks {} rule{}:{problems}", problems.0.len(), if problems.0.len() == 1 { "" } else { "s" })]
    Rules { problems: Problems },
}

/// Everything that is wrong with a file of the right shape, each with the path of its field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<String>);

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|problem| write!(formatter, "\n  {problem}"))
    }
}

impl Tenant {
    /// Reads a tenant file; relative times are relative to `now`.
    ///
    /// # Errors
    /// The first fault of the shape with its line, or else every rule that is broken.
    pub fn read(text: &str, now: Timestamp) -> Result<Self, TenantError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let file: TenantFile = serde_yaml::from_str(text).map_err(|error| TenantError::Shape(error.to_string()))?;
        let mut reader = Reader { now, problems: Vec::new(), namespaces: file.namespaces.iter().cloned().collect() };
        let digest = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        let tenant = reader.tenant(file, digest);
        if reader.problems.is_empty() {
            Ok(tenant)
        } else {
            Err(TenantError::Rules { problems: Problems(reader.problems) })
        }
    }

    /// The tenant's name as it stands in objects, where the file gives one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The namespaces of the tenant, beside `system`, `shared` and `default`.
    #[must_use]
    pub fn namespaces(&self) -> &[String] {
        &self.namespaces
    }

    /// Endpoints that are there from the start.
    #[must_use]
    pub fn endpoints(&self) -> &[Seed] {
        &self.endpoints
    }
}

struct Reader {
    now: Timestamp,
    problems: Vec<String>,
    namespaces: BTreeSet<String>,
}

impl Reader {
    fn problem(&mut self, place: &str, problem: impl fmt::Display) {
        self.problems.push(format!("`{place}`: {problem}"));
    }

    fn tenant(&mut self, file: TenantFile, digest: String) -> Tenant {
        let Kind::Tenant = file.kind;
        self.unique("namespaces", file.namespaces.iter().map(String::as_str));
        for (index, namespace) in file.namespaces.iter().enumerate() {
            self.name(&format!("namespaces[{index}]"), namespace);
        }
        let sites = self.each("sites", file.sites, Self::site);
        self.unique("sites", sites.iter().map(|site| site.name.as_str()));
        let versions = self.each("software_versions", file.software_versions, Self::version);
        self.unique("software_versions", versions.iter().map(|version| version.version.as_str()));
        let ddos_events = self.each("ddos_events", file.ddos_events, Self::ddos_event);
        self.unique("ddos_events", ddos_events.iter().map(|event| event.id.as_str()));
        let site_names: Vec<_> = sites.iter().map(|site| site.name.clone()).collect();
        let mut security_events = Vec::new();
        for (index, events) in file.security_events.into_iter().enumerate() {
            let place = format!("security_events[{index}]");
            match (events.event, events.generate) {
                (Some(event), None) => {
                    security_events.push(self.event(&place, event, events.time, events.namespace));
                }
                (None, Some(generate)) => {
                    if events.time.is_some() || events.namespace.is_some() {
                        self.problem(&place, "`time` and `namespace` belong to an `event`, not to `generate`");
                    }
                    security_events.extend(self.generated(&format!("{place}.generate"), generate, &site_names));
                }
                _ => self.problem(&place, "exactly one of `event` and `generate` is expected"),
            }
        }
        security_events.sort_by_key(|event| event.time);
        for (index, endpoint) in file.endpoints.iter().enumerate() {
            self.namespace(&format!("endpoints[{index}].metadata.namespace"), &endpoint.metadata.namespace);
        }
        Tenant {
            digest,
            read_at: self.now,
            name: file.name,
            namespaces: file.namespaces,
            sites,
            versions,
            ddos_events,
            security_events,
            endpoints: file.endpoints,
        }
    }

    fn each<T, U>(&mut self, list: &str, items: Vec<T>, read: impl Fn(&mut Self, &str, T) -> U) -> Vec<U> {
        items.into_iter().enumerate().map(|(index, item)| read(self, &format!("{list}[{index}]"), item)).collect()
    }

    fn unique<'a>(&mut self, list: &str, names: impl Iterator<Item = &'a str>) {
        let mut seen = BTreeSet::new();
        for (index, name) in names.enumerate() {
            if !seen.insert(name) {
                self.problem(&format!("{list}[{index}]"), format_args!("`{name}` is there twice"));
            }
        }
    }

    fn name(&mut self, place: &str, name: &str) {
        let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        let edges = !name.starts_with('-') && !name.ends_with('-');
        if name.is_empty() || name.len() > 63 || !name.chars().all(plain) || !edges {
            self.problem(
                place,
                format_args!("`{name}` is no name: 1 to 63 lower-case letters, digits and `-`, which is not at an end"),
            );
        }
    }

    fn namespace(&mut self, place: &str, namespace: &str) {
        let built_in = [WHOLE_TENANT, "shared", "default"].contains(&namespace);
        if !built_in && !self.namespaces.contains(namespace) {
            self.problem(place, format_args!("namespace `{namespace}` is not listed under `namespaces`"));
        }
    }

    fn moment(&mut self, place: &str, text: &str) -> Timestamp {
        when::moment(text, self.now).unwrap_or_else(|| {
            self.problem(place, format_args!("`{text}` is no time; write `now`, `-2h`, `+10m` or RFC 3339"));
            self.now
        })
    }

    fn ordered(&mut self, place: &str, from: Timestamp, to: Timestamp) {
        if from > to {
            self.problem(place, format_args!("its end {to} is before its start {from}"));
        }
    }

    fn site(&mut self, place: &str, site: file::Site) -> Site {
        self.name(&format!("{place}.name"), &site.name);
        let nodes = if site.nodes.is_empty() { vec!["master-0".to_owned()] } else { site.nodes };
        self.unique(&format!("{place}.nodes"), nodes.iter().map(String::as_str));
        let upgrade = site.upgrade.map(|upgrade| self.upgrade(&format!("{place}.upgrade"), upgrade));
        Site {
            namespace: site.namespace.unwrap_or_else(|| WHOLE_TENANT.to_owned()),
            name: site.name,
            os_version: site.os_version,
            sw_version: site.sw_version,
            nodes,
            upgrade,
        }
    }

    fn upgrade(&mut self, place: &str, upgrade: file::Upgrade) -> Upgrade {
        let started = self.moment(&format!("{place}.started"), &upgrade.started);
        let duration = when::duration(&upgrade.duration).filter(|duration| *duration > SignedDuration::ZERO);
        if duration.is_none() {
            let text = &upgrade.duration;
            self.problem(&format!("{place}.duration"), format_args!("`{text}` is no duration; write such as `20m`"));
        }
        let speed = upgrade.speed.unwrap_or(1.0);
        if !(0.001..=1_000_000.0).contains(&speed) {
            self.problem(&format!("{place}.speed"), format_args!("{speed} is not within 0.001 and 1000000"));
        }
        let end = match (upgrade.ends, upgrade.stage, upgrade.reason) {
            (Ends::Failed, stage, Some(reason)) => {
                UpgradeEnd::Failed { stage: stage.unwrap_or(Stage::NodeLevelUpgrade), reason }
            }
            (Ends::Failed, _, None) => {
                self.problem(place, "`ends: failed` needs a `reason`");
                UpgradeEnd::Completed
            }
            (Ends::Completed, None, None) => UpgradeEnd::Completed,
            (Ends::Completed, ..) => {
                self.problem(place, "`stage` and `reason` tell of a failure and need `ends: failed`");
                UpgradeEnd::Completed
            }
        };
        if matches!(end, UpgradeEnd::Failed { stage: Stage::OsSetup, .. }) && upgrade.to_os.is_none() {
            self.problem(place, "it cannot fail in `os_setup`, which is skipped without `to_os`");
        }
        Upgrade {
            to: upgrade.to,
            to_os: upgrade.to_os,
            started,
            duration: duration.unwrap_or(SignedDuration::from_secs(1)),
            speed,
            retries: upgrade.retries,
            end,
        }
    }

    fn version(&mut self, place: &str, version: file::Version) -> Version {
        if version.version.is_empty() {
            self.problem(place, "`version` is empty");
        }
        Version {
            version: version.version,
            os_at_least: version.os_at_least,
            os_at_most: version.os_at_most,
            sw_at_least: version.sw_at_least,
        }
    }

    fn ddos_event(&mut self, place: &str, event: file::DdosEvent) -> ddos::Event {
        // The id stands in a path.
        self.name(&format!("{place}.id"), &event.id);
        let start_time = self.moment(&format!("{place}.start_time"), &event.start_time);
        let end_time = event.end_time.map(|end| self.moment(&format!("{place}.end_time"), &end));
        self.ordered(place, start_time, end_time.unwrap_or(start_time));
        let attachments = self.each(&format!("{place}.attachments"), event.attachments, Self::attachment);
        ddos::Event {
            id: event.id,
            name: event.name,
            description: event.description,
            creator: event.creator,
            ip: event.ip,
            network_id: event.network_id,
            mitigation_id: event.mitigation_id,
            start_time,
            end_time,
            has_attachment: ddos::beyond_captures(&attachments),
            has_details: event.has_details,
            attachments,
        }
    }

    fn attachment(&mut self, place: &str, attachment: file::Attachment) -> ddos::Attachment {
        let mut moment =
            |field: &str, text: Option<String>| text.map(|text| self.moment(&format!("{place}.{field}"), &text));
        ddos::Attachment {
            start_time: moment("start_time", attachment.start_time),
            end_time: moment("end_time", attachment.end_time),
            attachment_id: attachment.attachment_id,
            attachment_type: attachment.attachment_type,
            name: attachment.name,
            gos_name: attachment.gos_name,
            gos_version: attachment.gos_version,
            size_bytes: attachment.size_bytes.to_string(),
        }
    }

    /// An event keeps what the file writes; time and namespace are filled in where it does not.
    fn event(
        &mut self,
        place: &str,
        mut event: serde_json::Map<String, Value>,
        time: Option<String>,
        namespace: Option<String>,
    ) -> Event {
        let time = match time {
            Some(time) => self.moment(&format!("{place}.time"), &time),
            None => {
                self.problem(place, "`time` is missing");
                self.now
            }
        };
        let namespace = namespace.unwrap_or_default();
        self.namespace(&format!("{place}.namespace"), &namespace);
        let stamp = format!("{time:.3}");
        for (key, value) in [("@timestamp", json!(stamp)), ("time", json!(stamp)), ("namespace", json!(namespace))] {
            event.entry(key).or_insert(value);
        }
        Event { time, namespace, event: event.into() }
    }

    fn generated(&mut self, place: &str, generate: file::Generate, sites: &[String]) -> Vec<Event> {
        let from = self.moment(&format!("{place}.from"), &generate.from);
        let to = generate.to.map_or(self.now, |to| self.moment(&format!("{place}.to"), &to));
        self.ordered(place, from, to);
        if generate.count > MOST_EVENTS {
            self.problem(&format!("{place}.count"), format_args!("{} is above {MOST_EVENTS}", generate.count));
        }
        for namespace in &generate.namespaces {
            self.namespace(&format!("{place}.namespaces"), namespace);
        }
        let namespaces = if generate.namespaces.is_empty() {
            self.namespaces.iter().cloned().collect()
        } else {
            generate.namespaces
        };
        if namespaces.is_empty() {
            self.problem(place, "there is no namespace for the events; list some under `namespaces`");
        }
        if !self.problems.is_empty() {
            return Vec::new();
        }
        Recipe { seed: generate.seed, count: generate.count, from, to, namespaces, sites: sites.to_vec() }.events()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Tenant, String> {
        Tenant::read(text, "2026-11-21T12:00:00Z".parse().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn relative_times_are_resolved_against_the_time_of_reading() {
        let tenant = read(
            "kind: tenant\nnamespaces: [shop]\nsecurity_events:\n\
             - {time: -5m, namespace: shop, event: {city: Lyon}}\n\
             - generate: {seed: 1, count: 10, from: -1d}\n",
        )
        .unwrap();
        let events = &tenant.security_events;
        assert_eq!(events.len(), 11);
        assert!(events.iter().all(|event| event.namespace == "shop"));
        assert!(events[0].time >= "2026-11-20T12:00:00Z".parse().unwrap());
        let written = events.iter().find(|event| event.event["city"] == "Lyon").unwrap();
        assert_eq!(written.time.to_string(), "2026-11-21T11:55:00Z");
        assert_eq!(written.event["@timestamp"], "2026-11-21T11:55:00.000Z");
    }

    #[test]
    fn a_wrong_shape_is_reported_with_its_line() {
        for (text, parts) in [
            ("kind: tenant\nnamespace: [shop]\n", ["unknown field `namespace`", "line 2"]),
            ("kind: endpoint\n", ["unknown variant `endpoint`, expected `tenant`", "line 1"]),
            ("namespaces: []\n", ["missing field `kind`", ""]),
            (
                "kind: tenant\nsites:\n- {name: a, upgrade: {to: x, started: now, duration: 1m, ends: maybe}}\n",
                ["`maybe`", "line 3"],
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with("not a tenant file: "), "{error}");
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
    }

    #[test]
    fn every_broken_rule_is_reported_at_once() {
        let error = read(
            "kind: tenant\n\
             namespaces: [shop, shop, No_Name]\n\
             sites:\n\
             - {name: ce01, upgrade: {to: x, started: soon, duration: 1x, ends: failed}}\n\
             ddos_events:\n\
             - {id: a, name: n, start_time: now, end_time: -1h}\n\
             security_events:\n\
             - {time: now, namespace: pay, event: {}}\n\
             - {generate: {seed: 1, count: 200000000, from: now, to: -1h}}\n\
             - {}\n",
        )
        .unwrap_err();
        assert_eq!(
            error,
            "the tenant file breaks 10 rules:\
             \n  `namespaces[1]`: `shop` is there twice\
             \n  `namespaces[2]`: `No_Name` is no name: 1 to 63 lower-case letters, digits and `-`, which is not at an end\
             \n  `sites[0].upgrade.started`: `soon` is no time; write `now`, `-2h`, `+10m` or RFC 3339\
             \n  `sites[0].upgrade.duration`: `1x` is no duration; write such as `20m`\
             \n  `sites[0].upgrade`: `ends: failed` needs a `reason`\
             \n  `ddos_events[0]`: its end 2026-11-21T11:00:00Z is before its start 2026-11-21T12:00:00Z\
             \n  `security_events[0].namespace`: namespace `pay` is not listed under `namespaces`\
             \n  `security_events[1].generate`: its end 2026-11-21T11:00:00Z is before its start 2026-11-21T12:00:00Z\
             \n  `security_events[1].generate.count`: 200000000 is above 20000\
             \n  `security_events[2]`: exactly one of `event` and `generate` is expected"
        );
    }

    #[test]
    fn an_empty_tenant_is_one() {
        let tenant = read("\u{feff}kind: tenant\n").unwrap();
        assert!(tenant.namespaces().is_empty() && tenant.endpoints().is_empty() && tenant.name().is_none());
    }
}
