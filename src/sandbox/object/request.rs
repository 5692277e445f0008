//! Reads and checks the metadata and spec of a create or a replace.

use std::collections::BTreeMap;

use serde_json::Value;

use super::form;
use super::kind::ObjectKind;
use super::record::{StoredObject, raw_json};
use super::spec::{Reader, Verb};
use crate::sandbox::answer::ErrorResponse;
use crate::sandbox::message::{self, BodyPath, REQUIRED, Rule, Sent};

/// The parts of an object that a create or replace sets. For a replace, the name in the path takes precedence over that
/// in the body; for a create, the body has the name.
///
/// # Errors
/// The first part that is missing, of the wrong type or outside its rule. A missing spec is reported first, as in the
/// service.
pub fn read(
    body: &Value,
    kind: &ObjectKind,
    path_name: Option<&str>,
    reader: Reader<'_>,
) -> Result<StoredObject, ErrorResponse> {
    let Reader { verb, namespace, .. } = reader;
    let request = message::body(body)?;
    let Some(spec) = request.get("spec") else {
        let message = format!("Nil spec in {verb:?} Request");
        return Err(ErrorResponse::invalid(message).detail(format!("{verb:?}Resource: nil spec")));
    };
    let place = BodyPath::root("metadata");
    let metadata = match (request.get("metadata"), verb) {
        (None, Verb::Create) => return Err(place.breaks(&REQUIRED, "nil")),
        (metadata, _) => Sent { value: metadata.unwrap_or(&Value::Null), place }.object()?,
    };
    let sent = (metadata.at("name").text()?, metadata.at("namespace").text()?);
    let name = path_name.map_or(sent.0, str::to_owned);
    // Zones and domains have their domain as name.
    if !(["dns_domain", "dns_zone"].contains(&kind.name()) && form::is_hostname(&name)) {
        check_name(&name, place.field("name"))?;
    }
    check_name(namespace, place.field("namespace"))?;
    if !kind.described.can_be_in(namespace) {
        let allowed = kind.described.namespaces.join(", ");
        return Err(place.field("namespace").wrong(format_args!("one of {allowed} for a {}", kind.name()), namespace));
    }
    Ok(StoredObject {
        namespace: namespace.to_owned(),
        name,
        spec: reader.read(kind, spec)?,
        labels: raw_json(&metadata.at("labels").map()?)?,
        annotations: raw_json(&annotations(&metadata)?)?,
        description: description(&metadata)?,
        disable: metadata.at("disable").boolean()?,
        ..StoredObject::default()
    })
}

/// Checks a name, with the live service's text of the rule.
fn check_name(name: &str, at: BodyPath<'_>) -> Result<(), ErrorResponse> {
    const RULE: Rule<'_> = Rule::new(
        "string.dns_1035_label",
        "true",
        "a DNS-1035 label: it must consist of lower case alphanumeric characters or '-', start with an \
         alphabetic character, and end with an alphanumeric character, and be less than 64 characters \
         with a pattern of [a-z]([-a-z0-9]*[a-z0-9])?",
    );
    if name.is_empty() {
        return Err(at.breaks(&REQUIRED, "an empty string"));
    }
    if form::is_name(name) { Ok(()) } else { Err(at.breaks(&RULE, name)) }
}

fn description(metadata: &Sent<'_>) -> Result<String, ErrorResponse> {
    const LENGTH: Rule<'_> = Rule::new("string.max_bytes", "1200", "at most 1200 bytes");
    let description = metadata.at("description").text()?;
    if description.len() > 1_200 {
        let got = format_args!("{} bytes", description.len());
        return Err(metadata.place.field("description").breaks(&LENGTH, got));
    }
    Ok(description)
}

/// The specification has rules for annotations and none for labels.
fn annotations(metadata: &Sent<'_>) -> Result<BTreeMap<String, String>, ErrorResponse> {
    const KEY: Rule<'_> = Rule::new("map.keys.string.max_len", "64", "with keys of 1 to 64 characters");
    const VALUE: Rule<'_> = Rule::new("map.values.string.max_len", "1024", "with values of 1 to 1024 characters");
    let at = metadata.place.field("annotations");
    let annotations = metadata.at("annotations").map()?;
    for (key, value) in &annotations {
        for (text, most, rule) in [(key, 64, &KEY), (value, 1_024, &VALUE)] {
            if !(1..=most).contains(&text.chars().count()) {
                return Err(at.breaks(rule, text));
            }
        }
    }
    Ok(annotations)
}
