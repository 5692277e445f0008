//! The tenant file, which fills a sandbox: a YAML document with `kind: tenant` that lists namespaces, sites and their
//! upgrades, software versions, DDoS events, security events (written out or as a recipe for many) and endpoints.
//! Relative times such as `-2h` are resolved when the file is read, so that a new sandbox has recent events. Unknown
//! fields are errors.

use std::collections::BTreeSet;
use std::fmt;

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::event::generator::{MOST_EVENTS, Recipe};
use super::event::store::{SecurityEvent, WHOLE_TENANT};
use super::upgrade::{Site, Stage, Upgrade, UpgradeEnd};
use super::version::Version;
use super::{ddos, time};
use crate::sandbox::object::Seed;

/// A tenant file with its times resolved.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tenant {
    #[serde(skip)]
    pub(super) digest: String,
    #[serde(skip)]
    pub(super) read_at: Timestamp,
    #[expect(dead_code, reason = "its one value is checked when the file is read")]
    kind: Kind,
    /// The tenant's name in objects, if the file has one.
    pub name: Option<String>,
    /// The namespaces of the tenant besides `system`, `shared` and `default`.
    #[serde(default)]
    pub namespaces: Vec<String>,
    #[serde(default)]
    pub(super) sites: Vec<Site>,
    #[serde(default)]
    pub(super) software_versions: Vec<Version>,
    #[serde(default)]
    pub(super) ddos_events: Vec<ddos::DdosEvent>,
    #[serde(default, rename = "security_events")]
    written_events: Vec<SecurityEvents>,
    /// Events that are written in the file and generated ones, ordered by time.
    #[serde(skip)]
    pub(super) security_events: Vec<SecurityEvent>,
    /// The endpoints of the tenant at the start.
    #[serde(default)]
    pub endpoints: Vec<Seed>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Tenant,
}

/// One complete event, or the recipe for many: exactly one of `event` and `generate`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SecurityEvents {
    #[serde(default, deserialize_with = "time::optional")]
    time: Option<Timestamp>,
    namespace: Option<String>,
    event: Option<Map<String, Value>>,
    generate: Option<Recipe>,
}

/// All errors of a file of the right shape, each with the path of its field.
#[derive(Default)]
struct Problems(Vec<String>);

impl Tenant {
    /// Reads a tenant file; relative times are relative to `now`.
    ///
    /// # Errors
    /// The first error of the shape with its line, or else every broken rule.
    pub fn read(text: &str, now: Timestamp) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut tenant: Self = time::relative_to(now, || serde_yaml::from_str(text))
            .map_err(|error: serde_yaml::Error| format!("not a tenant file: {error}"))?;
        tenant.digest = HEXLOWER.encode(&Sha256::digest(text));
        tenant.read_at = now;
        let Problems(problems) = tenant.complete();
        match problems.len() {
            0 => Ok(tenant),
            1 => Err(format!("the tenant file breaks 1 rule:\n  {}", problems[0])),
            count => Err(format!("the tenant file breaks {count} rules:\n  {}", problems.join("\n  "))),
        }
    }

    /// Fills in fields that follow from others, and checks the rules.
    fn complete(&mut self) -> Problems {
        let mut problems = Problems::default();
        problems.unique("namespaces", self.namespaces.iter());
        for (index, namespace) in self.namespaces.iter().enumerate() {
            problems.name(&format!("namespaces[{index}]"), namespace);
        }
        for (index, site) in self.sites.iter_mut().enumerate() {
            problems.site(&format!("sites[{index}]"), site);
        }
        problems.unique("sites", self.sites.iter().map(|site| &site.name));
        for (index, version) in self.software_versions.iter().enumerate() {
            if version.version.is_empty() {
                problems.add(&format!("software_versions[{index}]"), "`version` is empty");
            }
        }
        problems.unique("software_versions", self.software_versions.iter().map(|version| &version.version));
        for (index, event) in self.ddos_events.iter_mut().enumerate() {
            let place = format!("ddos_events[{index}]");
            // The id is a part of a path.
            problems.name(&format!("{place}.id"), &event.id);
            problems.ordered(&place, event.start_time, event.end_time.unwrap_or(event.start_time));
            event.has_attachment = ddos::beyond_captures(&event.attachments);
        }
        problems.unique("ddos_events", self.ddos_events.iter().map(|event| &event.id));
        for (index, events) in std::mem::take(&mut self.written_events).into_iter().enumerate() {
            self.add_events(&format!("security_events[{index}]"), events, &mut problems);
        }
        self.security_events.sort_by_key(|event| event.time);
        for (index, endpoint) in self.endpoints.iter().enumerate() {
            let place = format!("endpoints[{index}].metadata.namespace");
            problems.namespace(&place, &endpoint.metadata.namespace, &self.namespaces);
        }
        problems
    }

    fn add_events(&mut self, place: &str, events: SecurityEvents, problems: &mut Problems) {
        match (events.event, events.generate) {
            (Some(event), None) => {
                let Some(time) = events.time else { return problems.add(place, "`time` is missing") };
                let namespace = events.namespace.unwrap_or_default();
                problems.namespace(&format!("{place}.namespace"), &namespace, &self.namespaces);
                self.security_events.push(SecurityEvent::new(time, namespace, event));
            }
            (None, Some(recipe)) => {
                if events.time.is_some() || events.namespace.is_some() {
                    problems.add(place, "`time` and `namespace` belong to an `event`, not to `generate`");
                }
                self.generate(&format!("{place}.generate"), recipe, problems);
            }
            _ => problems.add(place, "exactly one of `event` and `generate` is expected"),
        }
    }

    fn generate(&mut self, place: &str, mut recipe: Recipe, problems: &mut Problems) {
        problems.ordered(place, recipe.from, recipe.to);
        if recipe.count > MOST_EVENTS {
            problems.add(&format!("{place}.count"), format_args!("{} is above {MOST_EVENTS}", recipe.count));
        }
        for namespace in &recipe.namespaces {
            problems.namespace(&format!("{place}.namespaces"), namespace, &self.namespaces);
        }
        if recipe.namespaces.is_empty() {
            recipe.namespaces = self.namespaces.iter().collect::<BTreeSet<_>>().into_iter().cloned().collect();
        }
        if recipe.namespaces.is_empty() {
            problems.add(place, "there is no namespace for the events; list some under `namespaces`");
        }
        if problems.0.is_empty() {
            self.security_events.extend(recipe.events());
        }
    }
}

