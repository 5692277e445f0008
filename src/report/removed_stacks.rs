//! What stacks leave behind that were removed: nothing deletes it, because no stack plans it any more. As text and as
//! Markdown, with the commands that delete it.

use std::collections::BTreeSet;

use super::line::{Line, code, line, styled};
use super::markdown::{self, draw};
use super::stacks::{ALLOW_EMPTY, LeftObjects, StackChange, StackEntry, StackList};
use super::view::Table;
use super::{Role, safe};
use crate::model::Key;

/// Names of endpoints that are shown.
const SHOWN: usize = 20;

impl StackEntry {
    /// What is known of it that is left behind.
    fn left_some(&self) -> impl Iterator<Item = &LeftObjects> {
        self.left.iter().flatten().filter(|left| !left.endpoints.is_empty())
    }

    /// What became of its endpoints.
    pub(super) fn left_words(&self) -> Line<'_> {
        let Some(all) = &self.left else {
            return line!["its definitions cannot be read at that commit, and nothing deletes what it owns"];
        };
        if all.iter().all(|left| left.endpoints.is_empty()) {
            return line!["nothing is left: another stack defines each of its endpoints now"];
        }
        let words = self.left_some().map(|left| {
            let of = left.environment.as_deref().map(|name| line![" of ", code(name)]);
            let names = Line::some_of(left.endpoints.iter().map(Key::to_string), SHOWN);
            line![Line::count(left.endpoints.len(), Key::noun(&left.endpoints)), of, " (", names, ")"]
        });
        line!["nothing deletes what it defined: ", Line::joined(words, ", ")]
    }

    /// The commands that delete it: the settings of the commit without a definition, applied.
    pub(super) fn deleting(&self, commit: &str) -> Vec<String> {
        if self.left.is_some() && self.left_some().next().is_none() {
            return Vec::new();
        }
        let settings = match self.directory.as_str() {
            "." => "trueup.yaml".to_owned(),
            directory => format!("{directory}/trueup.yaml"),
        };
        let (directory, settings) = (safe::shell(&self.directory), safe::shell(&settings));
        let environments: Vec<String> = match &self.left {
            Some(_) => self.left_some().map(|left| flag(left.environment.as_ref())).collect(),
            None if self.environments.is_empty() => vec![String::new()],
            None => self.environments.iter().map(|name| flag(Some(name))).collect(),
        };
        let apply = |environment: String| {
            format!("trueup apply {directory}{environment} --allow empty-namespace --allow mass-change")
        };
        let kinds: BTreeSet<&str> =
            self.left_some().flat_map(|left| &left.kinds_not_listed).map(|kind| kind.as_str()).collect();
        let kinds = (!kinds.is_empty()).then(|| {
            let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
            format!("# list these under `kinds:` of {settings} by hand, or they stay: {kinds}")
        });
        [
            format!("git checkout {} -- {settings}", safe::shell(commit)),
            match self.by_hand {
                Some(what) => format!("# set {what} in {settings} by hand, wherever it has others"),
                None => format!("printf '\\n{ALLOW_EMPTY}\\n' >> {settings}"),
            },
        ]
        .into_iter()
        .chain(kinds)
        .chain(environments.into_iter().map(apply))
        .collect()
    }
}

fn flag(environment: Option<&String>) -> String {
    environment.map(|name| format!(" --env {}", safe::shell(name))).unwrap_or_default()
}

impl StackList {
    /// Those that were removed.
    pub(super) fn removed(&self) -> impl Iterator<Item = &StackEntry> {
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
            let name = stack.stack.as_deref().map(|name| line![", stack ", code(name)]);
            let line = line![styled(Role::Strong, "Removed:"), " ", code(&stack.directory), name, ": "];
            text.push_str(&format!("\n{}\n", draw(&line![line, stack.left_words(), "."])));
            let commands = stack.deleting(&self.commit);
            if !commands.is_empty() {
                text.push_str("\nIts endpoints stay live and belong to no stack that is planned. To delete them:\n\n");
                text.push_str(&markdown::fenced("sh", &commands));
            }
        }
        if others > 0 {
            let mut table = Table::new(["stack", "directory", "change"]);
            for stack in self.stacks.iter().filter(|stack| stack.change != Some(StackChange::Removed)) {
                let change = stack.change.map(StackChange::as_str).unwrap_or_default();
                let name = code(stack.stack.as_deref().unwrap_or_default());
                table.row([line![name], line![code(&stack.directory)], line![change]]);
            }
            text.push_str(&format!("\n{}", markdown::table(&table)));
        }
        text
    }
}
