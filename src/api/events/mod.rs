//! The security event query: its conditions and their quoting, its request, and its answer, whose events are JSON texts
//! inside JSON that are decoded once. The operation declares a side effect, so neither a query nor the next batch of a
//! scroll is ever sent twice.

mod counts;
mod fields;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::model::{Json, Namespace, neutral, words};

pub use counts::{count_by, counts};
pub use fields::{COUNTED_FIELDS, doubt};

use super::error::ApiError;
use super::operations::Operation;
use super::reader::Reader;
use super::wire::{count, whole_characters};

/// The most events in one answer, which is also the service's default.
pub const MOST_EVENTS: u32 = 500;

/// How a field is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `=~`, a regular expression
    Like,
    /// `!~`
    Unlike,
}

// As the query writes them. An operator comes after those that begin with it.
words!(Operator { Like = "=~", Unlike = "!~", NotEqual = "!=", Equal = "=" });

/// One condition of a query; all of them must be met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The field; nested keys are dotted.
    pub field: String,
    /// The comparison.
    pub operator: Operator,
    /// The value to compare with.
    pub value: String,
}

/// Why a text is not a match.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid {1}")]
pub struct MatchError(String, &'static str);

impl FromStr for Match {
    type Err = MatchError;
    fn from_str(text: &str) -> Result<Self, MatchError> {
        let no_operator =
            || MatchError(neutral(text, 100), "match; write FIELD=VALUE, FIELD!=VALUE, FIELD=~REGEX or FIELD!~REGEX");
        let at = text.find(['=', '!']).ok_or_else(no_operator)?;
        let (field, rest) = text.split_at(at);
        let found =
            Operator::ALL.into_iter().find_map(|operator| Some((operator, rest.strip_prefix(operator.as_str())?)));
        let (operator, value) = found.ok_or_else(no_operator)?;
        let field = field.trim();
        let named = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'@');
        if !field.bytes().all(named) || field.split('.').any(str::is_empty) {
            let rule = "field name; it contains letters, digits, `_`, `-`, `@`, and dots between them";
            return Err(MatchError(neutral(field, 100), rule));
        }
        Ok(Self { field: field.to_owned(), operator, value: value.to_owned() })
    }
}

impl fmt::Display for Match {
    /// The condition as a query writes it, with its value quoted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}\"", self.field, self.operator.as_str())?;
        for character in self.value.chars() {
            match character {
                '"' | '\\' => write!(f, "\\{character}")?,
                '\n' => f.write_str("\\n")?,
                '\t' => f.write_str("\\t")?,
                '\r' => f.write_str("\\r")?,
                other => write!(f, "{other}")?,
            }
        }
        f.write_str("\"")
    }
}

/// The order of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// The newest first.
    #[default]
    Descending,
    /// The oldest first.
    Ascending,
}

/// A security event query for a namespace; `system` covers the whole tenant.
#[derive(Debug, Clone, PartialEq)]
pub struct EventQuery {
    /// The namespace.
    pub namespace: Namespace,
    /// The conditions.
    pub matches: Vec<Match>,
    /// A query as text, with or without braces, in addition to the conditions.
    pub text: Option<String>,
    /// RFC 3339 or seconds since 1970; by default ten minutes before the end.
    pub start_time: Option<String>,
    /// RFC 3339 or seconds since 1970; by default now.
    pub end_time: Option<String>,
    /// The number of events in an answer, at most [`MOST_EVENTS`].
    pub limit: Option<u32>,
    /// Whether the answer can be continued.
    pub scroll: bool,
    /// The order.
    pub sort: Sort,
    /// Aggregations by name; `null` for none.
    pub aggregations: Json,
}

impl EventQuery {
    /// All events of the last ten minutes.
    pub fn new(namespace: Namespace) -> Self {
        Self {
            namespace,
            matches: Vec::new(),
            text: None,
            start_time: None,
            end_time: None,
            limit: None,
            scroll: false,
            sort: Sort::default(),
            aggregations: Json::Null,
        }
    }

    /// The query as the service reads it: `{vh_name="shop", country!="Germany"}`.
    pub fn query(&self) -> String {
        let own = self.text.as_deref().map(conditions).filter(|own| !own.is_empty());
        let mut parts: Vec<String> = own.map(str::to_owned).into_iter().collect();
        parts.extend(self.matches.iter().map(ToString::to_string));
        format!("{{{}}}", parts.join(", "))
    }

    /// The body of its request.
    fn body(&self) -> Json {
        let mut body = serde_json::json!({ "namespace": self.namespace.as_str(), "query": self.query() });
        let mut put = |key: &str, value: Option<Json>| {
            if let Some(value) = value {
                body[key] = value;
            }
        };
        put("start_time", self.start_time.clone().map(Json::from));
        put("end_time", self.end_time.clone().map(Json::from));
        put("limit", self.limit.map(Json::from));
        put("scroll", self.scroll.then(|| true.into()));
        put("sort", (self.sort == Sort::Ascending).then(|| "ASCENDING".into()));
        put("aggs", (!self.aggregations.is_null()).then(|| self.aggregations.clone()));
        body
    }
}

