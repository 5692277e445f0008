//! The definitions that a command works with: the directory of the stack, everything that is loaded from it,
//! and the changes that the filters of the call select.

use crate::cli::args::{FilterArgs, ScopeArgs};
use crate::cli::context::{DefinedKeys, LazyRepository};
use crate::cli::prelude::*;
use crate::cli::{Call, CommandError, CommandResult as _, Context, ExitStatus, Result, aside, file, policy, settings};
use crate::drift::STACK_FLAGS;
use crate::file::{real_path, slashed};
use crate::git::{self, HeadMark};
use crate::load::{Diagnostic, Diagnostics, Loaded};
use crate::model::Live;
use crate::model::policy::{SafetySettings, SettingChange, changes};
use crate::plan::{MatchedFilters, Selection, UnmatchedFilter};

/// The ids of the filters of a call.
const FILTERS: &str = "only except namespace selector";

/// What the load of the definitions gave, and where the `HEAD` of their repository was before.
type LoadResult = (Option<HeadMark>, Result<Loaded, Diagnostics>);

/// A stack as a command sees it.
pub struct Stack<'c> {
    /// The context of the command.
    pub context: &'c Context,
    /// What was loaded, with its configuration.
    pub loaded: Loaded,
    /// The filters of the call.
    pub selection: Selection,
    /// The filters of the call, as they were written.
    pub filters: Vec<String>,
    /// Its directory, as it can be opened from the working directory.
    pub directory: String,
    call: Call,
    /// The safety settings as the working tree has them.
    pub head: SafetySettings,
    /// Settings that differ from those at the base, or that the policy limits.
    pub setting_changes: Vec<SettingChange>,
    /// What git knows of its directory.
    pub repository: LazyRepository,
}

/// Loads the stack that the paths of a call name. Paths below the stack's directory become filters.
///
/// # Errors
/// Paths of two stacks, wrong definitions (reported with their places), or a wrong configuration.
pub fn open<'c>(context: &'c Context, scope: &ScopeArgs) -> Result<Stack<'c>> {
    opened(context, scope, loaded(context, scope))
}

/// [`open`] for a call that needs namespaces but no definitions.
///
/// # Errors
/// Those of [`open`], except for a directory without a definition.
pub fn open_bare<'c>(context: &'c Context, scope: &ScopeArgs) -> Result<Stack<'c>> {
    bare(context, scope, loaded(context, scope))
}

/// [`open`] on a thread of its own, while the caller does something else.
///
/// # Errors
/// Those of [`open`].
pub async fn open_aside<'c>(context: &'c Context, scope: &ScopeArgs) -> Result<Stack<'c>> {
    let (path, options) = (scope.paths[0].clone(), settings::load_options(context));
    let head = head(&path, &options);
    opened(context, scope, (head, aside(move || load::directory(&path, &options)).await))
}

fn loaded(context: &Context, scope: &ScopeArgs) -> LoadResult {
    let (path, options) = (&scope.paths[0], settings::load_options(context));
    (head(path, &options), load::directory(path, &options))
}

/// Where the `HEAD` of the repository around a stack is.
fn head(path: &Path, options: &LoadOptions) -> Option<HeadMark> {
    git::head_mark(load::root(path, options).as_deref().unwrap_or(path))
}

fn opened<'c>(context: &'c Context, scope: &ScopeArgs, loaded: LoadResult) -> Result<Stack<'c>> {
    let stack = bare(context, scope, loaded)?;
    note_definitions(&stack);
    if context.call.values("base").is_empty() {
        stack.check_variables([])?;
    }
    if let Some((message, hint)) = without_definitions(&stack.loaded, &stack.selection) {
        return Err(error!(Invalid, "{message}").hint(hint).hint("nothing was sent"));
    }
    known_namespaces(&stack)?;
    Ok(stack)
}

fn bare<'c>(context: &'c Context, scope: &ScopeArgs, (head, loaded): LoadResult) -> Result<Stack<'c>> {
    let paths = &scope.paths;
    paths.iter().filter(|path| path.is_file()).try_for_each(|path| is_no_saved_plan(context, path))?;
    let mut selection = selection(&scope.filter)?;
    let loaded = loaded.map_err(|found| context.wrong(&found))?;
    let below = paths.iter().map(|path| below(&loaded.root, path)).collect::<Result<Vec<_>, _>>()?;
    // If the whole directory is among the paths, they filter nothing.
    let is_whole = below.iter().any(String::is_empty);
    if !is_whole {
        below.iter().for_each(|path| selection.add_path(path));
    }
    let call = context.call.clone().with("paths", paths.iter().map(|path| path.display().to_string()));
    let filters = below.into_iter().filter(|_| !is_whole).chain(call.words(FILTERS)).collect();
    let directory = context.environment.directory_from_here(&loaded.root);
    let repository = LazyRepository::new(context, &loaded.root).expecting(head);
    let (head, setting_changes) = (loaded.config.safety(), Vec::new());
    let mut stack = Stack { context, loaded, selection, filters, call, directory, head, setting_changes, repository };
    stack.settle(None, None)?;
    Ok(stack)
}

