//! References of an endpoint to other objects, with what the service fills in.

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::body::{BodyPath, Message, REQUIRED, RuleViolation};
use super::json::Json;
use super::spec::FillContext;
use crate::sandbox::answer::ErrorResponse;

/// A reference to another object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reference {
    /// In the service's own spelling, which it writes whatever was sent.
    kind: &'static str,
    uid: String,
    tenant: String,
    namespace: String,
    name: String,
}

impl Reference {
    /// The one reference of the list `ref`.
    pub fn one(message: &Message<'_>, kind: &'static str, around: FillContext<'_>) -> Result<Self, ErrorResponse> {
        const ONE: RuleViolation<'_> =
            RuleViolation { name: "repeated.max_items", constraint: "1", should: "at most 1 item" };
        let list = message.place.field("ref");
        match message.list("ref")? {
            [] => Err(list.breaks(REQUIRED, "nil")),
            [value] => Self::read(value, list.item(0), kind, around),
            more => Err(list.breaks(ONE, format!("{} items", more.len()))),
        }
    }

    /// The references of a list.
    pub fn list(
        message: &Message<'_>,
        name: &str,
        kind: &'static str,
        around: FillContext<'_>,
    ) -> Result<Vec<Self>, ErrorResponse> {
        let list = message.place.field(name);
        let items = message.list(name)?.iter().enumerate();
        items.map(|(index, value)| Self::read(value, list.item(index), kind, around)).collect()
    }

    fn read(
        value: &Json<'_>,
        at: BodyPath<'_>,
        kind: &'static str,
        around: FillContext<'_>,
    ) -> Result<Self, ErrorResponse> {
        let reference = Message::new(value, at)?;
        let bounded = |name: &'static str, most: usize, constraint: &'static str| {
            let text = reference.text(name)?;
            if text.len() > most {
                let should = format!("at most {constraint} bytes");
                let rule = RuleViolation { name: "string.max_bytes", constraint, should: &should };
                return Err(at.field(name).breaks(rule, &text));
            }
            Ok(text)
        };
        reference.text("kind")?;
        let name = bounded("name", 128, "128")?;
        if name.is_empty() {
            return Err(at.field("name").breaks(REQUIRED, "an empty string"));
        }
        let tenant = filled(bounded("tenant", 64, "64")?, around.tenant);
        let namespace = filled(bounded("namespace", 64, "64")?, around.namespace);
        let uid = match reference.text("uid")? {
            uid if uid.is_empty() => uid_of(kind, &tenant, &namespace, &name),
            uid => uid,
        };
        Ok(Self { kind, uid, tenant, namespace, name })
    }
}

fn filled(text: String, default: &str) -> String {
    if text.is_empty() { default.to_owned() } else { text }
}

/// The sandbox holds no sites or networks, so their uids follow from their names.
fn uid_of(kind: &'static str, tenant: &str, namespace: &str, name: &str) -> String {
    let digest = Sha256::digest([kind, tenant, namespace, name].join("/"));
    let mut bytes = [0; 16];
    for (byte, digest) in bytes.iter_mut().zip(digest) {
        *byte = digest;
    }
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}
