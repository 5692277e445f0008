//! Substitutes `${name}` in values. The text of a variable that is a whole unquoted value is read as YAML;
//! elsewhere it is inserted as text. Inserted text is not searched for variables.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::config::{Config, SettingPlaces};
use super::diagnostic::Diagnostic;
use super::item::{Item, TextSpan, Value, ValueOrigin, resolve};
use super::options::LoadOptions;
use super::suggestion::{Searches, nearest};
use super::text::SourceText;
use super::tree::{Documents, TextStyle};

/// The most bytes that variables insert in one load: a value can be long, and used very often.
const MOST_PUT_IN: usize = 512 * 1024 * 1024;

/// The values of variables by name.
#[derive(Debug, Default)]
pub(super) struct Variables {
    texts: BTreeMap<String, Variable>,
    /// The variables that only environments set, and whether any definition uses them.
    of_environments: BTreeMap<String, AtomicBool>,
    /// The bytes inserted so far.
    put_in: AtomicUsize,
}

/// A value, and whether any definition uses it.
#[derive(Debug)]
struct Variable {
    text: SourceText,
    used: AtomicBool,
}

impl Variables {
    pub(super) fn new<'a>(variables: impl IntoIterator<Item = (&'a String, &'a String)>) -> Self {
        let variable =
            |name: &str, value: &str| Variable { text: SourceText::inline(name, value), used: AtomicBool::new(false) };
        let texts = variables.into_iter().map(|(name, value)| (name.clone(), variable(name, value)));
        Self { texts: texts.collect(), ..Self::default() }
    }

    /// The variables of a stack. Without an environment, all uses of variables that only environments set are one
    /// problem: see [`Variables::without_environment`].
    pub(super) fn of_stack(config: &Config, options: &LoadOptions) -> Self {
        let names = config.environment_variables.iter().filter(|name| !config.variables.contains_key(*name));
        let is_left_out = options.environment.is_none() && !config.environments.is_empty();
        let names = names.filter(|_| is_left_out).map(|name| (name.clone(), AtomicBool::default()));
        Self { of_environments: names.collect(), ..Self::new(&config.variables) }
    }

    /// The problem that variables insert more text than the limit.
    pub(super) fn too_much(&self) -> Option<Diagnostic> {
        let what = || format!("the variables put in more than {} MiB together", MOST_PUT_IN >> 20);
        let is_too_much = self.put_in.load(Ordering::Relaxed) > MOST_PUT_IN;
        is_too_much.then(|| Diagnostic::without_place(what(), "shorten their values, or use them less often"))
    }

    /// The problem of definitions that use variables of environments, where none is chosen.
    pub(super) fn without_environment(&self, config: &Config) -> Option<Diagnostic> {
        let (name, _) = self.of_environments.iter().find(|(_, used)| used.load(Ordering::Relaxed))?;
        let names: Vec<&str> = config.environments.keys().map(String::as_str).collect();
        let help = format!("choose one with --env: {}", names.join(", "));
        Some(Diagnostic::without_place(format!("the variable `{name}` is set in environments only"), help))
    }

    /// The problems of unused variables: an error where only `--var` names one, else a note at its place. `is_written`:
    /// whether a file contains `${name}`, because an overlay may replace the value that uses a variable.
    pub(super) fn unused(
        &self,
        config: &Config,
        settings: &SettingPlaces<'_>,
        is_written: impl Fn(&str) -> bool,
    ) -> Vec<(&String, Diagnostic)> {
        let is_used = |name: &str| self.texts.get(name).is_some_and(|variable| variable.used.load(Ordering::Relaxed));
        let unused = self.texts.keys().filter(|name| !is_used(name) && !is_written(name));
        let known = || self.texts.keys().map(String::as_str);
        let used: Vec<&str> = known().filter(|name| is_used(name)).collect();
        let of_call: Vec<&str> = known().filter(|name| is_used(name) || !config.undeclared.contains(*name)).collect();
        let searches = Searches::default();
        let problem = |name: &String| {
            let is_of_call = config.undeclared.contains(name);
            let known = if is_of_call { &of_call } else { &used };
            let help = match searches.nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if is_of_call => format!("no definition uses `${{{name}}}`, and `variables:` does not name it"),
                None => format!("no definition uses `${{{name}}}`"),
            };
            match is_of_call {
                true => Diagnostic::without_place(format!("`--var {name}` names a variable that nothing uses"), help),
                false => settings.variable(name, format!("nothing uses the variable `{name}`"), help).into_note(),
            }
        };
        unused.map(|name| (name, problem(name))).collect()
    }
}

/// Whether a text is the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

