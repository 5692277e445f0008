//! What a field of a definition means, from the shape that the JSON Schema is made of; what a setting of `trueup.yaml`
//! means; and what the names of fields in plans stand for.

use super::explanation::{Explained, ExplainedTopic};
use super::fit::wrapped;
use super::settings::{CHOSEN, Setting, settings};
use crate::model::Field;
use crate::model::shape::{ENDPOINT, FieldStatus, NodeKind, SPEC, ShapeNode, snake};

/// How many columns a kind begins at.
const COLUMN: usize = 36;

impl Explained {
    fn one(path: &str, topic: &Topic, topics: &[(String, Topic)]) -> Self {
        Self { text: topic.render(path, topics), topics: vec![topic.explained(path)] }
    }

    fn all(text: String, is_wanted: impl Fn(&Topic) -> bool) -> Self {
        let topics = topics().into_iter().filter(|(_, topic)| is_wanted(topic));
        Self { text, topics: topics.map(|(path, topic)| topic.explained(&path)).collect() }
    }
}

/// The field, the setting or the name in plans that `asked` names, with what is below it; else similar names.
///
/// # Errors
/// Nothing has that name, or several end in it: the paths that may be meant, best first.
pub fn explain(asked: &str) -> Result<Explained, Vec<String>> {
    let keys: Vec<String> = asked.trim().trim_matches('.').split('.').map(|key| snake(key).into_owned()).collect();
    let wanted = keys.join(".");
    match wanted.as_str() {
        "" | "endpoint" => return Ok(Explained::all(overview(), |topic| !matches!(topic, Topic::Setting(_)))),
        "settings" | "trueup.yaml" => {
            return Ok(Explained::all(settings_overview(), |topic| matches!(topic, Topic::Setting(_))));
        }
        _ => {}
    }
    if let Some(Field::Label(_) | Field::Annotation(_)) = Field::from_path(asked.trim()) {
        // Labels and annotations have free keys; the shape has the mapping.
        return explain(&format!("metadata.{}", keys[0]));
    }
    let topics = topics();
    if let Some(setting) = of_layer(&keys)
        && !topics.iter().any(|(path, _)| is_named(path, &keys))
    {
        return explain(&setting);
    }
    if let Some((path, topic)) = topics.iter().find(|(path, _)| is_named(path, &keys)) {
        return Ok(Explained::one(path, topic, &topics));
    }
    let ends: Vec<&(String, Topic)> = topics.iter().filter(|(path, _)| path.ends_with(&format!(".{wanted}"))).collect();
    // The shortest of several is the one that people mean, unless others are as short.
    let steps = |path: &str| path.matches('.').count();
    let least = ends.iter().map(|(path, _)| steps(path)).min().unwrap_or(0);
    match ends.iter().filter(|(path, _)| steps(path) == least).collect::<Vec<_>>().as_slice() {
        [(path, topic)] => return Ok(Explained::one(path, topic, &topics)),
        [] => {}
        _ => return Err(ends.into_iter().map(|(path, _)| path.clone()).collect()),
    }
    let mut near: Vec<(usize, usize, &String)> = topics
        .iter()
        .map(|(path, _)| {
            let last = path.rsplit('.').next().unwrap_or_default();
            let distance = strsim::damerau_levenshtein(last, &wanted).min(strsim::damerau_levenshtein(path, &wanted));
            (distance, steps(path), path)
        })
        .filter(|(distance, ..)| *distance <= 3)
        .collect();
    near.sort();
    Err(near.into_iter().take(4).map(|(.., path)| path.clone()).collect())
}

/// The setting of the top level that an environment or `defaults` sets, where the keys lead into one of them.
fn of_layer(keys: &[String]) -> Option<String> {
    let setting = match keys {
        [layer, rest @ ..] if layer == "defaults" => rest,
        [layer, _, rest @ ..] if layer == "environments" => rest,
        _ => return None,
    };
    (!setting.is_empty()).then(|| setting.join("."))
}

/// Everything that [`explain`] knows, with what is written there.
#[must_use]
pub fn explained() -> Vec<(String, &'static str)> {
    topics().into_iter().map(|(path, topic)| (path, topic.kind())).collect()
}

