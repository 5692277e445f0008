//! `context`: lists, chooses, adds and removes the tenants of a user.

use crate::cli::args::context::{
    ContextAddArgs, ContextArgs, ContextCommand, ContextListArgs, ContextRemoveArgs, ContextUseArgs,
};
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::service::contexts::{self, ContextEntry, Contexts};
use crate::report::contexts::{ContextsReport, ListedContext};
use crate::report::table::{Align, Table};
use crate::report::{self, Format};

/// Lists, chooses, adds or removes a context.
pub fn run(arguments: &ContextArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    let contexts = contexts::read(context)?;
    match &arguments.command {
        None => Ok(list(&ContextListArgs { format: Format::Text }, context, &contexts)),
        Some(ContextCommand::List(arguments)) => Ok(list(arguments, context, &contexts)),
        Some(ContextCommand::Use(arguments)) => choose(arguments, context, contexts),
        Some(ContextCommand::Add(arguments)) => add(arguments, context, contexts),
        Some(ContextCommand::Remove(arguments)) => remove(arguments, context, contexts),
    }
}

fn list(arguments: &ContextListArgs, context: &Context, contexts: &Contexts) -> ExitStatus {
    let token = |entry: &ContextEntry| match (&entry.token_variable, &entry.token_file) {
        (Some(variable), _) => variable.clone(),
        (None, Some(file)) => file.display().to_string(),
        (None, None) => "-".to_owned(),
    };
    if arguments.format == Format::Json {
        let entries = contexts
            .contexts
            .iter()
            .map(|(name, entry)| ListedContext {
                name,
                current: contexts.current.as_ref() == Some(name),
                base_url: &entry.base_url,
                stack: entry.stack.as_deref(),
                token_variable: entry.token_variable.as_deref(),
                token_file: entry.token_file.as_deref(),
            })
            .collect();
        context.output.answer(&report::contexts::json(&ContextsReport { contexts: entries }));
        return ExitStatus::Done;
    }
    if contexts.contexts.is_empty() {
        context.output.message(
            "There is no context.\n  to add one: trueup context add NAME --url URL --token-variable TRUEUP_TOKEN_NAME",
        );
        return ExitStatus::Done;
    }
    let columns = ["", "NAME", "URL", "STACK", "TOKEN"].map(|heading| (heading, Align::Left));
    let mut table = Table::new(columns).fixed_width(0..5);
    for (name, entry) in &contexts.contexts {
        let mark = if contexts.current.as_ref() == Some(name) { "*" } else { "" };
        let stack = entry.stack.as_deref().unwrap_or("-");
        table.row([mark, name, &entry.base_url, stack, &token(entry)]);
    }
    let view = context.output.view();
    context.output.answer(&table.draw(view.limit(), view.palette, view.charset));
    ExitStatus::Done
}

fn choose(arguments: &ContextUseArgs, context: &Context, mut contexts: Contexts) -> Result<ExitStatus, CommandError> {
    let message = match &arguments.name {
        None => "No context is in use.".to_owned(),
        Some(name) => format!("In use: {name}, {}", contexts.chosen(name)?.base_url),
    };
    contexts.current.clone_from(&arguments.name);
    contexts::write(context, &contexts)?;
    context.output.message(&message);
    Ok(ExitStatus::Done)
}

fn add(arguments: &ContextAddArgs, context: &Context, mut contexts: Contexts) -> Result<ExitStatus, CommandError> {
    let (name, global) = (&arguments.name, &context.global);
    if contexts.contexts.contains_key(name) {
        let message = format!("the context `{name}` exists already");
        return Err(CommandError::words(ExitStatus::Refused, message)
            .hint(format!("to replace it, remove it first: trueup context remove {name}")));
    }
    let Some(base_url) = &global.base_url else {
        return Err(CommandError::words(ExitStatus::Usage, "a context needs the URL of its service")
            .hint(format!("trueup context add {name} --url https://TENANT.console.ves.volterra.io")));
    };
    let token_file = global.token_file.as_deref().map(|path| {
        path.canonicalize().map_err(|error| {
            let failure = anyhow::Error::from(error).context(format!("cannot read `{}`", path.display()));
            CommandError::new(ExitStatus::Invalid, failure)
        })
    });
    let entry = ContextEntry {
        base_url: base_url.clone(),
        stack: global.stack.clone(),
        token_variable: arguments.token_variable.clone(),
        token_file: token_file.transpose()?,
    };
    let is_first = contexts.contexts.is_empty();
    contexts.contexts.insert(name.clone(), entry);
    // What is written can be read again, with the URL as plans name it.
    let chosen = contexts.chosen(name)?;
    if let Some(entry) = contexts.contexts.get_mut(name) {
        entry.base_url = chosen.base_url.to_string();
    }
    if is_first {
        contexts.current = Some(name.clone());
    }
    contexts::write(context, &contexts)?;
    context.output.message(&if is_first {
        format!("Added and in use: {name}, {}", chosen.base_url)
    } else {
        format!("Added: {name}, {}\n  to use it: trueup context use {name}", chosen.base_url)
    });
    Ok(ExitStatus::Done)
}

fn remove(
    arguments: &ContextRemoveArgs,
    context: &Context,
    mut contexts: Contexts,
) -> Result<ExitStatus, CommandError> {
    if contexts.contexts.remove(&arguments.name).is_none() {
        return Err(contexts.unknown(&arguments.name));
    }
    contexts.current = contexts.current.filter(|current| *current != arguments.name);
    contexts::write(context, &contexts)?;
    context.output.message(&format!("Removed: {}", arguments.name));
    Ok(ExitStatus::Done)
}
