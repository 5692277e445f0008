//! One write of a run: the intent that is on disk before the request is sent, and the request itself. The body is
//! serialised once, so the journal contains the bytes that are sent.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::model::{APPLIED, Json, Key, ReferredDelete, RunId};
use crate::plan::{ActionKind, BeforeImage};

/// What a write is about to send; on disk before it is sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intent {
    /// The object.
    pub key: Key,
    /// Create, replace, annotate or delete.
    pub action: ActionKind,
    /// How often this write was tried before.
    pub attempt: u32,
    /// The request.
    pub request: WriteRequest,
    /// The object that the GET just before returned; `None` for a create.
    pub before: Option<BeforeImage>,
    /// The `x-request-id` that the write is sent with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// The part of a write that is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum WriteRequest {
    /// A create with this body.
    Create {
        /// The whole object.
        body: ObjectBody,
    },
    /// A replace with this body, which contains the version it was made for.
    Replace {
        /// The whole object.
        body: ObjectBody,
    },
    /// A delete.
    Delete {
        /// What to do if other objects refer to the object.
        #[serde(default)]
        referred: ReferredDelete,
    },
}

/// The body of a request. It is serialised once: the journal stores the bytes that are sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ObjectBody(Box<RawValue>);

impl PartialEq for ObjectBody {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl ObjectBody {
    /// The JSON of `object`.
    ///
    /// # Errors
    /// `object` cannot be serialised as JSON.
    pub fn of(object: &impl Serialize) -> serde_json::Result<Self> {
        serde_json::value::to_raw_value(object).map(Self)
    }

    /// The JSON.
    pub fn raw(&self) -> &RawValue {
        &self.0
    }

    /// The object, or the parts of it that `T` has.
    ///
    /// # Errors
    /// The JSON does not fit `T`.
    pub fn read<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(self.0.get())
    }
}

impl WriteRequest {
    /// The body that is sent; `None` for a delete.
    pub fn body(&self) -> Option<&ObjectBody> {
        match self {
            WriteRequest::Create { body } | WriteRequest::Replace { body } => Some(body),
            WriteRequest::Delete { .. } => None,
        }
    }

    /// The run that the ownership annotations of the body name; a chain of resumed runs has writes of each.
    pub fn run(&self) -> Option<RunId> {
        let body: Json = self.body()?.read().ok()?;
        let applied = body.get("metadata")?.get("annotations")?.get(APPLIED)?.as_str()?;
        RunId::new(applied.split(' ').nth(1)?)
    }
}