/// The conditions of a query as users write it: with or without braces, after `query=`, or with a final comma.
pub fn conditions(query: &str) -> &str {
    let query = query.trim_matches(|c: char| c == ',' || c.is_whitespace());
    // With a value or an operator there, `query` is the name of a field.
    let is_prefix = |rest: &&str| !rest.starts_with(['"', '~']);
    let query = query.strip_prefix("query=").map(str::trim_start).filter(is_prefix).unwrap_or(query);
    let inner = query.strip_prefix('{').and_then(|query| query.strip_suffix('}')).unwrap_or(query);
    inner.trim().trim_end_matches(',')
}

/// One security event.
#[derive(Debug, Clone)]
pub enum Event {
    /// Its fields as the service wrote them, so that no number loses digits; their shapes are not stable (API.md 7.3).
    Fields(BTreeMap<String, Box<RawValue>>),
    /// A text that is not a JSON object.
    Text(String),
}

impl Event {
    /// A field as text, a nested one by its dotted key; `None` if it is missing.
    pub fn field(&self, name: &str) -> Option<String> {
        let Event::Fields(fields) = self else { return None };
        field_of(fields, name)
    }

    /// The event as JSON on one line; a text becomes an object with the single field `text`.
    pub fn json(&self) -> String {
        match self {
            // Text keys and JSON: serialising them cannot fail.
            Event::Fields(fields) => compact(&serde_json::to_string(fields).unwrap_or_default()),
            Event::Text(text) => serde_json::json!({ "text": text }).to_string(),
        }
    }
}

fn field_of(fields: &BTreeMap<String, Box<RawValue>>, name: &str) -> Option<String> {
    let Some(value) = fields.get(name) else {
        let (first, rest) = name.split_once('.')?;
        return field_of(&serde_json::from_str(fields.get(first)?.get()).ok()?, rest);
    };
    match value.get() {
        "null" => None,
        text => {
            let text = compact(text);
            Some(serde_json::from_str(&text).unwrap_or(text))
        }
    }
}

/// A JSON text without white space between its values and without halves of surrogate pairs.
fn compact(text: &str) -> String {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let is_kept = |c: &char| {
        is_quoted ^= *c == '"' && !is_escaped;
        is_escaped = is_quoted && *c == '\\' && !is_escaped;
        is_quoted || !c.is_ascii_whitespace()
    };
    whole_characters(&text.chars().filter(is_kept).collect::<String>())
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Box::<RawValue>::deserialize(from)?;
        // Usually a text that contains JSON.
        let text = serde_json::from_str(value.get()).unwrap_or_else(|_| value.get().to_owned());
        Ok(serde_json::from_str(&text).map_or_else(|_| Event::Text(text), Event::Fields))
    }
}

/// One answer to a query.
#[derive(Debug, Clone, Deserialize)]
pub struct EventPage {
    /// The events of this batch.
    pub events: Vec<Event>,
    #[serde(default, deserialize_with = "count")]
    total_hits: Option<u64>,
    /// The id for the next batch, valid for two minutes; empty at the end.
    #[serde(default, deserialize_with = "super::wire::nullable")]
    pub scroll_id: String,
    /// The aggregations by name.
    #[serde(default, rename = "aggs")]
    pub aggregations: Json,
}

impl EventPage {
    /// The number of all matching events; `None` if the service does not report it, or less than it sent.
    pub fn total(&self) -> Option<u64> {
        self.total_hits.filter(|total| usize::try_from(*total).is_ok_and(|total| total >= self.events.len()))
    }
}

/// Sends a query, and never repeats it once it was sent.
///
/// # Errors
/// Any failure.
pub async fn query(reader: &Reader, query: &EventQuery) -> Result<EventPage, ApiError> {
    let parameters = [("namespace", query.namespace.as_str())];
    reader.question(Operation::SecurityEvents, &parameters, Some(&query.body())).await?.json()
}

