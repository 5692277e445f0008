//! Aggregations over all events that a query matches: by field, by date, and cardinality. A bucket of a field has `key`
//! and `count`, a bucket of a date has `time` in milliseconds: one bucket per step from the start of the query. The
//! answer contains the step, which may be larger than the requested one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::language;
use super::store::SecurityEvent;
use crate::sandbox::answer::{Code, ErrorResponse};
use crate::sandbox::query::time::{self, TimeWindow};

/// Buckets of a field aggregation without `topk`.
const DEFAULT_TOP: usize = 10;

/// The most steps of a date aggregation: the step grows until the query has no more steps than this.
const DATES: i64 = 1_000;

/// The fields by which events are aggregated, and the path of each in an event.
static FIELDS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    serde_yaml::from_str(include_str!("fields.yaml")).expect("the file is a part of the program, and a test reads it")
});

/// The aggregations of one request, each with its counts.
#[derive(Debug, Default)]
pub struct Aggregations {
    named: Vec<(String, Aggregation)>,
}

#[derive(Debug)]
enum Aggregation {
    Field {
        path: String,
        top: usize,
        counts: HashMap<String, u64>,
    },
    Cardinality {
        path: String,
        counts: HashMap<String, u64>,
    },
    /// Times in milliseconds, and counts by the number of the step.
    Date {
        from: i64,
        step: i64,
        counts: BTreeMap<i64, u64>,
    },
}

impl Aggregations {
    /// Reads `aggs` of a request over `window`.
    ///
    /// # Errors
    /// 400 for a field or kind that the service does not know, 501 for a kind that the sandbox does not support.
    pub fn read(aggs: &Map<String, Value>, window: TimeWindow) -> Result<Self, ErrorResponse> {
        let named = aggs
            .iter()
            .map(|(name, wanted)| Ok((name.clone(), Aggregation::read(name, wanted, window)?)))
            .collect::<Result<_, ErrorResponse>>()?;
        Ok(Self { named })
    }

    /// Counts one event.
    pub fn add(&mut self, event: &SecurityEvent) {
        for (_, aggregation) in &mut self.named {
            match aggregation {
                Aggregation::Field { path, counts, .. } | Aggregation::Cardinality { path, counts } => {
                    // An event counts once for a value that it contains twice.
                    let mut values = BTreeSet::new();
                    language::texts(&event.event, path, &mut |text| {
                        values.insert(text.to_owned());
                    });
                    for value in values {
                        *counts.entry(value).or_default() += 1;
                    }
                }
                Aggregation::Date { from, step, counts } => {
                    *counts.entry((event.time.as_millisecond() - *from).div_euclid(*step)).or_default() += 1;
                }
            }
        }
    }

    /// `aggs` of the response.
    pub fn answer(self) -> Value {
        self.named.into_iter().map(|(name, aggregation)| (name, aggregation.answer())).collect::<Map<_, _>>().into()
    }
}

impl Aggregation {
    fn read(name: &str, wanted: &Value, window: TimeWindow) -> Result<Self, ErrorResponse> {
        let invalid = |problem: String| ErrorResponse::invalid(format!("aggregation `{name}`: {problem}"));
        let Some((kind, wanted)) =
            wanted.as_object().filter(|kinds| kinds.len() == 1).and_then(|kinds| kinds.iter().next())
        else {
            return Err(invalid("exactly one kind of aggregation is expected".into()));
        };
        let path = || {
            let field = wanted.get("field").and_then(Value::as_str).unwrap_or_default();
            FIELDS.get(field).cloned().ok_or_else(|| invalid(format!("unknown field `{field}`")))
        };
        match kind.as_str() {
            "field_aggregation" => {
                let top = match wanted.get("topk") {
                    None | Some(Value::Null) => DEFAULT_TOP,
                    Some(top) => top
                        .as_u64()
                        .and_then(|top| usize::try_from(top).ok())
                        .ok_or_else(|| invalid(format!("`topk` is {top}, which is not a whole number from 0")))?,
                };
                Ok(Self::Field { path: path()?, top: if top == 0 { DEFAULT_TOP } else { top }, counts: HashMap::new() })
            }
            "cardinality_aggregation" => Ok(Self::Cardinality { path: path()?, counts: HashMap::new() }),
            "date_aggregation" => {
                let text = wanted.get("step").and_then(Value::as_str).unwrap_or_default();
                let step = time::duration(text)
                    .map(|step| step.as_secs())
                    .filter(|step| *step > 0)
                    .ok_or_else(|| invalid(format!("`step` is `{text}`, expected such as `30s`, `5m`, `1h`, `1d`")))?;
                let seconds = window.to.as_second() - window.from.as_second();
                // A multiple of the requested step.
                let step = step * (seconds / step / DATES + 1);
                Ok(Self::Date { from: window.from.as_millisecond(), step: step * 1_000, counts: BTreeMap::new() })
            }
            "multi_field_aggregation" | "metrics_aggregation" | "percentile_aggregation" => {
                Err(ErrorResponse::new(Code::UNIMPLEMENTED, format!("the sandbox does not support {kind}")))
            }
            other => Err(invalid(format!("unknown kind `{other}`"))),
        }
    }

    fn answer(self) -> Value {
        match self {
            Self::Field { top, counts, .. } => {
                let mut counts: Vec<_> = counts.into_iter().collect();
                counts.sort_by(|(one, ones), (other, others)| others.cmp(ones).then_with(|| one.cmp(other)));
                let bucket = |(key, count): (String, u64)| json!({"key": key, "count": count.to_string()});
                let buckets: Vec<Value> = counts.into_iter().take(top).map(bucket).collect();
                json!({"field_aggregation": {"buckets": buckets}})
            }
            Self::Cardinality { counts, .. } => {
                json!({"cardinality_aggregation": {"count": counts.len().to_string()}})
            }
            Self::Date { from, step, counts } => {
                let bucket = |(number, count): (i64, u64)| {
                    let time = (from + number * step).to_string();
                    json!({"time": time, "count": count.to_string(), "sub_aggs": {}, "trend_value": null})
                };
                let buckets: Vec<Value> = counts.into_iter().map(bucket).collect();
                json!({"date_aggregation": {"buckets": buckets, "step": written(step / 1_000)}})
            }
        }
    }
}

/// A step in the form of a request, in its largest unit.
fn written(seconds: i64) -> String {
    let units = [(86_400, 'd'), (3_600, 'h'), (60, 'm')];
    let (length, unit) = units.into_iter().find(|(length, _)| seconds % length == 0).unwrap_or((1, 's'));
    format!("{}{unit}", seconds / length)
}
