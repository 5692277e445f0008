//! `explain`: prints where the values of a definition or of the settings are from in an environment, or what a field of a
//! kind is.

use crate::cli::command::prelude::*;
use crate::kind;
use crate::load::ExplainedSetting;
use crate::load::config::{Config, LayerName};
use crate::load::explain::ExplainedDefinition;
use crate::model::{Json, SourceLocation};
use crate::report::explanation::Explanation;
use crate::report::kinds::{self, Described, UnknownField};

/// Prints where values are from, or what a field is.
///
/// For NAMESPACE/NAME, each value of the definition in the environment, with the definition, overlay and variables that it is
/// from. For a setting of trueup.yaml, its value with the layer and the line that set it, or its default. For a
/// path that begins with a kind (`trueup kinds`), what the field may contain; `spec` alone is that of an endpoint. What settings mean
/// is in their schema: `trueup schema --of config`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup explain --env prod shop/cart endpoints\n  trueup explain --env prod guards.percent endpoints\n  trueup explain --env prod\n  trueup explain spec.port\n  trueup explain origin_pool.spec.port"
)]
pub struct ExplainArgs {
    /// The definition, a setting by its path or the end of it, or a field of a kind [default: `settings`, for all]
    #[arg(value_name = "NAMESPACE/NAME|SETTING|KIND.PATH", add = ArgValueCompleter::new(completer::explained))]
    pub what: Option<String>,
    /// The directory of the definitions [default: .]
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats(Format::OF_ANSWERS))]
    pub format: Format,
}

impl Execute for ExplainArgs {
    const GLOBALS: GlobalOptions = Some(&[SETTINGS, "policy base_url layout stack rate concurrency"]);

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        let asked = self.what.as_deref().unwrap_or_default();
        let explanation = match Key::parse(asked) {
            Ok(key) => definition(self, context, &key)?,
            Err(_) => match kinds::explain(asked) {
                Some(described) => field(described)?,
                None => settings_of(self, context, asked)?,
            },
        };
        context.output.report(&explanation, self.format);
        Ok(ExitStatus::Done)
    }
}

/// What a kind or a field of it is.
fn field(described: Result<Described, UnknownField>) -> Result<Explanation> {
    let described = described.map_err(|unknown| {
        let known: Vec<&str> = unknown.known.iter().map(String::as_str).collect();
        let near = load::nearest(&unknown.key, known.iter().copied());
        let error = error!(Usage, "`{}` has no field `{}`", unknown.above, unknown.key);
        match near {
            Some(near) => error.hint(format!("did you mean `{}.{near}`?", unknown.above)),
            None if known.is_empty() => error,
            None if known.len() > load::MOST_ALLOWED => {
                error.hint(format!("to list its fields: trueup explain {}", unknown.above))
            }
            None => error.hint(format!("it has: {}", known.join(", "))),
        }
    })?;
    Ok(Explanation { described: Some(described), ..Explanation::default() })
}

/// Where the values of a definition are from.
fn definition(arguments: &ExplainArgs, context: &Context, key: &Key) -> Result<Explanation> {
    let directory = arguments.directory.as_deref().unwrap_or(Path::new("."));
    let options = settings::load_options(context);
    let failed = |found| context.wrong(&found);
    let loaded = load::directory(directory, &options).map_err(failed)?;
    load::note_secrets(directory, &options);
    let settings = load::explained_settings(directory, &options).map_err(failed)?;
    let explained = load::explain::definition(&loaded, key, &settings).ok_or_else(|| {
        let text = key.to_string();
        let keys: Vec<String> = loaded.desired.definitions.keys().map(ToString::to_string).collect();
        error!(Usage, "no file defines `{text}`").did_you_mean(&text, keys.iter().map(String::as_str))
    })?;
    let prefix = context.environment.shown_from_here(&loaded.root);
    let definition = Some(shown_definition(explained, &prefix));
    Ok(Explanation { environment: options.environment, definition, ..Explanation::default() })
}

/// Where the settings are from: all, or those with these keys in their path.
fn settings_of(arguments: &ExplainArgs, context: &Context, asked: &str) -> Result<Explanation> {
    /// The argument that means all settings.
    const ALL: &str = "settings";
    let path: Vec<&str> = asked.split('.').filter(|part| !part.is_empty() && asked != ALL).collect();
    let known = config::setting_paths();
    let is_meant = |set: &[&str]| path.is_empty() || set.windows(path.len()).any(|part| part == path);
    // For all settings, only those that are set are shown. Settings inside one with a default have their own defaults.
    let defaults = known.iter().rev().filter(|_| !path.is_empty());
    let defaults = defaults.filter_map(|(path, default)| Some((path.as_slice(), (*default)?)));
    let (mut settings, config) = values(context, arguments.directory.as_deref().unwrap_or(Path::new(".")), defaults)?;
    settings.sort_by(|one, other| one.path.cmp(&other.path));
    settings.retain(|setting| is_meant(&setting.path.iter().map(String::as_str).collect::<Vec<_>>()));
    let known: Vec<&Vec<&str>> = known.iter().map(|(path, _)| path).collect();
    let begins = |known: &Vec<&str>| {
        known.len() >= path.len() && known.iter().zip(&path).all(|(known, part)| *known == "*" || known == part)
    };
    if settings.is_empty() && !known.iter().any(|known| begins(known) || known.ends_with(&path)) {
        return Err(unknown(asked, &known));
    }
    for (setting, error) in settings::refused(context, &config) {
        if settings.iter().any(|shown| shown.path == [setting]) {
            context.output.notice(&format!("note: {error}"));
        }
    }
    Ok(Explanation { environment: context.global.env.clone(), settings: Some(settings), ..Explanation::default() })
}

