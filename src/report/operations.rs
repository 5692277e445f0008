//! The operations of the interface: the list of them with parameters, body and risk, and the request of one
//! before it is sent.

use serde_json::json;

use super::text::TextView;
use super::{Role, pretty, safe};
use crate::api::{
    BodyKind, Operation, OperationEffect, OperationEntry, Parameter, ParameterLocation, Request, RetryClass, TABLE,
};
use crate::model::{Json, Layout};

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
    pub fn json(self) -> Json {
        let operations: Vec<Json> = self.entries().map(|entry| described(entry, self.layout)).collect();
        json!({ "layout": self.layout.as_str(), "operations": operations })
    }
}

/// A request before it is sent.
#[must_use]
pub fn request(request: &Request) -> String {
    let entry = request.operation.entry();
    let mut text =
        format!("{} ({} risk): {} {}", entry.name, entry.risk, request.method, safe::line(&request.path_and_query));
    if let Some(body) = request.body.as_deref().and_then(|body| std::str::from_utf8(body).ok()) {
        text.push_str(&format!("\n{}", safe::json(&pretty::json(body))));
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

fn kind(parameter: &Parameter) -> String {
    let mut kind = match parameter.part {
        ParameterLocation::Path => "path",
        ParameterLocation::Query => "query",
        ParameterLocation::Body => "body",
    }
    .to_owned();
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

fn described(entry: &OperationEntry, layout: Layout) -> Json {
    let route = entry.route(layout);
    let parameter = |parameter: &Parameter| {
        json!({
            "name": parameter.name,
            "meaning": parameter.meaning,
            "in": match parameter.part { ParameterLocation::Path => "path", ParameterLocation::Query => "query", ParameterLocation::Body => "body" },
            "required": parameter.required,
            "repeatable": parameter.repeated,
        })
    };
    json!({
        "name": entry.name,
        "in_reference": entry.in_reference,
        "area": entry.area,
        "description": entry.description,
        "method": route.method.as_str(),
        "path": route.path,
        "parameters": route.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "body": meaning(route.body),
        "risk": entry.risk.to_string(),
        "side_effect": entry.side_effect,
        "changes_something": entry.effect == OperationEffect::Changes,
        "sent_once": entry.repeat == RetryClass::Once,
    })
}
