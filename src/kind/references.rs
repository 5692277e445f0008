//! Finds the objects that an object refers to, by the description of its kind.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value as Json;

use super::walk::{Keys, messages};
use super::{Field, KindName, Message};

/// Another object that an object refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The kinds that it can have; empty: any.
    pub kinds: &'static [&'static str],
    /// Its namespace, where the reference names one; else that of the object.
    pub namespace: Option<String>,
    /// Its tenant, where the reference names one; else that of the object.
    pub tenant: Option<String>,
    /// Its name.
    pub name: String,
    /// Where the reference is, such as `spec.origin_pools[0].pool`.
    pub path: String,
}

impl Target {
    /// Whether it belongs to the object's own tenant; `own` has the names that references use for that.
    pub fn is_of(&self, own: &BTreeSet<String>) -> bool {
        self.tenant.as_ref().is_none_or(|tenant| own.contains(tenant))
    }
}

/// The objects that these keys of a spec refer to.
pub fn references(spec: &'static Message, keys: Keys<'_>) -> Vec<Target> {
    let mut targets = Vec::new();
    below(spec, keys, &Path { above: None, key: "spec", step: "" }, &mut targets);
    targets
}

/// The kind that the service calls `ves.io.schema.views.origin_pool.Object`, or by a shorter name.
pub fn kind_of_service(text: &str) -> Option<KindName> {
    text.strip_suffix(".Object").unwrap_or(text).rsplit('.').next().and_then(KindName::find)
}

/// A place in a spec. Few places have a reference, so the text is made only for those.
struct Path<'p> {
    above: Option<&'p Path<'p>>,
    key: &'p str,
    step: &'p str,
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { above, key, step } = self;
        above.map_or(Ok(()), |above| write!(f, "{above}."))?;
        write!(f, "{key}{step}")
    }
}

fn below(message: &'static Message, keys: Keys<'_>, above: &Path<'_>, targets: &mut Vec<Target>) {
    for (key, value) in keys.iter() {
        let refers = |field: &&Field| field.message().is_some_and(Message::refers);
        let Some(field) = message.field(key).filter(refers) else { continue };
        for one in messages(field, value) {
            let path = Path { above: Some(above), key: field.name, step: &one.step };
            if !one.message.is_reference {
                below(one.message, Keys::of(one.value), &path, targets);
                continue;
            }
            let text = |key: &str| one.value.get(key).and_then(Json::as_str).filter(|text| !text.is_empty());
            if let Some(name) = text("name") {
                let [namespace, tenant] = ["namespace", "tenant"].map(|key| text(key).map(str::to_owned));
                let path = path.to_string();
                targets.push(Target { kinds: &field.refers_to, namespace, tenant, name: name.to_owned(), path });
            }
        }
    }
}
