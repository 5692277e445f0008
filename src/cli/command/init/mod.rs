//! `init`: writes what a new stack needs, never over a file that exists, and ends with the next command.

mod files;

use files::{NewFile, NewStack};

use crate::cli::Call;
use crate::cli::command::prelude::*;
use crate::file::FileMode;
use crate::load::{Loaded, StackFile};
use crate::model::Name;

/// The namespace of the example if none is given.
const NAMESPACE: &str = "shop";

/// Begins a stack: writes trueup.yaml, an example definition, .gitignore, and pipelines.
///
/// Values without a flag have defaults, which it prints. A file that exists is never overwritten. With --sandbox it begins a
/// first hour without a tenant.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup init\n  trueup init endpoints --sandbox\n  trueup init endpoints --url https://acme.example.net --namespaces shop,pay --pipeline github"
)]
pub struct InitArgs {
    /// The stack's directory; it is created
    #[arg(value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
    /// Its namespaces, separated by commas; repeatable
    #[arg(long, short, visible_alias = "namespace", value_name = "NAME", value_delimiter = ',', value_parser = namespace)]
    pub namespaces: Vec<Namespace>,
    /// The pipelines to write, for plans in pull requests, applies and a nightly check
    #[arg(long, value_name = "FORGE")]
    pub pipeline: Option<Forge>,
}

/// The forges with pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Forge {
    /// Workflows of GitHub Actions
    Github,
    /// A pipeline of GitLab CI
    Gitlab,
    /// No pipelines
    None,
}

impl Execute for InitArgs {
    const GLOBALS: GlobalOptions = Some(&["base_url stack sandbox"]);

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        let directory = file::full(&self.directory)?;
        outside_of_stacks(context, &directory)?;
        let top = top(context, &directory);
        let existing = directory.is_dir().then(|| load::directory(&directory, &settings::load_options(context)));
        // Definitions that cannot be read count, too: then no example is written.
        let is_empty = existing
            .as_ref()
            .is_none_or(|found| found.as_ref().is_ok_and(|found| found.desired.definitions.is_empty()));
        let existing = existing.and_then(Result::ok);
        let (stack, forge, defaults) = request(self, context, existing.as_ref(), (&directory, &top))?;
        let mut written = InitFiles::default();
        let example = if is_empty { files::example(&stack) } else { None };
        let shown = |base: &Path, file: &NewFile| {
            format!("{}{}", context.environment.shown_from_here(base), file.path.display())
        };
        let of_stack = [Some(files::settings(&stack)), example.clone(), Some(files::gitignore())];
        let of_stack = of_stack.into_iter().flatten().map(|new| (&directory, new));
        let of_repository = files::pipelines(forge, &stack).into_iter().map(|new| (&top, new));
        let done = of_stack.chain(of_repository).try_for_each(|(base, new)| {
            let shown = shown(base, &new);
            written.write(base, &new, shown)
        });
        // After an error, report the files that were written before it, too.
        written.report(context);
        done?;
        // Settings that already existed decide, so the defaults had no effect.
        let is_new = written.written.contains(&shown(&directory, &files::settings(&stack)));
        if is_new {
            context.output.answer(&defaults);
        }
        let example = example.map(|new| shown(&directory, &new)).filter(|file| written.written.contains(file));
        context.output.answer(&match load::directory(&directory, &settings::load_options(context)) {
            Ok(_) => next(self, context, (&stack, forge, is_new), example.as_deref()),
            Err(_) => {
                let shown = safe::shell(&self.directory.display().to_string());
                format!("\nWhat is there does not load, so the settings say nothing of it.\nNext:  trueup validate {shown}\n")
            }
        });
        Ok(ExitStatus::Done)
    }
}

