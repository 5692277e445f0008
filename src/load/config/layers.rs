//! The layers of `trueup.yaml`: its top level, `defaults:`, the environment that the chosen one extends, and the
//! chosen environment. Layers are merged as trees before they are decoded, so that one rule holds for every
//! setting: mappings are merged, lists and single values replace, null sets nothing. `--var` is above all layers.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::described::{self, SETTINGS, directory, error};
use super::{Config, EVERY_ENVIRONMENT, FILE};
use crate::kind::KindName;
use crate::load::diagnostic::{Diagnostic, read_or_noted};
use crate::load::item::{Item, MapEntry, Value, resolve};
use crate::load::options::{LoadOptions, UndefinedEnvironment};
use crate::load::suggestion::did_you_mean;
use crate::load::text::SourceText;
use crate::load::tree::Documents;
use crate::model::Namespace;
use crate::model::policy::Prune;

/// Keys that a layer does not pass on to the layers above it.
pub(super) const OWN_KEYS: [&str; 4] = ["environments", "defaults", "extends", "overlay"];
/// The same for an environment that is not chosen: the values of its variables are not used.
const OWN_KEYS_OF_OTHERS: [&str; 5] = ["environments", "defaults", "extends", "overlay", "variables"];
/// The most values that all environments may have together, with inherited values but without variables.
const MOST_VALUES: usize = 1_000_000;
/// The most environments that a message searches for the intended one.
const MOST_OFFERED: usize = 100;

/// The settings in `source` for the environment that `options` names, as far as they can be read.
pub(in crate::load) fn read(source: &SourceText, options: &LoadOptions, problems: &mut Vec<Diagnostic>) -> Config {
    let before = problems.len();
    let Some(root) = document(source, problems) else {
        let is_empty = problems.len() == before;
        return if is_empty { read(&SourceText::inline(FILE, "{}"), options, problems) } else { Config::default() };
    };
    check(&root, problems);
    Layers::new(&root).config(options, problems)
}

/// The namespaces and kinds that settings from another time list for `stack`, in any environment (it may have been
/// renamed) or without one; `None` where they do not belong to the stack. Settings without a stack name do so where it
/// `is_unnamed`. Other settings are not checked; a name that cannot be parsed was never applied.
pub fn lists_of(settings: Vec<u8>, stack: &str, is_unnamed: bool) -> Option<(BTreeSet<Namespace>, BTreeSet<KindName>)> {
    let source = SourceText::new(&FILE.into(), settings).ok()?;
    let root = document(&source, &mut Vec::new())?;
    let all = Layers::new(&root);
    // Most environments inherit the same list; its position identifies it.
    let (mut is_of_it, mut namespaces, mut kinds) = (false, BTreeMap::new(), BTreeMap::new());
    for environment in all.environments.keys().map(|name| Some(*name)).chain([None]) {
        let layers = all.of(environment);
        let highest = |key| layers.iter().rev().find_map(|(_, layer)| layer.get(key));
        if highest("stack").map_or(!is_unnamed, |name| name.text() != Some(stack)) {
            continue;
        }
        is_of_it = true;
        let list = |key| highest(key).map(|list| (list.span.range().start, list));
        namespaces.extend(list("namespaces"));
        kinds.extend(list("kinds"));
    }
    let namespaces = namespaces.values().flat_map(|list| list.items()).filter_map(Item::text);
    let kinds = kinds.values().flat_map(|list| list.items()).filter_map(Item::text);
    let namespaces = namespaces.filter_map(|name| Namespace::parse(name).ok()).collect();
    is_of_it.then(|| (namespaces, kinds.filter_map(KindName::find).collect()))
}

/// The only document of a file; `None` where the file is empty or cannot be read.
pub(in crate::load) fn document<'s>(source: &'s SourceText, problems: &mut Vec<Diagnostic>) -> Option<Item<'s>> {
    let mut first = None;
    for document in Documents::of_settings(source) {
        let Some(tree) = read_or_noted(document, problems) else { continue };
        let Some(root) = resolve(&tree, source, problems).filter(|root| !root.is_null()) else { continue };
        if first.is_some() {
            problems.push(root.span.error("the file contains a second document", "one document is read here"));
        } else {
            first = Some(root);
        }
    }
    first
}

/// Reports what is wrong with any layer, chosen or not.
fn check(root: &Item<'_>, problems: &mut Vec<Diagnostic>) {
    let (_, wrong) = described::read(&SETTINGS, root);
    problems.extend(wrong);
    let environments = root.get("environments").map(Item::entries).unwrap_or_default();
    let by_name: HashMap<&str, &Item<'_>> = environments.iter().rev().map(|entry| (&*entry.key, &entry.item)).collect();
    for environment in environments {
        let extends = environment.item.entries().iter().find(|entry| entry.key == "extends");
        problems.extend(extends.and_then(|entry| extends_fault(entry, &environment.key, (environments, &by_name))));
    }
}

