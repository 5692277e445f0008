//! DDoS events: the list with its filters, one event with its attachments, and the edit as read, compare and write,
//! because events have no version.

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Json, Layout, Namespace, neutral};

use super::error::ApiError;
use super::operations::Operation;
use super::reader::{Reader, Writer};
use super::request::{Request, RequestError};
use super::retry::AttemptHistory;
use super::turn::WriteFailure;
use super::wire::{nullable, number_text, parts};

/// Days of [`DdosFilter::recent`].
pub const DAYS: i64 = 90;

/// Which events a list contains; without an end, up to the current time of the service.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DdosFilter {
    /// From this time on, RFC 3339.
    pub start_time: Option<String>,
    /// Up to this time, RFC 3339.
    pub end_time: Option<String>,
}

impl DdosFilter {
    /// The events of the last [`DAYS`] days, for finding open events and abbreviated ids. Without a start the service
    /// uses three days, but an event stays open until it is ended.
    pub fn recent(now: Timestamp) -> Self {
        let start = now.checked_sub(SignedDuration::from_hours(24 * DAYS)).unwrap_or(now);
        Self { start_time: Some(start.to_string()), ..Self::default() }
    }
}

parts!(
    /// A DDoS event (API.md 8.1).
    DdosEvent {
        /// Its identifier.
        id: String,
        /// Its name.
        name: String,
        /// Free text.
        description: String,
        /// Who created it.
        creator: String,
        /// The attacked address or prefix.
        ip: String,
        /// The network.
        network_id: String,
        /// The mitigation.
        mitigation_id: String,
        /// RFC 3339.
        start_time: Option<String>,
        /// RFC 3339; missing while the event is open.
        end_time: Option<String>,
        /// Whether it has attachments other than packet captures (PCAP).
        has_attachment: bool,
        /// Whether it has details.
        has_details: bool,
        /// Its attachments.
        attachments: Vec<Attachment>,
    }
);

/// A file attached to a DDoS event.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Attachment {
    /// Its identifier.
    #[serde(default, deserialize_with = "nullable")]
    pub attachment_id: String,
    /// `ATTACHMENT_TYPE_PCAP` and the like.
    #[serde(default, deserialize_with = "nullable")]
    pub attachment_type: String,
    /// The file's name.
    #[serde(default, deserialize_with = "nullable")]
    pub name: String,
    /// Its size in bytes.
    #[serde(default, deserialize_with = "number_text", skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub others: serde_json::Map<String, Json>,
}

impl DdosEvent {
    /// The end, which may be in the future; `None` if it is missing, invalid, or before the start, such as a zero time.
    pub fn end(&self) -> Option<&str> {
        let time = |text: &str| text.parse::<Timestamp>().ok();
        let start = self.start_time.as_deref().and_then(time).unwrap_or(Timestamp::UNIX_EPOCH);
        self.end_time.as_deref().filter(|end| time(end).is_some_and(|end| end > Timestamp::UNIX_EPOCH && end >= start))
    }

    /// Whether the event is still open at `now`.
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.end().and_then(|end| end.parse::<Timestamp>().ok()).is_none_or(|end| end > now)
    }
}

/// The fields that an edit sets; `None` leaves a field unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DdosEdit {
    /// The name.
    pub name: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The end, RFC 3339.
    pub end_time: Option<String>,
}

impl DdosEdit {
    /// The changes of this edit to `event`: field, value before, value after.
    pub fn changes(&self, event: &DdosEvent) -> Vec<(&'static str, String, String)> {
        let now_end = event.end_time.clone().unwrap_or_default();
        [
            ("name", event.name.clone(), &self.name),
            ("description", event.description.clone(), &self.description),
            ("end_time", now_end, &self.end_time),
        ]
        .into_iter()
        .filter_map(|(field, now, wanted)| {
            let wanted = wanted.clone()?;
            let is_same = wanted == now || field == "end_time" && same_time(&wanted, &now);
            (!is_same).then_some((field, now, wanted))
        })
        .collect()
    }

