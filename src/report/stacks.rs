//! The stacks of a repository as a table, as Markdown, as JSON, and as the matrix of a job of GitHub Actions. Nothing
//! deletes what removed stacks leave behind, because no stack plans it any more: the list has the commands for that.

use serde_json::json;

use super::markdown::{self, draw};
use crate::kind::KindName;
use crate::model::words;
use crate::report::prelude::*;

/// The line of the settings with which a stack may define nothing.
pub const ALLOW_EMPTY: &str = "allow_empty: true";
/// The maximum number of endpoints of a removed stack that are named.
const SHOWN: usize = 20;

/// A list of stacks.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct StackList {
    /// Each stack, by its directory.
    pub stacks: Vec<StackEntry>,
    /// The revision that they were compared with.
    #[serde(rename = "changed_since")]
    pub since: Option<String>,
    /// Those that are there are left out.
    #[serde(skip)]
    pub only_removed: bool,
    /// The commit of the comparison: the merge base with that revision.
    #[serde(skip)]
    pub commit: String,
}

/// One stack.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct StackEntry {
    /// Its directory, from the working directory.
    pub directory: String,
    /// Its name.
    pub stack: Option<String>,
    /// Its environments.
    pub environments: Vec<String>,
    /// Its service, where no environment is chosen.
    pub base_url: Option<String>,
    /// The namespaces that it lists, where no environment is chosen.
    pub namespaces: Vec<String>,
    /// Its labels, where no environment is chosen.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// What each environment sets otherwise, of those three.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub environment_settings: BTreeMap<String, EnvironmentSettings>,
    /// The labels of each environment in which they are others.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub environment_labels: BTreeMap<String, BTreeMap<String, String>>,
    /// Files that it reads, in any of its environments.
    pub files: usize,
    /// What became of it since a revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<StackChange>,
    /// Of a removed stack, what it defined and what no stack defines now; nothing where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<Vec<LeftObjects>>,
    /// Of a removed stack, what to set by hand so that an apply deletes what is left, where [`ALLOW_EMPTY`] at the end of
    /// its settings is not enough.
    #[serde(skip)]
    pub by_hand: Option<String>,
    /// Of a removed stack, the flags of the call that name it where its settings do not.
    #[serde(skip)]
    pub flags: String,
    /// Why its settings cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What an environment sets otherwise than its stack does where none is chosen.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EnvironmentSettings {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// Its service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The namespaces that it lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<Vec<String>>,
}

/// Objects that a removed stack defined and that no stack of the repository defines now.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftObjects {
    /// The environment; nothing for a stack without environments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// Each of them.
    pub endpoints: Vec<Key>,
    /// Others, of which it is not known whether another stack defines them now, with the reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unknown: BTreeMap<Key, String>,
    /// Their kinds that the settings do not list, so that nothing of them is deleted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds_not_listed: Vec<KindName>,
}

/// What became of a stack since a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StackChange {
    /// A file that it reads has changed.
    Changed,
    /// It is new.
    Added,
    /// Its directory has no settings any more, or not these environments.
    Removed,
}

words!(StackChange { Changed = "changed", Added = "added", Removed = "removed" });

impl StackEntry {
    /// The labels in an environment, or without one.
    pub fn labels(&self, environment: Option<&str>) -> &BTreeMap<String, String> {
        environment.and_then(|name| self.environment_labels.get(name)).unwrap_or(&self.labels)
    }

    /// `shop; prod: shop-prod`: what is set without an environment, and what environments set differently.
    fn by_environment(&self, top: Option<String>, of: impl Fn(&EnvironmentSettings) -> Option<String>) -> String {
        let others = self.environment_settings.iter();
        joined(top, others.filter_map(|(name, settings)| Some(format!("{name}: {}", of(settings)?))))
    }

    /// Its name, and those that environments give it.
    fn names(&self) -> String {
        self.by_environment(self.stack.clone(), |settings| settings.stack.clone())
    }

    /// Its name in an environment, or without one.
    fn stack_in(&self, environment: Option<&String>) -> Option<&String> {
        let settings = environment.and_then(|name| self.environment_settings.get(name));
        settings.and_then(|settings| settings.stack.as_ref()).or(self.stack.as_ref())
    }

    /// `ring=main, team=shop; prod: ring=canary`: for an environment, only the values that differ.
    fn labels_text(&self) -> String {
        let text = |labels: &mut dyn Iterator<Item = (&String, &String)>| {
            labels.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
        };
        let everywhere = text(&mut self.labels.iter());
        let of_environment = self.environment_labels.iter().map(|(name, labels)| {
            let others = text(&mut labels.iter().filter(|(key, value)| self.labels.get(*key) != Some(value)));
            format!("{name}: {others}")
        });
        joined(Some(everywhere), of_environment)
    }

