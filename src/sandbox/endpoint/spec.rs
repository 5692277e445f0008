//! Reads the spec of a request by the tables of [`super::shape`] and writes it the way the service does:
//! the defaults are filled, everything unset is present as `""`, `0` or `null`, and of an exclusive group
//! only the chosen option is there.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::shape::{Items, Kind, NAME, NAMESPACE, Node, ONE, SPEC, TextRule, Unset};
use crate::sandbox::answer::ErrorResponse;
use crate::sandbox::message::{BodyPath, Message, REQUIRED, Rule, choice, items, number, text};
use crate::sandbox::selector::Selector;

/// What the service knows when it fills in references.
#[derive(Clone, Copy, Debug)]
pub struct FillContext<'a> {
    pub tenant: &'a str,
    /// The namespace of the object that is written.
    pub namespace: &'a str,
}

/// Reads, checks and fills the spec of a request.
pub fn read(spec: &Value, context: FillContext<'_>) -> Result<Box<RawValue>, ErrorResponse> {
    let mut writer = Writer { context, out: String::with_capacity(512) };
    writer.object(SPEC, spec, BodyPath::root("spec"))?;
    RawValue::from_string(writer.out).map_err(ErrorResponse::internal)
}

/// Writes the spec as JSON while it reads the request.
struct Writer<'a> {
    context: FillContext<'a>,
    out: String,
}

impl Writer<'_> {
    fn json(&mut self, value: &impl Serialize) -> Result<(), ErrorResponse> {
        self.out += &serde_json::to_string(value).map_err(ErrorResponse::internal)?;
        Ok(())
    }

    /// The separator and the key of the next member.
    fn key(&mut self, name: &str) {
        let separator = if self.out.ends_with('{') { "" } else { "," };
        self.out += &format!("{separator}\"{name}\":");
    }

    fn object(&mut self, nodes: &[Node], value: &Value, place: BodyPath<'_>) -> Result<(), ErrorResponse> {
        let message = Message::new(value, place)?;
        self.out.push('{');
        for node in nodes {
            match node {
                Node::Field(name, kind) => {
                    self.key(name);
                    self.value(kind, message.get(name)?.unwrap_or(&Value::Null), place.field(name))?;
                }
                Node::Nullable(name, kind) => {
                    self.key(name);
                    match message.get(name)? {
                        Some(value) => self.value(kind, value, place.field(name))?,
                        None => self.out += "null",
                    }
                }
                Node::OneOf(options, unset) => self.option(options, *unset, &message)?,
            }
        }
        self.out.push('}');
        Ok(())
    }

    fn option(
        &mut self,
        options: &'static [(&'static str, Kind)],
        unset: Unset,
        message: &Message<'_>,
    ) -> Result<(), ErrorResponse> {
        let chosen = message.one_of(options.iter().map(|(name, _)| *name))?;
        let (name, value) = match (chosen, unset) {
            (Some(chosen), _) => chosen,
            (None, Unset::Nothing) => return Ok(()),
            (None, Unset::First) => (options[0].0, &Value::Null),
            (None, Unset::Breaks(path)) => {
                return Err(BodyPath::root(&format!("{}.{path}", message.place)).breaks(&REQUIRED, "nil"));
            }
        };
        self.key(name);
        match options.iter().find(|(option, _)| *option == name) {
            // A text that is chosen by `null` is empty, and no rule applies to it.
            Some((_, Kind::Text { .. })) if value.is_null() => self.json(&""),
            Some((_, kind)) => self.value(kind, value, message.place.field(name)),
            None => Ok(()),
        }
    }

    fn value(&mut self, kind: &Kind, value: &Value, place: BodyPath<'_>) -> Result<(), ErrorResponse> {
        match kind {
            Kind::Empty => {
                Message::new(value, place)?;
                self.out += "{}";
                Ok(())
            }
            Kind::Text { rules, default } => {
                let text = checked(rules, text(value, place)?, place)?;
                self.json(&if text.is_empty() { *default } else { text.as_str() })
            }
            Kind::Number(range, rule) => match number(value, place)? {
                number if range.contains(&number) => self.json(&number),
                number => Err(place.breaks(rule, number)),
            },
            Kind::Choice { names, unusable } => {
                let name = choice(value, place, names)?;
                match unusable {
                    Some(rule) if name == names[0] => Err(place.breaks(rule, name)),
                    _ => self.json(&name),
                }
            }
            Kind::Selector(rules) => {
                let expression = checked(rules, text(value, place)?, place)?;
                Selector::parse(&expression).map_err(|problem| {
                    let should = format!("a label selector ({problem})");
                    place.breaks(&Rule::new("string.k8s_label_selector", "true", &should), &expression)
                })?;
                self.json(&expression)
            }
            Kind::Object(nodes) => self.object(nodes, value, place),
            Kind::Reference { kind, namespace } => {
                let reference = Reference::read(
                    value,
                    place,
                    kind,
                    namespace.unwrap_or(self.context.namespace),
                    self.context.tenant,
                )?;
                self.json(&reference)
            }
            Kind::List(item, count) => self.list(item, *count, items(value, place)?, place),
        }
    }

    fn list(&mut self, kind: &Kind, count: Items, items: &[Value], place: BodyPath<'_>) -> Result<(), ErrorResponse> {
        match (count, items.len()) {
            (Items::One, 0) => return Err(place.breaks(&REQUIRED, "nil")),
            (Items::One, more @ 2..) => return Err(place.breaks(&ONE, format_args!("{more} items"))),
            _ => {}
        }
        let mut seen = BTreeSet::new();
        self.out.push('[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.value(kind, item, place.item(index))?;
            if let (Items::Distinct(_), Some(text)) = (count, item.as_str())
                && !seen.insert(text)
            {
                return Err(place.wrong("without repetition", format_args!("{text} twice")));
            }
        }
        self.out.push(']');
        match count {
            Items::Distinct(Some((most, rule))) if items.len() > most => {
                Err(place.breaks(&rule, format_args!("{} items", items.len())))
            }
            _ => Ok(()),
        }
    }
}