/// Rejects a variable of the call that is not `used`.
///
/// # Errors
/// There is such a variable.
pub fn check_variables(context: &Context, used: &BTreeSet<&str>) -> Result<()> {
    let unused = context.global.var.iter().find(|(name, _)| !used.contains(name.as_str()));
    unused.map_or(Ok(()), |(name, _)| {
        Err(error!(Invalid, "`--var {name}` names a variable that nothing uses")
            .did_you_mean(name, used.iter().copied())
            .hint(format!("no stack uses `${{{name}}}`, and no `variables:` names it"))
            .hint("nothing was sent"))
    })
}

/// Rejects a saved plan that is given as definitions.
fn is_no_saved_plan(context: &Context, path: &Path) -> Result<()> {
    if !Plan::is_file(&file::read(path, limit::SAVED)?) {
        return Ok(());
    }
    let word = safe::shell(&path.display().to_string());
    Err(error!(Invalid, "`{}` is a saved plan, not a definition", path.display())
        .hint(format!("to see it: trueup show {word}"))
        .hint(format!("to apply it: trueup apply {word}{}", context.call.settings()))
        .hint("nothing was sent"))
}

/// For one of several stacks, notes what it defines, so that an object that two of them define is found.
fn note_definitions(stack: &Stack<'_>) {
    let (context, loaded) = (stack.context, &stack.loaded);
    let Some(findings) = &context.findings else { return };
    findings.defined.get_or_init(|| DefinedKeys {
        base_url: settings::base_url(context, &loaded.config),
        keys: loaded.desired.definitions.keys().cloned().collect(),
        namespaces: loaded.namespaces(),
    });
}

/// The error of a call that names no definition.
fn without_definitions(loaded: &Loaded, selection: &Selection) -> Option<(String, &'static str)> {
    let config = &loaded.config;
    let root = loaded.root.display();
    if loaded.desired.definitions.is_empty() {
        if config.may_define_nothing() {
            return None;
        }
        if let (Some(environment), false) = (&loaded.options().environment, loaded.removed.is_empty()) {
            return Some((
                format!("the overlays of the environment `{environment}` remove every definition in `{root}`"),
                "an environment that should define nothing needs `allow_empty: true` beside its `namespaces:`",
            ));
        }
        return Some((
            format!("`{root}` contains no definition"),
            "definitions are the .yaml, .yml and .json files in it; a stack that should define nothing \
             needs `allow_empty: true` beside its `namespaces:`",
        ));
    }
    let path = selection.empty_path(&loaded.desired)?;
    Some((
        format!("`{path}` contains no definition of the stack in `{root}`"),
        "to select what was defined there once: --namespace or --only",
    ))
}

/// Checks that every namespace of the call is one of the stack's; for one of several stacks, that at least one is.
fn known_namespaces(stack: &Stack<'_>) -> Result<()> {
    let (selection, known) = (&stack.selection, stack.loaded.namespaces());
    if stack.context.findings.is_some() {
        return if selection.names_one_of(&known) { Ok(()) } else { Err(nothing_selected()) };
    }
    unknown_namespace(selection, &known, ["the stack has", "it has"])
}

/// Rejects a namespace of the call that is not among `known`.
///
/// # Errors
/// There is such a namespace.
pub fn unknown_namespace(selection: &Selection, known: &BTreeSet<Namespace>, [whose, they]: [&str; 2]) -> Result<()> {
    let Some(unknown) = selection.unknown_namespace(known) else { return Ok(()) };
    let names: Vec<&str> = known.iter().map(Namespace::as_str).collect();
    Err(error!(Usage, "{whose} no namespace `{unknown}`")
        .did_you_mean(unknown.as_str(), names.iter().copied())
        .hint(format!("{they}: {}", names.join(", "))))
}

/// Rejects filters that match nothing. Of several stacks, a filter has to match something in any one, and a stack in
/// which they select nothing is left out. `matched` is `None` if that is unknown.
///
/// # Errors
/// A filter matches nothing, or they select nothing of one of several stacks.
pub fn check_filters(stack: &Stack<'_>, matched: Option<&MatchedFilters>) -> Result<()> {
    let (selection, Some(matched)) = (&stack.selection, matched) else { return Ok(()) };
    let Some(findings) = &stack.context.findings else {
        return selection.unmatched(matched).map_or(Ok(()), |one| Err(unmatched(one).hint("nothing was sent")));
    };
    findings.matched.get_or_init(|| matched.clone());
    if selection.leaves_some(matched) { Ok(()) } else { Err(nothing_selected()) }
}

