//! Random stories of two stacks of a repository, one with an overlay: edits of files, changes in the console, and commands in
//! any order, some cut off by faults. Whatever happens, nobody's work is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::support::objects::{self, Specs};

use crate::support::{Service, Stage, git};

const STACKS: [&str; 2] = ["a", "b"];
/// The kinds, with the plural of their paths.
const KINDS: [(&str, &str); 4] = [
    ("endpoint", "endpoints"),
    ("healthcheck", "healthchecks"),
    ("ip_prefix_set", "ip_prefix_sets"),
    ("origin_pool", "origin_pools"),
];
/// Fields that the files name at times, by their kind, and only the console else.
const OPTIONAL: [(&str, &str, &str); 5] = [
    ("healthcheck", "/spec", "jitter_percent"),
    ("healthcheck", "/spec/http_health_check", "headers"),
    ("origin_pool", "/spec", "loadbalancer_algorithm"),
    ("origin_pool", "/spec", "endpoint_selection"),
    ("ip_prefix_set", "/spec", "ipv6_prefixes"),
];
const ALLOW: &str = "--allow mass-change --allow empty-namespace";
/// The overlay of the first stack.
const OVERLAY: &str = "a/o";

/// `kind/name`
type Id = String;
type Objects = BTreeMap<Id, Value>;

fn kind_of(id: &str) -> &str {
    id.split('/').next().expect("a kind")
}

fn name_of(id: &str) -> &str {
    id.rsplit('/').next().expect("a name")
}

/// The key as commands write it.
fn key_of(id: &str) -> String {
    format!("{}:shop/{}", kind_of(id), name_of(id))
}

fn plural_of(id: &str) -> &'static str {
    KINDS.iter().find(|(kind, _)| *kind == kind_of(id)).expect("a kind").1
}

struct Story {
    at: String,
    service: Service,
    stage: Stage,
    random: Specs,
    /// What was done, for a failure.
    told: Vec<String>,
    /// The definitions of each stack, as its last commit says.
    committed: [Objects; 2],
    /// Objects of others, as they made them.
    foreign: Objects,
    /// Fields that a definition named once.
    named: BTreeSet<(Id, String)>,
    /// What the console set where no definition ever did.
    unnamed: BTreeMap<(Id, String), Value>,
    /// Whether the service misbehaves during the next command.
    is_faulty: bool,
    /// The stack of the last whole apply, and what was live before, where nothing has happened since.
    applied: Option<(usize, Objects)>,
    /// Every run that wrote, whole or not.
    runs: Vec<Run>,
}

/// A run that wrote, with what was live before and after it.
#[derive(Clone)]
struct Run {
    name: String,
    stack: usize,
    before: Objects,
    after: Objects,
}

