//! `move`: transfers live endpoints from one stack to another. It may come before or after their definitions move.

use crate::cli::command::prelude::*;
use crate::cli::run::PendingRun;
use crate::cli::stacks::declared;
use crate::load::Loaded;
use crate::model::{Desired, Name};
use crate::plan::{self, MoveError, MoveInput, Note, PlanOrigin, RunLimits, Selection};
use crate::report::fleet;

/// Transfers live objects from one stack to another.
///
/// Only their ownership annotations change: every object keeps its fields and its uid. The definitions may move before
/// or after. A stack that gets objects which it does not define yet deletes none of them before it has defined and
/// applied them. The plan is an ordinary one: shown, approved, recorded, and undone by `rollback`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup move --from shop-old\n  trueup move --from shop --to pay 'shop/pay-*'\n  trueup move --from shop --directory pay -o move.json"
)]
pub struct MoveArgs {
    /// The objects, by key, such as shop/cart or origin_pool:shop/cart [default: those that the new stack defines]
    #[arg(value_name = "GLOB", add = ArgValueCompleter::new(completer::endpoints))]
    pub globs: Vec<String>,
    /// The stack that owns them
    #[arg(long, value_name = "STACK")]
    pub from: String,
    /// The stack that gets them [default: that of the directory]
    #[arg(long, value_name = "STACK")]
    pub to: Option<String>,
    /// The directory of one of the two stacks
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
    /// Save the plan to a file for `trueup apply FILE`, and change nothing
    #[arg(long, short, value_name = "FILE", value_parser = output_file(Format::OF_APPLY), conflicts_with_all = ["yes", "digest", "approved_by", "write"])]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub decision: ApprovalArgs,
}

impl Execute for MoveArgs {
    const ENDS_ON_INTERRUPT: bool = true;

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        let scope = ScopeArgs { paths: vec![self.directory.clone()], filter: FilterArgs::default() };
        let stack = stack::open_bare(context, &scope)?;
        let stacks = Stacks::of(self, &stack)?;
        policy::permits_names(context, &stacks.consents())?;
        let other = find(context, &stack.loaded, stacks.other())?;
        let selection = stack::selection(&FilterArgs { only: self.globs.clone(), ..FilterArgs::default() })?;
        let session = Session::compare(stack, SessionOptions::default()).await?;
        let mut plan = stacks.arrange(&session, &other, &selection).await?;
        let loaded = &session.stack.loaded;
        policy::check_plan(context, (&loaded.config, &loaded.root), &plan)?;
        let allow = settings::allow(&stacks.consents())?;
        plan.consent(&allow, context.environment.person().as_deref());
        let globs: String = self.globs.iter().map(|glob| format!(" {}", safe::shell(glob))).collect();
        let flags = context.call.flags("from to directory");
        let command = format!("trueup move{flags}{globs}{}", context.call.settings());
        let view = TextView {
            make: Some(command.clone()),
            again: Some(command),
            flags: settings::elsewhere(context, &session.stack.loaded),
            ..context.output.answers.clone()
        };
        let connection = session.into_connection()?;
        let trust = RunLimits::whole(&plan);
        let decision = &self.decision;
        let work = PendingRun { context, decision, plan, connection, allow, view, trust };
        work.save_or_apply(self.output.as_deref()).await
    }
}

/// The two stacks of a move.
struct Stacks<'a> {
    /// The objects that the call names.
    globs: &'a [String],
    from: String,
    to: String,
    /// Whether the stack of the directory is the one that gets the objects.
    gets: bool,
}

impl<'a> Stacks<'a> {
    fn of(arguments: &'a MoveArgs, stack: &Stack<'_>) -> Result<Self> {
        let usage = |message: String| error!(Usage, "{message}");
        let Some(own) = stack.name()? else {
            return Err(usage(format!("`{}` is not a stack", stack.directory))
                .hint("run it in the directory of one of the two stacks, or name that with --directory"));
        };
        let name = |flag: &str, given: &str| {
            let wrong = |error| usage(format!("`{flag}` is `{given}`, which {error}"));
            Name::parse(given).map(|name| name.to_string()).map_err(wrong)
        };
        let from = name("--from", &arguments.from)?;
        let to = arguments.to.as_deref().map_or(Ok(own.clone()), |to| name("--to", to))?;
        if from == to {
            return Err(usage(format!("`{from}` is both stacks of this move")).hint("name the other one with --to"));
        }
        if own != from && own != to {
            let message =
                format!("`{}` is the stack `{own}`, and the move is from `{from}` to `{to}`", stack.directory);
            return Err(usage(message).hint("run it in the directory of one of the two, or name that with --directory"));
        }
        Ok(Self { globs: &arguments.globs, gets: own == to, from, to })
    }

    fn other(&self) -> &str {
        if self.gets { &self.from } else { &self.to }
    }

    /// What the call allows implicitly: taking objects from another stack. Giving them away needs no consent.
    fn consents(&self) -> Vec<String> {
        let all = ["*".to_owned()];
        let globs = if self.globs.is_empty() { all.as_slice() } else { self.globs };
        // A name without a kind means every kind in a filter, but an endpoint in a consent.
        let is_name = |glob: &str| !glob.contains(':') && Key::parse(glob).is_ok();
        let consent = |glob: &String| format!("foreign-stack={}{glob}", if is_name(glob) { "*:" } else { "" });
        globs.iter().filter(|_| self.gets).map(consent).collect()
    }