/// The stack and the forge: from flags, else as the directory and its definitions suggest. The text lists what was
/// suggested, with the flags that override it.
fn request(
    arguments: &InitArgs,
    context: &Context,
    existing: Option<&Loaded>,
    (directory, top): (&Path, &Path),
) -> Result<(NewStack, Forge, String)> {
    let base_url = base_url(context, existing)?;
    let given = settings::stack(context, &Config::default())?.and_then(|name| Name::parse(&name).ok());
    let name = given.clone().unwrap_or_else(|| stack_name(directory));
    let defined: Vec<Namespace> = existing.into_iter().flat_map(Loaded::namespaces).collect();
    let mut listed = arguments.namespaces.clone();
    let mut seen = BTreeSet::new();
    listed.retain(|namespace| seen.insert(namespace.clone()));
    // Settings that exist decide.
    let is_stack = existing.is_some_and(|found| found.stack == StackFile::Found);
    let namespaces = match (listed.is_empty(), defined.is_empty()) {
        (true, true) => vec![Namespace::parse(NAMESPACE).unwrap_or_else(|_| unreachable!("it is a name"))],
        (is_unnamed, false) if is_unnamed || is_stack => defined,
        _ => listed,
    };
    let kinds = existing.into_iter().flat_map(Loaded::kinds).filter(|kind| !kind.is_endpoint()).collect();
    let forge = arguments.pipeline.unwrap_or_else(|| likely_forge(top));
    let names: Vec<&str> = namespaces.iter().map(Namespace::as_str).collect();
    let pipelines = match forge {
        Forge::Github => "pipelines for github",
        Forge::Gitlab => "pipelines for gitlab",
        Forge::None => "no pipelines",
    };
    let has_service = base_url.is_some() || context.global.sandbox.is_some();
    let suggested = [
        (has_service, "--url", "no service yet".to_owned()),
        (given.is_some(), "--stack", format!("stack {name}")),
        (!arguments.namespaces.is_empty(), "--namespaces", format!("namespace {}", names.join(", "))),
        (arguments.pipeline.is_some(), "--pipeline", pipelines.to_owned()),
    ];
    let suggested = suggested.into_iter().filter(|(is_given, ..)| !is_given);
    let (flags, values): (Vec<&str>, Vec<String>) = suggested.map(|(_, flag, value)| (flag, value)).unzip();
    let defaults = match flags.is_empty() {
        true => String::new(),
        false => format!("By default: {} (to choose: {}).\n", values.join(", "), flags.join(", ")),
    };
    Ok((NewStack { base_url, name, namespaces, kinds }, forge, defaults))
}

/// The service that a flag, the environment or the settings name; `None` with `--sandbox`.
fn base_url(context: &Context, existing: Option<&Loaded>) -> Result<Option<BaseUrl>> {
    if context.global.sandbox.is_some() {
        return Ok(None);
    }
    let none = Config::default();
    Ok(settings::named(context, existing.map_or(&none, |found| &found.config))?.map(|place| place.base_url()))
}

/// A name for a stack, after its directory.
fn stack_name(directory: &Path) -> Name {
    let usual = |path: &Path| {
        let name = path.file_name()?.to_string_lossy().to_lowercase();
        let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        // Keep the end of the name: its digits may be all that distinguishes it from another stack.
        let name: String = name.trim_start_matches(|c: char| !c.is_ascii_alphabetic()).chars().take(63).collect();
        Name::parse(name.trim_end_matches('-')).ok()
    };
    usual(directory).or_else(|| Name::parse("main").ok()).unwrap_or_else(|| unreachable!("`main` is a name"))
}

/// The forge that the repository is used with already.
fn likely_forge(top: &Path) -> Forge {
    if top.join(".github").is_dir() {
        Forge::Github
    } else if top.join(".gitlab-ci.yml").exists() || top.join(".gitlab").is_dir() {
        Forge::Gitlab
    } else {
        Forge::None
    }
}

/// Rejects a directory inside another stack, or one that contains a stack: one directory is one stack.
fn outside_of_stacks(context: &Context, directory: &Path) -> Result<()> {
    let there = directory.ancestors().find(|above| above.is_dir()).unwrap_or(directory);
    let options = settings::load_options(context);
    let root = load::root(there, &options).map_err(|found| context.wrong(&found))?;
    let refused = |problem: String| {
        let hint = "one directory is one stack: give a directory beside it";
        Err(error!(Refused, "{problem}").hint(hint).hint("nothing was written"))
    };
    if root != *directory && crate::file::exists(&root.join(config::FILE)) {
        let file = root.join(config::FILE);
        return refused(format!("`{}` is in the stack of `{}`", directory.display(), file.display()));
    }
    // A directory that cannot be searched is read later on.
    let below = if directory.is_dir() { load::stacks_below(directory).unwrap_or_default() } else { Vec::new() };
    match below.iter().find(|stack| *stack != directory) {
        Some(stack) => {
            refused(format!("`{}` contains the stack of `{}`", directory.display(), stack.join(config::FILE).display()))
        }
        None => Ok(()),
    }
}

