//! What a proposed command needs beside the flags of the call: where it is about a recorded plan, or runs in another
//! directory.

use std::path::{Path, PathBuf};

use crate::api::BaseUrl;
use crate::cli::{Context, settings, state};
use crate::load::config;
use crate::load::{self, Config, Loaded, StackFile};
use crate::plan::Plan;
use crate::report::{TextView, safe};

/// The settings of the call for a command that does not name the stack's directory: with the configuration of the
/// stack, where the working directory does not lead to it.
pub fn elsewhere(context: &Context, loaded: &Loaded) -> String {
    let root = Some(&*loaded.root).filter(|_| loaded.stack == StackFile::Found);
    with_configuration(context, context.call.settings(), root)
}

/// The flags with the configuration in `root`, where neither the call names one nor the working directory leads to it.
fn with_configuration(context: &Context, flags: String, root: Option<&Path>) -> String {
    let is_elsewhere =
        |root: &&Path| context.global.config.is_none() && root_of(Path::new(".")).as_deref() != Some(*root);
    let Some(root) = root.filter(is_elsewhere) else { return flags };
    let file = format!("{}{}", context.environment.shown_from_here(root), config::FILE);
    format!(" --config {}{flags}", safe::shell(&file))
}

fn root_of(directory: &Path) -> Option<PathBuf> {
    load::root(directory, &load::LoadOptions::default()).ok()
}

/// How to name the configuration of a plan that was made for `directory`, as the plan says.
pub fn configuration_of(directory: &str) -> String {
    let file = Path::new(directory).join(config::FILE);
    if file.is_file() {
        let file = file.strip_prefix(".").unwrap_or(&file);
        return format!("to use its configuration: --config {}", safe::shell(&file.to_string_lossy()));
    }
    format!("name its configuration with --config DIR/{}, or its stack with --stack", config::FILE)
}

/// How a plan from a file or a journal is drawn: the commands that it proposes name the directory that it was made for,
/// or the run that it rolls back.
pub fn view(context: &Context, plan: &Plan) -> TextView {
    // This call has found the settings, so the next one with the same flags does.
    let flags = context.call.settings();
    TextView {
        call: format!("{}{flags}", safe::shell(&plan.source.origin.to_string())),
        again: plan.undone().map(|run| format!("trueup rollback {run}{flags}")),
        flags,
        ..context.output.view()
    }
}

/// The flag that names the service, behind a blank, where neither the call nor its environment nor the settings do.
pub fn service(context: &Context, config: &Config, url: &str) -> String {
    let is_named = !matches!(settings::named(context, config), Ok(None));
    flag_of(context, url, None).filter(|_| !is_named).map_or_else(String::new, |flag| format!(" {flag}"))
}

/// The flag that names a service by its address and, where a run names its sandbox, by that; nothing for a sandbox that is
/// no longer there.
pub fn flag_of(context: &Context, url: &str, sandbox: Option<&str>) -> Option<String> {
    let Some(sandbox) = sandbox else {
        let is_embedded = url == BaseUrl::sandbox().as_str();
        return Some(if is_embedded { "--sandbox".to_owned() } else { format!("--base-url {}", safe::shell(url)) });
    };
    if settings::sandbox_file(&context.environment).is_ok_and(|own| state::sandbox_in(own) == sandbox) {
        return Some("--sandbox".to_owned());
    }
    let (file, _) = sandbox.strip_prefix('`')?.rsplit_once('`')?;
    let is_there = state::sandbox_in(PathBuf::from(file)) == sandbox;
    is_there.then(|| format!("--sandbox={}", safe::shell(file)))
}

/// The flags that a command about a recorded plan needs: with the settings of the directory that the plan was made for,
/// where the working directory has others, and with the service of the plan and the sandbox of its run, where the call
/// names no service or another one.
pub fn of_recorded(context: &Context, plan: &Plan, sandbox: Option<&str>) -> String {
    let directory = plan.source.origin.to_string();
    let there = root_of(Path::new(&directory)).filter(|there| there.join(config::FILE).is_file());
    let options = load::LoadOptions { environment: context.chosen_environment(), ..Default::default() };
    let config = load::settings(there.as_deref().unwrap_or(Path::new(".")), &options).unwrap_or_default();
    let url = &plan.service.base_url;
    let leads_there = settings::named(context, &config).map_or(true, |place| {
        let is_same = |sandbox| state::sandbox_of_runs(context).as_deref() == Some(sandbox);
        place.is_some_and(|place| place.base_url().as_str() == url) && sandbox.is_none_or(is_same)
    });
    let flags = match flag_of(context, url, sandbox).filter(|_| !leads_there) {
        Some(flag) => format!("{} {flag}", context.call.clone().with("base_url", []).with("sandbox", []).settings()),
        None => context.call.settings(),
    };
    with_configuration(context, flags, there.as_deref())
}