/// The problem where `name` extends itself, an unknown environment, or one that extends another.
fn extends_fault(
    entry: &MapEntry<'_>,
    name: &str,
    (all, by_name): (&[MapEntry<'_>], &HashMap<&str, &Item<'_>>),
) -> Option<Diagnostic> {
    let extended = entry.item.text().filter(|_| !entry.item.is_null())?;
    let (what, label) = if extended == name {
        (format!("the environment `{name}` extends itself"), "name another environment".to_owned())
    } else if let Some(other) = by_name.get(extended) {
        let next = other.get("extends").and_then(Item::text)?;
        let what = format!("`{name}` extends `{extended}`, which extends `{next}`");
        (what, "extend an environment that extends none".to_owned())
    } else {
        let others = all.iter().map(|other| &*other.key).filter(|other| *other != name);
        let names: Vec<&str> = others.take(MOST_OFFERED).collect();
        let otherwise = || match names.as_slice() {
            [] => "there is no other environment".to_owned(),
            names => format!("one of {}", names.join(", ")),
        };
        let label = did_you_mean(extended, names.iter().copied(), otherwise);
        (format!("`extends` names the environment `{extended}`, which does not exist"), label)
    };
    Some(error(entry.value_at(), what, &label))
}

/// Which layer of the settings a value is from, the lowest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LayerName {
    /// No layer sets it.
    Default,
    /// The top level of the file.
    TopLevel,
    /// `defaults:`
    Defaults,
    /// An environment, chosen or extended.
    Environment(String),
    /// A flag or a variable of the process.
    Call(String),
    /// A policy, which limits what the settings say.
    Policy,
}

impl fmt::Display for LayerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayerName::Default => f.write_str("default"),
            LayerName::TopLevel => f.write_str("top level"),
            LayerName::Defaults => f.write_str("defaults"),
            LayerName::Environment(name) => write!(f, "environment {name}"),
            LayerName::Call(name) => f.write_str(name),
            LayerName::Policy => f.write_str("the policy's limit"),
        }
    }
}

/// The layers of a file whose problems have been reported.
pub(in crate::load) struct Layers<'i, 's> {
    root: &'i Item<'s>,
    environments: BTreeMap<&'i str, &'i Item<'s>>,
}

impl<'i, 's> Layers<'i, 's> {
    pub(in crate::load) fn new(root: &'i Item<'s>) -> Self {
        let entries = root.get("environments").map(Item::entries).unwrap_or_default();
        Self { root, environments: entries.iter().map(|entry| (&*entry.key, &entry.item)).collect() }
    }

    /// The layers of an environment, the lowest first; of an undefined one, the layers that apply to every environment.
    pub(in crate::load) fn of(&self, environment: Option<&str>) -> Vec<(LayerName, &'i Item<'s>)> {
        let mut layers = vec![(LayerName::TopLevel, self.root)];
        let Some(name) = environment else { return layers };
        layers.extend(self.root.get("defaults").map(|defaults| (LayerName::Defaults, defaults)));
        let Some(chosen) = self.environments.get(name) else { return layers };
        let extended = chosen.get("extends").and_then(Item::text);
        let extended = extended.and_then(|name| Some((name, *self.environments.get(name)?)));
        let layer = |(name, item): (&str, &'i Item<'s>)| (LayerName::Environment(name.to_owned()), item);
        let written = |(_, item): &(&str, &'i Item<'s>)| !item.is_null();
        layers.extend(extended.into_iter().chain([(name, *chosen)]).filter(written).map(layer));
        layers
    }

    fn config(&self, options: &LoadOptions, problems: &mut Vec<Diagnostic>) -> Config {
        let (mut environments, mut values) = (BTreeMap::new(), 0);
        for name in self.environments.keys() {
            let tree = self.tree(Some(name), &OWN_KEYS_OF_OTHERS);
            values += tree.size();
            if values > MOST_VALUES {
                let what = format!(
                    "the {} environments have more than {MOST_VALUES} values together, with those that they inherit",
                    self.environments.len()
                );
                problems.push(self.root.span.error(what, "divide the stack"));
                break;
            }
            environments.insert((*name).to_owned(), self.resolved(Some(name), &tree, &mut Vec::new()));
        }
        let chosen = options.environment.as_deref();
        let mut config = self.resolved(chosen, &self.tree(chosen, &OWN_KEYS), problems);
        config.environments = environments;
        self.set_variables(&mut config, options);
        if let Some(name) = chosen.filter(|name| !config.environments.contains_key(*name))
            && options.undefined_environment == UndefinedEnvironment::Refuse
        {
            problems.push(no_environment(name, &config, self.root));
        }
        config
    }

