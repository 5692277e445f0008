//! DDoS events: the record of an attack on a routed network and of its mitigation. A list contains the events that
//! overlap the requested time; an edit changes name, description, end time and attachments. An empty or absent value
//! keeps the old one, because the service's message cannot distinguish the two.

use jiff::{SignedDuration, Timestamp};
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::time::{self, TimeWindow};
use crate::sandbox::answer::ErrorResponse;
use crate::sandbox::message::Sent;
use crate::sandbox::timestamp;

/// How far back a list without a start reaches.
const DEFAULT_REACH: SignedDuration = SignedDuration::from_hours(3 * 24);

/// An event, as it is stored, answered, and written in the tenant file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DdosEvent {
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub creator: String,
    #[serde(default)]
    pub ip: String,
    #[serde(default)]
    pub network_id: String,
    #[serde(default)]
    pub mitigation_id: String,
    #[serde(deserialize_with = "time::required", serialize_with = "timestamp::serialize")]
    pub start_time: Timestamp,
    /// Null until the attack ends.
    #[serde(default, deserialize_with = "time::optional", serialize_with = "timestamp::serialize_optional")]
    pub end_time: Option<Timestamp>,
    #[serde(default)]
    pub has_attachment: bool,
    #[serde(default)]
    pub has_details: bool,
    #[serde(default)]
    pub attachments: Vec<Attachment>,
}

/// A file that belongs to an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    pub attachment_id: String,
    #[serde(default = "unknown", deserialize_with = "attachment_type")]
    pub attachment_type: String,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub gos_name: String,
    #[serde(default)]
    pub gos_version: String,
    /// A number as a string, like every integer of 64 bits.
    #[serde(default = "zero", deserialize_with = "digits")]
    pub size_bytes: String,
    #[serde(default, deserialize_with = "time::optional", serialize_with = "timestamp::serialize_optional")]
    pub start_time: Option<Timestamp>,
    #[serde(default, deserialize_with = "time::optional", serialize_with = "timestamp::serialize_optional")]
    pub end_time: Option<Timestamp>,
}

fn zero() -> String {
    "0".into()
}

fn unknown() -> String {
    TYPES[0].into()
}

fn attachment_type<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if TYPES.contains(&text.as_str()) { Ok(text) } else { Err(D::Error::unknown_variant(&text, TYPES)) }
}

/// A tenant file contains a plain number.
fn digits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) if text.parse::<i64>().is_ok() => Ok(text),
        Value::Number(number) if number.is_u64() => Ok(number.to_string()),
        other => Err(D::Error::custom(format!("{other} is not a valid number of bytes"))),
    }
}

const PCAP: &str = "ATTACHMENT_TYPE_PCAP";

/// The types of attachments in the order of their numbers.
const TYPES: &[&str] = &[
    "ATTACHMENT_TYPE_UNKNOWN",
    PCAP,
    "ATTACHMENT_TYPE_BINARY",
    "ATTACHMENT_TYPE_INVALID_PCAP",
    "ATTACHMENT_TYPE_OTHER",
];

impl Attachment {
    fn read(message: &Sent<'_>) -> Result<Self, ErrorResponse> {
        let number = message.at("attachment_type").choice(TYPES)?;
        let named = usize::try_from(number).ok().and_then(|number| TYPES.get(number));
        // Types are stored by name.
        let nameless = || message.place.field("attachment_type").wrong(TYPES.join(", "), number);
        Ok(Self {
            attachment_id: message.at("attachment_id").text()?,
            attachment_type: named.ok_or_else(nameless)?.to_string(),
            name: message.at("name").text()?,
            gos_name: message.at("gos_name").text()?,
            gos_version: message.at("gos_version").text()?,
            size_bytes: message.at("size_bytes").integer::<i64>("an integer")?.to_string(),
            start_time: time_of(message, "start_time")?,
            end_time: time_of(message, "end_time")?,
        })
    }
}

/// A time of a message, if it is set.
fn time_of(message: &Sent<'_>, name: &str) -> Result<Option<Timestamp>, ErrorResponse> {
    let text = message.at(name).text()?;
    if text.is_empty() {
        return Ok(None);
    }
    let unreadable = |_| ErrorResponse::invalid(format!("`{name}` is `{text}`, which is not RFC 3339"));
    text.parse().map(Some).map_err(unreadable)
}

/// The events that match the time and the ids of a list request, latest first; an empty `field` of the request excludes
/// nothing.
pub fn select(
    mut events: Vec<DdosEvent>,
    field: impl Fn(&str) -> Result<String, ErrorResponse>,
    now: Timestamp,
) -> Result<Vec<DdosEvent>, ErrorResponse> {
    let [start, end] = [field("start_time")?, field("end_time")?];
    let [network, mitigation] = [field("network_id")?, field("mitigation_id")?];
    let window = TimeWindow::recent(&start, &end, DEFAULT_REACH, now)?;
    let passes = |wanted: &str, has: &str| wanted.is_empty() || wanted == has;
    events.retain(|event| {
        event.start_time <= window.to
            && event.end_time.is_none_or(|end| end >= window.from)
            && passes(&network, &event.network_id)
            && passes(&mitigation, &event.mitigation_id)
    });
    events.sort_by(|one, other| other.start_time.cmp(&one.start_time).then_with(|| one.id.cmp(&other.id)));
    Ok(events)
}

/// The event after the edit in the body of a request; empty fields are not edited.
pub fn edited(event: DdosEvent, message: &Sent<'_>) -> Result<DdosEvent, ErrorResponse> {
    message.at("namespace").text()?;
    message.at("event_id").text()?;
    let list = message.place.field("event_attachments");
    let items = message.at("event_attachments").items()?.iter().enumerate();
    let given =
        |name: &str, before: String| message.at(name).text().map(|text| if text.is_empty() { before } else { text });
    let event = DdosEvent {
        name: given("name", event.name)?,
        description: given("description", event.description)?,
        end_time: time_of(message, "end_time")?.or(event.end_time),
        ..event
    };
    let attachments = items.map(|(index, value)| Attachment::read(&Sent { value, place: list.item(index) }.object()?));
    let attachments: Vec<Attachment> = attachments.collect::<Result<_, _>>()?;
    if let Some(end) = event.end_time.filter(|end| *end < event.start_time) {
        let message = format!("`end_time` {end} is before the event's `start_time` {}", event.start_time);
        return Err(ErrorResponse::invalid(message));
    }
    if attachments.is_empty() {
        return Ok(event);
    }
    Ok(DdosEvent { has_attachment: beyond_captures(&attachments), attachments, ..event })
}

/// `has_attachment`: whether there is any attachment other than packet captures.
pub fn beyond_captures(attachments: &[Attachment]) -> bool {
    attachments.iter().any(|attachment| attachment.attachment_type != PCAP)
}
