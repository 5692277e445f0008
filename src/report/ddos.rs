//! DDoS events as text: a table of them, one with its attachments, an edit before it is sent, and a conflict
//! with an edit of somebody else.

use jiff::Timestamp;

use super::table::{Align, Table};
use super::text::TextView;
use super::{Role, safe};
use crate::api::ddos::{Attachment, DdosEdit, DdosEvent};
use crate::model::Json;

/// The events as a table.
#[must_use]
pub fn events(events: &[DdosEvent], view: &TextView) -> String {
    if events.is_empty() {
        return "no DDoS events in this time\n".to_owned();
    }
    let headings = ["ID", "STARTED", "ENDED", "TARGET", "NAME", "DESCRIPTION"];
    let mut table = Table::new(headings.map(|heading| (heading, Align::Left))).fixed_width([0, 1, 2, 3]);
    for event in events {
        let started = short(event.start_time.as_deref().unwrap_or_default());
        table.row([&event.id, &started, &short(&ended(event)), &event.ip, &event.name, &event.description]);
    }
    table.draw(view.limit(), view.palette, view.charset)
}

fn ended(event: &DdosEvent) -> String {
    if event.is_open() { "open".to_owned() } else { event.end_time.clone().unwrap_or_default() }
}

/// A time to the second, or the text if it is not a time.
fn short(text: &str) -> String {
    text.parse::<Timestamp>().map_or_else(|_| text.to_owned(), super::time::to_second)
}

/// One event with every field that it has, and its attachments.
#[must_use]
pub fn event(event: &DdosEvent, view: &TextView) -> String {
    let mut rows: Vec<(&str, String)> = vec![
        ("name", event.name.clone()),
        ("description", event.description.clone()),
        ("target", event.ip.clone()),
        ("started", event.start_time.clone().unwrap_or_default()),
        ("ended", ended(event)),
        ("creator", event.creator.clone()),
        ("network", event.network_id.clone()),
        ("mitigation", event.mitigation_id.clone()),
    ];
    rows.extend(event.others.iter().map(|(name, value)| (name.as_str(), value_text(value))));
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut text = format!("DDoS event {}\n", view.palette.paint(Role::Strong, safe::line(&event.id)));
    for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        text.push_str(&format!("  {:width$}  {}\n", safe::line(name), safe::line(value)));
    }
    text.push_str(&attachments(&event.attachments, view));
    text
}

fn attachments(attachments: &[Attachment], view: &TextView) -> String {
    if attachments.is_empty() {
        return "\nno attachments\n".to_owned();
    }
    let mut table =
        Table::new([("ATTACHMENT", Align::Left), ("TYPE", Align::Left), ("BYTES", Align::Right), ("ID", Align::Left)])
            .fixed_width(0..4);
    for one in attachments {
        let kind = one.attachment_type.trim_start_matches("ATTACHMENT_TYPE_").to_lowercase();
        let bytes = one.size_bytes.map(|bytes| bytes.to_string()).unwrap_or_default();
        table.row([&one.name, &kind, &bytes, &one.attachment_id]);
    }
    format!("\n{}", table.draw(view.limit(), view.palette, view.charset))
}

fn value_text(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The edit of an event, before it is sent.
#[must_use]
pub fn edit(event: &DdosEvent, changes: &[(&'static str, String, String)], view: &TextView) -> String {
    let mut text = format!("Edit of DDoS event {} ({})\n\n", safe::line(&event.id), safe::line(&event.name));
    for (field, now, wanted) in changes {
        let sign = view.palette.paint(Role::Replace, "~");
        let now = if now.is_empty() { "(none)".into() } else { safe::line(now) };
        text.push_str(&format!("  {sign} {field:11}  {now} -> {}\n", safe::line(wanted)));
    }
    text
}

/// The values that somebody else changed after `shown` was read, beside those of the edit.
#[must_use]
pub fn conflict(shown: &DdosEvent, now: &DdosEvent, wanted: &DdosEdit, view: &TextView) -> String {
    let mut table = Table::new([
        ("  field", Align::Left),
        ("when shown", Align::Left),
        ("now", Align::Left),
        ("wanted", Align::Left),
    ])
    .fixed_width(0..4);
    let text = |event: &DdosEvent| {
        let end = event.end_time.clone().unwrap_or_default();
        [event.name.clone(), event.description.clone(), end]
    };
    let wanted = [&wanted.name, &wanted.description, &wanted.end_time];
    for (((field, before), after), wanted) in
        ["name", "description", "end_time"].iter().zip(text(shown)).zip(text(now)).zip(wanted)
    {
        if before != after {
            let wanted = wanted.clone().unwrap_or_else(|| "as it is".to_owned());
            table.row([format!("  {field}"), before, after, wanted]);
        }
    }
    format!(
        "conflict: DDoS event {} was changed by someone else after it was shown\n\n{}",
        safe::line(&shown.id),
        table.draw(view.limit(), view.palette, view.charset)
    )
}
