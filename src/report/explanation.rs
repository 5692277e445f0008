//! What `explain` prints: where the values of a definition or of the settings are from, or what a field of a kind is.

use super::kinds::Described;
use crate::load::ExplainedSetting;
use crate::load::explain::{ExplainedDefinition, ExplainedValue, ValueSource};
use crate::model::SourceLocation;
use crate::report::prelude::*;

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

impl Report for Explanation {
    written_as!("explanation");

    fn blocks<'a>(&'a self, _: &TextView) -> Blocks<'a> {
        let environment = || self.environment.as_deref().map(|name| line![" in environment ", code(name)]);
        let mut blocks = Blocks::default();
        if let Some(definition) = &self.definition {
            let name = key(&definition.key);
            match &definition.removed {
                Some(place) => blocks.line(line![name, environment(), " is removed by ", at(place)]),
                None => {
                    blocks.line(line![name, environment()]);
                    blocks.section(values(&definition.values));
                }
            }
        }
        if let Some(described) = &self.described {
            blocks.append(described.blocks());
        }
        if let Some(settings) = &self.settings {
            blocks.section(line!["Set", environment(), ":"]);
            blocks.section(match settings.as_slice() {
                [] => Blocks::from(line!["Nothing: the defaults apply (trueup schema --of config)."]),
                settings => self::settings(settings).into(),
            });
        }
        blocks
    }
}

fn columns<'a>(name: &'static str) -> Table<'a> {
    Table::new([name, "VALUE", "FROM"]).free([1])
}

fn values(values: &[ExplainedValue]) -> Table<'_> {
    let mut table = columns("FIELD");
    for value in values {
        let place = value.place.as_ref().map(at);
        let from = match value.source {
            ValueSource::Definition => line![place],
            ValueSource::Overlay => line![place, ", overlay"],
            ValueSource::Default => line!["default", place.map(|place| line![", by ", place, ", overlay"])],
            ValueSource::Unnamed => line!["not named", place.map(|place| line![", by ", place, ", overlay"])],
        };
        table.row([line![code(value.path.join("."))], words(&value.value), from]);
        for variable in &value.variables {
            let from = from_layer(&variable.layer, variable.place.as_ref());
            let set = line![code(format!("${{{}}} = {}", variable.name, variable.value))];
            table.row([Line::default(), set, from]);
        }
        for replaced in &value.replaced {
            let path = (replaced.path != value.path).then(|| line![code(replaced.path.join(".")), ": "]);
            let written = line!["instead of ", path, code(&*replaced.written)];
            table.row([Line::default(), written, line![at(&replaced.place)]]);
        }
    }
    table
}

fn settings(settings: &[ExplainedSetting]) -> Table<'_> {
    let mut table = columns("SETTING");
    for setting in settings {
        let from = from_layer(&setting.layer, setting.place.as_ref());
        table.row([line![code(setting.path.join("."))], words(&setting.value), from]);
        for replaced in &setting.replaced {
            let from = from_layer(&replaced.layer, replaced.place.as_ref());
            table.row([Line::default(), line!["instead of ", words(&replaced.value)], from]);
        }
    }
    table
}

fn from_layer(layer: &impl std::fmt::Display, place: Option<&SourceLocation>) -> Line<'static> {
    line![place.map(|place| line![at(place), ", "]), foreign(layer.to_string())]
}

fn words(value: &Json) -> Line<'_> {
    match value {
        Json::Null => line!["(none)"],
        Json::String(text) if text.is_empty() => line!["\"\""],
        Json::String(text) => line![code(text)],
        other => line![code(other.to_string())],
    }
}