/// The error for a name that is neither a setting nor a kind.
fn unknown(asked: &str, known: &[&Vec<&str>]) -> CommandError {
    let settings: Vec<String> = known.iter().map(|path| path.join(".")).collect();
    let (first, below) = asked.split_at(asked.find('.').unwrap_or(asked.len()));
    let of_kind = || Some(format!("{}{below}", load::nearest(first, kind::all().map(|kind| kind.name))?));
    let near = load::nearest(asked, settings.iter().map(String::as_str)).map(str::to_owned).or_else(of_kind);
    error!(Usage, "there is no setting, kind or definition `{asked}`")
        .hint_each(near.map(|near| format!("did you mean `{near}`?")))
        .hint("to list the kinds: trueup kinds; the settings: trueup schema --of config")
}

/// The settings in force in the call's environment, with their layers, or these defaults; and the configuration.
fn values<'d>(
    context: &Context,
    directory: &Path,
    defaults: impl Iterator<Item = (&'d [&'d str], &'d Json)>,
) -> Result<(Vec<ExplainedSetting>, Config)> {
    let options: LoadOptions = settings::load_options(context);
    let failed = |found| context.wrong(&found);
    let mut explained = load::explained_settings(directory, &options).map_err(failed)?;
    let config = load::settings(directory, &options).map_err(failed)?;
    if explained.iter().any(|setting| setting.variable().is_some()) {
        load::note_secrets(directory, &options);
    }
    let is_secret =
        |setting: &&mut ExplainedSetting| setting.variable().is_some_and(|name| options.secret_variables.contain(name));
    explained.iter_mut().filter(is_secret).for_each(ExplainedSetting::conceal);
    for (path, default) in defaults {
        let path: Vec<String> = path.iter().map(ToString::to_string).collect();
        if !explained.iter().any(|setting| setting.path.starts_with(&path) || path.starts_with(&setting.path)) {
            // What is deleted by default depends on the namespaces.
            let in_force = (path == ["prune"]).then(|| config.safeguards.prune.as_str().into());
            put(&mut explained, path, in_force.unwrap_or_else(|| default.clone()), LayerName::Default);
        }
    }
    for (setting, value, source) in settings::of_call(context) {
        put(&mut explained, vec![setting.to_owned()], value.into(), LayerName::Call(source.to_owned()));
    }
    for (path, value) in policy::limits(context, &config) {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        // If a gate is one word in the settings, that word is its mode.
        if let Some(gate) = explained.iter_mut().find(|setting| path.len() == 3 && path[..2] == setting.path) {
            gate.path.push("mode".to_owned());
        }
        put(&mut explained, path, value, LayerName::Policy);
    }
    let prefix = context.environment.shown_from_here(&load::root(directory, &options).map_err(failed)?);
    for setting in &mut explained {
        let places = setting.replaced.iter_mut().filter_map(|replaced| replaced.place.as_mut());
        setting.place.iter_mut().chain(places).for_each(|place| show(place, &prefix));
    }
    Ok((explained, config))
}

/// Overrides what the layers set.
fn put(explained: &mut Vec<ExplainedSetting>, path: Vec<String>, value: Json, layer: LayerName) {
    match explained.iter().position(|setting| setting.path == path) {
        Some(at) => {
            let below = explained.remove(at);
            explained.insert(at, below.replaced_by(value, layer, None));
        }
        None => explained.push(ExplainedSetting { path, value, layer, place: None, replaced: Vec::new() }),
    }
}

/// Makes the file of a location relative to the working directory.
fn show(place: &mut SourceLocation, prefix: &str) {
    place.file.insert_str(0, prefix);
}

fn shown_definition(mut definition: ExplainedDefinition, prefix: &str) -> ExplainedDefinition {
    definition.removed.iter_mut().for_each(|place| show(place, prefix));
    for value in &mut definition.values {
        let variables = value.variables.iter_mut().filter_map(|variable| variable.place.as_mut());
        let replaced = value.replaced.iter_mut().map(|replaced| &mut replaced.place);
        value.place.iter_mut().chain(variables).chain(replaced).for_each(|place| show(place, prefix));
    }
    definition
}