/// The text, if it passes every rule.
fn checked(rules: &[TextRule], text: String, place: BodyPath<'_>) -> Result<String, ErrorResponse> {
    match rules.iter().find(|(_, passes)| !passes(&text)) {
        Some((rule, _)) => Err(place.breaks(rule, text)),
        None => Ok(text),
    }
}

/// A reference to another object, as the service writes it.
#[derive(Serialize)]
struct Reference<'a> {
    /// In the service's own spelling, whatever was sent.
    kind: &'a str,
    uid: String,
    tenant: String,
    namespace: String,
    name: String,
}

impl<'a> Reference<'a> {
    fn read(
        value: &Value,
        place: BodyPath<'_>,
        kind: &'a str,
        namespace: &str,
        tenant: &str,
    ) -> Result<Self, ErrorResponse> {
        let message = Message::new(value, place)?;
        let filled = |field: &'static str, rules: &[TextRule], default: &str| -> Result<String, ErrorResponse> {
            let text = checked(rules, message.text(field)?, place.field(field))?;
            Ok(if text.is_empty() { default.to_owned() } else { text })
        };
        message.text("kind")?;
        let name = filled("name", &NAME, "")?;
        if name.is_empty() {
            return Err(place.field("name").breaks(&REQUIRED, "an empty string"));
        }
        let tenant = filled("tenant", &NAMESPACE, tenant)?;
        let namespace = filled("namespace", &NAMESPACE, namespace)?;
        let uid = filled("uid", &[], &derived_uid(&[kind, &tenant, &namespace, &name]))?;
        Ok(Self { kind, uid, tenant, namespace, name })
    }
}