    /// What it leaves behind, as far as that is known.
    fn left_some(&self) -> impl Iterator<Item = &LeftObjects> {
        self.left.iter().flatten().filter(|left| !left.endpoints.is_empty())
    }

    /// What happens to its endpoints, in words.
    fn left_words(&self) -> Line<'_> {
        let Some(all) = &self.left else {
            return line!["its definitions cannot be read at that commit, and nothing deletes what it owns"];
        };
        let words = self.left_some().map(|left| {
            let of = left.environment.as_deref().map(|name| line![" of ", code(name)]);
            let names = Line::some_of(left.endpoints.iter().map(Key::to_string), SHOWN);
            let unowned = self.stack_in(left.environment.as_ref()).is_none();
            let by_hand = unowned.then_some(", owned by no stack: delete by hand");
            line![Line::count(left.endpoints.len(), Key::noun(&left.endpoints)), of, " (", names, ")", by_hand]
        });
        let words: Vec<_> = words.collect();
        let left = (!words.is_empty()).then(|| line!["nothing deletes what it defined: ", Line::joined(words, ", ")]);
        let unknown: BTreeMap<&Key, &String> = all.iter().flat_map(|left| &left.unknown).collect();
        let unknown = (!unknown.is_empty()).then(|| {
            let names = Line::some_of(unknown.keys().map(ToString::to_string), SHOWN);
            let reasons: BTreeSet<&str> = unknown.values().map(|reason| reason.as_str()).collect();
            let reasons = Line::joined(reasons.into_iter().map(|reason| line![code(reason)]), "; ");
            line!["whether another stack defines ", names, " now is unknown: ", reasons]
        });
        match (left, unknown) {
            (None, None) => line!["nothing is left: another stack defines or deletes each of its endpoints now"],
            (left, unknown) => Line::joined(left.into_iter().chain(unknown), "; "),
        }
    }

    /// The commands that delete it: the settings of the commit without a definition, applied.
    fn deleting(&self, commit: &str) -> Vec<String> {
        let mut owned = self.left_some().filter(|left| self.stack_in(left.environment.as_ref()).is_some()).peekable();
        if self.left.is_some() && owned.peek().is_none() {
            return Vec::new();
        }
        let settings = match self.directory.as_str() {
            "." => "trueup.yaml".to_owned(),
            directory => format!("{directory}/trueup.yaml"),
        };
        let (directory, settings) = (safe::shell(&self.directory), safe::shell(&settings));
        let environments: Vec<String> = match &self.left {
            Some(_) => owned.map(|left| flag(left.environment.as_ref())).collect(),
            None => {
                let is_of_own_name = |name| self.stack_in(Some(name)) != self.stack.as_ref();
                let has_own = self.environments.is_empty()
                    || (self.stack.is_some() && self.environments.iter().all(is_of_own_name));
                has_own.then_some(None).into_iter().chain(self.environments.iter().map(Some)).map(flag).collect()
            }
        };
        let apply = |environment: String| {
            format!("trueup apply {directory}{environment}{} --allow empty-namespace --allow mass-change", self.flags)
        };
        let kinds: BTreeSet<&str> =
            self.left_some().flat_map(|left| &left.kinds_not_listed).map(|kind| kind.as_str()).collect();
        let kinds = (!kinds.is_empty()).then(|| {
            let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
            format!("# list these under `kinds:` of {settings} by hand, or they stay: {kinds}")
        });
        // git reads what is after `--` as a pattern, which could match the settings of other stacks as well.
        let literal = if self.directory.contains(['*', '?', '[', ':']) { " --literal-pathspecs" } else { "" };
        let checkout = format!("git{literal} checkout {} -- {settings}", safe::shell(commit));
        let empty = match &self.by_hand {
            Some(what) => format!("# set {what} in {settings} by hand, wherever it has others"),
            None => format!("printf '\\n{ALLOW_EMPTY}\\n' >> {settings}"),
        };
        [checkout, empty].into_iter().chain(kinds).chain(environments.into_iter().map(apply)).collect()
    }
}

/// What is set everywhere, and what environments set differently.
fn joined(everywhere: Option<String>, otherwise: impl Iterator<Item = String>) -> String {
    everywhere.filter(|text| !text.is_empty()).into_iter().chain(otherwise).collect::<Vec<_>>().join("; ")
}

