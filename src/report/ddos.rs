//! The view of DDoS events: a table of them, one with its attachments, an edit before it is sent, and a conflict with an
//! edit that was made meanwhile.

use super::facts::unit;
use crate::api::ddos::{Attachment, DdosEdit, DdosEvent};
use crate::report::prelude::*;

/// DDoS events.
#[derive(Serialize, JsonSchema)]
pub struct DdosEvents<'e> {
    /// In the order of the service.
    pub events: &'e [DdosEvent],
}

impl Report for DdosEvents<'_> {
    /// The events as a table.
    fn blocks<'a>(&'a self, _: &TextView) -> Blocks<'a> {
        if self.events.is_empty() {
            return line!["no DDoS events in this time"].into();
        }
        let row = |event: &'a DdosEvent| {
            let texts = [&event.ip, &event.name, &event.description].map(|text| line![code(text)]);
            [line![code(&event.id)], started(event), ended(event)].into_iter().chain(texts)
        };
        let headings = ["ID", "STARTED", "ENDED", "TARGET", "NAME", "DESCRIPTION"];
        Table::new(headings).free([4, 5]).rows(self.events.iter().map(row)).into()
    }

    written_as!("ddos_events");
}

fn started(event: &DdosEvent) -> Line<'_> {
    event.start_time.as_deref().map(|time| line![moment(time)]).unwrap_or_default()
}

fn ended(event: &DdosEvent) -> Line<'_> {
    event.end().map_or(line!["open"], |time| line![moment(time)])
}

/// One DDoS event.
#[derive(Serialize, JsonSchema)]
pub struct OneDdosEvent<'e> {
    /// The event.
    pub event: &'e DdosEvent,
}

impl Report for OneDdosEvent<'_> {
    /// One event with every field that it has, and its attachments.
    fn blocks<'a>(&'a self, _: &TextView) -> Blocks<'a> {
        let event = self.event;
        let text = |text: &str| if text.is_empty() { Line::default() } else { line![code(text.to_owned())] };
        let rows = [
            ("name", text(&event.name)),
            ("description", text(&event.description)),
            ("target", text(&event.ip)),
            ("started", started(event)),
            ("ended", ended(event)),
            ("creator", text(&event.creator)),
            ("network", text(&event.network_id)),
            ("mitigation", text(&event.mitigation_id)),
        ];
        let others =
            event.others.iter().map(|(name, value)| (name.as_str(), text(&unit::text(value).unwrap_or_default())));
        let rows = rows.into_iter().chain(others).filter(|(_, value)| !value.is_empty());
        let rows = rows.map(|(name, value)| [line![foreign(name)], value]);
        let table = Table::new(["", ""]).titled(Line::default(), 2).rows(rows);
        let blocks = Blocks::from(line!["DDoS event ", styled(Role::Strong, code(&event.id))]).and(table);
        blocks.then(match event.attachments.as_slice() {
            [] => Blocks::from(line!["no attachments"]),
            attachments => self::attachments(attachments).into(),
        })
    }

    written_as!("ddos_event");
}

fn attachments<'a>(attachments: &'a [Attachment]) -> Table<'a> {
    let row = |one: &'a Attachment| {
        let kind = one.attachment_type.trim_start_matches("ATTACHMENT_TYPE_").to_lowercase();
        let bytes = one.size_bytes.clone().unwrap_or_default();
        [code(&one.name), code(kind), code(bytes), code(&one.attachment_id)]
    };
    Table::new(["ATTACHMENT", "TYPE", "BYTES", "ID"]).right([2]).rows(attachments.iter().map(row))
}

/// The edit of an event, before it is sent.
pub fn edit(event: &DdosEvent, changes: &[(&'static str, String, String)], view: &TextView) -> String {
    let mut table = Table::new(["", ""]).titled(Line::default(), 2);
    for (field, now, wanted) in changes {
        let now = if now.is_empty() { line!["(none)"] } else { line![code(now)] };
        let edit = line![styled(Role::Delete, now), " -> ", styled(Role::Create, code(wanted))];
        table.row([line![styled(Role::Replace, "~"), " ", *field], edit]);
    }
    let title = line!["Edit of DDoS event ", code(&event.id), " (", code(&event.name), ")"];
    view.message(Blocks::from(title).then(table))
}

/// The values that were changed after `shown` was read, beside those of the edit.
pub fn conflict(shown: &DdosEvent, now: &DdosEvent, wanted: &DdosEdit, view: &TextView) -> String {
    let mut table = Table::new(["field", "when shown", "now", "wanted"]).titled(Line::default(), 2);
    let [before, after] = [shown, now].map(|event| serde_json::json!(event));
    let fields = [&before, &after].into_iter().filter_map(Json::as_object).flat_map(serde_json::Map::keys);
    for field in fields.collect::<BTreeSet<_>>() {
        let [before, after] = [&before, &after].map(|event| event.get(field).and_then(unit::text).unwrap_or_default());
        let wanted = match field.as_str() {
            "name" => &wanted.name,
            "description" => &wanted.description,
            "end_time" => &wanted.end_time,
            _ => &None,
        };
        if before != after {
            let wanted = wanted.as_ref().map_or_else(|| line!["as it is"], |wanted| line![code(wanted)]);
            table.row([line![foreign(field)], line![code(before)], line![code(after)], wanted]);
        }
    }
    let title = line!["DDoS event ", code(&shown.id), " was changed by someone else after it was shown"];
    view.message(Blocks::from(Line::labelled(Role::Wrong, "conflict", title)).then(table))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_conflict_shows_whatever_was_changed() {
        let event = |event: Json| -> DdosEvent { serde_json::from_value(event).expect("an event") };
        let shown = event(json!({"id": "6c1d", "name": "a"}));
        let now =
            event(json!({"id": "6c1d", "name": "b", "severity": "high", "attachments": [{"attachment_id": "a1"}]}));
        let edit = DdosEdit { name: Some("mine".to_owned()), ..DdosEdit::default() };
        insta::assert_snapshot!(conflict(&shown, &now, &edit, &TextView::default()), @r#"
        conflict: DDoS event 6c1d was changed by someone else after it was shown

          field        when shown  now                                                      wanted
          attachments  []          [{"attachment_id":"a1","attachment_type":"","name":""}]  as it is
          name         a           b                                                        mine
          severity                 high                                                     as it is
        "#);
    }
}
