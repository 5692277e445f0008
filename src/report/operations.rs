//! The operations of the interface: the list of them with parameters, body and risk, and the request of one
//! before it is sent.

use crate::api::{BodyKind, Operation, OperationEntry, Parameter, Request, RetryClass, TABLE};
use crate::model::Layout;
use crate::report::prelude::*;

/// A request before it is sent.
pub fn request(request: &Request, view: &TextView) -> String {
    let entry = request.operation.entry();
    let (method, path) = (request.method.to_string(), &*request.path_and_query);
    let line = line![entry.name, " (", entry.risk(), " risk): ", foreign(method), " ", code(path)];
    let body = request.body.as_deref().and_then(|body| std::str::from_utf8(body).ok());
    let body = body.map(|body| format!("\n{}", safe::json(body)));
    view.line(&line) + &body.unwrap_or_default()
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
pub struct OperationList {
    layout: Layout,
    operations: Vec<DescribedOperation>,
}

impl OperationList {
    /// All operations, or one, with their paths and parameters in a layout.
    pub fn new(only: Option<Operation>, layout: Layout) -> Self {
        let entries = TABLE.iter().filter(|entry| only.is_none_or(|only| only == entry.operation));
        Self { layout, operations: entries.map(|entry| DescribedOperation::new(entry, layout)).collect() }
    }
}

impl Report for OperationList {
    written_as!("operations");

    fn blocks<'a>(&'a self, _: &TextView) -> Blocks<'a> {
        let mut blocks = Blocks::default();
        self.operations.iter().for_each(|operation| blocks.section(operation.blocks()));
        blocks
    }
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
    parameters: &'static [Parameter],
    /// What the body is; null where there is none.
    body: Option<&'static str>,
    risk: &'static str,
    side_effect: Option<&'static str>,
    changes_something: bool,
    sent_once: bool,
}

impl DescribedOperation {
    fn new(entry: &'static OperationEntry, layout: Layout) -> Self {
        let route = entry.route(layout);
        Self {
            name: entry.name,
            in_reference: entry.in_reference(),
            area: entry.area,
            description: entry.description,
            method: route.method.to_string(),
            path: route.path,
            parameters: route.parameters,
            body: meaning(route.body),
            risk: entry.risk(),
            side_effect: entry.side_effect(),
            changes_something: entry.changes(),
            sent_once: entry.repeat == RetryClass::Once,
        }
    }

    fn blocks(&self) -> Blocks<'_> {
        let mut blocks = Blocks::from(line![styled(Role::Strong, self.name)]);
        blocks.item(line![self.description]);
        blocks.item(line![foreign(&self.method), " ", self.path]);
        blocks.item(line![
            self.risk,
            if self.changes_something { " risk, changes something" } else { " risk, reads" },
            self.side_effect.map(|effect| line![", side effect: ", effect]),
            if self.sent_once { ", sent once" } else { "" },
            if self.in_reference { "" } else { ", not named in the reference" }
        ]);
        let row = |parameter: &Parameter| {
            let required = if parameter.required { ", required" } else { "" };
            let repeatable = if parameter.repeated { ", repeatable" } else { "" };
            let meaning = line![parameter.meaning, " (", parameter.part.as_str(), required, repeatable, ")"];
            [line![parameter.name], meaning]
        };
        blocks.append(Table::new(["", ""]).titled(Line::default(), 4).rows(self.parameters.iter().map(row)));
        blocks.0.extend(self.body.map(|meaning| Block::Line(4, line!["--body: ", meaning])));
        blocks
    }
}
