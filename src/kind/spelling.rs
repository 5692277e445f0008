//! How a definition may have written the references of a live value: the service fills in their parts, and only the
//! definition shows which parts it names. For kinds with `is_whole`, whose values are texts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use super::spec::value_of;
use super::walk::{each_message_mut, messages};
use super::{Described, Flag, Message, Ordered};

/// Every text with which a definition could have written this live value of a unit: with each choice of the parts of
/// references that the service fills in (the same for all references of one field), and with or without other fields
/// that it fills in.
pub fn spellings(spec: &'static Message, unit: &str, value: &Json) -> Vec<String> {
    let keys = super::keys_of(spec, unit, value).owned();
    let mut fields = BTreeSet::new();
    referring(spec, &keys, &mut fields);
    let choices = 2u32 << (PARTS.len() * fields.len());
    let spelled = |choice: u32| {
        let mut keys = keys.clone();
        let mut kept: BTreeMap<&str, u32> = BTreeMap::new();
        for (at, field) in fields.iter().enumerate() {
            kept.insert(field, choice >> (1 + PARTS.len() * at));
        }
        spell(spec, &mut keys, choice & 1 == 0, &kept);
        let spelled = Some(value_of(spec, unit, keys)).filter(|value| !value.is_null())?;
        let described = Described::of_unit(spec, unit);
        serde_json::to_string(&Ordered::new(described, &spelled)).ok()
    };
    (0..choices).filter_map(spelled).collect()
}

/// The parts of a reference that the service fills.
pub(super) const PARTS: [&str; 3] = ["namespace", "tenant", "uid"];

/// Whether the text of a live unit equals that of a definition except for parts of references that the definition
/// leaves out. Cheap, and nearly always true. A test proves that no other message of such a kind has these keys.
pub fn is_filled(live: &str, wanted: &str) -> bool {
    let (mut live, mut wanted) = (live.as_bytes(), wanted.as_bytes());
    loop {
        let same = live.iter().zip(wanted).take_while(|(one, other)| one == other).count();
        if same == live.len() {
            return same == wanted.len();
        }
        // The extra part begins at this comma, or at the last one if the next key has the same beginning.
        let at = if live[same] == b',' { Some(same) } else { live[..same].iter().rposition(|byte| *byte == b',') };
        let Some((at, rest)) = at.and_then(|at| Some((at, without_part(&live[at..])?))) else { return false };
        (live, wanted) = (rest, &wanted[at..]);
    }
}

/// The text after the part of a reference that it begins with.
fn without_part(text: &[u8]) -> Option<&[u8]> {
    let text = text.strip_prefix(b",\"")?;
    let value = PARTS.iter().find_map(|part| text.strip_prefix(part.as_bytes())?.strip_prefix(b"\":\""))?;
    let end = value.iter().position(|byte| [b'"', b'\\'].contains(byte))?;
    value[end..].strip_prefix(b"\"")
}

/// The names of the fields that refer to objects.
fn referring(message: &Message, keys: &Map<String, Json>, found: &mut BTreeSet<&'static str>) {
    for field in keys.keys().filter_map(|key| message.field(key)) {
        for below in messages(field, &keys[field.name]) {
            match below.value.as_object() {
                _ if below.message.is_reference => _ = found.insert(field.name),
                Some(keys) => referring(below.message, keys, found),
                None => {}
            }
        }
    }
}

fn spell(message: &Message, keys: &mut Map<String, Json>, is_filled: bool, kept: &BTreeMap<&str, u32>) {
    keys.retain(|key, value| {
        let Some(field) = message.field(key) else { return true };
        if field.is(Flag::Filled) && !is_filled {
            return false;
        }
        each_message_mut(field, value, &mut |below, value| {
            let Json::Object(keys) = value else { return };
            if below.is_reference {
                let bits = kept.get(field.name).copied().unwrap_or_default();
                let is_kept =
                    |key: &str| PARTS.iter().position(|part| *part == key).is_none_or(|at| bits >> at & 1 == 0);
                keys.retain(|key, _| is_kept(key));
            } else {
                spell(below, keys, is_filled, kept);
            }
        });
        true
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kind::whole;

    fn text(place: &Json) -> String {
        let spec = crate::kind::find("endpoint").expect("endpoints").message();
        let units = whole(spec, &json!({"ip": "10.0.0.1", "where": place})).expect("a spec");
        units.into_iter().find(|(name, _)| *name == "where").expect("a place").1.into()
    }

    /// Each choice of parts in the live and in the written reference, with another name and with another value of a part.
    #[test]
    fn texts_agree_where_the_live_reference_has_more_parts_and_nothing_else_differs() {
        let parts = [("namespace", "system"), ("tenant", "t,\"uid\":\"x\\"), ("uid", "1")];
        let reference = |name: &str, chosen: usize, other: &str| {
            let part = |(at, (key, value)): (usize, &(&str, &str))| {
                (chosen >> at & 1 == 1)
                    .then(|| ((*key).to_owned(), Json::from(if *key == other { "?" } else { value })))
            };
            let mut reference: Map<String, Json> = parts.iter().enumerate().filter_map(part).collect();
            reference.insert("name".to_owned(), name.into());
            reference
        };
        let place = |one: Map<String, Json>, other: Map<String, Json>| {
            text(&json!({"site": {"ref": [one], "refs": [other], "network_type": "VIRTUAL_NETWORK_PUBLIC"}}))
        };
        for chosen in 0..512usize {
            let (live, named, of_refs) = (chosen & 7, chosen >> 3 & 7, chosen >> 6);
            // A part with a backslash in it is left to the comparison of trees.
            let has_odd = live & 2 != named & 2;
            let is_more = named & live == named && !has_odd;
            let shown = place(reference("a", live, ""), reference("b", of_refs, ""));
            let written = |name: &str, other: &str| place(reference(name, named, other), reference("b", of_refs, ""));
            assert_eq!(is_filled(&shown, &written("a", "")), is_more, "{shown} {}", written("a", ""));
            assert!(!is_filled(&shown, &written("c", "")), "{shown}");
            for (key, at) in [("namespace", 1), ("uid", 4)] {
                assert!(named & at == 0 || !is_filled(&shown, &written("a", key)), "{shown}");
            }
        }
        assert!(!is_filled(&text(&json!({"site": {"ref": [{"name": "a"}]}})), "{}"));
    }

    #[test]
    fn every_spelling_of_a_reference_is_among_them() {
        let spec = crate::kind::find("endpoint").expect("endpoints").message();
        let live = json!({"site": {"ref": [{"name": "a", "namespace": "n", "tenant": "t", "uid": "u"}]}});
        let spelled = spellings(spec, "where", &serde_json::from_str(&text(&live)).expect("JSON"));
        for written in [json!({"name": "a"}), json!({"name": "a", "uid": "u"}), json!({"name": "a", "namespace": "n"})]
        {
            assert!(spelled.contains(&text(&json!({"site": {"ref": [written]}}))), "{spelled:?}");
        }
    }
}