    /// The request for this edit: the current event with only these fields changed.
    ///
    /// # Errors
    /// The event id cannot be part of a path.
    pub fn request(&self, layout: Layout, namespace: &Namespace, event: &DdosEvent) -> Result<Request, RequestError> {
        let mut attachments = serde_json::json!(event.attachments);
        // The service's answers contain null for unset times, which the schema of the request does not allow.
        for attachment in attachments.as_array_mut().into_iter().flatten().filter_map(Json::as_object_mut) {
            attachment.retain(|_, value| !value.is_null());
        }
        let mut body = serde_json::json!({
            "namespace": namespace.as_str(),
            "event_id": event.id,
            "name": self.name.as_ref().unwrap_or(&event.name),
            "description": self.description.as_ref().unwrap_or(&event.description),
            "event_attachments": attachments,
        });
        if let Some(end) = self.end_time.as_deref().or(event.end()) {
            body["end_time"] = end.into();
        }
        let parameters = [("namespace", namespace.as_str()), ("event_id", event.id.as_str())];
        Request::build(Operation::DdosEdit, layout, &parameters, Some(&body))
    }
}

/// An edit that was not made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DdosEditError {
    /// The event could not be read before the write: nothing was changed.
    #[error(transparent)]
    Unread(ApiError),
    /// The service did not confirm the write.
    #[error(transparent)]
    Unconfirmed(ApiError),
    /// The event has changed since it was shown.
    #[error("DDoS event `{id}` changed after it was read; look at it again")]
    Moved {
        /// Its id.
        id: String,
        /// Its current state.
        now: Box<DdosEvent>,
    },
}

#[derive(Deserialize)]
struct EventList {
    events: Vec<DdosEvent>,
}

#[derive(Deserialize)]
struct OneEvent {
    event: DdosEvent,
}

/// Reads the DDoS events of a namespace.
///
/// # Errors
/// Any failure.
pub async fn list(reader: &Reader, namespace: &Namespace, filter: &DdosFilter) -> Result<Vec<DdosEvent>, ApiError> {
    let filters = [("start_time", &filter.start_time), ("end_time", &filter.end_time)];
    let mut parameters = vec![("namespace", namespace.as_str())];
    parameters.extend(filters.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))));
    let list: EventList = reader.question(Operation::DdosList, &parameters, None).await?.json()?;
    Ok(list.events)
}

/// Reads one DDoS event.
///
/// # Errors
/// [`ApiError::is_absent`] if it does not exist.
pub async fn show(reader: &Reader, namespace: &Namespace, event_id: &str) -> Result<DdosEvent, ApiError> {
    let parameters = [("namespace", namespace.as_str()), ("event_id", event_id)];
    let answer = reader.question(Operation::DdosShow, &parameters, None).await?;
    let mut one: OneEvent = answer.json()?;
    if one.event.id.is_empty() {
        one.event.id = event_id.to_owned();
    }
    if one.event.id != event_id {
        return Err(answer.unreadable(format!("it is about `{}`", neutral(&one.event.id, 100))));
    }
    Ok(one.event)
}

/// Makes `edit` on the event that the user saw as `shown`: reads it before each try, and writes only if it still equals
/// `shown` and the edit is not made already.
///
/// # Errors
/// [`DdosEditError::Moved`] if it has changed since; then nothing was written.
///
/// # Caveats
/// The service has no version for these events: a change between the last read and the write is
/// overwritten.
pub async fn edit(
    writer: &Writer,
    namespace: &Namespace,
    shown: &DdosEvent,
    edit: &DdosEdit,
) -> Result<(), DdosEditError> {
    let mut tried = AttemptHistory::default();
    loop {
        let turn = writer.turn(1).await;
        let now = show(turn.reader(), namespace, &shown.id).await.map_err(DdosEditError::Unread)?;
        if edit.changes(&now).is_empty() {
            return Ok(());
        }
        if now != *shown {
            return Err(DdosEditError::Moved { id: neutral(&shown.id, 100), now: Box::new(now) });
        }
        let request = edit.request(turn.reader().layout(), namespace, &now);
        let request = request.map_err(|error| ApiError::unbuilt(Operation::DdosEdit, "DDoS event", &error));
        match turn.change(request, &mut tried).await {
            Ok(()) => return Ok(()),
            Err(WriteFailure { again: Some(after), .. }) => writer.reader().wait(after).await,
            Err(WriteFailure { error, again: None }) => return Err(DdosEditError::Unconfirmed(error)),
        }
    }
}