/// Substitutes the variables in every value.
pub(super) fn substitute<'s>(item: &mut Item<'s>, variables: &'s Variables, problems: &mut Vec<Diagnostic>) {
    let at = item.span;
    match &mut item.value {
        Value::List(items) => items.iter_mut().for_each(|item| substitute(item, variables, problems)),
        Value::Map(entries) => {
            for entry in entries {
                if contains(&entry.key) {
                    problems.push(entry.key_at.error("a variable in a key", "variables are replaced in values only"));
                }
                substitute(&mut entry.item, variables, problems);
            }
        }
        Value::Text(text, style) if contains(text) && item.origin != ValueOrigin::Variable => {
            if let Some(name) = whole(text).filter(|_| *style == TextStyle::Plain) {
                match lookup(name, &at, variables, problems) {
                    Some(value) => *item = again(value, at, problems),
                    None => item.value = Value::Refused,
                }
                return;
            }
            // A text with only escapes (`$${`) has no variable.
            let has_variable = !names(text).is_empty();
            // Inserted text must not turn a text into a number or null.
            let style = if *style == TextStyle::Plain { TextStyle::Quoted } else { *style };
            item.value = match replaced(text, &at, variables, problems) {
                Some(text) => Value::Text(Cow::Owned(text), style),
                None => Value::Refused,
            };
            if has_variable {
                item.origin = ValueOrigin::Variable;
            }
        }
        Value::Text(..) | Value::Refused => {}
    }
}

/// Substitutes variables whose values are mappings, so that overlays are merged into them as into any other mapping.
pub(super) fn substitute_mappings<'s>(item: &mut Item<'s>, variables: &'s Variables) {
    let at = item.span;
    match &mut item.value {
        Value::Map(entries) => entries.iter_mut().for_each(|entry| substitute_mappings(&mut entry.item, variables)),
        Value::Text(text, TextStyle::Plain) if contains(text) => {
            let value = whole(text).and_then(|name| lookup(name, &at, variables, &mut Vec::new()));
            let mapping = value.map(|value| again(value, at, &mut Vec::new()));
            if let Some(mapping) = mapping.filter(|read| matches!(read.value, Value::Map(_))) {
                *item = mapping;
            }
        }
        Value::Text(..) | Value::List(_) | Value::Refused => {}
    }
}

/// The names of the variables in a text.
pub fn names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(found) = rest.find("${") {
        let (before, from) = rest.split_at(found);
        rest = &from[2..];
        if let Some((name, _)) = rest.split_once('}').filter(|(name, _)| !before.ends_with('$') && is_name(name)) {
            names.push(name);
        }
    }
    names
}

/// Whether it may contain a variable.
pub(super) fn contains(text: &str) -> bool {
    // Few texts contain a `$`, and searching for one byte is fast.
    memchr::memchr(b'$', text.as_bytes()).is_some() && text.contains("${")
}

/// The name, where the whole text is one variable.
fn whole(text: &str) -> Option<&str> {
    text.strip_prefix("${")?.strip_suffix('}').filter(|name| is_name(name))
}

fn lookup<'s>(
    name: &str,
    at: &TextSpan<'_>,
    variables: &'s Variables,
    problems: &mut Vec<Diagnostic>,
) -> Option<&'s SourceText> {
    if let Some(variable) = variables.texts.get(name) {
        variable.used.store(true, Ordering::Relaxed);
        let length = variable.text.as_str().len();
        let before = variables.put_in.fetch_add(length, Ordering::Relaxed);
        // Exceeding the limit is reported once by `too_much`: which use exceeds it depends on the threads.
        return (before + length <= MOST_PUT_IN).then_some(&variable.text);
    }
    if let Some(used) = variables.of_environments.get(name) {
        used.store(true, Ordering::Relaxed);
    } else {
        let known = || variables.texts.keys().map(String::as_str);
        // Terraform writes `${var.NAME}`.
        let of_terraform = || known().find(|known| name.rsplit_once('.').is_some_and(|(_, last)| last == *known));
        let label = match nearest(name, known()).or_else(of_terraform) {
            Some(near) => format!("did you mean `${{{near}}}`?"),
            None => "define it under `variables:` in trueup.yaml, or with `--var`".to_owned(),
        };
        let what = format!("the variable `{name}` is not defined");
        problems.push(Diagnostic::error(what, at.source, spot(at, &format!("${{{name}}}")), label));
    }
    None
}

/// Where `needle` is in the value.
fn spot(at: &TextSpan<'_>, needle: &str) -> Range<usize> {
    let start = at.range().start;
    match at.slice().find(needle) {
        Some(found) => start + found..start + found + needle.len(),
        None => at.range(),
    }
}

/// The text with its variables substituted; `None` where one of them is refused.
fn replaced(text: &str, at: &TextSpan<'_>, variables: &Variables, problems: &mut Vec<Diagnostic>) -> Option<String> {
    let mut result = String::with_capacity(text.len());
    let mut refused = false;
    let mut rest = text;
    while let Some(found) = rest.find("${") {
        let (before, from) = rest.split_at(found);
        if let Some(before) = before.strip_suffix('$') {
            result.push_str(before);
            result.push_str("${");
            rest = &from[2..];
            continue;
        }
        result.push_str(before);
        let name = from[2..].split_once('}').map(|(name, _)| name).filter(|name| is_name(name));
        let Some(name) = name else {
            let what = "`${` does not begin a variable";
            let label = "write `${name}`, or `$${` for the characters themselves";
            problems.push(Diagnostic::error(what, at.source, spot(at, "${"), label));
            return None;
        };
        match lookup(name, at, variables, problems) {
            Some(value) => result.push_str(value.as_str()),
            None => refused = true,
        }
        rest = &from[2 + name.len() + 1..];
    }
    result.push_str(rest);
    (!refused).then_some(result)
}