impl Problems {
    fn add(&mut self, place: &str, problem: impl fmt::Display) {
        self.0.push(format!("`{place}`: {problem}"));
    }

    fn unique<'a>(&mut self, list: &str, names: impl Iterator<Item = &'a String>) {
        let mut seen = BTreeSet::new();
        for (index, name) in names.enumerate() {
            if !seen.insert(name) {
                self.add(&format!("{list}[{index}]"), format_args!("`{name}` is listed twice"));
            }
        }
    }

    fn name(&mut self, place: &str, name: &str) {
        let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        let edges = !name.starts_with('-') && !name.ends_with('-');
        if name.is_empty() || name.len() > 63 || !name.chars().all(plain) || !edges {
            let rule = "1 to 63 lower-case letters, digits and `-`, which is not at an end";
            self.add(place, format_args!("`{name}` is not a valid name: {rule}"));
        }
    }

    fn namespace(&mut self, place: &str, namespace: &str, known: &[String]) {
        let built_in = [WHOLE_TENANT, "shared", "default"].contains(&namespace);
        if !built_in && !known.iter().any(|known| known == namespace) {
            self.add(place, format_args!("namespace `{namespace}` is not listed under `namespaces`"));
        }
    }

    fn ordered(&mut self, place: &str, from: Timestamp, to: Timestamp) {
        if from > to {
            self.add(place, format_args!("its end {to} is before its start {from}"));
        }
    }

    fn site(&mut self, place: &str, site: &mut Site) {
        self.name(&format!("{place}.name"), &site.name);
        if site.nodes.is_empty() {
            site.nodes.push("master-0".into());
        }
        self.unique(&format!("{place}.nodes"), site.nodes.iter());
        if let Some(upgrade) = &mut site.upgrade {
            self.upgrade(&format!("{place}.upgrade"), upgrade);
        }
    }

    fn upgrade(&mut self, place: &str, upgrade: &mut Upgrade) {
        if !(0.001..=1_000_000.0).contains(&upgrade.speed) {
            self.add(&format!("{place}.speed"), format_args!("{} is not within 0.001 and 1000000", upgrade.speed));
        }
        match (upgrade.ends, upgrade.reason.is_some()) {
            (UpgradeEnd::Failed, true) => {
                let stage = upgrade.stage.get_or_insert(Stage::NodeLevelUpgrade);
                if *stage == Stage::OsSetup && upgrade.to_os.is_none() {
                    self.add(place, "it cannot fail in `os_setup`, which is skipped without `to_os`");
                }
            }
            (UpgradeEnd::Failed, false) => self.add(place, "`ends: failed` needs a `reason`"),
            (UpgradeEnd::Completed, reason) if reason || upgrade.stage.is_some() => {
                self.add(place, "`stage` and `reason` describe a failure and need `ends: failed`");
            }
            (UpgradeEnd::Completed, _) => {}
        }
    }
}
