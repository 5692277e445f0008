//! Layers of settings: the order in which they are in force, what they may contain, and that merging them gives what a
//! file gives in which a person wrote the outcome down.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::described;
use super::layers::document;
use super::{Config, DEFAULT_CONCURRENCY, DEFAULT_TOKEN_VARIABLE, ExplainedSetting, LayerName, SETTINGS};
use crate::load::text::SourceText;
use crate::load::{LoadOptions, RenderOptions, UndefinedEnvironment, settings_of};
use crate::model::policy::{GateMode, Prune};

fn read(text: &str, environment: Option<&str>) -> Result<Config, String> {
    let options = LoadOptions { environment: environment.map(str::to_owned), ..LoadOptions::default() };
    settings_of(Some(text.into()), &options).map_err(|problems| problems.render(&RenderOptions::default()))
}

const LAYERS: &str = "\
stack: shop
namespaces: [shop]
prune: none
guards: {percent: 50, least: 4}
gates: {upgrade: block, events: {mode: block, minutes: 30}}
variables: {domain: example.net, port: 80, zone: a}
ignore: [{object: '*', field: spec.port}]
files: {exclude: [archive/**]}
rate_limit: 5
labels: {ring: main, team: shop}
defaults:
  prune: owned
  guards: {percent: 40}
  variables: {domain: default.example.net}
  overlay: overlays/all
  concurrency: 4
environments:
  live:
    guards: {percent: 20}
    gates: {events: warn}
    variables: {domain: live.example.net, port: 443}
    ignore: []
    overlay: overlays/live
    token_variable: TRUEUP_TOKEN_LIVE
  prod:
    extends: live
    labels: {ring: canary, tier: 1}
    guards: {least: 2}
    variables: {port: 8443}
    overlay: overlays/prod
    allow_empty: true
  empty:
";

#[test]
fn an_environment_is_its_layers_on_the_top_level() {
    let prod = read(LAYERS, Some("prod")).expect("good settings");
    assert_eq!(prod.safeguards.prune, Prune::Owned);
    assert_eq!((prod.safeguards.guards.percent, prod.safeguards.guards.least), (20, 2));
    let gates = prod.safeguards.gates;
    assert_eq!((gates.upgrade, gates.events, gates.events_minutes), (GateMode::Block, GateMode::Warn, 30));
    let variables: BTreeMap<&str, &str> = prod.variables.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(variables, BTreeMap::from([("domain", "live.example.net"), ("port", "8443"), ("zone", "a")]));
    assert!(prod.safeguards.ignore.is_empty(), "a list replaces");
    assert_eq!(prod.overlays, ["overlays/all", "overlays/live", "overlays/prod"]);
    assert_eq!((prod.rate_limit, prod.concurrency, prod.allow_empty), (Some(5.0), Some(4), true));
    let labels: Vec<(&str, &str)> = prod.labels.iter().map(|(key, value)| (&**key, &**value)).collect();
    assert_eq!(labels, [("ring", "canary"), ("team", "shop"), ("tier", "1")]);
    assert_eq!(prod.token_variable.as_deref(), Some("TRUEUP_TOKEN_LIVE"));
    assert_eq!(prod.files.exclude, ["archive/**"]);
    // Without an environment, its layers and the defaults of all environments are not there.
    let top = read(LAYERS, None).expect("good settings");
    assert_eq!((top.safeguards.prune, top.safeguards.guards.percent), (Prune::None, 50));
    assert_eq!((top.concurrency, top.overlays.len(), top.safeguards.ignore.len()), (None, 0, 1));
    // Every environment is there, whichever is chosen.
    assert_eq!(top.environments.keys().collect::<Vec<_>>(), ["empty", "live", "prod"]);
    // Only of the chosen one are the variables known.
    let without = Config {
        environments: BTreeMap::new(),
        variables: BTreeMap::new(),
        environment_variables: BTreeSet::new(),
        ..prod
    };
    assert_eq!(without, top.environments["prod"]);
    assert_eq!(top.environments["empty"].safeguards.guards.percent, 40);
}

/// The defaults below a node of the description, as a file writes them; of a choice those of its last option.
fn defaults(node: &Value) -> Value {
    let resolved = |node: &Value| match node["$ref"].as_str() {
        Some(target) => SETTINGS.pointer(&target[1..]).expect("a definition").clone(),
        None => node.clone(),
    };
    let node = resolved(node);
    let node = node["anyOf"].as_array().and_then(|options| options.last()).map_or(node.clone(), resolved);
    let of = |(key, below): (&String, &Value)| match (defaults(below), &below["default"]) {
        (Value::Object(inside), _) if !inside.is_empty() => Some((key.clone(), inside.into())),
        (_, Value::Null) => None,
        (_, default) => Some((key.clone(), default.clone())),
    };
    let keys = node["properties"].as_object().into_iter().flatten();
    keys.filter(|(key, _)| !["defaults", "environments"].contains(&key.as_str()))
        .filter_map(of)
        .collect::<Map<_, _>>()
        .into()
}

#[test]
fn what_the_description_calls_a_default_is_one() {
    const NAMESPACES: &str = "namespaces: [shop]\n";
    let mut described = defaults(&SETTINGS);
    let usual = read(NAMESPACES, None).expect("good settings");
    // What is not in the settings: who reads them knows it.
    assert_eq!(described["layout"].take(), json!(usual.layout.unwrap_or_default()));
    assert_eq!(described["concurrency"].take(), DEFAULT_CONCURRENCY);
    assert_eq!(described["token_variable"].take(), DEFAULT_TOKEN_VARIABLE);
    // The mode of a gate with numbers is another than that of one without.
    assert_eq!(described["gates"]["events"]["mode"].take(), "warn");
    described["gates"]["events"]["mode"] = "off".into();
    let written = format!("{NAMESPACES}{}", serde_yaml::to_string(&described).expect("YAML"));
    assert_eq!(read(&written, None).expect("good settings"), usual, "{written}");
    let with_numbers = read(&format!("{NAMESPACES}gates: {{events: {{}}}}\n"), None).expect("good settings");
    assert_eq!(with_numbers.safeguards.gates.events, GateMode::Warn);
}

#[test]
fn a_new_environment_has_the_defaults_of_all() {
    let file = || Some(LAYERS.into());
    let options = LoadOptions { environment: Some("new".to_owned()), ..LoadOptions::default() };
    settings_of(file(), &options).expect_err("there is no such environment");
    let options = LoadOptions { undefined_environment: UndefinedEnvironment::Defaults, ..options };
    let new = settings_of(file(), &options).expect("good settings");
    assert_eq!((new.safeguards.guards.percent, new.safeguards.prune), (40, Prune::Owned));
    // Settings that say nothing are settings, too.
    let variables = BTreeMap::from([("port".to_owned(), "80".to_owned())]);
    let expected = Config { variables: variables.clone(), undeclared: ["port".to_owned()].into(), ..Config::default() };
    for text in [None, Some(""), Some("# none yet"), Some("{}")] {
        let file = || text.map(Into::into);
        let refuse = LoadOptions { environment: Some("new".to_owned()), ..LoadOptions::default() };
        let problem = settings_of(file(), &refuse).expect_err("there is no such environment");
        assert_eq!(problem.list[0].message, "there is no environment `new`");
        let options = LoadOptions { variables: variables.clone(), ..options.clone() };
        assert_eq!(settings_of(file(), &options), Ok(expected.clone()), "{text:?}");
    }
}

#[test]
fn an_environment_that_is_not_defined_is_an_error_where_they_are_defined() {
    let wrong = |text: &str| {
        let drawn = read(text, Some("nope")).expect_err("it is not defined");
        let (message, below) = drawn.split_once('\n').expect("a line");
        assert!(message.ends_with(" environment `nope`"), "{drawn}");
        below.to_owned()
    };
    assert_eq!(
        wrong("stack: shop\nenvironments:\n  dev: {}\n"),
        " --> trueup.yaml:2:1\n  |\n2 | environments:\n  | ^^^^^^^^^^^^ one of dev\n"
    );
    // Without a place in a file, no edge of one is drawn.
    assert_eq!(wrong("stack: shop\n"), " = help: no trueup.yaml in the directory or above it has `environments:`\n");
}

#[test]
fn a_rule_to_ignore_without_its_object_or_field_is_an_error() {
    let problem = read("ignore: [{field: spec.port}]\n", None).expect_err("a rule of no object");
    assert!(problem.contains("`object` is missing") && problem.contains("trueup.yaml:1:10"), "{problem}");
    let problem = read("ignore: [{object: '*'}]\n", None).expect_err("a rule of no field");
    assert!(problem.contains("`field` is missing"), "{problem}");
}

#[test]
fn a_rule_to_ignore_a_part_of_a_field_names_the_field() {
    for (object, field, whole) in [
        ("origin_pool:shop/p", "spec.use_tls.sni", "spec.use_tls"),
        ("*", "spec.where.site", "spec.where"),
        ("virtual_host:*", "spec.routes[0]", "spec.routes"),
    ] {
        let problem = read(&format!("ignore: [{{object: '{object}', field: '{field}'}}]\n"), None).expect_err(field);
        assert!(problem.contains(&format!("ignored with the whole field: `{whole}`")), "{problem}");
        let rule = format!("ignore: [{{object: '{object}', field: {whole}}}]\n");
        assert!(read(&rule, None).is_ok(), "{rule}");
    }
}

#[test]
fn nothing_of_a_wrong_address_is_shown() {
    for text in
        ["user:hunter2@host", "HTTPS://user:hunter2@host", "https://host/?token=hunter2", "https://u:hun/ter2@host"]
    {
        for value in [format!("'{text}'"), format!("['{text}']"), format!("{{a: '{text}'}}")] {
            let settings = format!("environments: {{prod: {{base_url: {value}}}}}\n");
            let of_settings = read(&settings, None).expect_err(&settings);
            let of_policy = super::policy("p.yaml", format!("base_urls: {value}\n").into()).expect_err(&value);
            let of_policy = of_policy.render(&RenderOptions::default());
            for said in [of_settings, of_policy] {
                assert!(said.contains("base_url") && !said.contains("ter2"), "{said}");
            }
        }
    }
}

#[test]
fn a_policy_passes_nothing_over() {
    let problems = |text: &str| super::policy("p.yaml", text.into()).expect_err(text).render(&RenderOptions::default());
    assert!(problems("guards: {percent: }\n").contains("`percent` has no value"));
    assert!(problems("namespaces: ['']\n").contains("`namespaces` contains ``"));
    assert!(problems("base_urls: [shop.example.net]\n").contains("not a valid address of a service"));
    for empty in ["{}\n", "guards: {}\n", "guards: {}\ngates: {}\n"] {
        assert!(problems(empty).contains("the policy is empty"), "{empty}");
    }
    assert!(problems("strict: [endpoints]\n").contains("unknown kind"));
    assert!(problems("allow: [mass-chang]\n").contains("did you mean `mass-change`?"));
    let policy = super::policy("p.yaml", "strict: false\n".into()).expect("a limit");
    assert!(policy.loosest.strict.is_empty());
}

#[test]
fn pruning_needs_namespaces_in_the_environment_that_is_chosen() {
    let text = "environments: {dev: {prune: all}, prod: {prune: all, namespaces: [shop]}}\n";
    let problem = read(text, Some("dev")).expect_err("dev lists none");
    assert!(problem.contains("`prune` needs `namespaces:`") && problem.contains("trueup.yaml:1:29"), "{problem}");
    assert_eq!(read(text, Some("prod")).expect("prod lists one").safeguards.prune, Prune::All);
    assert_eq!(read(text, None).expect("neither is chosen").safeguards.prune, Prune::Owned);
    assert_eq!(read("prune:\n", None).expect("it is not set").safeguards.prune, Prune::None);
}

/// The settings of a random layer: each either there or not.
fn layer() -> impl Strategy<Value = Map<String, Value>> {
    let word = |words: &'static [&'static str]| prop::sample::select(words).prop_map(Value::from);
    let some = |strategy: BoxedStrategy<Value>| prop::option::weighted(0.4, strategy);
    let mode = || word(&["off", "warn", "block"]);
    let map = |fields: Vec<(&'static str, BoxedStrategy<Value>)>| {
        let fields: Vec<_> = fields
            .into_iter()
            .map(|(key, value)| {
                prop::option::weighted(0.5, value).prop_map(move |value| value.map(|value| (key.to_owned(), value)))
            })
            .collect();
        fields.prop_map(|fields| Value::Object(fields.into_iter().flatten().collect())).boxed()
    };
    let events = || {
        let numbers = || {
            vec![
                ("minutes", (1..60).prop_map(Value::from).boxed()),
                ("threshold", (1..9).prop_map(Value::from).boxed()),
            ]
        };
        let full = numbers().into_iter().chain([("mode", mode().boxed())]).collect();
        // An empty mapping has no path that says that it is there.
        let filled = |value| if value == json!({}) { json!({"minutes": 5}) } else { value };
        prop_oneof![mode().boxed(), map(numbers()), map(full)].prop_map(filled).boxed()
    };
    let texts = |words: &'static [&'static str]| {
        prop::sample::subsequence(words, 1..=words.len()).prop_map(|words| json!(words)).boxed()
    };
    let rules = prop::sample::subsequence(vec!["spec.port", "spec.target"], 0..=2)
        .prop_map(|fields| fields.into_iter().map(|field| json!({"object": "*", "field": field})).collect());
    let settings: Vec<(&'static str, BoxedStrategy<Value>)> = vec![
        ("base_url", word(&["https://a.example.net", "https://b.example.net"]).boxed()),
        ("layout", word(&["uniform", "published"]).boxed()),
        ("stack", word(&["shop", "shop-prod", "x"]).boxed()),
        ("namespaces", texts(&["shop", "pay", "web"])),
        ("prune", word(&["none", "owned", "all"]).boxed()),
        (
            "guards",
            map(vec![
                ("percent", (0..100).prop_map(Value::from).boxed()),
                ("least", (0..50).prop_map(Value::from).boxed()),
            ]),
        ),
        ("gates", map(vec![("upgrade", mode().boxed()), ("ddos", mode().boxed()), ("events", events())])),
        ("ignore", rules.boxed()),
        ("ownership_annotations", any::<bool>().prop_map(Value::from).boxed()),
        ("version_checked", any::<bool>().prop_map(Value::from).boxed()),
        (
            "variables",
            map(vec![("a", word(&["1", "2"]).boxed()), ("b", word(&["3", "4"]).boxed()), ("c", word(&["5"]).boxed())]),
        ),
        ("files", map(vec![("include", texts(&["a/**", "b/**"])), ("exclude", texts(&["c/**", "d/**"]))])),
        ("labels", map(vec![("ring", word(&["canary", "early"]).boxed()), ("region", word(&["eu"]).boxed())])),
        ("token_variable", word(&["TRUEUP_TOKEN_A", "TRUEUP_TOKEN_B"]).boxed()),
        ("rate_limit", (1..50).prop_map(Value::from).boxed()),
        ("concurrency", (1..50).prop_map(Value::from).boxed()),
        ("allow_empty", any::<bool>().prop_map(Value::from).boxed()),
        ("hide_notes", texts(&["unmanaged", "owned"])),
    ];
    let settings: Vec<_> = settings
        .into_iter()
        .map(|(key, value)| some(value).prop_map(move |value| value.map(|value| (key.to_owned(), value))))
        .collect();
    settings.prop_map(|settings| settings.into_iter().flatten().collect())
}

/// What each path of a layer is set to; `gates.events` as a word is its mode.
fn flat(layer: &Map<String, Value>) -> BTreeMap<Vec<String>, Value> {
    fn into(value: &Value, path: Vec<String>, found: &mut BTreeMap<Vec<String>, Value>) {
        match value {
            Value::Object(map) => {
                map.iter().for_each(|(key, value)| into(value, [&path[..], std::slice::from_ref(key)].concat(), found));
            }
            word if path == ["gates", "events"] => {
                found.insert([&path[..], &["mode".to_owned()]].concat(), word.clone());
            }
            other => {
                found.insert(path, other.clone());
            }
        }
    }
    let mut found = BTreeMap::new();
    into(&Value::Object(layer.clone()), Vec::new(), &mut found);
    found
}

/// A mapping with these paths.
fn nested(paths: BTreeMap<Vec<String>, Value>) -> Value {
    let mut root = json!({});
    for (path, value) in paths {
        let mut at = &mut root;
        for key in path {
            at = &mut at[key];
        }
        *at = value;
    }
    root
}

/// Four layers as a file whose environment `prod` has all of them.
fn file(layers: &[Map<String, Value>; 4]) -> String {
    let [top, defaults, extended, chosen] = layers.clone();
    let mut root = top;
    let mut chosen = chosen;
    chosen.insert("extends".to_owned(), "base".into());
    root.insert("defaults".to_owned(), defaults.into());
    root.insert("environments".to_owned(), json!({"base": extended, "prod": chosen}));
    serde_yaml::to_string(&root).expect("YAML")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Of each path the highest layer that sets it decides: written down as one file, that gives the same settings.
    #[test]
    fn merged_layers_are_what_a_flat_file_gives(layers in [layer(), layer(), layer(), layer()]) {
        let mut paths = BTreeMap::new();
        for layer in &layers {
            paths.extend(flat(layer));
        }
        let flat = read(&serde_yaml::to_string(&nested(paths)).expect("YAML"), None);
        let merged = read(&file(&layers), Some("prod"));
        let alone = |merged| Config { environments: BTreeMap::new(), environment_variables: BTreeSet::new(), ..merged };
        let merged = merged.map(alone);
        match (merged, flat) {
            (Ok(merged), Ok(flat)) => prop_assert_eq!(merged, flat),
            // Only pruning without namespaces is an error of settings that are good one by one.
            (Err(merged), Err(flat)) => {
                prop_assert!(merged.contains("`prune` needs") && flat.contains("`prune` needs"), "{merged}\n{flat}");
            }
            (merged, flat) => prop_assert!(false, "{merged:?}\n{flat:?}"),
        }
    }

    /// What editors say of a file by the published schema is what trueup says.
    #[test]
    fn the_schema_and_the_reader_take_the_same_files(
        settings in layer(),
        at in any::<prop::sample::Index>(),
        wrong in prop::sample::select(vec![json!([]), json!({}), json!({"x": 1}), json!(-1), json!("no such")]),
    ) {
        let mut paths: Vec<Vec<String>> = flat(&settings).into_keys().collect();
        paths.push(vec!["unknown".to_owned()]);
        let path = paths[at.index(paths.len())].clone();
        let mut changed = Value::Object(settings.clone());
        *path.iter().fold(&mut changed, |at, key| if at.is_string() { at } else { &mut at[key] }) = wrong.clone();
        let schema = jsonschema::validator_for(&SETTINGS).expect("a schema");
        let changed_text = serde_yaml::to_string(&changed).expect("YAML");
        let source = SourceText::new(&"trueup.yaml".into(), changed_text.into_bytes()).expect("UTF-8");
        let root = document(&source, &mut Vec::new());
        let problems = root.map(|root| described::read(&SETTINGS, &root).1).unwrap_or_default();
        // Formats are not in a schema, and a number is a text where a text is wanted.
        let is_untold = match &wrong {
            Value::String(_) => ["labels", "ignore"].contains(&&*path[0]),
            Value::Number(_) => path.len() == 1 && settings.get(&path[0]).is_some_and(Value::is_string) || path[0] == "labels",
            _ => false,
        };
        if !is_untold {
            prop_assert_eq!(problems.is_empty(), schema.is_valid(&changed), "{}: {:?}", changed, problems);
        }
    }

    /// The layer that `explain` names is the one whose value is in force: without it there, another one is; without the
    /// value in any other layer, nothing changes.
    #[test]
    fn the_explained_layer_is_the_one_whose_removal_changes_the_value(layers in [layer(), layer(), layer(), layer()]) {
        let names = [
            LayerName::TopLevel,
            LayerName::Defaults,
            LayerName::Environment("base".to_owned()),
            LayerName::Environment("prod".to_owned()),
        ];
        let now = explained(&file(&layers));
        let all: BTreeSet<Vec<String>> = layers.iter().flat_map(|layer| flat(layer).into_keys()).collect();
        let settings = now.iter().filter(|(path, _)| *path != &["extends"]);
        prop_assert_eq!(settings.clone().map(|(path, _)| path.clone()).collect::<BTreeSet<_>>(), all);
        for (path, setting) in settings {
            let winner = names.iter().position(|name| *name == setting.layer).expect("a layer of the file");
            prop_assert_eq!(Some(setting.value.clone()), flat(&layers[winner]).remove(path));
            let below = setting.replaced.iter().map(|replaced| replaced.layer.clone());
            let setters: Vec<LayerName> = [setting.layer.clone()].into_iter().chain(below).collect();
            let expected: Vec<LayerName> =
                (0..4).rev().filter(|at| flat(&layers[*at]).contains_key(path)).map(|at| names[at].clone()).collect();
            prop_assert_eq!(setters, expected);
            for (at, name) in names.iter().enumerate().filter(|(at, _)| flat(&layers[*at]).contains_key(path)) {
                let mut without = layers.clone();
                remove(&mut without[at], path);
                let then = explained(&file(&without)).remove(path);
                if *name == setting.layer {
                    prop_assert_ne!(then.map(|then| then.layer), Some(setting.layer.clone()), "{:?}", path);
                } else {
                    let then = then.expect("another layer sets it");
                    prop_assert_eq!((&then.value, &then.layer), (&setting.value, &setting.layer), "{:?}", path);
                }
            }
        }
    }
}

fn explained(text: &str) -> BTreeMap<Vec<String>, ExplainedSetting> {
    let source = SourceText::new(&"trueup.yaml".into(), text.as_bytes().to_vec()).expect("UTF-8");
    let options = LoadOptions { environment: Some("prod".to_owned()), ..LoadOptions::default() };
    super::explained(&source, &options).into_iter().map(|setting| (setting.path.clone(), setting)).collect()
}

/// Takes a path out of a layer; `gates.events` as a word is its mode.
fn remove(layer: &mut Map<String, Value>, path: &[String]) {
    let (last, above) = path.split_last().expect("a path");
    if above == ["gates", "events"] && layer["gates"]["events"].is_string() {
        layer["gates"].as_object_mut().expect("a mapping").remove("events");
        return;
    }
    let at = above.iter().try_fold(layer, |at, key| at.get_mut(key)?.as_object_mut());
    at.and_then(|at| at.remove(last)).expect("it is there");
}