/// Whether two texts are the same time, which can be written in several ways.
fn same_time(one: &str, other: &str) -> bool {
    let time = |text: &str| text.parse::<Timestamp>().ok();
    time(one).is_some() && time(one) == time(other)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event() -> DdosEvent {
        serde_json::from_value(json!({
            "id": "6c1d", "name": "net_1234", "description": null, "ip": "198.51.100.0/24", "end_time": null,
            "has_attachment": true, "future": {"x": 1},
            "attachments": [{"attachment_id": "a1", "attachment_type": "ATTACHMENT_TYPE_PCAP", "name": "last.pcap",
                             "gos_name": "g", "size_bytes": "12345", "start_time": null},
                            {"attachment_id": "a2", "size_bytes": null}, {"attachment_id": "a3", "size_bytes": -1}]
        }))
        .expect("an event")
    }

    #[test]
    fn an_event_is_read_leniently_and_open_without_an_end() {
        let event = event();
        let now = "2024-01-01T02:00:00Z".parse().expect("a time");
        assert!(event.is_open(now) && event.end().is_none() && event.description.is_empty());
        assert_eq!(event.attachments[0].size_bytes.as_deref(), Some("12345"));
        assert_eq!(event.others["future"], json!({"x": 1}));
        let start_time = Some("2024-01-01T00:00:00Z".to_owned());
        let until =
            |end: &str| DdosEvent { start_time: start_time.clone(), end_time: Some(end.to_owned()), ..event.clone() };
        assert!(!until("2024-01-01T02:00:00Z").is_open(now) && until("2024-01-01T02:00:01Z").is_open(now));
        for zero in ["0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "2023-12-31T23:59:59Z", "never", ""] {
            assert!(until(zero).end().is_none(), "{zero}");
        }
    }

    #[test]
    fn an_edit_sets_only_what_it_says() {
        let edit = DdosEdit { description: Some("seen".to_owned()), name: Some("net_1234".to_owned()), end_time: None };
        assert_eq!(edit.changes(&event()), [("description", String::new(), "seen".to_owned())]);
        let end = |text: &str| Some(text.to_owned());
        let ended = DdosEvent { end_time: end("2026-11-21T09:00:00.000Z"), ..event() };
        for (wanted, changes) in [("2026-11-21T10:00:00+01:00", 0), ("2026-11-21T09:00:01Z", 1), ("0", 1)] {
            let edit = DdosEdit { end_time: end(wanted), ..DdosEdit::default() };
            assert_eq!(edit.changes(&ended).len(), changes, "{wanted}");
        }
        let namespace = Namespace::parse("system").expect("a name");
        // What means that there is no end is not sent back as one.
        let event = DdosEvent { end_time: Some("0001-01-01T00:00:00Z".to_owned()), ..event() };
        let request = edit.request(Layout::Uniform, &namespace, &event).expect("a request");
        assert_eq!(request.path_and_query, "/api/config/namespaces/system/events/6c1d");
        assert_eq!(
            serde_json::from_slice::<Json>(&request.body.expect("a body")).expect("JSON"),
            json!({"namespace": "system", "event_id": "6c1d", "name": "net_1234", "description": "seen",
                   "event_attachments": [{"attachment_id": "a1", "attachment_type": "ATTACHMENT_TYPE_PCAP",
                                          "name": "last.pcap", "gos_name": "g", "size_bytes": "12345"},
                                         {"attachment_id": "a2", "attachment_type": "", "name": ""},
                                         {"attachment_id": "a3", "attachment_type": "", "name": "", "size_bytes": "-1"}]})
        );
    }
}