fn topics() -> Vec<(String, Topic)> {
    let mut topics: Vec<(String, Topic)> =
        ENDPOINT.below().into_iter().map(|(path, node)| (path, Topic::Field(node))).collect();
    topics.push((Field::Target.to_string(), Topic::Target));
    topics.extend(settings().into_iter().map(|setting| (setting.path.clone(), Topic::Setting(setting))));
    topics
}

/// Whether these keys are the path, where a part of it may be a name that a person chose.
fn is_named(path: &str, keys: &[String]) -> bool {
    path.split('.').count() == keys.len() && path.split('.').zip(keys).all(|(part, key)| part == key || part == CHOSEN)
}

/// What can be explained.
enum Topic {
    /// A field of a definition.
    Field(&'static ShapeNode),
    /// `spec.target`, which plans and `ignore:` name and no definition has.
    Target,
    /// A setting of `trueup.yaml`.
    Setting(Setting),
}

impl Topic {
    fn kind(&self) -> &'static str {
        match self {
            Topic::Field(node) => node.kind.words(),
            Topic::Target => "exclusive group",
            Topic::Setting(setting) => setting.kind,
        }
    }

    fn explained(&self, path: &str) -> ExplainedTopic {
        let (meaning, allowed, default) = match self {
            Topic::Field(node) => (node.meaning, node.rule.words(), node.default),
            Topic::Target => (
                "The target of the endpoint: the one of these fields that is set. Plans, drift and `ignore:` call it so.",
                SPEC.rule.words(),
                "",
            ),
            Topic::Setting(setting) => (&*setting.meaning, setting.allowed.clone(), &*setting.default),
        };
        ExplainedTopic {
            path: path.to_owned(),
            r#type: self.kind(),
            allowed,
            default: default.to_owned(),
            meaning: meaning.to_owned(),
            is_setting: matches!(self, Topic::Setting(_)),
        }
    }

    fn render(&self, path: &str, topics: &[(String, Topic)]) -> String {
        let ExplainedTopic { meaning, allowed, default, .. } = self.explained(path);
        let mut text = format!("{path}\n");
        for line in wrapped(&meaning, 84) {
            text.push_str(&format!("  {line}\n"));
        }
        text.push('\n');
        let mut row = |name: &str, value: &str| {
            if !value.is_empty() {
                for (at, line) in wrapped(value, 74).into_iter().enumerate() {
                    text.push_str(&format!("  {:<9} {line}\n", if at == 0 { name } else { "" }));
                }
            }
        };
        row("type", self.kind());
        row("allowed", &allowed);
        row("default", if default.is_empty() { "none" } else { &default });
        match self {
            Topic::Field(node) if node.status == FieldStatus::Deprecated => {
                row("status", "deprecated by the vendor; still read, sent and compared");
            }
            Topic::Setting(_) => row("file", "trueup.yaml"),
            Topic::Field(_) | Topic::Target => {}
        }
        let below = self.below(path, topics);
        if !below.is_empty() {
            text.push_str("\n  below it\n");
            for (key, kind) in below {
                text.push_str(&format!("    {key:<24} {kind}\n"));
            }
        }
        text
    }

    /// The keys below it with their kinds.
    fn below<'t>(&self, path: &str, topics: &'t [(String, Topic)]) -> Vec<(&'t str, &'static str)> {
        match self {
            Topic::Field(node) => node.children.iter().map(|child| (child.key, child.kind.words())).collect(),
            Topic::Target => {
                let options = SPEC.options().iter().filter_map(|option| SPEC.child(option));
                options.map(|child| (child.key, child.kind.words())).collect()
            }
            Topic::Setting(_) => {
                let rest = |inner: &'t str| inner.strip_prefix(path)?.strip_prefix('.');
                let inner = topics.iter().filter(|(_, topic)| matches!(topic, Topic::Setting(_)));
                inner
                    .filter_map(|(inner, topic)| Some((rest(inner)?, topic.kind())))
                    .filter(|(key, _)| !key.trim_start_matches(&format!("{CHOSEN}.")).contains('.'))
                    .collect()
            }
        }
    }
}

fn overview() -> String {
    let mut text = String::from("A definition is one endpoint: `metadata` and `spec`.\n\n");
    list(&ENDPOINT, "  ", &mut text);
    text.push_str("\nMore of one:  trueup explain spec.where.site\nSettings:     trueup explain settings\n");
    text
}

