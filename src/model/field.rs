use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Endpoint, KnownLevel, WireSnatPool, WireSpec, WireWhere};

/// A JSON value: how a field's value travels in plans, journals and requests. `null` is absence.
pub type Json = serde_json::Value;

/// The unit of comparison: a scalar, an exclusive group as a whole, one label, one annotation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// `description`
    Description,
    /// `disable`
    Disable,
    /// `labels.KEY`
    Label(String),
    /// `annotations.KEY`
    Annotation(String),
    /// `spec.target`: the exclusive group of `dns_name`, `dns_name_advanced`, `ip`, `service_info`
    Target,
    /// `spec.protocol`
    Protocol,
    /// `spec.port`
    Port,
    /// `spec.health_check_port`
    HealthCheckPort,
    /// `spec.snat_pool`: an exclusive group
    SnatPool,
    /// `spec.where`: an exclusive group
    Where,
}

/// A field's value in the shape of the wire.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum WireValue<'e> {
    Text(Option<&'e str>),
    Flag(bool),
    Number(u16),
    Target(Box<WireSpec>),
    SnatPool(WireSnatPool),
    Place(Option<WireWhere>),
}

impl Field {
    /// The fields that every endpoint has.
    pub const FIXED: [Field; 8] = [
        Field::Description,
        Field::Disable,
        Field::Target,
        Field::Protocol,
        Field::Port,
        Field::HealthCheckPort,
        Field::SnatPool,
        Field::Where,
    ];

    /// The field with this path; an option of a group stands for the group, `metadata.` may be left out.
    #[must_use]
    pub fn from_path(path: &str) -> Option<Self> {
        let path = path.strip_prefix("metadata.").unwrap_or(path);
        if let Some(key) = path.strip_prefix("labels.") {
            return Some(Field::Label(key.to_owned()));
        }
        if let Some(key) = path.strip_prefix("annotations.") {
            return Some(Field::Annotation(key.to_owned()));
        }
        let first = path.strip_prefix("spec.").map_or(path, |rest| rest.split('.').next().unwrap_or(rest));
        Some(match first {
            "description" => Field::Description,
            "disable" => Field::Disable,
            "target" | "dns_name" | "dns_name_advanced" | "ip" | "service_info" => Field::Target,
            "protocol" => Field::Protocol,
            "port" => Field::Port,
            "health_check_port" => Field::HealthCheckPort,
            "snat_pool" => Field::SnatPool,
            "where" => Field::Where,
            _ => return None,
        })
    }

    /// The value of this field in `endpoint`, as the wire writes it: for the target an object of its
    /// one option, `null` for a label, annotation or place that is not there.
    #[must_use]
    pub fn value(&self, endpoint: &Endpoint) -> Json {
        // The wire structs hold strings, numbers and maps with text keys only: nothing that fails.
        serde_json::to_value(self.wire(endpoint)).unwrap_or_default()
    }