/// Fetches the next batch of a scrolled query.
///
/// # Errors
/// Any failure; an expired `scroll_id` is a refusal of the service.
pub async fn scroll(reader: &Reader, namespace: &Namespace, scroll_id: &str) -> Result<EventPage, ApiError> {
    let parameters = [("namespace", namespace.as_str()), ("scroll_id", scroll_id)];
    reader.question(Operation::SecurityEventsScroll, &parameters, None).await?.json()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn query() -> EventQuery {
        EventQuery::new(Namespace::parse("shop").expect("a name"))
    }

    #[test]
    fn a_match_is_split_at_its_first_operator_and_quoted() {
        let written = |text: &str| text.parse::<Match>().expect(text).to_string();
        assert_eq!(written("vh_name=shop"), r#"vh_name="shop""#);
        assert_eq!(written("country!=United States"), r#"country!="United States""#);
        assert_eq!(written("req_path=~^/a=b!.*"), r#"req_path=~"^/a=b!.*""#);
        assert_eq!(written("signatures.id!~2000.*"), r#"signatures.id!~"2000.*""#);
        assert_eq!(written(r#"user==a"b\c"#), r#"user="=a\"b\\c""#);
        assert_eq!(written("user="), r#"user="""#);
        assert_eq!(written("user=a\", country=\"b\n"), r#"user="a\", country=\"b\n""#);
        for bad in ["vh_name", "=x", "a b=c", "a!b", "{a=b", ""] {
            assert!(bad.parse::<Match>().is_err(), "{bad}");
        }
    }

    #[test]
    fn conditions_stand_beside_a_query_of_ones_own() {
        let mut query = query();
        assert_eq!(query.query(), "{}");
        query.text = Some(r#" {country="Germany"} "#.to_owned());
        query.matches = vec!["city!=Berlin".parse().expect("a match")];
        assert_eq!(query.query(), r#"{country="Germany", city!="Berlin"}"#);
        for text in [r#"{country="Germany", }"#, r#"{country="Germany"} ,"#, r#"query= {country="Germany"}"#] {
            query.text = Some(text.to_owned());
            assert_eq!(query.query(), r#"{country="Germany", city!="Berlin"}"#);
        }
        // A field of that name.
        for text in [r#"query="a""#, r#"query=~"a""#, r#"query!="a""#] {
            assert_eq!(conditions(text), text);
        }
    }

    #[test]
    fn the_request_holds_only_what_was_said() {
        assert_eq!(query().body(), json!({"namespace": "shop", "query": "{}"}));
        let mut whole = query();
        whole.start_time = Some("1700000000".to_owned());
        whole.end_time = Some("2026-11-21T10:00:00Z".to_owned());
        (whole.limit, whole.scroll, whole.sort) = (Some(500), true, Sort::Ascending);
        whole.aggregations = json!({"by_type": count_by("sec_event_type", 10)});
        assert_eq!(
            whole.body(),
            json!({"namespace": "shop", "query": "{}", "start_time": "1700000000", "end_time": "2026-11-21T10:00:00Z",
                   "limit": 500, "scroll": true, "sort": "ASCENDING",
                   "aggs": {"by_type": {"field_aggregation": {"field": "SEC_EVENT_TYPE", "topk": 10}}}})
        );
    }

    #[test]
    fn the_numbers_of_an_event_keep_their_digits() {
        let text = r#"{"id": 123456789012345678901, "deep": {"id": [18446744073709551616, 1.10]}, "a \" b": "c\\ "}"#;
        let page: EventPage = serde_json::from_value(json!({ "events": [text] })).expect("a page");
        let event = &page.events[0];
        assert_eq!(event.field("id").as_deref(), Some("123456789012345678901"));
        assert_eq!(event.field("deep.id").as_deref(), Some("[18446744073709551616,1.10]"));
        let json = r#"{"a \" b":"c\\ ","deep":{"id":[18446744073709551616,1.10]},"id":123456789012345678901}"#;
        assert_eq!(event.json(), json);
    }

    #[test]
    fn half_of_a_surrogate_pair_is_replaced_in_what_every_tool_has_to_read() {
        let text = r#"{"a": "x\ud800y", "b": ["\\ud800", "\udfff"], "c": "\ud83d\ude00", "d": "\ud83d\ud83d\ude00"}"#;
        let page: EventPage = serde_json::from_value(json!({ "events": [text] })).expect("a page");
        let read: Json = serde_json::from_str(&page.events[0].json()).expect("JSON");
        let replaced = json!({"a": "x\u{fffd}y", "b": ["\\ud800", "\u{fffd}"], "c": "😀", "d": "\u{fffd}😀"});
        assert_eq!(read, replaced);
        assert_eq!(page.events[0].field("a").as_deref(), Some("x\u{fffd}y"));
    }

    #[test]
    fn events_are_decoded_once_and_nothing_of_them_is_lost() {
        let page: EventPage = serde_json::from_value(json!({
            "events": [r#"{"src_ip":"192.0.2.7","req_headers":"{\"a\":1}","policy_hits":{"policy_hits":[]}}"#,
                       {"src_ip": "x"}, "not json", "[1]", 7],
            "total_hits": "52", "scroll_id": "s", "aggs": {}
        }))
        .expect("a page");
        assert_eq!(page.total_hits, Some(52));
        assert_eq!(page.events[0].field("src_ip").as_deref(), Some("192.0.2.7"));
        assert_eq!(page.events[0].field("req_headers").as_deref(), Some(r#"{"a":1}"#));
        assert_eq!(page.events[0].field("policy_hits.policy_hits").as_deref(), Some("[]"));
        assert_eq!(page.events[0].field("absent.x"), None);
        assert_eq!(page.events[1].field("src_ip").as_deref(), Some("x"));
        let texts: Vec<String> = page.events[2..].iter().map(Event::json).collect();
        assert_eq!(texts, [r#"{"text":"not json"}"#, r#"{"text":"[1]"}"#, r#"{"text":"7"}"#]);
        let bare: EventPage =
            serde_json::from_value(json!({"events": [], "scroll_id": null, "total_hits": 3})).expect("bare");
        assert_eq!((bare.scroll_id.as_str(), bare.total_hits), ("", Some(3)));
        assert!(serde_json::from_value::<EventPage>(json!({})).is_err());
    }
}
