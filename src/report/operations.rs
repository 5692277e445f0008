//! The operations of the interface: the list of them with parameters, body and risk, and the request of one
//! before it is sent.

use schemars::JsonSchema;
use serde::Serialize;

use super::text::TextView;
use super::{Role, safe};
use crate::api::{
    BodyKind, Operation, OperationEffect, OperationEntry, Parameter, ParameterLocation, Request, RetryClass, TABLE,
};
use crate::model::Layout;

/// Which operations are listed.
#[derive(Debug, Clone, Copy)]
pub struct OperationList {
    /// Only this one.
    pub only: Option<Operation>,
    /// With its paths and parameters in this layout.
    pub layout: Layout,
}

impl OperationList {
    fn entries(self) -> impl Iterator<Item = &'static OperationEntry> {
        TABLE.iter().filter(move |entry| self.only.is_none_or(|only| only == entry.operation))
    }

    /// The operations as text.
    #[must_use]
    pub fn text(self, view: &TextView) -> String {
        self.entries().map(|entry| block(entry, self.layout, view)).collect::<Vec<_>>().join("\n")
    }

    /// The operations as the content of a JSON document.
    #[must_use]
    pub fn json(self) -> OperationsReport {
        let operations = self.entries().map(|entry| described(entry, self.layout)).collect();
        OperationsReport { layout: self.layout, operations }
    }
}

/// A request before it is sent.
#[must_use]
pub fn request(request: &Request) -> String {
    let entry = request.operation.entry();
    let mut text =
        format!("{} ({} risk): {} {}", entry.name, entry.risk, request.method, safe::line(&request.path_and_query));
    if let Some(body) = request.body.as_deref().and_then(|body| std::str::from_utf8(body).ok()) {
        text.push_str(&format!("\n{}", safe::json(body)));
    }
    text
}

fn block(entry: &OperationEntry, layout: Layout, view: &TextView) -> String {
    let route = entry.route(layout);
    let mut text = format!("{}\n", view.palette.paint(Role::Strong, entry.name));
    text.push_str(&format!("  {}\n  {} {}\n", entry.description, route.method, route.path));
    let mut message = format!("{} risk, {}", entry.risk, effect(entry));
    if let Some(side_effect) = entry.side_effect {
        message.push_str(&format!(", side effect: {side_effect}"));
    }
    if entry.repeat == RetryClass::Once {
        message.push_str(", sent once");
    }
    if !entry.in_reference {
        message.push_str(", not named in the reference");
    }
    text.push_str(&format!("  {message}\n"));
    let name = route.parameters.iter().map(|parameter| parameter.name.len()).max().unwrap_or_default();
    for parameter in route.parameters {
        text.push_str(&format!("    {:name$}  {} ({})\n", parameter.name, parameter.meaning, kind(parameter)));
    }
    if let Some(meaning) = meaning(route.body) {
        text.push_str(&format!("    --body: {meaning}\n"));
    }
    text
}

fn effect(entry: &OperationEntry) -> &'static str {
    match entry.effect {
        OperationEffect::Reads => "reads",
        OperationEffect::Changes => "changes something",
    }
}

fn place(parameter: &Parameter) -> &'static str {
    match parameter.part {
        ParameterLocation::Path => "path",
        ParameterLocation::Query => "query",
        ParameterLocation::Body => "body",
    }
}

fn kind(parameter: &Parameter) -> String {
    let mut kind = place(parameter).to_owned();
    if parameter.required {
        kind.push_str(", required");
    }
    if parameter.repeated {
        kind.push_str(", repeatable");
    }
    kind
}

/// What a caller gives as the body.
fn meaning(body: BodyKind) -> Option<&'static str> {
    match body {
        BodyKind::None | BodyKind::Bare | BodyKind::Referred => None,
        BodyKind::Given(meaning) | BodyKind::Parameters(meaning) => Some(meaning),
    }
}

/// Operations, as JSON.
#[derive(Serialize, JsonSchema)]
pub struct OperationsReport {
    layout: Layout,
    operations: Vec<DescribedOperation>,
}

/// One operation.
#[derive(Serialize, JsonSchema)]
struct DescribedOperation {
    name: &'static str,
    /// Whether the reference names it.
    in_reference: bool,
    area: &'static str,
    description: &'static str,
    method: String,
    path: &'static str,
    parameters: Vec<DescribedParameter>,
    /// What the body is; null where there is none.
    body: Option<&'static str>,
    risk: String,
    side_effect: Option<&'static str>,
    changes_something: bool,
    sent_once: bool,
}

/// A parameter of an operation.
#[derive(Serialize, JsonSchema)]
struct DescribedParameter {
    name: &'static str,
    meaning: &'static str,
    /// Where it is written: `path`, `query` or `body`.
    r#in: &'static str,
    required: bool,
    repeatable: bool,
}

fn described(entry: &OperationEntry, layout: Layout) -> DescribedOperation {
    let route = entry.route(layout);
    let parameter = |parameter: &Parameter| DescribedParameter {
        name: parameter.name,
        meaning: parameter.meaning,
        r#in: place(parameter),
        required: parameter.required,
        repeatable: parameter.repeated,
    };
    DescribedOperation {
        name: entry.name,
        in_reference: entry.in_reference,
        area: entry.area,
        description: entry.description,
        method: route.method.to_string(),
        path: route.path,
        parameters: route.parameters.iter().map(parameter).collect(),
        body: meaning(route.body),
        risk: entry.risk.to_string(),
        side_effect: entry.side_effect,
        changes_something: entry.effect == OperationEffect::Changes,
        sent_once: entry.repeat == RetryClass::Once,
    }
}