impl Story {
    fn new(seed: u64, number: u64) -> Self {
        let service = Service::start();
        let kinds: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).filter(|kind| *kind != "endpoint").collect();
        let settings = |stack: &str| {
            let overlay = if OVERLAY.starts_with(stack) { ", overlay: o" } else { "" };
            let kinds = kinds.join(", ");
            format!(
                "namespaces: [shop]\nallow_empty: true\nkinds: [{kinds}]\nrate_limit: 10000\nenvironments:\n  prod: \
                {{stack: {stack}{overlay}}}\n"
            )
        };
        let mut stage = Stage::new().at(&service);
        for stack in STACKS {
            stage = stage.file(&format!("{stack}/trueup.yaml"), &settings(stack));
        }
        let stage = stage.committed();
        Self {
            at: format!("TRUEUP_SEED={seed}, story {number}"),
            service,
            stage,
            random: Specs::new(seed * 1000 + number),
            told: Vec::new(),
            committed: [Objects::new(), Objects::new()],
            foreign: Objects::new(),
            named: BTreeSet::new(),
            unnamed: BTreeMap::new(),
            is_faulty: false,
            applied: None,
            runs: Vec::new(),
        }
    }

    fn number(&mut self, most: usize) -> usize {
        self.random.below(most)
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| of[self.number(of.len())].clone())
    }

    #[track_caller]
    fn holds(&self, holds: bool, what: &str) {
        assert!(holds, "{}: {what}\n{}", self.at, self.told.join("\n"));
    }

    /// The definitions of each stack, as its files say.
    fn defined(&self) -> [Objects; 2] {
        let mut defined = STACKS.map(|stack| self.documents(&self.stage.path(stack)));
        for kind in ["", "healthcheck", "ip_prefix_set", "origin_pool"] {
            for (id, over) in self.documents(&self.stage.path(OVERLAY).join("shop").join(kind)) {
                if over.get("$remove").is_some() {
                    defined[0].remove(&id);
                } else if let Some(document) = defined[0].get_mut(&id) {
                    merge(document, &over);
                }
            }
        }
        defined
    }

    /// The documents in the files of a directory.
    fn documents(&self, directory: &Path) -> Objects {
        let Ok(files) = std::fs::read_dir(directory) else { return Objects::new() };
        let files = files.map(|file| file.expect("a file").path()).filter(|path| path.is_file());
        let of = |path: PathBuf| {
            let text = std::fs::read_to_string(path).expect("UTF-8");
            let value: Value = serde_yaml::from_str(&text).expect("YAML");
            let kind = value["kind"].as_str().unwrap_or("endpoint");
            let id = format!("{kind}/{}", value["metadata"]["name"].as_str()?);
            Some((id, value))
        };
        files.filter_map(of).collect()
    }

    fn overlay_path(id: &str) -> String {
        let kind = if kind_of(id) == "endpoint" { String::new() } else { format!("{}/", kind_of(id)) };
        format!("{OVERLAY}/shop/{kind}{}.yaml", name_of(id))
    }

    /// Somebody writes an overlay.
    fn overlay(&mut self) {
        let ids: Vec<Id> = self.defined()[0].keys().cloned().collect();
        let Some(id) = self.one(&ids) else { return };
        let number = self.number(40);
        let spec = match (kind_of(&id), number % 3) {
            ("endpoint", _) => json!({"port": 300 + number}),
            ("origin_pool", 0) => json!({"port": 300 + number}),
            ("origin_pool", _) => json!({"loadbalancer_algorithm": self.optional("loadbalancer_algorithm")}),
            ("healthcheck", 0) => json!({"timeout": 6 + number % 4}),
            ("healthcheck", _) => json!({"http_health_check": {"headers": {"x-two": format!("v{number}")}}}),
            _ => json!({"ipv4_prefixes": [{"ipv4_prefix": format!("10.{}.0.0/16", 60 + number)}]}),
        };
        let document =
            json!({"kind": kind_of(&id), "metadata": {"name": name_of(&id), "namespace": "shop"}, "spec": spec});
        self.told.push(format!("write {} {document}", Self::overlay_path(&id)));
        self.stage.write(&Self::overlay_path(&id), &format!("{document}\n"));
    }

    /// An overlay of what is not defined would be an error.
    fn forget_overlay(&self, stack: usize, id: &str) {
        if stack == 0 {
            // There may be none.
            let _ = std::fs::remove_file(self.stage.path(&Self::overlay_path(id)));
        }
    }

    /// What is live, without what the service and the program write.
    fn live(&self) -> Objects {
        let mut objects = Objects::new();
        for (kind, plural) in KINDS {
            let path = format!("/api/config/namespaces/shop/{plural}?report_fields=all");
            let list: Value = serde_json::from_str(&self.service.send("GET", &path, None).1).expect("JSON");
            // The service makes endpoints of its own for pools.
            let is_own = |item: &&Value| !item["name"].as_str().is_some_and(|name| name.starts_with("ves-io-"));
            for item in list["items"].as_array().expect("items").iter().filter(is_own) {
                let id = format!("{kind}/{}", item["name"].as_str().expect("a name"));
                objects.insert(id.clone(), self.get(&id).expect("it is there"));
            }
        }
        objects
    }

    fn get(&self, id: &str) -> Option<Value> {
        let path = format!("/api/config/namespaces/shop/{}/{}", plural_of(id), name_of(id));
        let (status, body) = self.service.send("GET", &path, None);
        (status == 200).then(|| {
            let mut object: Value = serde_json::from_str(&body).expect("JSON");
            let mut metadata = object["metadata"].take();
            if let Some(annotations) = metadata["annotations"].as_object_mut() {
                annotations.retain(|key, _| !key.starts_with("trueup/"));
            }
            json!({"metadata": metadata, "spec": object["spec"]})
        })
    }

    /// Whether its annotations name a stack.
    fn is_owned(&self, id: &str) -> bool {
        self.live_whole(id)["metadata"]["annotations"]["trueup/stack"].is_string()
    }

    /// A definition with some of its optional fields.
    fn definition(&mut self, id: &str) -> Value {
        let number = self.number(40);
        let mut spec = match kind_of(id) {
            "endpoint" => json!({"dns_name": format!("h{number}.example.net"), "port": 80 + number,
                "where": {"site": {"ref": [{"name": "ce01", "namespace": "system"}]}}}),
            "healthcheck" => json!({"http_health_check": {"path": format!("/{number}"), "use_origin_server_name": {}},
                "timeout": 1 + number % 5, "interval": 10 + number, "unhealthy_threshold": 2, "healthy_threshold": 3}),
            "ip_prefix_set" => {
                let items = |at: usize| json!({"ipv4_prefix": format!("10.{}.0.0/16", (number + at * 7) % 50)});
                json!({"ipv4_prefixes": (0..=number % 4).map(items).collect::<Value>()})
            }
            _ => json!({"origin_servers": [{"public_ip": {"ip": format!("192.0.2.{number}")}}], "port": 80 + number,
                "no_tls": {}, "healthcheck": [{"name": format!("n{}", number % 3)}]}),
        };
        for (kind, above, key) in OPTIONAL {
            if kind == kind_of(id) && self.random.once_in(4) {
                let value = self.optional(key);
                spec.pointer_mut(above.trim_start_matches("/spec")).expect("a mapping")[key] = value;
            }
        }
        let mut metadata = json!({"name": name_of(id), "namespace": "shop"});
        if self.random.once_in(2) {
            metadata["labels"] = json!({"team": format!("t{}", number % 3)});
        }
        if self.random.once_in(3) {
            metadata["description"] = format!("number {number}").into();
        }
        json!({"kind": kind_of(id), "metadata": metadata, "spec": spec})
    }

    fn optional(&mut self, key: &str) -> Value {
        let number = 10 + self.number(30);
        match key {
            "headers" => json!({"x-one": format!("v{number}")}),
            "loadbalancer_algorithm" => json!(["ROUND_ROBIN", "LEAST_REQUEST", "RANDOM"][number % 3]),
            "endpoint_selection" => json!(["LOCAL_ONLY", "LOCAL_PREFERRED"][number % 2]),
            "ipv6_prefixes" => json!([{"ipv6_prefix": format!("2001:db8:{number}::/48")}]),
            _ => number.into(),
        }
    }

    fn path(stack: usize, id: &str) -> String {
        format!("{}/{}-{}.json", STACKS[stack], kind_of(id), name_of(id))
    }

    fn edit(&mut self) {
        let (stack, kind, name) = (self.number(2), self.number(4), self.number(3));
        self.write_definition(stack, &format!("{}/n{name}", KINDS[kind].0));
    }

    fn write_definition(&mut self, stack: usize, id: &str) {
        let document = self.definition(id);
        let defined = self.defined();
        // Nobody defines an object twice.
        let is_in = |id: &str| (0..2).find(|stack| defined[*stack].contains_key(id));
        let path = Self::path(is_in(id).unwrap_or(stack), id);
        self.told.push(format!("write {path} {document}"));
        self.stage.write(&path, &format!("{document}\n"));
        // What it refers to is there, at least at first.
        if let Some(check) = document["spec"]["healthcheck"][0]["name"].as_str() {
            let check = format!("healthcheck/{check}");
            if is_in(&check).is_none() {
                self.write_definition(stack, &check);
            }
        }
    }

    fn remove(&mut self) {
        let stack = self.number(2);
        let ids: Vec<Id> = self.defined()[stack].keys().cloned().collect();
        let Some(id) = self.one(&ids) else { return };
        self.told.push(format!("remove {}", Self::path(stack, &id)));
        self.stage.remove(&Self::path(stack, &id));
        self.forget_overlay(stack, &id);
    }

    fn move_file(&mut self) {
        let stack = self.number(2);
        let ids: Vec<Id> = self.defined()[stack].keys().cloned().collect();
        let Some(id) = self.one(&ids) else { return };
        let (from, to) = (Self::path(stack, &id), Self::path(1 - stack, &id));
        self.told.push(format!("mv {from} {to}"));
        std::fs::copy(self.stage.path(&from), self.stage.path(&to)).expect("a file");
        // At times it stays in both.
        if !self.random.once_in(4) {
            self.stage.remove(&from);
            self.forget_overlay(stack, &id);
        }
    }

    /// Somebody changes an object in the console.
    fn console_change(&mut self) {
        let ids: Vec<Id> = self.live().into_keys().collect();
        let Some(id) = self.one(&ids) else { return };
        let mut object = self.live_whole(&id);
        let optional: Vec<(&str, &str)> =
            OPTIONAL.iter().filter(|(kind, ..)| *kind == kind_of(&id)).map(|(_, above, key)| (*above, *key)).collect();
        let number = self.number(50);
        match self.one(&optional).filter(|_| !number.is_multiple_of(3)) {
            Some((above, key)) => {
                let value = self.optional(key);
                object.pointer_mut(above).expect("a mapping")[key] = value;
            }
            None => object["metadata"]["labels"]["console"] = format!("c{number}").into(),
        }
        if number.is_multiple_of(5) {
            match kind_of(&id) {
                "endpoint" | "origin_pool" => object["spec"]["port"] = (2000 + number).into(),
                "healthcheck" => object["spec"]["interval"] = (50 + number).into(),
                _ => object["spec"]["ipv4_prefixes"][0]["ipv4_prefix"] = format!("172.16.{number}.0/24").into(),
            }
        }
        self.told.push(format!("console change {id} {}", object["spec"]));
        let path = format!("/api/config/namespaces/shop/{}/{}", plural_of(&id), name_of(&id));
        let (status, answer) = self.service.send("PUT", &path, Some(&object.to_string()));
        self.holds(status == 200, &answer);
        let now = self.get(&id).expect("it is there");
        if let Some(foreign) = self.foreign.get_mut(&id) {
            *foreign = now.clone();
        }
        self.note_unnamed(&id, &now);
    }

    fn live_whole(&self, id: &str) -> Value {
        let path = format!("/api/config/namespaces/shop/{}/{}", plural_of(id), name_of(id));
        let object: Value = serde_json::from_str(&self.service.send("GET", &path, None).1).expect("JSON");
        json!({"metadata": object["metadata"], "spec": object["spec"]})
    }

    /// What the console set in this object where no definition ever did.
    fn note_unnamed(&mut self, id: &str, now: &Value) {
        self.note_named();
        for (kind, above, key) in OPTIONAL {
            let place = (id.to_owned(), format!("{above}/{key}"));
            if kind == kind_of(id) && !self.named.contains(&place) {
                let value = now.pointer(&place.1).filter(|value| !is_nothing(value));
                match value {
                    Some(value) => drop(self.unnamed.insert(place, value.clone())),
                    None => drop(self.unnamed.remove(&place)),
                }
            }
        }
    }

    fn note_named(&mut self) {
        for (id, document) in self.defined().iter().flatten() {
            for (kind, above, key) in OPTIONAL {
                let place = (id.clone(), format!("{above}/{key}"));
                if kind == kind_of(id) && document.pointer(&place.1).is_some() {
                    self.unnamed.remove(&place);
                    self.named.insert(place);
                }
            }
        }
    }

    fn console_delete(&mut self) {
        let ids: Vec<Id> = self.live().into_keys().collect();
        let Some(id) = self.one(&ids) else { return };
        let path = format!("/api/config/namespaces/shop/{}/{}", plural_of(&id), name_of(&id));
        let (status, _) = self.service.send("DELETE", &path, None);
        self.told.push(format!("console delete {id}: {status}"));
        if status == 200 {
            self.foreign.remove(&id);
            self.unnamed.retain(|(of, _), _| *of != id);
        }
    }

    fn console_create(&mut self) {
        let kind = self.number(4);
        // At times it has the name of a definition.
        let name = ["n", "x"][self.number(2)];
        let id = format!("{}/{name}{}", KINDS[kind].0, self.number(3));
        if self.get(&id).is_some() {
            return;
        }
        let mut document = self.definition(&id);
        document.as_object_mut().expect("a mapping").remove("kind");
        let path = format!("/api/config/namespaces/shop/{}", plural_of(&id));
        let (status, answer) = self.service.send("POST", &path, Some(&document.to_string()));
        self.holds(status == 200, &answer);
        self.told.push(format!("console create {id}"));
        let now = self.get(&id).expect("it is there");
        self.note_unnamed(&id, &now);
        self.foreign.insert(id, now);
    }

    fn writes(&self) -> usize {
        ["POST", "PUT", "DELETE"].iter().map(|method| self.service.requests(method)).sum()
    }

    /// One answer of the service is wrong, or one request is lost.
    fn misbehave(&mut self) {
        let kind = KINDS[self.number(4)].0;
        let verb = ["create", "replace", "delete", "list", "get"][self.number(5)];
        let faults: &[&str] = match verb {
            "list" => {
                &["partial: {missing: 1}", "foreign: {namespace: shared}", "garbage: {}", "truncate: {bytes: 90}"]
            }
            "get" => &["garbage: {}", "html: {}", "status: {code: 503}", "status: {code: 403}"],
            _ => &["cut: before", "cut: after", "status: {code: 503}", "status: {code: 403}", "garbage: {}"],
        };
        let (fault, after) = (faults[self.number(faults.len())], self.number(3));
        let rule = format!("{{operation: {kind}-{verb}, after: {after}, for: 1, {fault}}}");
        self.told.push(format!("fault {rule}"));
        self.service.misbehave(&format!("rules: [{rule}]"));
    }

    /// Runs a command; its exit code and what it printed.
    fn run(&mut self, line: &str) -> (i32, String) {
        let line = &format!("{line} --env prod");
        let is_faulty = std::mem::take(&mut self.is_faulty);
        if is_faulty {
            self.misbehave();
        }
        let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        let output = self.stage.command(&words).stdin(std::process::Stdio::null()).output().expect("it starts");
        if is_faulty {
            self.service.misbehave("rules: []");
        }
        let code = output.status.code().unwrap_or(-1);
        let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("UTF-8"));
        let said: String = stderr.lines().take(6).map(|line| format!("\n      {line}")).collect();
        self.told.push(format!("$ trueup {line}  -> {code}{said}"));
        self.holds((0..64).contains(&code) && !stderr.contains("panicked"), &stderr);
        (code, stdout)
    }

    /// Runs a command that applies something to a stack, and remembers the run.
    fn run_and_record(&mut self, stack: usize, line: &str) -> i32 {
        let before = self.live();
        let (code, document) = self.run(&format!("{line} --format json"));
        let document: Value = serde_json::from_str(&document).unwrap_or_default();
        if let Some(name) = document["outcome"]["run"].as_str() {
            self.runs.push(Run { name: name.to_owned(), stack, before, after: self.live() });
        }
        code
    }

    /// What holds after every command; `before` is what was live.
    fn check(&mut self, before: &Objects, is_rollback: bool) {
        let (now, defined) = (self.live(), self.defined());
        // What is defined may be taken over, as a whole.
        let is_defined = |id: &str| defined.iter().any(|stack| stack.contains_key(id));
        let taken: Vec<Id> = self.foreign.keys().filter(|id| is_defined(id) && self.is_owned(id)).cloned().collect();
        self.foreign.retain(|id, _| !taken.contains(id));
        for (id, foreign) in &self.foreign {
            self.holds(now.get(id) == Some(foreign), &format!("{id} of others: {foreign} is {:?}", now.get(id)));
        }
        if !is_rollback {
            for id in defined.iter().flat_map(|stack| stack.keys()).filter(|id| before.contains_key(*id)) {
                self.holds(now.contains_key(id), &format!("{id} is defined and was deleted"));
            }
        }
        self.unnamed.retain(|(id, _), _| now.contains_key(id));
        for ((id, path), value) in &self.unnamed {
            let live = now[id].pointer(path);
            self.holds(live == Some(value), &format!("{id}{path}: {value} is {live:?}"));
        }
    }

    fn apply(&mut self) {
        let stack = self.number(2);
        let name = STACKS[stack];
        self.note_named();
        let mut before = self.live();
        match self.number(6) {
            0 => {
                let ids: Vec<Id> = self.defined()[stack].keys().cloned().collect();
                let Some(id) = self.one(&ids) else { return };
                self.run(&format!("apply {name} --yes --quiet --only {} {ALLOW}", key_of(&id)));
                let now = self.live();
                for other in before.keys().filter(|other| **other != id) {
                    self.holds(before.get(other) == now.get(other), &format!("{other} was left out of the apply"));
                }
            }
            1 => {
                self.is_faulty = true;
                self.run_and_record(stack, &format!("apply {name} --yes --quiet {ALLOW}"));
                self.check(&before, false);
                if self.random.once_in(2) {
                    self.run(&format!("apply --resume last --config {name}/trueup.yaml --yes --quiet"));
                }
            }
            2 => {
                // What was saved is what is done, whatever happens to the files in between.
                let saved = format!("plan {name} --output ../plan.json {ALLOW}");
                let planned = self.defined();
                if self.run(&saved).0 == 0 {
                    before.retain(|id, _| planned.iter().any(|stack| stack.contains_key(id)));
                    self.edit();
                    if self.random.once_in(2) {
                        self.console_change();
                    }
                    self.run_and_record(
                        stack,
                        &format!("apply ../plan.json --config {name}/trueup.yaml --yes --quiet"),
                    );
                }
            }
            3 => drop(self.run(&format!("apply a b --yes --quiet {ALLOW}"))),
            _ => {
                let writes = self.writes();
                let code = self.run_and_record(stack, &format!("apply {name} --yes --quiet {ALLOW}"));
                let has_run = self.writes() > writes;
                if code == 0 {
                    let (now, defined) = (self.live(), self.defined());
                    for (id, document) in &defined[stack] {
                        let live = now.get(id);
                        let is_as_written = live.is_some_and(|live| {
                            covers(&live["spec"], &document["spec"]) && covers(&live["metadata"], &document["metadata"])
                        });
                        self.holds(is_as_written, &format!("{id} was applied: {document} is {live:?}"));
                    }
                    let (code, plan) = self.run(&format!("plan {name} --format json"));
                    let plan: Value = serde_json::from_str(&plan).expect("JSON");
                    let is_in_sync = code == 0 && plan["plan"]["changes"].as_array().is_some_and(Vec::is_empty);
                    self.holds(is_in_sync, &format!("after an apply: {}", plan["plan"]["changes"]));
                    self.check(&before, false);
                    self.applied = has_run.then_some((stack, before));
                    return;
                }
            }
        }
        self.check(&before, false);
    }

    fn rollback(&mut self, applied: Option<(usize, Objects)>) {
        let stack = applied.as_ref().map_or_else(|| self.number(2), |(stack, _)| *stack);
        let before = self.live();
        self.note_named();
        let line = format!("rollback last --config {}/trueup.yaml --yes --quiet {ALLOW}", STACKS[stack]);
        let code = self.run_and_record(stack, &line);
        if let (Some((_, then)), 0) = (applied, code) {
            let now = self.live();
            for id in then.keys().chain(now.keys()) {
                self.holds(
                    then.get(id) == now.get(id),
                    &format!("{id} was {:?} and is {:?}", then.get(id), now.get(id)),
                );
            }
        }
        self.check(&before, true);
    }

    /// Any run is undone, a rollback too: what it wrote and nobody changed since, and nothing else.
    fn rollback_earlier(&mut self) {
        let runs = self.runs.clone();
        let Some(Run { name, stack, before, after }) = self.one(&runs) else { return };
        let then = self.live();
        self.note_named();
        self.run_and_record(
            stack,
            &format!("rollback {name} --config {}/trueup.yaml --yes --quiet {ALLOW}", STACKS[stack]),
        );
        let now = self.live();
        for id in then.keys().chain(now.keys()) {
            let [before, after, then, now] =
                [&before, &after, &then, &now].map(|objects| objects.get(id).unwrap_or(&Value::Null));
            self.holds(
                is_undone(before, after, then, now),
                &format!("{id} was {then} and is {now}: {before} -> {after}"),
            );
        }
        self.check(&then, true);
    }

    fn pull(&mut self) {
        let stack = STACKS[self.number(2)];
        let (before, writes, files) = (self.live(), self.writes(), self.defined());
        let into = if OVERLAY.starts_with(stack) && self.random.once_in(2) { "overlay" } else { "base" };
        let (code, _) = self.run(&format!("pull --drift {stack} --into {into}"));
        if code == 0 {
            let (code, drift) = self.run(&format!("drift {stack} --format json"));
            let drift: Value = serde_json::from_str(&drift).expect("JSON");
            let is_taken_over = ["in_sync", "pending"].contains(&drift["verdict"].as_str().unwrap_or_default());
            self.holds(is_taken_over, &format!("after a pull: {code} {}", drift["verdicts"]));
        }
        self.holds(self.writes() == writes, "a pull writes nothing");
        for (files, now) in files.iter().zip(self.defined()) {
            for (id, written) in files {
                let is_right = match (now.get(id), before.get(id)) {
                    (Some(now), Some(live)) => is_taken(written, now, live),
                    (Some(now), None) => now == written,
                    (None, live) => live.is_none(),
                };
                self.holds(is_right, &format!("{id} was {written}, is {:?}, live {:?}", now.get(id), before.get(id)));
            }
        }
        self.note_named();
        self.check(&before, false);
    }

    fn look(&mut self) {
        let stack = STACKS[self.number(2)];
        let writes = self.writes();
        let command = ["plan", "drift", "validate"][self.number(3)];
        let rest = ["", " --base HEAD", " --format json", " --format markdown"][self.number(4)];
        let rest = if command == "validate" || command == "drift" && rest.contains("base") { "" } else { rest };
        self.run(&format!("{command} {stack}{rest}"));
        self.holds(self.writes() == writes, "a look writes nothing");
    }

    /// Right after an apply: what the files say differently is pending, what somebody changed in the console is drift.
    fn attribute(&mut self, stack: usize) {
        let defined = self.defined()[stack].clone();
        let then = self.live();
        let number = self.number(4);
        match number {
            0 | 1 => self.console_change(),
            2 => self.console_delete(),
            _ => self.edit(),
        }
        let now = self.live();
        self.is_faulty = false;
        let (_, drift) = self.run(&format!("drift {} --format json", STACKS[stack]));
        let drift: Value = serde_json::from_str(&drift).expect("JSON");
        let verdict_of = |id: &str| {
            let key = key_of(id);
            let key = key.strip_prefix("endpoint:").unwrap_or(&key);
            drift["verdicts"]["objects"].get(key).map(|object| object["verdict"].clone())
        };
        let written = self.defined()[stack].clone();
        // What it does not name is drift for as long as it is there.
        let has_unnamed = |id: &Id| {
            let is_unnamed = |(kind, above, key): &(&str, &str, &str)| {
                let path = format!("{above}/{key}");
                let live = then.get(id).and_then(|live| live.pointer(&path));
                // Named only by the edit of now, it is both.
                let unnamed = |files: &BTreeMap<Id, Value>| files.get(id).is_some_and(|it| it.pointer(&path).is_none());
                *kind == kind_of(id)
                    && (unnamed(&written) || unnamed(&defined))
                    && live.is_some_and(|value| !is_nothing(value))
            };
            OPTIONAL.iter().any(is_unnamed)
        };
        // What is as the files say and another stack's has no annotation of this apply.
        let is_foreign = |id: &Id| {
            let key = key_of(id);
            let key = key.strip_prefix("endpoint:").unwrap_or(&key);
            let blocked = drift["plan"]["blocked"].as_array().into_iter().flatten();
            blocked.into_iter().any(|blocked| blocked["key"] == key && !blocked["reason"]["foreign_stack"].is_null())
        };
        for id in written.keys().filter(|id| !has_unnamed(id)) {
            let (is_drift, is_pending) = (then.get(id) != now.get(id), defined.get(id) != written.get(id));
            let verdict = verdict_of(id);
            // Deleted outside while the files lacked it: git shows neither, but that the applied commit has it.
            let was_lacked = !now.contains_key(id) && self.committed[stack].contains_key(id);
            let is_right = match (is_drift, is_pending) {
                (false, false) => verdict.is_none(),
                (false, true) if was_lacked && verdict == Some("drift".into()) => true,
                (false, true) => verdict.is_none() || verdict == Some("pending".into()),
                (true, _) if is_foreign(id) && verdict == Some("both".into()) => true,
                (true, _) => verdict == Some("drift".into()),
            };
            self.holds(is_right, &format!("{id} is {verdict:?}: {:?} {:?}, {drift}", then.get(id), now.get(id)));
        }
    }

    fn step(&mut self) {
        let applied = self.applied.take();
        if let Some((stack, _)) = &applied
            && self.random.once_in(2)
        {
            return self.attribute(*stack);
        }
        self.is_faulty = self.random.once_in(4);
        match self.number(24) {
            0..=4 => self.edit(),
            5 => self.overlay(),
            6 => self.remove(),
            7 => self.move_file(),
            8..=11 => self.console_change(),
            12 => self.console_delete(),
            13 => self.console_create(),
            14..=18 => self.apply(),
            19 => self.rollback(applied),
            20 => self.rollback_earlier(),
            21 => self.pull(),
            22 => self.look(),
            _ => {
                self.told.push("commit".to_owned());
                git(&self.stage, "add -A");
                git(&self.stage, "commit -q --allow-empty -m step");
                self.committed = self.defined();
            }
        }
    }
}

