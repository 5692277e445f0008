//! What a proposed command needs beside the flags of the call: where it is about a recorded plan, or runs in another
//! directory.

use std::path::{Path, PathBuf};

use crate::api::BaseUrl;
use crate::cli::Context;
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
    match crate::cli::settings::named(context, config) {
        Ok(None) if url == BaseUrl::sandbox().to_string() => " --sandbox".to_owned(),
        Ok(None) => format!(" --base-url {}", safe::shell(url)),
        Ok(Some(_)) | Err(_) => String::new(),
    }
}

/// The flags that a command about a recorded plan needs: with the settings of the directory that the plan was made for,
/// where the working directory has others, and with the service of the plan, where nothing else names one.
pub fn of_recorded(context: &Context, plan: &Plan) -> String {
    let directory = plan.source.origin.to_string();
    let there = root_of(Path::new(&directory)).filter(|there| there.join(config::FILE).is_file());
    let options = load::LoadOptions { environment: context.chosen_environment(), ..Default::default() };
    let config = load::settings(there.as_deref().unwrap_or(Path::new(".")), &options).unwrap_or_default();
    let flags = context.call.settings() + &service(context, &config, &plan.service.base_url);
    with_configuration(context, flags, there.as_deref())
}
