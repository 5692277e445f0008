//! A spec as it may be kept: with `{}` where a secret is, however the service shows it.

use serde_json::{Value as Json, json};

use super::spec::is_zero;
use super::{FieldKind, Flag, Message, message, snake};

/// Takes every secret out of a spec as the service shows it. That one is there stays to be seen.
pub fn redact(spec: &str, value: &mut Json) {
    below(message(spec), value);
}

fn below(message: &Message, value: &mut Json) {
    match value {
        Json::Array(items) => items.iter_mut().for_each(|item| below(message, item)),
        Json::Object(entries) => {
            for (key, value) in entries {
                let Some(field) = message.field(&snake(key)) else { continue };
                if field.is(Flag::Secret) {
                    if !is_zero(value) {
                        *value = json!({});
                    }
                    continue;
                }
                let Some(id) = field.below() else { continue };
                match (&field.kind, value) {
                    (FieldKind::Map(_), Json::Object(values)) => {
                        values.values_mut().for_each(|value| below(super::message(id), value));
                    }
                    (_, value) => below(super::message(id), value),
                }
            }
        }
        _ => {}
    }
}
