//! Small random histories: a branch and its base edit, add, remove, rename, move and link the same few
//! definitions. Whatever they do, what the base merged is never attributed to the branch.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::support::{Service, Stage, commit, definition, git};

/// What somebody does in a commit.
#[derive(Debug, Clone)]
enum Step {
    Edit(usize, u16),
    Remove(usize),
    /// Renames the file of a definition.
    Rename(usize),
    /// Writes it as JSON.
    Convert(usize),
    /// Puts a link in the place of the file.
    Link(usize),
    /// Renames the directory of the stack.
    Directory(usize),
    /// Does so, and leaves a link where it was.
    Linked(usize),
    /// Writes the service of the settings differently.
    Url,
    /// Moves the settings of the stack one directory up.
    Settings,
    /// Writes an overlay of a definition: another port, or that there is none.
    Overlay(usize, Option<u16>),
    /// Removes it.
    Plain(usize),
}

const KEYS: [&str; 3] = ["shop/a", "shop/b", "pay/a"];
const DIRECTORIES: [&str; 4] = ["mesh", "stacks/shop", "live", ".infra/shop"];

/// The working tree as it should be understood.
#[derive(Debug, Clone)]
struct Model {
    directory: &'static str,
    /// File and port of each definition.
    files: BTreeMap<usize, (String, u16)>,
    overlays: BTreeMap<usize, Option<u16>>,
    has_settings: bool,
    url: String,
    count: usize,
}

