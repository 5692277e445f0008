//! What stacks leave behind that were removed: nothing deletes it, because no stack plans it any more. As text and as
//! Markdown, with the commands that delete it.

use super::counted::count;
use super::markdown;
use super::safe;
use super::stacks::{LeftEndpoints, StackChange, StackEntry, StackList};

/// Names of endpoints that are shown.
const SHOWN: usize = 20;

impl StackEntry {
    /// What is known of it that is left behind.
    fn left_some(&self) -> impl Iterator<Item = &LeftEndpoints> {
        self.left.iter().flatten().filter(|left| !left.endpoints.is_empty())
    }

    /// What became of its endpoints, in words; `quote` makes a name harmless.
    fn left_words(&self, quote: impl Fn(&str) -> String) -> String {
        let Some(all) = &self.left else {
            return "its definitions cannot be read at that commit, and nothing deletes what it owns".to_owned();
        };
        if all.iter().all(|left| left.endpoints.is_empty()) {
            return "nothing is left: another stack defines each of its endpoints now".to_owned();
        }
        let words = self.left_some().map(|left| {
            let of = left.environment.as_ref().map(|name| format!(" of {}", quote(name))).unwrap_or_default();
            let names: Vec<String> = left.endpoints.iter().take(SHOWN).map(|name| quote(name)).collect();
            let more = left.endpoints.len() - names.len();
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            format!("{}{of} ({}{more})", count(left.endpoints.len(), "endpoint"), names.join(", "))
        });
        format!("nothing deletes what it defined: {}", words.collect::<Vec<_>>().join(", "))
    }

    /// The commands that delete it: the settings of the commit without a definition, applied.
    fn deleting(&self, commit: &str) -> Vec<String> {
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
        [
            format!("git checkout {} -- {settings}", safe::shell(commit)),
            format!("printf '\\nallow_empty: true\\n' >> {settings}"),
        ]
        .into_iter()
        .chain(environments.into_iter().map(apply))
        .collect()
    }
}

fn flag(environment: Option<&String>) -> String {
    environment.map(|name| format!(" --env {}", safe::shell(name))).unwrap_or_default()
}

impl StackList {
    fn removed(&self) -> impl Iterator<Item = &StackEntry> {
        self.stacks.iter().filter(|stack| stack.change == Some(StackChange::Removed))
    }

    /// What the removed stacks leave behind, as text below the list.
    #[must_use]
    pub fn removed_text(&self) -> String {
        let mut text = String::new();
        for stack in self.removed() {
            text.push_str(&format!(
                "\nremoved: {}: {}\n",
                safe::line(&stack.directory),
                stack.left_words(|name| safe::line(name).into_owned())
            ));
            for (at, command) in stack.deleting(&self.commit).iter().enumerate() {
                let label = if at == 0 { "to delete it:" } else { "" };
                text.push_str(&format!("  {label:<14}{command}\n"));
            }
        }
        text
    }

    /// The stacks as Markdown: those that were removed, with what they leave behind, and a table of the others. Without a
    /// stack it is empty.
    #[must_use]
    pub fn markdown(&self) -> String {
        if self.stacks.is_empty() {
            return String::new();
        }
        let removed = self.removed().count();
        let mut text = match (self.stacks.len() - removed, removed) {
            (others, 0) => format!("### trueup: {}\n", count(others, "stack")),
            (0, removed) => format!("### trueup: {} removed\n", count(removed, "stack")),
            (others, removed) => format!("### trueup: {}, {removed} removed\n", count(others, "stack")),
        };
        for stack in self.removed() {
            let name = stack.stack.as_ref().map(|name| format!(", stack {}", markdown::cell(name))).unwrap_or_default();
            let words = stack.left_words(markdown::cell);
            text.push_str(&format!("\n**Removed:** {}{name}: {words}.\n", markdown::cell(&stack.directory)));
            let commands = stack.deleting(&self.commit);
            if !commands.is_empty() {
                text.push_str("\nIts endpoints stay live and belong to no stack that is planned. To delete them:\n\n");
                text.push_str(&markdown::fenced("sh", &commands));
            }
        }
        if removed < self.stacks.len() {
            text.push_str("\n| stack | directory | change |\n|---|---|---|\n");
        }
        for stack in self.stacks.iter().filter(|stack| stack.change != Some(StackChange::Removed)) {
            let name = markdown::cell(stack.stack.as_deref().unwrap_or_default());
            let change = stack.change.map(StackChange::as_str).unwrap_or_default();
            text.push_str(&format!("| {name} | {} | {change} |\n", markdown::cell(&stack.directory)));
        }
        text
    }
}
