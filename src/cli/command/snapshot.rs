//! `snapshot`: reads what the service contains and writes it to a sealed file, to plan against later.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::api::snapshot::{self, ReferrerReads};
use crate::cli::args::{self, ScopeArgs};
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::{configuration, file, service, stack};
use crate::load::Config;
use crate::model::{Namespace, Snapshot};
use crate::report::safe;

/// Writes what the service contains to a sealed file.
pub async fn run(arguments: &args::SnapshotArgs, context: &Context) -> Result<ExitStatus, CommandError> {
    let directory = arguments.path.clone().unwrap_or_else(|| PathBuf::from("."));
    let (config, namespaces) = scope(arguments, context, &directory)?;
    let reader = service::connect(context, &config).await?.reader()?;
    let referring = if arguments.referrers { ReferrerReads::Asked } else { ReferrerReads::Left };
    let taken = snapshot::take(&reader, &namespaces, referring, context.environment.now()).await;
    let snapshot = taken.map_err(|error| CommandError::new(ExitStatus::Unknown, error).hint("nothing was written"))?;
    file::write_private(&arguments.output, &snapshot.to_file())?;
    context.output.answer(&summary(&arguments.output, &directory, &snapshot));
    Ok(ExitStatus::Done)
}

/// The namespaces of the call, else those of the stack, with the configuration that names the service.
fn scope(
    arguments: &args::SnapshotArgs,
    context: &Context,
    directory: &Path,
) -> Result<(Config, BTreeSet<Namespace>), CommandError> {
    if !arguments.namespace.is_empty() {
        let named = arguments.namespace.iter().map(|name| stack::namespace(name)).collect::<Result<_, _>>()?;
        return Ok((configuration::of_directory(context, directory)?, named));
    }
    let scope = ScopeArgs { paths: vec![directory.to_owned()], ..ScopeArgs::default() };
    let stack = stack::open_bare(context, &scope)?;
    let namespaces = stack.namespaces();
    if namespaces.is_empty() {
        return Err(CommandError::words(ExitStatus::Usage, "no namespace is named")
            .hint("give --namespace, or list them under `namespaces:` in trueup.yaml"));
    }
    Ok((stack.loaded.config, namespaces))
}

fn summary(path: &Path, directory: &Path, snapshot: &Snapshot) -> String {
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let (endpoints, namespaces) = (snapshot.len(), snapshot.namespaces.len());
    let (path, directory) = (path.display().to_string(), directory.display().to_string());
    let (shown, path, directory) = (safe::line(&path), safe::shell(&path), safe::shell(&directory));
    format!(
        "Kept {endpoints} endpoint{} of {namespaces} namespace{} of {} in {shown}, digest {}.\n\
         Next:  trueup plan {directory} --live {path}\n",
        plural(endpoints),
        plural(namespaces),
        safe::line(&snapshot.base_url),
        &snapshot.digest()[..32],
    )
}