impl Model {
    fn values(&self) -> BTreeMap<&'static str, u16> {
        let of = |(key, (_, port)): (&usize, &(String, u16))| {
            Some((KEYS[*key], self.overlays.get(key).copied().unwrap_or(Some(*port))?))
        };
        self.files.iter().filter_map(of).collect()
    }

    /// What is defined where no environment is chosen.
    fn without_environment(&self) -> BTreeMap<&'static str, u16> {
        Self { overlays: BTreeMap::new(), ..self.clone() }.values()
    }

    fn write_settings(&self, stage: &Stage) {
        let environments = "environments:\n  prod: {overlay: over}\n";
        let url = if self.url.is_empty() { String::new() } else { format!("base_url: {}\n", self.url) };
        let settings = format!("stack: shop\nnamespaces: [shop, pay]\n{environments}{url}");
        stage.write(&self.path("trueup.yaml"), &settings);
        // An overlay that is not there would be an error.
        stage.write(&self.path("over/README.md"), "x");
    }

    fn overlay_path(&self, key: usize) -> String {
        self.path(&format!("over/{}.yaml", KEYS[key]))
    }

    fn path(&self, file: &str) -> String {
        format!("{}/{file}", self.directory)
    }

    fn write(&self, stage: &Stage, key: usize) {
        let (file, port) = &self.files[&key];
        let (namespace, name) = KEYS[key].split_once('/').expect("a key");
        let text = if file.to_lowercase().ends_with(".json") {
            serde_json::json!({"metadata": {"name": name, "namespace": namespace},
                "spec": {"ip": "10.0.0.7", "port": port}})
            .to_string()
        } else {
            definition(KEYS[key], *port)
        };
        stage.write(&self.path(file), &text);
    }

    fn take(&mut self, stage: &Stage, step: &Step) {
        self.count += 1;
        let count = self.count;
        match *step {
            Step::Edit(key, port) => {
                self.files.entry(key).or_insert_with(|| (format!("{key}-{count}.yaml"), 0)).1 = port;
                self.write(stage, key);
            }
            Step::Remove(key) => {
                if let Some((file, _)) = self.files.remove(&key) {
                    stage.remove(&self.path(&file));
                    self.take(stage, &Step::Plain(key));
                }
            }
            Step::Rename(key) | Step::Convert(key) | Step::Link(key) => {
                let Some((file, port)) = self.files.get(&key).cloned() else { return };
                let end = if matches!(step, Step::Convert(_)) { "json" } else { "yaml" };
                // Names of files are read whatever their case.
                let end = if count.is_multiple_of(2) { end.to_uppercase() } else { end.to_owned() };
                let new = format!("{key}-{count}.{end}");
                stage.remove(&self.path(&file));
                self.files.insert(key, (new.clone(), port));
                self.write(stage, key);
                if matches!(step, Step::Link(_)) {
                    let data = format!("{key}-{count}.data");
                    std::fs::rename(stage.path(&self.path(&new)), stage.path(&self.path(&data))).expect("a move");
                    std::os::unix::fs::symlink(&data, stage.path(&self.path(&new))).expect("a link");
                }
            }
            Step::Directory(at) | Step::Linked(at) => {
                let to = DIRECTORIES[at];
                if to != self.directory {
                    let (from, target) = (stage.path(self.directory), stage.path(to));
                    std::fs::create_dir_all(target.parent().expect("a directory")).expect("directories");
                    // What an earlier step left there.
                    let _ = std::fs::remove_file(&target);
                    std::fs::rename(&from, &target).expect("a move");
                    if matches!(step, Step::Linked(_)) {
                        let up = "../".repeat(self.directory.matches('/').count());
                        std::os::unix::fs::symlink(format!("{up}{to}"), from).expect("a link");
                    }
                    self.directory = to;
                }
            }
            Step::Url => {
                if self.has_settings {
                    self.url = if self.url.ends_with("/api") {
                        self.url.replace("/api", "/")
                    } else {
                        format!("{}/api", self.url.trim_end_matches('/'))
                    };
                    self.write_settings(stage);
                }
            }
            Step::Settings => {
                if !self.has_settings {
                    let url = std::mem::take(&mut self.url);
                    self.write_settings(stage);
                    self.url = url;
                    self.has_settings = true;
                }
            }
            Step::Overlay(key, port) => {
                if self.has_settings && self.files.contains_key(&key) {
                    let (namespace, name) = KEYS[key].split_once('/').expect("a key");
                    let over = port.map_or("$remove: true".to_owned(), |port| format!("spec: {{port: {port}}}"));
                    let text = format!("metadata: {{name: {name}, namespace: {namespace}}}\n{over}\n");
                    stage.write(&self.overlay_path(key), &text);
                    self.overlays.insert(key, port);
                }
            }
            Step::Plain(key) => {
                if self.overlays.remove(&key).is_some() {
                    stage.remove(&self.overlay_path(key));
                }
            }
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..KEYS.len(), 1..5_u16).prop_map(|(key, port)| Step::Edit(key, port)),
        2 => (0..KEYS.len()).prop_map(Step::Remove),
        2 => (0..KEYS.len()).prop_map(Step::Rename),
        1 => (0..KEYS.len()).prop_map(Step::Convert),
        1 => (0..KEYS.len()).prop_map(Step::Link),
        2 => (0..DIRECTORIES.len()).prop_map(Step::Directory),
        1 => (0..DIRECTORIES.len()).prop_map(Step::Linked),
        1 => Just(Step::Settings),
        1 => Just(Step::Url),
        2 => (0..KEYS.len(), prop::option::weighted(0.8, 5..9_u16)).prop_map(|(key, port)| Step::Overlay(key, port)),
        1 => (0..KEYS.len()).prop_map(Step::Plain),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(step(), 0..5)
}

/// What may keep a base from being understood.
const REASONS: [&str; 4] = ["was a symbolic link", "was moved", "does not load", "do not load"];

