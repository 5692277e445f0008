//! An operation: its method, path, parameters and body in each layout, its risk, and whether its request may be sent
//! again.

use http::Method;
use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Layout, words};

/// An operation of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Creates an object.
    ObjectCreate,
    /// Reads one object.
    ObjectGet,
    /// Reads all objects of a kind in a namespace.
    ObjectList,
    /// Replaces a whole object.
    ObjectReplace,
    /// Deletes an object.
    ObjectDelete,
    /// Queries security events (web application firewall area).
    SecurityEvents,
    /// The same query under the name of the virtual area.
    VirtualEvents,
    /// Reads all DDoS events.
    DdosList,
    /// Reads one DDoS event with its attachments.
    DdosShow,
    /// Changes name, description, end time of a DDoS event.
    DdosEdit,
    /// Reads the software versions that a site can be upgraded to.
    UpgradableVersions,
    /// Reads the upgrade status of a site.
    UpgradeStatus,
    /// Fetches the next batch of a scrolled security event query.
    SecurityEventsScroll,
}

/// Whether a request may be sent again after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryClass {
    /// A read: it may be sent again.
    Read,
    /// A write: sent again only if it certainly took no effect; otherwise a read settles it.
    Write,
    /// Never again once it may have reached the service: the reference declares a side effect.
    Once,
}

/// Where a parameter is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ParameterLocation {
    /// In the path.
    Path,
    /// In the query.
    Query,
    /// In the JSON body, as a text member.
    Body,
}

words!(ParameterLocation { Path = "path", Query = "query", Body = "body" });

/// A parameter of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Parameter {
    /// Its name in the service's interface.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Where it is sent.
    #[serde(rename = "in")]
    pub part: ParameterLocation,
    /// Whether it must be given.
    pub required: bool,
    /// Whether it may be given more than once.
    #[serde(rename = "repeatable")]
    pub repeated: bool,
}

/// The body of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyKind {
    /// No body, but with a Content-Type (reference section 5).
    None,
    /// No body and no Content-Type: the delete of the reference.
    Bare,
    /// A JSON document from the caller, with its meaning.
    Given(&'static str),
    /// A JSON object of the body parameters and the namespace, or one from the caller.
    Parameters(&'static str),
    /// `fail_if_referred` with the name and the namespace (API.md 5).
    Referred,
}

/// Method, path, parameters and body of an operation in one layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The HTTP method.
    pub method: Method,
    /// The path relative to the base URL, with `{parameter}` in the place of a value.
    pub path: &'static str,
    /// The parameters, path first.
    pub parameters: &'static [Parameter],
    /// The body.
    pub body: BodyKind,
}

/// A row of the table.
#[derive(Debug, Clone)]
pub struct OperationEntry {
    /// The operation.
    pub operation: Operation,
    /// The tool name of the reference, or one of ours if the reference has none.
    pub name: &'static str,
    /// The area of the reference's section 1.
    pub area: &'static str,
    /// What it does.
    pub description: &'static str,
    /// The verb for messages: `cannot VERB SUBJECT`.
    pub verb: &'static str,
    /// The subject for messages, with `{parameter}` in the place of a value.
    pub subject: &'static str,
    /// Its request in the layout of the reference.
    pub uniform: Route,
    /// Its request in the vendor's published layout.
    pub published: Route,
    /// Whether it may be repeated.
    pub repeat: RetryClass,
}

impl OperationEntry {
    /// Whether the reference contains it.
    pub fn in_reference(&self) -> bool {
        self.operation != Operation::SecurityEventsScroll
    }

    /// Whether it creates, changes or deletes something.
    pub fn changes(&self) -> bool {
        self.repeat == RetryClass::Write
    }

    /// How dangerous it is: it changes nothing, changes something that can be restored, or deletes something.
    pub fn risk(&self) -> &'static str {
        match self.repeat {
            RetryClass::Read => "low",
            RetryClass::Write if self.operation == Operation::ObjectDelete => "high",
            RetryClass::Write | RetryClass::Once => "medium",
        }
    }

    /// The side effect that the reference declares.
    pub fn side_effect(&self) -> Option<&'static str> {
        (self.repeat == RetryClass::Once).then_some("creates event")
    }

    /// The request in `layout`.
    pub fn route(&self, layout: Layout) -> &Route {
        match layout {
            Layout::Uniform => &self.uniform,
            Layout::Published => &self.published,
        }
    }
}