fn is_nothing(value: &Value) -> bool {
    [json!(null), json!(0), json!(""), json!([]), json!({}), json!("ROUND_ROBIN")].contains(value)
}

/// Whether what is written another way now is as it is live.
fn is_taken(written: &Value, now: &Value, live: &Value) -> bool {
    match (written, now) {
        _ if written == now => true,
        (Value::Object(entries), Value::Object(now)) => {
            let nothing = Value::Null;
            let keys = entries.keys().chain(now.keys());
            let [of, to] = [entries, now].map(|entries| |key: &String| entries.get(key).unwrap_or(&nothing));
            keys.into_iter().all(|key| is_taken(of(key), to(key), &live[key.as_str()]))
        }
        (_, Value::Null) => is_nothing(live),
        (_, now) => covers(live, now),
    }
}

/// Whether the rollback of what made `after` of `before` may make `now` of `then`.
fn is_undone(before: &Value, after: &Value, then: &Value, now: &Value) -> bool {
    let maps = [before, after, then, now].map(Value::as_object);
    match maps {
        _ if then == now || after == then && before == now => true,
        [_, Some(after), Some(then), Some(now)] => {
            let nothing = Value::Null;
            let of = |map: Option<&Map<String, Value>>, key: &String| {
                map.and_then(|map| map.get(key)).unwrap_or(&nothing).clone()
            };
            then.keys().chain(now.keys()).all(|key| {
                is_undone(&of(maps[0], key), &of(Some(after), key), &of(Some(then), key), &of(Some(now), key))
            })
        }
        _ => false,
    }
}

