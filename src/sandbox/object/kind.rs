//! The kinds of object that the service offers, from the descriptions in `crate::kind`: the names of their paths,
//! operations and types.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::http::Method;

use crate::kind::{self, Kind};
use crate::model::displayed;

/// An object by the name of its kind, its namespace and its name.
pub type Place = (&'static str, String, Box<str>);

/// The prefix of the service's message names.
const SCHEMA: &str = "ves.io.schema";

/// A kind of object.
#[derive(Debug)]
pub struct ObjectKind {
    /// Its description.
    pub described: &'static Kind,
    /// Its type without the schema, such as `views.origin_pool.Object`, as references name it.
    pub short_type: String,
    /// The path of all its objects, and of one.
    pub paths: [String; 2],
    /// Each operation with its method, and whether it is on the path of one object.
    pub operations: [(String, Method, usize); 5],
}

static KINDS: LazyLock<BTreeMap<&'static str, ObjectKind>> =
    LazyLock::new(|| kind::all().map(|kind| (kind.name, ObjectKind::new(kind))).collect());

impl ObjectKind {
    fn new(kind: &'static Kind) -> Self {
        let package = kind.spec.rsplit_once('.').map_or(kind.name, |(package, _)| package);
        let operation = |verb: &str, method, path| (format!("{}-{verb}", kind.name), method, path);
        Self {
            short_type: format!("{package}.Object"),
            paths: [kind.path(), format!("{}/{{name}}", kind.path())],
            operations: [
                operation("create", Method::POST, 0),
                operation("list", Method::GET, 0),
                operation("get", Method::GET, 1),
                operation("replace", Method::PUT, 1),
                operation("delete", Method::DELETE, 1),
            ],
            described: kind,
        }
    }

    /// All kinds, by name.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        KINDS.values()
    }

    /// The kind of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        KINDS.get(name)
    }

    /// The kind of an operation such as `endpoint-create`.
    pub fn of_operation(operation: &str) -> Option<&'static Self> {
        Self::find(operation.rsplit_once('-')?.0)
    }

    pub fn name(&self) -> &'static str {
        self.described.name
    }

    /// Whether it is the kind `endpoint`, whose objects need a target.
    pub fn is_endpoint(&self) -> bool {
        self.name() == "endpoint"
    }

    /// The kinds of the objects that the service creates for a view of this kind.
    pub fn children(&self) -> impl Iterator<Item = &'static Self> + use<> {
        let names = if self.described.is_view { self.described.children.clone() } else { Vec::new() };
        names.into_iter().filter_map(Self::find)
    }

    /// Its full type, such as `ves.io.schema.endpoint.Object`.
    pub fn full_type(&self) -> String {
        format!("{SCHEMA}.{}", self.short_type)
    }
}

/// An object by its kind, its namespace and its name.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    pub kind: &'static ObjectKind,
    pub namespace: &'a str,
    pub name: &'a str,
}

impl Key<'_> {
    /// The name of the objects that the service creates for it.
    pub fn child_name(&self) -> String {
        format!("ves-io-{}-{}", self.kind.name().replace('_', "-"), self.name)
    }

    /// This key with owned texts, for an index.
    pub fn place(&self) -> Place {
        (self.kind.name(), self.namespace.to_owned(), self.name.into())
    }
}

displayed!(Key<'_>, |key| "{} {}/{}", key.kind.name(), key.namespace, key.name);