fn flag(environment: Option<&String>) -> String {
    environment.map(|name| format!(" --env {}", safe::shell(name))).unwrap_or_default()
}

impl Report for StackList {
    written_as!("stacks");

    fn draw(&self, format: Format, _: &TextView) -> Option<String> {
        match format {
            Format::Matrix => Some(self.matrix()),
            Format::Markdown => Some(self.markdown()),
            _ => None,
        }
    }

    /// The stacks as a table, and what those that were removed leave behind.
    fn blocks<'a>(&'a self, _: &TextView) -> Blocks<'a> {
        if self.stacks.is_empty() {
            let what = if self.only_removed { "was removed" } else { "changed" };
            let since = self.since.as_deref().map(|since| line![what, " since ", code(since)]);
            return line!["No stack ", since.unwrap_or_else(|| line!["found"]), "."].into();
        }
        let has_labels = self.stacks.iter().any(|stack| !stack.labels_text().is_empty());
        let mut headings = vec!["directory", "stack", "environments", "service", "namespaces", "files"];
        headings.extend(has_labels.then_some("labels"));
        headings.extend(self.since.as_ref().map(|_| "change"));
        let free = 2..headings.len();
        let mut table = Table::new(headings).right([5]).free(free);
        for stack in &self.stacks {
            let change = match (stack.change, &stack.error) {
                (_, Some(error)) => error.clone(),
                (change, None) => change.map(StackChange::as_str).unwrap_or_default().to_owned(),
            };
            let mut row = vec![
                stack.directory.clone(),
                stack.names(),
                stack.environments.join(", "),
                stack.error.clone().unwrap_or_else(|| {
                    stack.by_environment(stack.base_url.clone(), |settings| settings.base_url.clone())
                }),
                stack.by_environment(Some(stack.namespaces.join(", ")), |settings| {
                    settings.namespaces.as_ref().map(|namespaces| namespaces.join(", "))
                }),
                stack.files.to_string(),
            ];
            row.extend(has_labels.then(|| stack.labels_text()));
            row.extend(self.since.as_ref().map(|_| change));
            table.row(row.into_iter().map(code));
        }
        let mut blocks = Blocks::from(table);
        blocks.section(Line::count(self.stacks.len(), "stack"));
        for stack in self.removed() {
            blocks.section(line!["removed: ", code(&stack.directory), ": ", stack.left_words()]);
            for (at, command) in stack.deleting(&self.commit).into_iter().enumerate() {
                let label = if at == 0 { "to delete it: " } else { "              " };
                blocks.item(line![label, code(command)]);
            }
        }
        blocks
    }
}

impl StackList {
    /// The stacks that were removed.
    fn removed(&self) -> impl Iterator<Item = &StackEntry> {
        self.stacks.iter().filter(|stack| stack.change == Some(StackChange::Removed))
    }

    /// The stacks as Markdown: those that were removed, with what they leave behind, and a table of the others. Without a
    /// stack it is empty.
    pub fn markdown(&self) -> String {
        if self.stacks.is_empty() {
            return String::new();
        }
        let removed = self.removed().count();
        let others = self.stacks.len() - removed;
        let counts = match (others, removed) {
            (others, 0) => Line::count(others, "stack"),
            (0, removed) => Line::count(removed, "stack").and(" removed"),
            (others, removed) => line![Line::count(others, "stack"), ", ", removed, " removed"],
        };
        let mut text = format!("### trueup: {}\n", draw(&counts));
        for stack in self.removed() {
            let name = stack.names();
            let name = (!name.is_empty()).then(|| line![", stack ", code(name)]);
            let line = line![styled(Role::Strong, "Removed:"), " ", code(&stack.directory), name, ": "];
            text.push_str(&format!("\n{}\n", draw(&line![line, stack.left_words(), "."])));
            let commands = stack.deleting(&self.commit);
            if !commands.is_empty() {
                text.push_str("\nIts endpoints stay live and belong to no stack that is planned. To delete them:\n\n");
                text.push_str(&markdown::fenced("sh", &(commands.join("\n") + "\n")));
            }
        }
        if others > 0 {
            let rows = self.present().map(|stack| {
                let change = stack.change.map(StackChange::as_str).unwrap_or_default();
                [line![code(stack.names())], line![code(&stack.directory)], line![change]]
            });
            let table = Table::new(["stack", "directory", "change"]).rows(rows);
            text.push_str(&format!("\n{}", markdown::table(&table)));
        }
        text
    }