fn check(settings: bool, first: &[Step], ours: &[Step], theirs: &[Step]) {
    let service = Service::start();
    let stage = Stage::new().at(&service);
    git(&stage, "init -q -b main");
    let url = service.url();
    let mut model = Model {
        directory: "mesh",
        files: BTreeMap::new(),
        overlays: BTreeMap::new(),
        has_settings: false,
        url,
        count: 0,
    };
    stage.write("README.md", "x");
    if settings {
        model.take(&stage, &Step::Settings);
    }
    for key in 0..KEYS.len() {
        model.take(&stage, &Step::Edit(key, 10));
    }
    first.iter().for_each(|step| model.take(&stage, step));
    commit(&stage, "first");
    let merge_base = model.clone();
    git(&stage, "branch branch");
    let mut base = model.clone();
    for step in theirs {
        base.take(&stage, step);
        commit(&stage, "theirs");
    }
    stage
        .run(&format!(
            "apply {} --yes --quiet --allow mass-change --allow empty-namespace {}",
            base.directory,
            if base.has_settings { "--env prod" } else { "" }
        ))
        .stderr_ignored();
    git(&stage, "checkout -q branch");
    // Directories that only the other branch has would be in the way.
    git(&stage, "clean -qffdx");
    let mut head = merge_base.clone();
    head.count = 100;
    for step in ours {
        head.take(&stage, step);
        commit(&stage, "ours");
    }
    if head.values().is_empty() {
        // git does not keep an empty directory, and settings without a definition are an error of their own.
        return;
    }
    let environment = |model: &Model| if model.has_settings { "--env prod" } else { "" };
    let ran = stage.run(&format!("plan {} --base main --format json {}", head.directory, environment(&head)));
    let links = || {
        [first, ours, theirs]
            .concat()
            .iter()
            .any(|step| matches!(step, Step::Link(_) | Step::Directory(_) | Step::Linked(_)))
    };
    if ran.exit() == 1 {
        ran.stderr_ignored();
        assert!(links(), "without a link or a move everything can be understood: {}", ran.errors());
        assert!(REASONS.iter().any(|reason| ran.errors().contains(reason)), "{}", ran.errors());
        return;
    }
    ran.stderr_ignored();
    let json = ran.json();
    let theirs = if head.has_settings { base.values() } else { base.without_environment() };
    let (before, ours) = (merge_base.values(), head.values());
    for change in json["plan"]["changes"].as_array().or_else(|| json["changes"].as_array()).expect("changes") {
        let key = change["key"].as_str().expect("a key");
        let fields = change["action"]["replace"]["fields"].as_array().cloned().unwrap_or_default();
        let port = fields.iter().find(|field| field["field"] == "spec.port").map(|field| field["attribution"].clone());
        let side = port.unwrap_or_else(|| change["attribution"].clone());
        let [before, theirs, ours] = [&before, &theirs, &ours].map(|values| values.get(key));
        let is_behind = theirs != before && theirs != ours;
        assert_eq!(side == "behind_base", is_behind, "{key}: {before:?} {theirs:?} {ours:?} is {side}");
        if side == "this_change" {
            assert!(ours != before && theirs == before, "{key}: {before:?} {theirs:?} {ours:?}");
        }
    }
}

#[test]
fn an_edit_of_what_moved_below_a_hidden_directory_on_the_base_is_of_the_branch() {
    check(false, &[], &[Step::Edit(0, 1)], &[Step::Directory(3)]);
}

#[test]
fn an_edit_of_what_became_a_link_below_a_hidden_directory_on_the_base_is_not_of_the_base() {
    check(false, &[], &[Step::Edit(1, 1)], &[Step::Directory(3), Step::Link(1)]);
}

#[test]
fn a_link_that_a_linked_directory_leads_to_is_not_where_it_was() {
    check(false, &[Step::Link(2)], &[Step::Linked(1)], &[Step::Remove(2)]);
}

#[test]
fn what_the_base_removed_and_moved_is_not_of_the_branch_that_made_an_environment_of_it() {
    check(false, &[], &[Step::Settings], &[Step::Remove(0), Step::Directory(1)]);
    check(false, &[], &[Step::Directory(1), Step::Settings], &[Step::Remove(0), Step::Directory(1)]);
}

#[test]
fn of_an_environment_that_both_made_each_has_what_it_did_there() {
    check(false, &[], &[Step::Settings, Step::Overlay(0, None)], &[Step::Settings]);
    check(false, &[], &[Step::Settings], &[Step::Settings, Step::Remove(0)]);
    check(false, &[], &[Step::Settings, Step::Overlay(0, Some(5))], &[Step::Settings, Step::Overlay(1, Some(6))]);
}

/// Few, unless `PROPTEST_CASES` says otherwise.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(24)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn merged_work_is_never_attributed_to_the_branch(
        settings in prop::bool::weighted(0.8),
        first in steps(),
        ours in steps(),
        theirs in steps(),
    ) {
        check(settings, &first, &ours, &theirs);
    }
}