fn settings_overview() -> String {
    let mut text = String::from("The settings of a stack are in the `trueup.yaml` of its directory.\n\n");
    for Setting { path, kind, .. } in settings() {
        let chosen = format!(".{CHOSEN}.");
        let (above, key) = path.split_once(&chosen).or_else(|| path.rsplit_once('.')).unwrap_or(("", &path));
        let depth = if above.is_empty() { 0 } else { above.matches('.').count() + 1 };
        let key = if path.contains(&chosen) { format!("{CHOSEN}.{key}") } else { key.to_owned() };
        let line = format!("{}{key}", "  ".repeat(depth + 1));
        text.push_str(&format!("{line:<COLUMN$}{kind}\n"));
    }
    text.push_str("\nMore of one:  trueup explain guards.percent\n");
    text
}

/// The keys below a node, a line each; the parts of a reference are the same everywhere.
fn list(node: &ShapeNode, indent: &str, text: &mut String) {
    for child in node.children {
        let line = format!("{indent}{}", child.key);
        text.push_str(&format!("{line:<COLUMN$}{}\n", child.kind.words()));
        if child.kind != NodeKind::References {
            list(child, &format!("{indent}  "), text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explain(asked: &str) -> Result<String, Vec<String>> {
        super::explain(asked).map(|explained| explained.text)
    }

    #[test]
    fn a_field_is_found_by_its_path_by_its_end_and_in_both_spellings() {
        for asked in ["spec.dns_name_advanced.refresh_interval", "refresh_interval", "refreshInterval"] {
            let text = explain(asked).expect("a field");
            assert!(text.starts_with("spec.dns_name_advanced.refresh_interval\n"), "{text}");
            assert!(text.contains("allowed   10 to 604800\n"), "{text}");
        }
        assert!(explain("name").expect("the shortest").starts_with("metadata.name\n"));
    }

    #[test]
    fn a_group_lists_the_fields_below_it() {
        let text = explain("spec.where").expect("a field");
        assert!(text.contains("at most one of site, virtual_site, virtual_network"), "{text}");
        assert!(text.contains("    virtual_network "), "{text}");
    }

    #[test]
    fn a_misspelt_field_gets_similar_names() {
        assert_eq!(explain("protocl"), Err(vec!["spec.protocol".to_owned()]));
        let several = explain("network_type").expect_err("two have it");
        assert_eq!(several, ["spec.where.site.network_type", "spec.where.virtual_site.network_type"]);
        assert_eq!(explain("zzzzzzzz"), Err(Vec::new()));
    }

    #[test]
    fn settings_are_found_by_path_and_end_and_below_a_name() {
        let text = explain("namespaces").expect("a setting");
        assert!(text.contains("  type      list of texts\n") && text.contains("  file      trueup.yaml\n"), "{text}");
        let text = explain("guards.percent").expect("a setting");
        assert!(text.contains("  allowed   0 to 100\n  default   30\n"), "{text}");
        assert_eq!(explain("percent"), explain("guards.percent"));
        assert_eq!(explain("environments.prod.overlay"), explain("overlay"));
        assert_eq!(explain("defaults.overlay"), explain("overlay"));
        assert_eq!(explain("environments.prod.guards.percent"), explain("guards.percent"));
        assert_eq!(explain("defaults.guards.precent"), explain("guards.precent"));
        assert!(explain("guards").expect("a mapping").contains("    percent                  whole number\n"));
        assert!(explain("environments").expect("a mapping").contains("    NAME.extends "));
        assert!(explain("gates.events").expect("a setting").contains("    threshold "));
        let near = explain("namepsaces").expect_err("it is misspelt");
        assert_eq!(near[0], "namespaces");
    }

    #[test]
    fn every_name_of_a_field_in_a_plan_is_explained() {
        for field in Field::FIXED.iter().chain(&[Field::Label("team".into()), Field::Annotation("a/b.c".into())]) {
            assert!(explain(&field.to_string()).is_ok(), "{field}");
        }
        let text = explain("target").expect("a name of plans");
        assert!(text.starts_with("spec.target\n") && text.contains("    service_info "), "{text}");
        assert!(explain("labels.team").expect("a label").starts_with("metadata.labels\n"));
    }

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        assert!(
            settings_overview().contains("\n    NAME.overlay                    text\n"),
            "{}",
            settings_overview()
        );
        for path in ENDPOINT.below().into_iter().map(|(path, _)| path).chain(settings().into_iter().map(|s| s.path)) {
            let text = explain(&path).expect("its own path");
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        }
    }
}
