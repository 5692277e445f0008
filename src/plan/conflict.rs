//! Why a change is refused: the fields that differ from what the plan expects, each with three values.
//! Apply finds conflicts before a write, and a rollback finds them while it is planned.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Field, Json, Object};

/// Why a change was refused, field by field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conflict {
    /// As a fragment: changed outside, deleted, re-created, being deleted.
    pub reason: String,
    /// The run's own write may have taken effect and been overwritten.
    #[serde(default)]
    pub ours_may_be_lost: bool,
    /// The fields that changed outside or that the plan changes.
    pub fields: Vec<ThreeWay>,
}

/// Three values of one field; `null` means absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreeWay {
    /// Which field.
    pub field: Field,
    /// The value when the plan was made.
    pub planned: Json,
    /// The live value now.
    pub now: Json,
    /// The value that the plan wants.
    pub wanted: Json,
}

impl Conflict {
    /// A conflict over `fields`, with the values of the planned, the live and the wanted object.
    pub fn new(reason: &str, fields: BTreeSet<Field>, [planned, now, wanted]: [Option<&Object>; 3]) -> Self {
        let value = |field: &Field, endpoint: Option<&Object>| endpoint.map_or(Json::Null, |e| field.value(e));
        let fields = fields
            .into_iter()
            .map(|field| ThreeWay {
                planned: value(&field, planned),
                now: value(&field, now),
                wanted: value(&field, wanted),
                field,
            })
            .collect();
        Self { reason: reason.to_owned(), ours_may_be_lost: false, fields }
    }
}