    async fn arrange(&self, session: &Session<'_>, other: &Neighbour, selection: &Selection) -> Result<Plan> {
        let own = &session.stack.loaded;
        let found = other.as_ref().ok();
        let sides = if self.gets { [found, Some(own)] } else { [Some(own), found] };
        let [defined_before, defined_after] = sides.map(|side| side.map(|loaded| &loaded.desired));
        if selection.is_all() && defined_after.is_none_or(|desired| desired.definitions.is_empty()) {
            return Err(error!(Usage, "the stack `{}` defines nothing here, so it is not clear what moves", self.to)
                .hint("name the endpoints, such as 'shop/*', or move their definitions first")
                .hint("nothing was sent"));
        }
        let named = self.globs.iter().filter_map(|glob| KindName::find(glob.split_once(':')?.0));
        let kinds = sides.iter().flatten().flat_map(|loaded| loaded.kinds()).chain(named).collect();
        // The namespaces of both stacks and those in the globs, where the globs can match objects.
        let named = self.globs.iter().map(|glob| glob.split_once(':').map_or(&**glob, |(_, place)| place));
        let named = named.filter_map(|place| Namespace::parse(place.split_once('/')?.0).ok());
        let of_sides = sides.iter().flatten().flat_map(|loaded| loaded.namespaces());
        let none = Desired::default();
        let reaches =
            |namespace: &Namespace| Scope::each([namespace], &kinds).any(|scope| selection.reaches(&scope, &none));
        let namespaces: BTreeSet<Namespace> = named.chain(of_sides).filter(reaches).collect();
        let origin = PlanOrigin::Move { from: self.from.clone(), to: self.to.clone() };
        let filters = self.globs.iter().map(|glob| safe::shell(glob)).collect();
        let mut plan = session.empty_plan(origin, filters, &kinds)?;
        let unchecked = |text: &String| Note::Loaded { text: format!("{text}: what it defines is not checked") };
        plan.notes.extend(other.as_ref().err().map(unchecked));
        let live = session.source.live(Scope::each(&namespaces, &kinds)).await;
        let (from, to) = (self.from.as_str(), self.to.as_str());
        let after = &sides[1].unwrap_or(own).config;
        let (ignore, strict) = (&settings::ignore(after)?, &after.safeguards.strict);
        let input = MoveInput { from, to, defined_before, defined_after, ignore, strict, selection, live: &live };
        plan::hand_over(plan, input).map_err(|error| match error {
            MoveError::Unmatched(unmatched) => stack::unmatched(unmatched).hint("nothing was sent"),
            MoveError::OfOthers { ref others, .. } => {
                let near = load::nearest(&self.from, others.keys().map(String::as_str));
                let owned = others.iter().take(3).map(|(stack, key)| format!("`{key}` belongs to `{stack}`"));
                let hint =
                    near.map_or_else(|| owned.collect::<Vec<_>>().join(", "), |near| format!("did you mean `{near}`?"));
                CommandError::new(ExitStatus::Usage, error).hint(hint).hint("nothing was sent")
            }
        })
    }
}

/// Another stack of the same repository, or why it was not found and its definitions are unknown.
type Neighbour = Result<Loaded, String>;

/// The stack of this name in the repository of `beside`, which may be another environment of its directory.
fn find(context: &Context, beside: &Loaded, name: &str) -> Result<Neighbour> {
    let given = LoadOptions { config: None, ..settings::load_options(context) };
    let is_it = |config: &Config| {
        let urls = config.base_url.as_ref().zip(beside.config.base_url.as_ref());
        let is_of_service = urls.is_none_or(|(one, other)| BaseUrl::is_same(one, other));
        is_of_service && config.stack.as_ref().is_some_and(|stack| stack.as_str() == name)
    };
    // A stack that cannot be read counts as not found.
    let stacks = load::stacks_of_repository(&declared::top(&beside.root)).unwrap_or_default();
    let mut found = stacks.into_iter().flat_map(|directory| {
        let mut all = options_of(&directory, &given, is_it);
        all.retain(|options| directory != beside.root || options.environment != given.environment);
        all.into_iter().map(move |options| (directory.clone(), options))
    });
    match (found.next(), found.next()) {
        (None, _) => Ok(Err(format!("no directory of stack {name} is in this repository"))),
        (Some((directory, options)), None) => {
            load::directory(&directory, &options).map(Ok).map_err(|problems| context.wrong(&problems))
        }
        (Some(one), Some(other)) => {
            let [one, other] = [one, other].map(|(path, options)| {
                let path = context.environment.directory_from_here(&path);
                fleet::name(&path, options.environment.as_deref().as_slice()).into_owned()
            });
            Ok(Err(format!("both `{one}` and `{other}` are the stack {name}")))
        }
    }
}

/// The options to load a directory as the stack that `is_it`, with the variables of the call that its settings declare:
/// in the environment of the call or without one, else in each other one that `is_it`. Invalid settings match none.
fn options_of(directory: &Path, given: &LoadOptions, is_it: impl Fn(&Config) -> bool) -> Vec<LoadOptions> {
    let bare = LoadOptions { environment: None, variables: BTreeMap::new(), ..given.clone() };
    let Ok(config) = load::settings(directory, &bare) else { return Vec::new() };
    let mut options = given.clone();
    options.variables.retain(|name, _| config.variables.contains_key(name));
    let named = |environment: Option<String>| {
        let options = LoadOptions { environment, ..options.clone() };
        load::settings(directory, &options).is_ok_and(|config| is_it(&config)).then_some(options)
    };
    let chosen = given.environment.clone().filter(|name| config.environments.contains_key(name));
    let first = named(chosen).or_else(|| named(None));
    let others = || config.environments.keys().cloned().filter_map(|name| named(Some(name))).collect();
    first.map_or_else(others, |first| vec![first])
}
