//! The value that a definition has to write to adopt a live one: values that it names as it names them, others as
//! `pull` writes them. Zeros and hidden values of the definition stay.

use serde_json::{Map, Value as Json};

use super::compare::{Open, each_aligned, live_of, open};
use super::fills::{unfill, unfill_message, without_fills};
use super::hidden::is_hidden;
use super::spec::{is_zero_of, keys_of, value_of};
use super::walk::{Keys, each_message_mut};
use super::{Field, FieldKind, Message};

/// A unit of a definition with the values of an object of `tenant`. `live` is the part of the live unit that the
/// definition names.
pub fn taken_over(spec: &Message, unit: &str, live: &Json, written: &Json, tenant: Option<&str>) -> Json {
    Taker { taken: Taken::Named, tenant }.unit(spec, unit, live, written)
}

/// A unit of a definition, extended by the values of the whole live unit that it does not name.
pub fn with_unnamed(spec: &Message, unit: &str, live: &Json, written: &Json, tenant: Option<&str>) -> Json {
    Taker { taken: Taken::Unnamed, tenant }.unit(spec, unit, live, written)
}

/// Which live values a definition adopts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// Those that it names, and what replaces them.
    Named,
    /// Those that it does not name.
    Unnamed,
}

/// The value to write for a field that the definition names and that is unset live. If it were left out, the definition
/// would no longer name the field, and the next outside change would not be drift.
fn zero(field: &Field) -> Option<Json> {
    let zero = match field.kind {
        _ if field.is_list => None,
        FieldKind::Bool => Some(Json::Bool(false)),
        FieldKind::Enum(_) => field.word_of_none().map(Json::from),
        _ => None,
    };
    zero.filter(|zero| field.permits(zero))
}

struct Taker<'a> {
    taken: Taken,
    tenant: Option<&'a str>,
}

impl Taker<'_> {
    fn unit(&self, spec: &Message, unit: &str, live: &Json, written: &Json) -> Json {
        let [live, written] = [live, written].map(|value| keys_of(spec, unit, value));
        value_of(spec, unit, self.message(spec, live, written))
    }

    fn message(&self, message: &Message, live: Keys<'_>, written: Keys<'_>) -> Map<String, Json> {
        let is_named = self.taken == Taken::Named;
        let mut over = Map::new();
        for (key, value) in live.iter() {
            // A definition names a key that is not described only where the settings list it.
            let Some(field) = message.field(key) else {
                over.extend(written.get(key).map(|before| (key.to_owned(), self.scalar(value, before))));
                continue;
            };
            let value = match (written.get(key), open(message, key, value, written)) {
                (Some(before), _) => Some(self.field(field, value, before)),
                (None, Some(Open::Default)) => None,
                (None, None | Some(Open::Difference)) if !is_named => None,
                // It replaces the choice of the definition.
                (None, None) => {
                    let mut choice = value.clone();
                    each_message_mut(field, &mut choice, &mut |below, value| unfill(below, value, self.tenant));
                    Some(choice)
                }
                (None, _) => {
                    let mut alone = Keys::One(key, value).owned();
                    unfill_message(message, &mut alone, self.tenant);
                    alone.remove(key)
                }
            };
            over.extend(value.map(|value| (key.to_owned(), value)));
        }
        for (key, before) in written.iter().filter(|(key, _)| !live.has(key)) {
            let means_nothing = |field: &Field| message.group_of(key).is_none() && is_zero_of(field, before);
            let field = message.field(key);
            let stays = field.is_none_or(|field| is_hidden(field) || means_nothing(field));
            let value = match stays || !is_named {
                true => Some(before.clone()),
                false => field.filter(|_| message.group_of(key).is_none()).and_then(zero),
            };
            over.extend(value.map(|value| (key.to_owned(), value)));
        }
        over
    }

    fn field(&self, field: &Field, live: &Json, written: &Json) -> Json {
        if self.taken == Taken::Named {
            return each_aligned(field, live, written, |message, live, before| match before {
                Some(before) => self.one(message, live, before),
                None => without_fills(message, live.clone(), self.tenant),
            });
        }
        let (mut over, mut lives) = (written.clone(), live_of(field, live, written).into_iter());
        each_message_mut(field, &mut over, &mut |message, value| {
            if let Some(live) = lives.next().flatten() {
                *value = self.one(message, live, value);
            }
        });
        over
    }

    fn scalar(&self, live: &Json, written: &Json) -> Json {
        if self.taken == Taken::Named { live.clone() } else { written.clone() }
    }

    fn one(&self, message: &Message, live: &Json, written: &Json) -> Json {
        let (Json::Object(one), Json::Object(before)) = (live, written) else { return self.scalar(live, written) };
        match (message.is_reference, self.taken) {
            (false, _) => Json::Object(self.message(message, Keys::All(one), Keys::All(before))),
            // All parts that the service fills into a reference are known.
            (true, Taken::Unnamed) => written.clone(),
            (true, Taken::Named) if one.get("name") == before.get("name") => {
                before.iter().map(|(key, value)| (key.clone(), one.get(key).unwrap_or(value).clone())).collect()
            }
            (true, Taken::Named) => without_fills(message, live.clone(), self.tenant),
        }
    }
}
