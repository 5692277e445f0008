//! All security events of the tenant: those written in the tenant file and those that are generated.
//! Every source is in the order of time, so that a window is a range of positions in each.

use std::ops::Range;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::heading::Heading;
use super::language::{self, Matcher, Query};
use super::piece::{Place, quote};
use super::series::Series;
use crate::sandbox::query::window::Window;

/// The namespace whose queries cover all events of the tenant.
pub const WHOLE_TENANT: &str = "system";

/// An event that is held as it was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Written {
    pub time: Timestamp,
    pub namespace: String,
    pub event: Value,
}

/// A sequence of events in the order of time.
#[derive(Debug)]
pub enum Source {
    Written(Vec<Written>),
    Generated(Box<Series>),
}

/// The events of a tenant.
#[derive(Debug, Default)]
pub struct Library {
    pub sources: Vec<Source>,
}

/// What a search wants, whenever it happened.
#[derive(Debug)]
pub struct Filter<'a> {
    namespace: Option<&'a str>,
    query: &'a Query,
}

impl<'a> Filter<'a> {
    /// Events of `namespace` that pass `query`.
    #[must_use]
    pub fn new(namespace: &'a str, query: &'a Query) -> Self {
        Self { namespace: (namespace != WHOLE_TENANT).then_some(namespace), query }
    }
}

impl Library {
    /// The positions of each source whose events lie in the window.
    #[must_use]
    pub fn ranges(&self, window: Window) -> Vec<Range<u64>> {
        self.sources
            .iter()
            .map(|source| match source {
                Source::Written(events) => {
                    let start = events.partition_point(|event| event.time < window.from);
                    let end = events.partition_point(|event| event.time <= window.to);
                    start as u64..end as u64
                }
                Source::Generated(series) => {
                    series.curve().first_at(window.from)..series.curve().first_after(window.to)
                }
            })
            .collect()
    }
}

/// A filter made ready for one source.
#[derive(Debug)]
pub struct Sieve<'a> {
    source: &'a Source,
    filter: &'a Filter<'a>,
    /// For a generated source: field, rest of the dotted name, matcher.
    fields: Vec<(Heading, Option<&'a str>, &'a Matcher)>,
    hopeless: bool,
    buffer: String,
}

impl<'a> Sieve<'a> {
    /// Prepares `filter` for `source`.
    #[must_use]
    pub fn new(source: &'a Source, filter: &'a Filter<'a>) -> Self {
        let mut fields = Vec::new();
        let mut hopeless = false;
        if let Source::Generated(_) = source {
            for matcher in filter.query.matchers() {
                match field(matcher.name()) {
                    Some((name, rest)) => fields.push((name, rest, matcher)),
                    None => hopeless = true,
                }
            }
        }
        Self { source, filter, fields, hopeless, buffer: String::new() }
    }

    /// Whether every event of the source passes, known without a look at any.
    #[must_use]
    pub fn passes_all(&self) -> bool {
        self.filter.namespace.is_none() && self.filter.query.matchers().is_empty()
    }

    /// Whether no event of the source passes, known without a look at any.
    #[must_use]
    pub fn passes_none(&self) -> bool {
        self.hopeless
    }

    /// Whether the event at `index` passes.
    pub fn passes(&mut self, index: u64) -> bool {
        match self.source {
            Source::Written(events) => written(events, index).is_some_and(|event| {
                self.filter.namespace.is_none_or(|namespace| event.namespace == namespace)
                    && self.filter.query.accepts(&event.event)
            }),
            Source::Generated(series) => {
                if self.hopeless {
                    return false;
                }
                let sketch = series.sketch(index);
                let buffer = &mut self.buffer;
                self.filter.namespace.is_none_or(|namespace| sketch.namespace() == namespace)
                    && self.fields.iter().all(|(name, rest, matcher)| {
                        matcher.accepts(|look| {
                            if let Some(piece) = sketch.field(*name) {
                                piece.texts(*rest, buffer, look);
                            }
                        })
                    })
            }
        }
    }
}

impl Source {
    /// When the event at `index` happened.
    #[must_use]
    pub fn time(&self, index: u64) -> Timestamp {
        match self {
            Self::Written(events) => written(events, index).map_or(Timestamp::MIN, |event| event.time),
            Self::Generated(series) => series.curve().time(index),
        }
    }

    /// Appends the event at `index` as an answer holds it: a JSON string that contains JSON.
    pub fn write(&self, index: u64, out: &mut String) {
        match self {
            Self::Written(events) => {
                if let Some(event) = written(events, index) {
                    quote(&event.event.to_string(), out);
                }
            }
            Self::Generated(series) => {
                out.push('"');
                series.write(index, Place::InString, out);
                out.push('"');
            }
        }
    }

    /// Hands each text that the event at `index` has at the dotted `name` to `look`.
    pub fn texts(&self, index: u64, name: &str, buffer: &mut String, look: &mut dyn FnMut(&str)) {
        match self {
            Self::Written(events) => {
                if let Some(event) = written(events, index) {
                    language::texts(&event.event, name, look);
                }
            }
            Self::Generated(series) => {
                if let Some((name, rest)) = field(name)
                    && let Some(piece) = series.sketch(index).field(name)
                {
                    piece.texts(rest, buffer, look);
                }
            }
        }
    }
}

fn written(events: &[Written], index: u64) -> Option<&Written> {
    events.get(usize::try_from(index).ok()?)
}

/// The generated field that a dotted name begins with, and the rest of the name.
fn field(name: &str) -> Option<(Heading, Option<&str>)> {
    match name.split_once('.') {
        None => Some((Heading::of(name)?, None)),
        Some((first, rest)) => Some((Heading::of(first)?, Some(rest))),
    }
}