/// The top of the repository around the directory; if there is none, the working directory or the directory itself.
fn top(context: &Context, directory: &Path) -> PathBuf {
    let repository = directory.ancestors().find(|above| above.join(".git").exists());
    let here = context.environment.directory.as_deref().filter(|here| directory.starts_with(here));
    repository.or(here).unwrap_or(directory).to_owned()
}

/// The files that were written, and those that already existed.
#[derive(Default)]
struct InitFiles {
    written: Vec<String>,
    left: Vec<String>,
}

impl InitFiles {
    fn write(&mut self, base: &Path, new: &NewFile, shown: String) -> Result<()> {
        if crate::file::exists(&base.join(&new.path)) {
            self.left.push(shown);
            return Ok(());
        }
        let root = crate::file::create_directory(base).with_status(ExitStatus::Failed)?;
        let written = root.replace(&new.path, new.text.as_bytes(), FileMode::Shared);
        written.with_status(ExitStatus::Failed)?;
        self.written.push(shown);
        Ok(())
    }

    fn report(&self, context: &Context) {
        for (heading, files) in [("Written:", &self.written), ("Left as they are, because they exist:", &self.left)] {
            if !files.is_empty() {
                context.output.answer_line(heading);
                files.iter().for_each(|file| context.output.answer_line(&format!("  {file}")));
            }
        }
    }
}

/// What to do next; the last line is a command that works as it is printed.
fn next(
    arguments: &InitArgs,
    context: &Context,
    (stack, forge, is_new): (&NewStack, Forge, bool),
    example: Option<&str>,
) -> String {
    let directory = safe::shell(&arguments.directory.display().to_string());
    let Context { global, call, .. } = context;
    let in_sandbox = |call: Call| match &global.sandbox {
        Some(_) => call.settings() + &context.call.flags("sandbox"),
        None => call.settings() + " --sandbox",
    };
    // New settings contain these values and no environment, so commands need not repeat them; settings that already
    // existed may have other values.
    let no_stack = call.clone().without("base_url stack sandbox config env var");
    let own = if is_new { no_stack.clone() } else { call.clone().without("sandbox") };
    let (others, of_namespace) = (own.settings(), in_sandbox(no_stack));
    let sandbox = in_sandbox(own.without("base_url"));
    let mut text = String::new();
    if let Some(before) = files::before_pipelines(forge) {
        text.push_str(&format!("\n{before}"));
        if stack.base_url.is_none() {
            text.push_str(&format!("  name the service in them instead of {}\n", files::NO_URL));
        }
    }
    let namespace = stack.namespaces.first().map_or("", |namespace| namespace.as_str());
    if stack.base_url.is_none() {
        text.push_str(&format!(
            "\nA first hour without a tenant (--sandbox is an embedded service with data of its own):\n  \
             trueup plan {directory}{sandbox}\n  \
             trueup apply {directory}{sandbox}\n  \
             trueup get {namespace}{of_namespace}\n"
        ));
    }
    let has_token = global.token_file.is_some() || global.client_cert.is_some() || global.client_p12.is_some();
    let has_token = has_token
        || ["TRUEUP_TOKEN", "TRUEUP_TOKEN_FILE"].iter().any(|name| context.environment.variable(name).is_some());
    match &stack.base_url {
        Some(_) if has_token => {
            let first = example.map(|file| format!("rm {} && ", safe::shell(file))).unwrap_or_default();
            text.push_str(&format!(
                "\nTo begin with the live endpoints:  {first}trueup pull -o {directory}{others}\n\
                 Next:  trueup doctor {directory}{others}\n"
            ));
        }
        Some(_) => text.push_str(&format!(
            "\nFor the tenant, set TRUEUP_TOKEN; then:  trueup doctor {directory}{others}\n\
             Next:  trueup plan {directory}{sandbox}\n"
        )),
        None => text.push_str(&format!("Next:  trueup plan {directory}{sandbox}\n")),
    }
    text
}
