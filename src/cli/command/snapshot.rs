//! `snapshot`: reads what the service contains and writes it to a sealed file, to plan against later.

use crate::api::snapshot::{self, ReferrerReads};
use crate::cli::command::prelude::*;
use crate::cli::stacks::fleet::{self, FleetNeeds};
use crate::cli::stacks::targets::{Target, Targets};
use crate::model::Snapshot;
use crate::report::fleet::NoResult;

/// Writes what the service contains to a sealed file, to plan against without it.
///
/// The file contains whole objects, as the service returned them, and a digest that reveals alterations.
/// A plan made against it can be reviewed, saved and applied: the apply checks everything again. Nothing
/// is written if a read is not complete.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup snapshot endpoints -o live.json\n  trueup plan endpoints --live live.json\n  trueup snapshot -n shop -n pay --referrers -o live.json\n  trueup snapshot --recursive stacks -o live"
)]
pub struct SnapshotArgs {
    /// The stack's directory, whose namespaces are read; repeatable
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub stacks: StacksArgs,
    /// Read this namespace instead of those of the stack; repeatable
    #[arg(long, short, value_name = "NAME", value_parser = namespace, add = ArgValueCompleter::new(completer::namespaces))]
    pub namespace: Vec<Namespace>,
    /// Objects of this kind, besides endpoints, instead of those of the stack; repeatable
    #[arg(long, value_name = "KIND", value_parser = kind_name, add = ArgValueCompleter::new(completer::kinds))]
    pub kind: Vec<KindName>,
    /// The file to write. For several stacks, a directory, with a file for each
    #[arg(long, short, value_name = "FILE", value_parser = output_file(&[]))]
    pub output: PathBuf,
    /// Also ask who refers to each object, one request each: deletes are planned with it
    #[arg(long)]
    pub referrers: bool,
}

impl SnapshotArgs {
    /// Whether the snapshot covers all that a plan of the stack compares; with other namespaces or kinds it may not.
    fn is_of_stack(&self) -> bool {
        self.namespace.is_empty() && self.kind.is_empty()
    }
}

impl Execute for SnapshotArgs {
    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        match targets::of(context, &self.paths, self.stacks)? {
            Targets::One => {
                let directory = &self.paths[0];
                let snapshot = take(self, context, directory).await?;
                let digest = write(&self.output, &snapshot)?;
                summarise(self, context, directory, (&snapshot, &digest));
                Ok(ExitStatus::Done)
            }
            Targets::Several(targets) => several(self, context, targets).await,
        }
    }
}

/// Writes a file for each stack, even if others fail.
async fn several(arguments: &SnapshotArgs, context: &Context, targets: Vec<Target>) -> Result<ExitStatus> {
    if !arguments.namespace.is_empty() {
        return Err(targets::for_one("--namespace").hint("each stack names its own under `namespaces:`"));
    }
    let members = fleet::open(context, targets, FleetNeeds::Service).await?;
    fleet::have_own_files(&members)?;
    let done = fleet::each(&members, async |member| {
        let snapshot = take(arguments, &member.context, member.target.path()).await?;
        let path = member.file_in(&arguments.output);
        write(&path, &snapshot)?;
        Ok((path, counted(&snapshot)))
    })
    .await;
    fleet::print_errors(context, &members, &done);
    let (mut status, mut written) = (ExitStatus::Done, 0);
    for (member, taken) in members.iter().zip(done) {
        match taken {
            Ok((path, kept)) => {
                context.output.answer_line(&format!("{}: {kept}, in {}", member.name(), path.display()));
                written += 1;
            }
            Err(NoResult::Failed(error)) => {
                status = status.worse(fleet::failed(&error));
                let path = member.file_in(&arguments.output);
                if path.exists() {
                    let earlier = format!("{}: {} is from an earlier call", member.name(), path.display());
                    context.output.answer_line(&earlier);
                }
            }
            Err(NoResult::Skipped(reason)) => {
                context.output.answer_line(&format!("{}: skipped, {reason}", member.name()));
            }
            Err(_) => {}
        }
    }
    let call = targets::call(context);
    let directory = arguments.output.display().to_string();
    context.output.answer_line(&format!("{written} of {} stacks written.", members.len()));
    // After a failure, a plan would use files that an earlier call wrote for the failed stacks.
    if status == ExitStatus::Done && written > 0 && arguments.is_of_stack() {
        context.output.answer_line(&format!("Next:  trueup plan {call} --live {}", safe::shell(&directory)));
    }
    Ok(status)
}

/// Reads the namespaces and the kinds of the call, else those of the stack.
async fn take(arguments: &SnapshotArgs, context: &Context, directory: &Path) -> Result<Snapshot> {
    let (config, namespaces, kinds) = if arguments.namespace.is_empty() {
        let scope = ScopeArgs { paths: vec![directory.to_owned()], ..ScopeArgs::default() };
        let loaded = stack::open_bare(context, &scope)?.loaded;
        let (namespaces, kinds) = (loaded.namespaces(), loaded.kinds());
        (loaded.config, namespaces, kinds)
    } else {
        let config = settings::of_directory(context, directory)?;
        let kinds = config.kinds.clone();
        (config, arguments.namespace.iter().cloned().collect(), kinds)
    };
    if namespaces.is_empty() {
        return Err(stack::no_namespace(context, &config, "give --namespace"));
    }
    let kinds = if arguments.kind.is_empty() { kinds } else { arguments.kind.iter().copied().collect() };
    let reader = service::connect(context, &config).await?.reader()?;
    let referring = if arguments.referrers { ReferrerReads::Asked } else { ReferrerReads::Left };
    let taken = snapshot::take(&reader, &namespaces, &kinds, referring, context.environment.now()).await;
    taken.with_status(ExitStatus::Unknown).hint("nothing was written")
}

/// Writes the file, and returns the digest of the snapshot.
fn write(path: &Path, snapshot: &Snapshot) -> Result<String> {
    let mut digest = String::new();
    file::write_private(path, |out| {
        digest = snapshot.write(out)?;
        Ok(())
    })?;
    Ok(digest)
}

fn summarise(arguments: &SnapshotArgs, context: &Context, directory: &Path, (snapshot, digest): (&Snapshot, &str)) {
    let (kept, url, shown) = (counted(snapshot), &snapshot.base_url, arguments.output.display());
    context.output.answer_line(&format!("Kept {kept} of {url} in {shown}, digest {}.", &digest[..32]));
    let [path, directory] = [&arguments.output, directory].map(|path| safe::shell(&path.display().to_string()));
    let flags = context.call.settings();
    let next = match arguments.is_of_stack() {
        true => format!("trueup plan {directory} --live {path}{flags}"),
        false => format!("trueup show {path}"),
    };
    context.output.answer_line(&format!("Next:  {next}"));
}

fn counted(snapshot: &Snapshot) -> String {
    let namespaces = text::count(snapshot.namespaces.len(), "namespace");
    format!("{} of {namespaces}", text::count(snapshot.len(), snapshot.noun()))
}