    /// The stacks that still exist.
    fn present(&self) -> impl Iterator<Item = &StackEntry> {
        self.stacks.iter().filter(|stack| stack.change != Some(StackChange::Removed))
    }

    /// The directories that a matrix cannot contain: a forge expands `$`, and a runner must not get other unsafe
    /// characters, or bytes that are not text.
    pub fn outside_of_matrix(&self) -> impl Iterator<Item = &str> {
        let fits = |c: char| c != '$' && c != char::REPLACEMENT_CHARACTER && !safe::is_unsafe(c);
        self.present().map(|stack| stack.directory.as_str()).filter(move |directory| !directory.chars().all(fits))
    }

    /// The existing stacks as the matrix of a job, an entry for each environment, on one line. The `id` of an entry is
    /// unique, and fits the name of a job, an artifact or a cache.
    pub fn matrix(&self) -> String {
        let entry = |stack: &StackEntry, environment: Option<&String>| {
            let mut entry = json!({
                "directory": stack.directory,
                "stack": stack.stack_in(environment).cloned().unwrap_or_default(),
                "id": id(&stack.directory, environment),
            });
            let labels = stack.labels(environment.map(String::as_str));
            if !labels.is_empty() {
                entry["labels"] = json!(labels);
            }
            if let Some(environment) = environment {
                entry["environment"] = environment.as_str().into();
            }
            entry
        };
        let entries = self.present().flat_map(|stack| match stack.environments.as_slice() {
            [] => vec![entry(stack, None)],
            environments => environments.iter().map(|environment| entry(stack, Some(environment))).collect(),
        });
        format!("{}\n", safe::json(&json!({"include": entries.collect::<Vec<Json>>()}).to_string()))
    }
}

/// The maximum number of characters of an id before its digest.
const LONGEST_ID: usize = 120;

/// A name for a stack in an environment: the parts of the directory with `.` between them, and `..` before the environment.
/// If a part has other characters than a plain name, the beginning of a digest follows.
fn id(directory: &str, environment: Option<&String>) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_plain = |text: &str| !text.is_empty() && text.chars().all(fits);
    let plain = |text: &str| text.chars().map(|c| if fits(c) { c } else { '-' }).collect::<String>();
    let (named, is_whole) = match directory {
        "." => ("root".to_owned(), true),
        _ => (
            directory.split('/').map(plain).collect::<Vec<_>>().join("."),
            directory != "root" && directory.split('/').all(is_plain),
        ),
    };
    // A name that begins with `-` would be an option of a command.
    let (named, is_whole) = if named.starts_with('-') { (format!("_{named}"), false) } else { (named, is_whole) };
    let mut id = environment.map_or_else(|| named.clone(), |name| format!("{named}..{}", plain(name)));
    // A forge limits the length of the names that contain it.
    let is_whole = is_whole && id.len() <= LONGEST_ID;
    id.truncate(LONGEST_ID);
    if !is_whole || environment.is_some_and(|name| !is_plain(name)) {
        let named = format!("{directory}\n{}", environment.map_or("", String::as_str));
        id.push_str(&format!(".{}", document::sha256(named, 16)));
    }
    id
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_id_of_an_entry_is_unique_and_a_plain_name() {
        let directories = [
            ".", "root", "shop", "a-b", "a_b", "a/b", "a//b", "A/b", "a b", "team-a/b", "team/a-b", "ä", "a/b/c",
            "x.y", "./-x", "-x", "_-x",
        ];
        let environments = [None, Some("prod".to_owned()), Some("b c".to_owned()), Some("b-c".to_owned())];
        let mut ids = BTreeSet::new();
        for directory in directories {
            for environment in &environments {
                let id = id(directory, environment.as_ref());
                assert!(id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)), "{id}");
                assert!(!id.starts_with('-') && !id.starts_with('.'), "{id}");
                assert!(ids.insert(id.clone()), "{id} is twice there");
            }
        }
        let (long, longer) = ("a/".repeat(80), "a/".repeat(81));
        assert_ne!(id(&long, None), id(&longer, None));
        assert!(id(&long, None).len() < 160);
        // Two names that one person chose so that 24 bits of their digest are equal.
        let suffix = |name: &str| id(name, None).rsplit('.').next().map(str::len);
        assert_eq!(suffix("a b"), Some(32));
        assert_eq!(id("teams/shop", Some(&"prod".to_owned())), "teams.shop..prod");
        assert_eq!((id("my-team", None).as_str(), id(".", None).as_str()), ("my-team", "root"));
    }
}