/// The sandbox has no sites or networks, so their uids are derived from their names.
fn derived_uid(names: &[&str]) -> String {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&Sha256::digest(names.join("/"))[..16]);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(spec: Value) -> Result<Value, ErrorResponse> {
        let context = FillContext { tenant: "acme-abcdefgh", namespace: "shop" };
        super::read(&spec, context).map(|spec| serde_json::from_str(spec.get()).unwrap())
    }

    #[test]
    fn everything_unset_is_written_and_options_are_left_out() {
        let written = read(json!({"ip": "10.1.2.3", "port": 8080})).unwrap();
        let wanted = json!({
            "where": null, "protocol": "TCP", "port": 8080, "health_check_port": 0, "ip": "10.1.2.3",
            "snat_pool": null,
        });
        assert_eq!(written, wanted);
    }

    #[test]
    fn a_site_gets_its_reference_network_and_internet_vip_filled() {
        let written = read(json!({"where": {"site": {"ref": [{"name": "paris", "kind": "site"}]}}})).unwrap();
        let site = &written["where"]["site"];
        assert_eq!(site["disable_internet_vip"], json!({}));
        assert_eq!(site["network_type"], "VIRTUAL_NETWORK_SITE_LOCAL");
        assert_eq!(site["ref"][0]["kind"], "site.Object");
        assert_eq!(site["ref"][0]["tenant"], "acme-abcdefgh");
        assert_eq!(site["ref"][0]["namespace"], "system");
        assert_eq!(site["ref"][0]["uid"].as_str().unwrap().len(), 36);
    }

    #[test]
    fn a_reference_keeps_the_tenant_uid_and_namespace_that_were_sent() {
        let reference = json!({"name": "n", "namespace": "other", "tenant": "t", "uid": "u"});
        let written = read(json!({"where": {"virtual_network": {"ref": [reference]}}})).unwrap();
        let wanted =
            json!([{"kind": "virtual_network.Object", "name": "n", "namespace": "other", "tenant": "t", "uid": "u"}]);
        assert_eq!(written["where"]["virtual_network"]["ref"], wanted);
    }

    #[test]
    fn a_virtual_site_without_a_namespace_is_in_that_of_the_object() {
        let site = json!({"ref": [{"name": "all"}], "enable_internet_vip": {}, "network_type": 3});
        let written = read(json!({"where": {"virtual_site": site}})).unwrap();
        let site = &written["where"]["virtual_site"];
        assert_eq!(site["ref"][0]["namespace"], "shop");
        assert_eq!(site["network_type"], "VIRTUAL_NETWORK_PUBLIC");
        assert_eq!(site["enable_internet_vip"], json!({}));
        assert!(site.get("disable_internet_vip").is_none());
    }

    #[test]
    fn both_spellings_strings_of_numbers_and_nulls_are_read() {
        let spec = json!({
            "dnsNameAdvanced": {"name": "a.example", "refreshInterval": "300"}, "healthCheckPort": 80,
            "where": null, "unknown": {"x": 1},
        });
        let written = read(spec).unwrap();
        assert_eq!(written["dns_name_advanced"], json!({"name": "a.example", "refresh_interval": 300}));
        assert_eq!(written["health_check_port"], 80);
        assert!(written.get("unknown").is_none());
    }

    #[test]
    fn an_empty_pool_becomes_no_pool() {
        assert_eq!(read(json!({"snat_pool": {}})).unwrap()["snat_pool"], json!({"no_snat_pool": {}}));
        let none = json!({"snat_pool": {"snat_pool": {}}});
        assert_eq!(read(none).unwrap()["snat_pool"], json!({"snat_pool": {"prefixes": [], "ipv6_prefixes": []}}));
    }

    #[test]
    fn a_null_option_is_chosen_with_its_zero_value_over_one_that_has_a_value() {
        let target = read(json!({"ip": "10.0.0.1", "dns_name": null})).unwrap();
        assert_eq!((&target["dns_name"], target.get("ip")), (&json!(""), None));
        let pool = |pool: Value| read(json!({"snat_pool": pool})).unwrap()["snat_pool"].clone();
        let prefixes = json!({"prefixes": ["10.0.0.0/8"]});
        assert_eq!(pool(json!({"snat_pool": prefixes, "no_snat_pool": null})), json!({"no_snat_pool": {}}));
        assert_eq!(pool(json!({"snat_pool": null})), json!({"snat_pool": {"prefixes": [], "ipv6_prefixes": []}}));
        let site = json!({"ref": [{"name": "paris"}], "disable_internet_vip": {}, "enable_internet_vip": null});
        let written = read(json!({"where": {"site": site}})).unwrap();
        assert_eq!(written["where"]["site"]["enable_internet_vip"], json!({}));
        for wrong in
            [json!({"service_info": null}), json!({"where": {"site": null}}), json!({"dns_name_advanced": null})]
        {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_deprecated_fields_and_the_newer_ones_are_kept() {
        let target = json!({"name": "a.example", "strict_ttl": {}});
        assert_eq!(read(json!({"dns_name_advanced": target})).unwrap()["dns_name_advanced"], target);
        let both = json!({"name": "a.example", "strict_ttl": {}, "refresh_interval": 60});
        assert!(read(json!({"dns_name_advanced": both})).is_err());
        let place = json!({"site": {"ref": [{"name": "paris"}], "refs": [{"name": "blue"}], "network_type": 13}});
        let site = read(json!({"where": place})).unwrap()["where"]["site"].clone();
        assert_eq!(site["refs"][0]["kind"], "virtual_network.Object");
        assert_eq!(site["network_type"], "VIRTUAL_NETWORK_MANAGEMENT");
        let pool = json!({"snat_pool": {"prefixes": [], "ipv6_prefixes": ["2001:db8::/48"]}});
        assert_eq!(read(json!({"snat_pool": pool})).unwrap()["snat_pool"], pool);
        let service = json!({"discovery_type": 5, "service_name": "web"});
        assert_eq!(read(json!({"service_info": service})).unwrap()["service_info"]["discovery_type"], "NGINX_ONE");
    }

    #[test]
    fn an_error_names_the_field_the_rule_and_the_value() {
        let error = read(json!({"port": 70_000})).unwrap_err();
        assert_eq!(error.message(), "Field spec.port should be at most 65535, got 70000 in request.");
        let error = read(json!({"where": {"site": {"ref": [{"name": 7}]}}})).unwrap_err();
        assert_eq!(error.message(), "Field spec.where.site.ref[0].name should be a string, got a number in request.");
    }
}