    /// The merged layers of an environment, without the `own` keys of each; without an environment, the top level.
    fn tree(&self, environment: Option<&str>, own: &[&str]) -> Item<'s> {
        let top = merged(None, self.root, own, &mut Vec::new());
        let above = self.of(environment).into_iter().skip(1);
        above.fold(top, |below, (_, above)| merged(Some(below), above, own, &mut Vec::new()))
    }

    /// The settings of an environment with these merged layers, without `--var`.
    fn resolved(&self, environment: Option<&str>, tree: &Item<'s>, problems: &mut Vec<Diagnostic>) -> Config {
        let layers = self.of(environment);
        // `check` has reported the problems of the layers.
        let (given, _) = described::read(&SETTINGS, tree);
        let mut config: Config = described::typed(given, tree, problems);
        let overlays = layers.iter().skip(1).filter_map(|(_, layer)| directory(layer.get("overlay")?.text()?));
        config.overlays = overlays.collect();
        let sets_own = |name: &str| self.environments.get(name)?.get("overlay").and_then(|_| config.overlays.last());
        let shared = |own: &&String| config.overlays.iter().filter(|overlay| overlay == own).count() > 1;
        config.own_overlay = environment.and_then(sets_own).filter(|own| !shared(own)).cloned();
        let above: Vec<&Item<'_>> = match environment {
            Some(_) => layers.iter().skip(1).map(|(_, layer)| *layer).collect(),
            None => self.root.get("defaults").into_iter().chain(self.environments.values().copied()).collect(),
        };
        let listed = !config.namespaces.is_empty() || above.iter().any(|layer| layer.get("namespaces").is_some());
        set_prune(tree, listed, &mut config, problems);
        config
    }

    /// Lets the variables of the call override those of the settings.
    fn set_variables(&self, config: &mut Config, options: &LoadOptions) {
        let names = |layer: &Item<'s>| {
            let variables = layer.get("variables").map(Item::entries).unwrap_or_default();
            variables.iter().map(|entry| entry.key.clone().into_owned()).collect::<Vec<_>>()
        };
        let above = self.root.get("defaults").into_iter().chain(self.environments.values().copied());
        config.environment_variables = above.flat_map(names).collect();
        let own = names(self.root);
        let is_declared = |name: &&String| own.contains(*name) || config.environment_variables.contains(*name);
        config.undeclared = options.variables.keys().filter(|name| !is_declared(name)).cloned().collect();
        config.variables.extend(options.variables.clone());
    }
}

/// Sets which objects are deleted: by default none without `namespaces:`.
fn set_prune(tree: &Item<'_>, listed: bool, config: &mut Config, problems: &mut Vec<Diagnostic>) {
    let set = tree.entries().iter().find(|entry| entry.key == "prune" && !entry.item.is_null());
    match set {
        None => config.safeguards.prune = if listed { Prune::Owned } else { Prune::None },
        Some(entry) if !listed && config.safeguards.prune != Prune::None => {
            let what = "`prune` needs `namespaces:`, which list where objects may be deleted";
            problems.push(entry.value_at().error(what, "list the namespaces of the stack"));
        }
        Some(_) => {}
    }
}

/// Merges a layer onto the one below it, without the `own` keys at its top.
pub(super) fn merged<'s>(below: Option<Item<'s>>, above: &Item<'s>, own: &[&str], path: &mut Vec<String>) -> Item<'s> {
    let mode;
    let changes = match &above.value {
        Value::Map(changes) => changes.as_slice(),
        // Only this gate can be written as a word, its mode.
        Value::Text(..) if *path == ["gates", "events"] => {
            mode = [MapEntry { key: "mode".into(), key_at: above.span, item: above.clone() }];
            &mode
        }
        Value::Text(..) | Value::List(_) | Value::Refused => return above.clone(),
    };
    let entries = match below {
        Some(Item { value: Value::Map(entries), .. }) => entries,
        _ => Vec::new(),
    };
    // An entry that `above` changes moves to the end.
    let places = entries.iter().enumerate().rev().map(|(at, entry)| (entry.key.clone(), at));
    let mut places: HashMap<Cow<'s, str>, usize> = places.collect();
    let mut entries: Vec<Option<MapEntry<'s>>> = entries.into_iter().map(Some).collect();
    for MapEntry { key, key_at, item } in changes {
        if item.is_null() || (path.is_empty() && own.contains(&&**key)) {
            continue;
        }
        let below = places.insert(key.clone(), entries.len()).and_then(|at| entries[at].take());
        path.push(key.clone().into_owned());
        let item = merged(below.map(|below| below.item), item, own, path);
        path.pop();
        entries.push(Some(MapEntry { key: key.clone(), key_at: *key_at, item }));
    }
    let value = Value::Map(entries.into_iter().flatten().collect());
    Item { value, span: above.span, origin: above.origin, compact: above.compact }
}

/// The error for an environment that is not defined.
fn no_environment(name: &str, config: &Config, root: &Item<'_>) -> Diagnostic {
    let names: Vec<&str> = config.environments.keys().map(String::as_str).collect();
    let help = match names.as_slice() {
        [] => "no trueup.yaml in the directory or above it has `environments:`".to_owned(),
        names if name == EVERY_ENVIRONMENT => format!("this command is about one environment: {}", names.join(", ")),
        names => did_you_mean(name, names.iter().copied(), || format!("one of {}", names.join(", "))),
    };
    let what = format!("there is no environment `{name}`");
    match root.entries().iter().find(|entry| entry.key == "environments" && !config.environments.is_empty()) {
        Some(environments) => error(environments.key_at, what, &help),
        None => Diagnostic::without_place(what, help),
    }
}