/// The value of a variable, read as YAML.
fn again<'s>(value: &'s SourceText, at: TextSpan<'s>, problems: &mut Vec<Diagnostic>) -> Item<'s> {
    let text = |style| Item {
        value: Value::Text(Cow::Borrowed(value.as_str()), style),
        span: at,
        origin: ValueOrigin::Variable,
        compact: true,
    };
    let mut documents = Documents::new(value);
    let tree = match documents.next() {
        None => return text(TextStyle::Plain),
        Some(Ok(tree)) if documents.next().is_none() => tree,
        Some(_) => return text(TextStyle::Quoted),
    };
    let mut inner = Vec::new();
    let item = resolve(&tree, value, &mut inner);
    if let Some(first) = inner.first() {
        problems.push(at.error(format!("the value of the variable is not valid YAML: {}", first.message), "used here"));
    }
    item.map_or_else(|| text(TextStyle::Quoted), |item| item.moved(at, ValueOrigin::Variable))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::growth_tests::assert_at_most_linear;

    fn substituted(text: &str, variables: &Variables) -> (bool, Vec<String>) {
        let (source, mut problems) = (SourceText::inline("cart.yaml", text), Vec::new());
        let tree = Documents::new(&source).next().expect("a document").expect("a tree");
        let mut item = resolve(&tree, &source, &mut problems).expect("a value");
        substitute(&mut item, variables, &mut problems);
        (matches!(item.value, Value::Refused), problems.into_iter().map(|problem| problem.message).collect())
    }

    #[test]
    fn a_value_is_what_its_one_document_is_and_else_a_text() {
        let shown = |value: &str| {
            let variables = Variables::new([(&"a".to_owned(), &value.to_owned())]);
            let (source, mut problems) = (SourceText::inline("cart.yaml", "${a}"), Vec::new());
            let tree = Documents::new(&source).next().expect("a document").expect("a tree");
            let mut item = resolve(&tree, &source, &mut problems).expect("a value");
            substitute(&mut item, &variables, &mut problems);
            assert!(problems.is_empty(), "{value}");
            match item.value {
                Value::Text(text, style) => format!("{style:?} {text}"),
                Value::List(items) => format!("a list of {}", items.len()),
                Value::Map(entries) => format!("a map of {}", entries.len()),
                Value::Refused => "refused".to_owned(),
            }
        };
        for (value, is) in [
            ("80", "Plain 80"),
            ("'80'", "Quoted 80"),
            ("", "Plain "),
            ("[80, 443]", "a list of 2"),
            ("{a: b}", "a map of 1"),
            ("{a: b", "Quoted {a: b"),
            ("a\n---\nb", "Quoted a\n---\nb"),
        ] {
            assert_eq!(shown(value), is);
        }
    }

    #[test]
    fn what_is_put_in_is_bounded_and_one_problem_of_the_load() {
        let variables = Variables::new([(&"a".to_owned(), &"text".to_owned())]);
        variables.put_in.store(MOST_PUT_IN - 8, Ordering::Relaxed);
        for text in ["${a}", "b ${a}"] {
            assert_eq!(substituted(text, &variables), (false, Vec::new()));
        }
        assert!(variables.too_much().is_none());
        assert_eq!(substituted("b ${a}", &variables), (true, Vec::new()));
        assert!(variables.too_much().is_some());
    }

    #[test]
    fn whichever_definition_is_read_first_the_same_variable_of_an_environment_is_named() {
        let used = || AtomicBool::default();
        let of_environments = BTreeMap::from([("port".to_owned(), used()), ("domain".to_owned(), used())]);
        let variables = Variables { of_environments, ..Variables::default() };
        assert!(variables.without_environment(&Config::default()).is_none());
        for (text, named) in [("${port}", "port"), ("${domain}", "domain")] {
            assert_eq!(substituted(text, &variables), (true, Vec::new()));
            let problem = variables.without_environment(&Config::default()).expect("a problem");
            assert_eq!(problem.message, format!("the variable `{named}` is set in environments only"));
        }
    }

    #[test]
    fn variables_that_nothing_uses_take_linear_time() {
        let variables = |used: usize| {
            move |count: usize| {
                let names: Vec<String> = (0..count).map(|number| format!("variable{number}")).collect();
                let variables = Variables::new(names.iter().map(|name| (name, name)));
                variables.texts.values().take(used * count / 2).for_each(|one| one.used.store(true, Ordering::Relaxed));
                variables
            }
        };
        let work = |variables: Variables| {
            let (text, config) = (|| None, Config::default());
            let unused = variables.unused(&config, &SettingPlaces::new(&text), |_| false);
            assert!(unused.len() >= variables.texts.len() / 2);
        };
        assert_at_most_linear("variables that nothing uses", 1_000, variables(0), work);
        assert_at_most_linear("variables of which half are used", 1_000, variables(1), work);
    }
}
