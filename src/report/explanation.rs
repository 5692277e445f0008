//! What `explain` prints: where the values of a definition or of the settings are from, or what a field of a kind is.

use schemars::JsonSchema;
use serde::Serialize;

use super::json::document;
use super::kinds::Described;
use super::safe;
use super::table::{Align, Table};
use super::text::TextView;
use crate::load::ExplainedSetting;
use crate::load::explain::{ExplainedDefinition, ExplainedValue, ValueSource};
use crate::model::{Json, SourceLocation};

/// An answer of `explain`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Explanation {
    /// The environment whose values are explained.
    pub environment: Option<String>,
    /// What its layers set, if settings were asked for.
    pub settings: Option<Vec<ExplainedSetting>>,
    /// A definition in the environment.
    pub definition: Option<ExplainedDefinition>,
    /// A kind, or a field of one.
    pub described: Option<Described>,
}

impl Explanation {
    /// The document.
    #[must_use]
    pub fn json(&self) -> String {
        document("explanation", self)
    }

    /// The text.
    #[must_use]
    pub fn text(&self, view: &TextView) -> String {
        let of = |name: &String| format!(" in environment {}", safe::line(name));
        let environment = self.environment.as_ref().map(of).unwrap_or_default();
        let mut text = String::new();
        if let Some(definition) = &self.definition {
            let key = definition.key.to_string();
            text.push_str(&format!("{}{environment}", safe::line(&key)));
            text.push_str(&match &definition.removed {
                Some(place) => format!(" is removed by {}\n", at(place)),
                None => format!("\n\n{}", draw(&values(&definition.values), view)),
            });
        }
        if let Some(described) = &self.described {
            text.push_str(&described.text());
        }
        if let Some(settings) = &self.settings {
            let values = match settings.as_slice() {
                [] => "Nothing: the defaults apply (trueup schema --of config).\n".to_owned(),
                settings => draw(&self::settings(settings), view),
            };
            text.push_str(&format!("Set{environment}:\n\n{values}"));
        }
        text
    }
}

fn at(place: &SourceLocation) -> String {
    safe::line(&format!("{}:{}", place.file, place.line)).into_owned()
}

fn draw(table: &Table, view: &TextView) -> String {
    table.draw(view.limit(), view.palette, view.charset)
}

fn columns(name: &str) -> Table {
    Table::new([name, "VALUE", "FROM"].map(|heading| (heading, Align::Left))).fixed_width([0, 2])
}

fn values(values: &[ExplainedValue]) -> Table {
    let mut table = columns("FIELD");
    for value in values {
        let place = value.place.as_ref().map(at).unwrap_or_default();
        let from = match (value.source, place.is_empty()) {
            (ValueSource::Definition, _) => place,
            (ValueSource::Overlay, _) => format!("{place}, overlay"),
            (ValueSource::Default, true) => "default".to_owned(),
            (ValueSource::Default, false) => format!("default, by {place}, overlay"),
        };
        table.row([value.path.join("."), words(&value.value), from]);
        for variable in &value.variables {
            let from = from_layer(&variable.layer, variable.place.as_ref());
            table.row([String::new(), format!("${{{}}} = {}", variable.name, variable.value), from]);
        }
        for replaced in &value.replaced {
            let path =
                if replaced.path == value.path { String::new() } else { format!("{}: ", replaced.path.join(".")) };
            table.row([String::new(), format!("instead of {path}{}", replaced.written), at(&replaced.place)]);
        }
    }
    table
}

fn settings(settings: &[ExplainedSetting]) -> Table {
    let mut table = columns("SETTING");
    for setting in settings {
        let from = from_layer(&setting.layer, setting.place.as_ref());
        table.row([setting.path.join("."), words(&setting.value), from]);
        for replaced in &setting.replaced {
            let from = from_layer(&replaced.layer, replaced.place.as_ref());
            table.row([String::new(), format!("instead of {}", words(&replaced.value)), from]);
        }
    }
    table
}

fn from_layer(layer: &impl std::fmt::Display, place: Option<&SourceLocation>) -> String {
    match place {
        Some(place) => format!("{}, {layer}", at(place)),
        None => layer.to_string(),
    }
}

fn words(value: &Json) -> String {
    match value {
        Json::Null => "(none)".to_owned(),
        Json::String(text) if text.is_empty() => "\"\"".to_owned(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}