    /// The same value as it is written, for what needs its bytes and no tree.
    pub(super) fn wire<'e>(&self, endpoint: &'e Endpoint) -> WireValue<'e> {
        let spec = &endpoint.spec;
        match self {
            Field::Description => WireValue::Text(Some(&endpoint.description)),
            Field::Disable => WireValue::Flag(endpoint.disable),
            Field::Label(key) => WireValue::Text(endpoint.labels.get(key).map(String::as_str)),
            Field::Annotation(key) => WireValue::Text(endpoint.annotations.get(key).map(String::as_str)),
            Field::Target => WireValue::Target(Box::new(WireSpec::of_target(&spec.target))),
            Field::Protocol => WireValue::Text(Some(spec.protocol.as_str())),
            Field::Port => WireValue::Number(spec.port),
            Field::HealthCheckPort => WireValue::Number(spec.health_check_port),
            Field::SnatPool => WireValue::SnatPool(WireSnatPool::from(&spec.snat_pool)),
            Field::Where => WireValue::Place(spec.place.as_ref().map(WireWhere::from)),
        }
    }

    /// Whether `endpoint` holds the service's default here, so that saying nothing means the same.
    #[must_use]
    pub fn is_default(&self, endpoint: &Endpoint) -> bool {
        let spec = &endpoint.spec;
        match self {
            Field::Description => endpoint.description.is_empty(),
            Field::Disable => !endpoint.disable,
            Field::Label(key) => !endpoint.labels.contains_key(key),
            Field::Annotation(key) => !endpoint.annotations.contains_key(key),
            Field::Target => false,
            Field::Protocol => spec.protocol == super::Protocol::default(),
            Field::Port => spec.port == 0,
            Field::HealthCheckPort => spec.health_check_port == 0,
            Field::SnatPool => spec.snat_pool == super::SnatPool::default(),
            Field::Where => spec.place.is_none(),
        }
    }

    /// Sets this field of a whole object (`metadata` and `spec` at its root) to `value`, and leaves
    /// everything else as it is, keys inside of a group that the model does not know included. `null` takes
    /// the field away.
    pub fn set(&self, object: &mut Json, value: &Json) {
        match self {
            Field::Description => put(object, &["metadata"], "description", value),
            Field::Disable => put(object, &["metadata"], "disable", value),
            Field::Label(key) => put(object, &["metadata", "labels"], key, value),
            Field::Annotation(key) => put(object, &["metadata", "annotations"], key, value),
            Field::Target => {
                for option in KnownLevel::SPEC.options {
                    put_spec(object, option, value.get(option).unwrap_or(&Json::Null));
                }
            }
            Field::Protocol => put_spec(object, "protocol", value),
            Field::Port => put_spec(object, "port", value),
            Field::HealthCheckPort => put_spec(object, "health_check_port", value),
            Field::SnatPool => put_spec(object, "snat_pool", value),
            Field::Where => put_spec(object, "where", value),
        }
    }

    /// Whether a key of a live spec that the model does not know goes when this field of `live` is set to
    /// `value`: the option of a group that contains it goes. `path` begins with `spec.`.
    #[must_use]
    pub fn drops(&self, path: &str, live: &Endpoint, value: &Json) -> bool {
        let mut now = Json::Object(serde_json::Map::new());
        self.set(&mut now, &self.value(live));
        let mut wanted = Json::Object(serde_json::Map::new());
        self.set(&mut wanted, value);
        let (mut now, mut wanted) = (&now, &wanted);
        // `ref[0]` is a key and an index.
        for step in path.split(['.', '[']) {
            let step = step.trim_end_matches(']');
            let down = |level: &'_ Json| match step.parse::<usize>() {
                Ok(index) => level.get(index).is_some(),
                Err(_) => level.get(step).is_some(),
            };
            match (down(now), down(wanted)) {
                // The key itself: the model knows nothing below.
                (false, _) => return false,
                (true, false) => return true,
                (true, true) => {}
            }
            (now, wanted) = match step.parse::<usize>() {
                Ok(index) => (&now[index], &wanted[index]),
                Err(_) => (&now[step], &wanted[step]),
            };
        }
        false
    }
}

/// A field of the spec on the wire.
fn put_spec(object: &mut Json, key: &str, value: &Json) {
    if !object.get("spec").is_some_and(Json::is_object) {
        object["spec"] = Json::Object(serde_json::Map::new());
    }
    if let Json::Object(spec) = &mut object["spec"] {
        KnownLevel::SPEC.write_key(spec, key, value);
    }
}

/// A place on the wire.
fn put(object: &mut Json, into: &[&str], key: &str, value: &Json) {
    let mut map = object;
    for step in into {
        if !map.get(step).is_some_and(Json::is_object) {
            map[*step] = Json::Object(serde_json::Map::new());
        }
        map = &mut map[*step];
    }
    let Json::Object(map) = map else { return };
    if value.is_null() {
        map.remove(key);
    } else {
        map.insert(key.to_owned(), value.clone());
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Field::Description => "description",
            Field::Disable => "disable",
            Field::Label(key) => return write!(f, "labels.{key}"),
            Field::Annotation(key) => return write!(f, "annotations.{key}"),
            Field::Target => "spec.target",
            Field::Protocol => "spec.protocol",
            Field::Port => "spec.port",
            Field::HealthCheckPort => "spec.health_check_port",
            Field::SnatPool => "spec.snat_pool",
            Field::Where => "spec.where",
        })
    }
}

impl JsonSchema for Field {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Field".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A field by its path; an option of a group stands for the group.",
            "pattern": r"^(description|disable|labels\.[\s\S]*|annotations\.[\s\S]*|spec\.[a-z_]+)$",
        })
    }
}

impl Serialize for Field {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let path = String::deserialize(deserializer)?;
        Field::from_path(&path).ok_or_else(|| serde::de::Error::custom(format!("`{path}` is no field of an endpoint")))
    }
}
