//! What a definition names that no description knows, and that the service did not take.

use std::iter::zip;

use serde_json::{Map, Value as Json};

use super::compare::live_of;
use super::spec::{keys_of, value_of};
use super::walk::{Keys, each_message_mut, is_zero, messages};
use super::{Field, Message};

/// A unit of a definition without what no description knows and a live unit does not have, and the paths of that.
pub fn taken(spec: &Message, unit: &str, live: &Json, wanted: &Json) -> (Json, Vec<String>) {
    let mut paths = Vec::new();
    let mut wanted = keys_of(spec, unit, wanted).owned();
    strip(spec, keys_of(spec, unit, live), &mut wanted, "spec", &mut paths);
    (value_of(spec, unit, wanted), paths)
}

fn strip(of: &Message, live: Keys<'_>, wanted: &mut Map<String, Json>, above: &str, paths: &mut Vec<String>) {
    wanted.retain(|key, value| {
        let path = format!("{above}.{key}");
        match (of.field(key), live.get(key)) {
            (None, None) => {
                paths.extend(Some(path).filter(|_| !is_zero(value)));
                return false;
            }
            (Some(field), Some(live)) => strip_in(field, live, value, &path, paths),
            (None, Some(_)) | (Some(_), None) => {}
        }
        true
    });
}

fn strip_in(field: &Field, live: &Json, wanted: &mut Json, path: &str, paths: &mut Vec<String>) {
    let steps: Vec<String> = messages(field, wanted).into_iter().map(|below| below.step).collect();
    let mut lives = zip(steps, live_of(field, live, wanted));
    each_message_mut(field, wanted, &mut |message, wanted| {
        if let (Some((step, Some(Json::Object(live)))), Json::Object(wanted)) = (lives.next(), wanted) {
            strip(message, Keys::All(live), wanted, &format!("{path}{step}"), paths);
        }
    });
}