/// The filters of the call select nothing of one of several stacks.
#[derive(Debug, thiserror::Error)]
#[error("the filters of the call select nothing in it")]
pub struct NothingSelected;

fn nothing_selected() -> CommandError {
    CommandError::new(ExitStatus::Usage, NothingSelected)
}

/// A filter that matches nothing, as an error.
pub fn unmatched(unmatched: UnmatchedFilter) -> CommandError {
    let hint = match &unmatched {
        UnmatchedFilter::Only(_) | UnmatchedFilter::Except(_) => {
            "a glob is matched against NAMESPACE/NAME, such as shop/cart, and with a kind against KIND:NAMESPACE/NAME"
        }
        UnmatchedFilter::Selector => "it is matched against the labels of the definitions and of the live endpoints",
        UnmatchedFilter::Together => "each of them matches something, and no endpoint matches all of them",
    };
    CommandError::new(ExitStatus::Usage, unmatched).hint(hint)
}

/// A filter that matches nothing live.
pub fn unmatched_live(selection: &Selection, live: &Live) -> Option<UnmatchedFilter> {
    let mut matched = MatchedFilters::default();
    matched.add_namespaces(live.lists.keys().map(|scope| &scope.namespace));
    for (_, item) in live.items() {
        selection.note(&mut matched, item.key(), (None, Some(item)));
    }
    selection.unmatched(&matched)
}

/// Checks the filters where only definitions are known.
///
/// # Errors
/// Those of [`check_filters`].
pub fn check_matched(stack: &Stack<'_>) -> Result<()> {
    check_filters(stack, Some(&matched_in(&stack.selection, &stack.loaded)))
}

fn matched_in(selection: &Selection, loaded: &Loaded) -> MatchedFilters {
    let mut matched = MatchedFilters::default();
    matched.add_namespaces(&loaded.namespaces());
    for (key, definition) in &loaded.desired.definitions {
        selection.note(&mut matched, key, (Some(definition), None));
    }
    matched
}

impl Stack<'_> {
    /// Its name, as flags, environment and configuration give it together, if it has one.
    ///
    /// # Errors
    /// A text that is not a valid name.
    pub fn name(&self) -> Result<Option<String>> {
        settings::stack(self.context, &self.loaded.config)
    }

    /// The flags of the call that decide what it is, with their values.
    pub fn shown_flags(&self) -> BTreeMap<String, Vec<String>> {
        self.own_call().shown_values(STACK_FLAGS)
    }

    /// Rejects a variable of the call that is used neither by the stack nor by what it was at its base, `then`. For one
    /// of several stacks, notes those that are used instead.
    ///
    /// # Errors
    /// There is such a variable.
    pub fn check_variables<'l>(&'l self, then: impl IntoIterator<Item = &'l Loaded>) -> Result<()> {
        let mut unused = self.loaded.unused.clone();
        then.into_iter().for_each(|then| unused.retain(|name| then.unused.contains(name)));
        let used = self.loaded.config.variables.keys().filter(|name| !unused.contains(*name));
        match &self.context.findings {
            Some(findings) => _ = findings.variables.set(used.cloned().collect()),
            None => check_variables(self.context, &used.map(String::as_str).collect())?,
        }
        Ok(())
    }

    /// The call; for one of several stacks, without the variables that are for another one.
    fn own_call(&self) -> Call {
        let used = self.context.findings.as_ref().and_then(|findings| findings.variables.get());
        let is_used =
            |variable: &str| variable.split_once('=').zip(used).is_none_or(|((name, _), used)| used.contains(name));
        self.call.clone().retain("var", is_used)
    }

    /// The words of the call for the commands that a report proposes. For one of several stacks, without the filters
    /// and variables that are for another one: this stack alone would reject them.
    pub fn call(&self) -> String {
        let matched = self.context.findings.as_ref().and_then(|findings| findings.matched.get());
        let Some(matched) = matched else { return self.own_call().about(FILTERS) };
        let known = self.loaded.namespaces();
        let call = matched.globs().into_iter().fold(self.own_call(), |call, (flag, matched)| {
            let mut is_matched = matched.iter();
            call.retain(flag, |_| is_matched.next() != Some(&false))
        });
        call.retain("namespace", |name| known.iter().any(|known| known.as_str() == name)).about(FILTERS)
    }

    /// The words of the call for a command about the definitions of `now`: without paths and filters that select none of them.
    pub fn call_of(&self, now: &Loaded) -> String {
        let is_empty = self.selection.empty_path(&now.desired).is_some()
            || self.selection.unmatched(&matched_in(&self.selection, now)).is_some();
        if is_empty { safe::shell(&self.directory) + &self.context.call.settings() } else { self.call() }
    }

    /// Puts the settings in force: the stricter ones of base and working tree, and nothing looser than the policy
    /// allows. `own` as for [`changes`].
    ///
    /// # Errors
    /// The policy is in the repository that it limits, or forbids the stack or a namespace.
    pub fn settle(&mut self, base: Option<&SafetySettings>, own: Option<[&SafetySettings; 2]>) -> Result<()> {
        let Self { context, loaded, head, .. } = self;
        let mut in_force = match base {
            Some(base) => head.safeguards.stricter(&base.safeguards),
            None => head.safeguards.clone(),
        };
        if let Some(file) = &context.policy {
            in_force = file.policy.tighten(&in_force);
        }
        self.setting_changes = changes(base, own, head, &in_force);
        loaded.config.safeguards = in_force;
        let keys = loaded.desired.definitions.keys();
        let namespaces = loaded.config.namespaces.iter().chain(keys.map(|key| &key.namespace));
        policy::check(context, &loaded.root, &loaded.config, namespaces)
    }
}