/// Lays an overlay over a document.
fn merge(document: &mut Value, over: &Value) {
    match (document, over) {
        (Value::Object(entries), Value::Object(over)) => {
            for (key, value) in over {
                match value {
                    Value::Null => drop(entries.remove(key)),
                    value => merge(entries.entry(key.as_str()).or_insert(Value::Null), value),
                }
            }
        }
        (document, over) => over.clone_into(document),
    }
}

/// Whether a live value has all that a definition names.
fn covers(live: &Value, written: &Value) -> bool {
    match (live, written) {
        (Value::Object(live), Value::Object(written)) => {
            written.iter().all(|(key, value)| live.get(key).is_some_and(|live| covers(live, value)))
        }
        (Value::Array(live), Value::Array(written)) => {
            live.len() == written.len() && live.iter().zip(written).all(|(live, written)| covers(live, written))
        }
        (live, written) => live == written,
    }
}

#[test]
fn whatever_happens_in_two_stacks_nobodys_work_is_lost() {
    let seed = objects::seed();
    let mut codes: BTreeMap<String, usize> = BTreeMap::new();
    for story in 0..4 {
        let mut story = Story::new(seed, story);
        for _ in 0..10 {
            story.edit();
        }
        for _ in 0..80 {
            story.step();
        }
        for line in story.told.iter().filter_map(|line| line.strip_prefix("$ trueup ")) {
            let command = line.split(' ').next().expect("a command");
            let code = line.lines().next().and_then(|line| line.rsplit(' ').next()).expect("a code");
            *codes.entry(format!("{command} {code}")).or_default() += 1;
        }
    }
    eprintln!("{codes:?}");
    for command in ["apply 0", "rollback 0", "plan 0"] {
        assert!(codes.contains_key(command), "TRUEUP_SEED={seed}: {codes:?}");
    }
}
