//! DDoS events: the record of an attack on a routed network and of its mitigation. The list has the
//! events that touch the asked time; an edit changes name, description, end time and attachments,
//! where an empty or absent value leaves the old one, since the two cannot be told apart in the
//! service's message.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::window::Window;
use crate::sandbox::answer::{Code, Refusal};

/// How far back a list looks that is given no start.
pub const DEFAULT_REACH: SignedDuration = SignedDuration::from_hours(3 * 24);

/// An event, as it is stored and answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    pub id: String,
    pub name: String,
    pub description: String,
    pub creator: String,
    pub ip: String,
    pub network_id: String,
    pub mitigation_id: String,
    pub start_time: Timestamp,
    /// Null while the attack goes on.
    pub end_time: Option<Timestamp>,
    pub has_attachment: bool,
    pub has_details: bool,
    pub attachments: Vec<Attachment>,
}

/// A file that belongs to an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    #[serde(default)]
    pub attachment_id: String,
    #[serde(default)]
    pub attachment_type: AttachmentType,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub gos_name: String,
    #[serde(default)]
    pub gos_version: String,
    /// A number in a string.
    #[serde(default)]
    pub size_bytes: String,
    pub start_time: Option<Timestamp>,
    pub end_time: Option<Timestamp>,
}

/// What an attachment is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttachmentType {
    #[default]
    #[serde(rename = "ATTACHMENT_TYPE_UNKNOWN")]
    Unknown,
    #[serde(rename = "ATTACHMENT_TYPE_PCAP")]
    Pcap,
    #[serde(rename = "ATTACHMENT_TYPE_BINARY")]
    Binary,
    #[serde(rename = "ATTACHMENT_TYPE_INVALID_PCAP")]
    InvalidPcap,
    #[serde(rename = "ATTACHMENT_TYPE_OTHER")]
    Other,
}

/// Which events a list asks for; an empty text asks for all.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Filter {
    #[serde(default)]
    pub start_time: Option<String>,
    #[serde(default)]
    pub end_time: Option<String>,
    #[serde(default)]
    pub network_id: Option<String>,
    #[serde(default)]
    pub mitigation_id: Option<String>,
}

/// What an edit asks for.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Edit {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    end_time: Option<String>,
    #[serde(default)]
    event_attachments: Option<Vec<Attachment>>,
}

impl Filter {
    /// The events that touch the asked time and pass the asked ids, latest first.
    ///
    /// # Errors
    /// 400 for a time that cannot be read and for a backwards range.
    pub fn select(&self, events: Vec<Event>, now: Timestamp) -> Result<Vec<Event>, Refusal> {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let window = Window::recent(&text(&self.start_time), &text(&self.end_time), DEFAULT_REACH, now)
            .map_err(|error| Refusal::new(Code::InvalidArgument, error.to_string()))?;
        let passes = |wanted: &Option<String>, has: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted.is_empty() || wanted == has)
        };
        let mut selected: Vec<_> = events
            .into_iter()
            .filter(|event| {
                event.start_time <= window.to
                    && event.end_time.is_none_or(|end| end >= window.from)
                    && passes(&self.network_id, &event.network_id)
                    && passes(&self.mitigation_id, &event.mitigation_id)
            })
            .collect();
        selected.sort_by(|one, other| other.start_time.cmp(&one.start_time).then_with(|| one.id.cmp(&other.id)));
        Ok(selected)
    }
}

impl Edit {
    /// The event after the edit.
    ///
    /// # Errors
    /// 400 for an end time that cannot be read or lies before the start.
    pub fn apply(self, mut event: Event) -> Result<Event, Refusal> {
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        if let Some(name) = given(self.name) {
            event.name = name;
        }
        if let Some(description) = given(self.description) {
            event.description = description;
        }
        if let Some(text) = given(self.end_time) {
            let end: Timestamp = text.parse().map_err(|_| {
                Refusal::new(Code::InvalidArgument, format!("`end_time` is `{text}`, which is not RFC 3339"))
            })?;
            if end < event.start_time {
                let message = format!("`end_time` {end} is before the event's `start_time` {}", event.start_time);
                return Err(Refusal::new(Code::InvalidArgument, message));
            }
            event.end_time = Some(end);
        }
        if let Some(attachments) = self.event_attachments.filter(|attachments| !attachments.is_empty()) {
            event.has_attachment = beyond_captures(&attachments);
            event.attachments = attachments;
        }
        Ok(event)
    }
}

/// `has_attachment`: whether there is any attachment other than packet captures.
#[must_use]
pub fn beyond_captures(attachments: &[Attachment]) -> bool {
    attachments.iter().any(|attachment| attachment.attachment_type != AttachmentType::Pcap)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: &str, start: &str, end: Option<&str>) -> Event {
        Event {
            id: id.into(),
            name: format!("net_{id}"),
            description: "first".into(),
            creator: "SOC".into(),
            ip: "198.51.100.0/24".into(),
            network_id: format!("network-{id}"),
            mitigation_id: "m".into(),
            start_time: start.parse().unwrap(),
            end_time: end.map(|end| end.parse().unwrap()),
            has_attachment: false,
            has_details: true,
            attachments: Vec::new(),
        }
    }

    fn ids(filter: &Filter) -> Vec<String> {
        let events = vec![
            event("old", "2026-11-10T00:00:00Z", Some("2026-11-10T02:00:00Z")),
            event("long", "2026-11-12T00:00:00Z", None),
            event("new", "2026-11-21T10:00:00Z", Some("2026-11-21T11:00:00Z")),
        ];
        let now = "2026-11-21T12:00:00Z".parse().unwrap();
        filter.select(events, now).unwrap().into_iter().map(|event| event.id).collect()
    }

    #[test]
    fn a_list_has_what_touches_the_time_latest_first() {
        assert_eq!(ids(&Filter::default()), ["new", "long"]);
        let filter = Filter { start_time: Some("2026-11-01T00:00:00Z".into()), ..Filter::default() };
        assert_eq!(ids(&filter), ["new", "long", "old"]);
        let filter = Filter { end_time: Some("2026-11-21T09:00:00Z".into()), ..Filter::default() };
        assert_eq!(ids(&filter), ["long"]);
        let filter = Filter { network_id: Some("network-new".into()), ..Filter::default() };
        assert_eq!(ids(&filter), ["new"]);
        let filter = Filter { mitigation_id: Some("other".into()), ..Filter::default() };
        assert!(ids(&filter).is_empty());
    }

    #[test]
    fn an_edit_changes_what_it_names_and_nothing_else() {
        let before = event("a", "2026-11-21T10:00:00Z", None);
        let edit: Edit =
            serde_json::from_str(r#"{"name": "", "description": "new", "end_time": "2026-11-21T11:00:00Z"}"#).unwrap();
        let after = edit.apply(before.clone()).unwrap();
        assert_eq!((after.name.as_str(), after.description.as_str()), ("net_a", "new"));
        assert_eq!(after.end_time, Some("2026-11-21T11:00:00Z".parse().unwrap()));
        let edit: Edit = serde_json::from_str(
            r#"{"event_attachments": [{"name": "log", "attachment_type": "ATTACHMENT_TYPE_OTHER", "start_time": null}]}"#,
        )
        .unwrap();
        assert!(edit.apply(before.clone()).unwrap().has_attachment);
        let edit: Edit = serde_json::from_str(r#"{"end_time": "2026-11-21T09:00:00Z"}"#).unwrap();
        assert!(edit.apply(before).unwrap_err().message().contains("is before"));
    }
}