/// `path` relative to the stack's directory, empty for the directory itself.
fn below(root: &Path, path: &Path) -> Result<String> {
    let full = real_path(path)
        .with_context(|| format!("cannot read `{}`", path.display()))
        .with_status(ExitStatus::Invalid)?;
    match full.strip_prefix(root) {
        Ok(below) => Ok(slashed(below)),
        Err(_) => Err(error!(Usage, "`{}` is outside of the stack in `{}`", path.display(), root.display())
            .hint("give the paths of one stack at a time")),
    }
}

/// The filters of a call.
///
/// # Errors
/// A text that is not a valid pattern, namespace or selector.
pub fn selection(filter: &FilterArgs) -> Result<Selection> {
    let mut selection = Selection::all();
    for glob in &filter.only {
        selection.add_only(glob).context("in `--only`").with_status(ExitStatus::Usage)?;
    }
    for glob in &filter.except {
        selection.add_except(glob).context("in `--except`").with_status(ExitStatus::Usage)?;
    }
    for name in &filter.namespace {
        selection.add_namespace(name.clone());
    }
    if let Some(selector) = &filter.selector {
        selection.set_selector(selector).context("in `--selector`").with_status(ExitStatus::Usage)?;
    }
    Ok(selection)
}

/// The namespaces that a call names, else those that the settings list. `how` says how a call names them.
///
/// # Errors
/// There are none.
pub fn named_namespaces(
    context: &Context,
    named: &[Namespace],
    config: &Config,
    how: &str,
) -> Result<BTreeSet<Namespace>> {
    let namespaces = if named.is_empty() { &config.namespaces } else { named };
    if namespaces.is_empty() {
        Err(no_namespace(context, config, how))
    } else {
        Ok(namespaces.iter().cloned().collect())
    }
}

/// The error of a call that is about no namespace.
pub fn no_namespace(context: &Context, config: &Config, how: &str) -> CommandError {
    error!(Usage, "no namespace is named")
        .hint_each(config.environments_with(context.global.env.as_deref(), |one| !one.namespaces.is_empty()))
        .hint(format!("{how}, or list them under `namespaces:` in trueup.yaml"))
}

/// The kinds whose objects the service accepts in one of these namespaces.
pub fn kinds_in(namespaces: &BTreeSet<Namespace>) -> BTreeSet<KindName> {
    KindName::all().filter(|kind| namespaces.iter().any(|name| kind.kind().can_be_in(name.as_str()))).collect()
}

/// Loads a stack and returns its problems as a value.
///
/// # Errors
/// Flags that cannot be read.
pub fn check<'c>(context: &'c Context, scope: &ScopeArgs) -> Result<Result<Stack<'c>, Diagnostics>> {
    let (head, loaded) = loaded(context, scope);
    let loaded = match loaded {
        Ok(loaded) => loaded,
        Err(diagnostics) => return Ok(Err(diagnostics)),
    };
    match without_definitions(&loaded, &Selection::all()) {
        Some((message, hint)) => {
            let files = loaded.desired.files;
            Ok(Err(Diagnostics::new(vec![Diagnostic::without_place(message, hint)], files)))
        }
        None => opened(context, scope, (head, Ok(loaded))).map(Ok),
    }
}
