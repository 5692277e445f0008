//! `import`: writes objects that another tool manages as definitions, without asking the service.

use crate::cli::command::prelude::*;
use crate::cli::definition::{self, DefinitionOptions};
use crate::cli::definition_files::DefinitionTarget;
use crate::file::Directory;
use crate::terraform::{Document, Import, TYPE_PREFIX};

/// Imports what another tool manages.
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  terraform state pull > terraform.tfstate\n  trueup import terraform terraform.tfstate -o endpoints"
)]
pub enum ImportSubcommand {
    Terraform(TerraformArgs),
}

/// Writes the objects that Terraform manages as definitions, one file each.
///
/// Reads the `volterra_KIND` resources of a state (`terraform state pull`), of the output of
/// `terraform show -json`, or of configuration in JSON syntax (`*.tf.json`). A directory means its
/// `*.tf.json` files and its `terraform.tfstate`. Nothing else in these files is read, and Terraform is not run.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  terraform state pull > terraform.tfstate\n  trueup import terraform terraform.tfstate -o endpoints\n  trueup plan endpoints"
)]
pub struct TerraformArgs {
    /// A state, the output of `terraform show -json`, a `*.tf.json` file, or a directory with such files
    #[arg(value_name = "STATE|DIR", required = true)]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub files: DefinitionFileArgs,
}

/// The state that Terraform keeps in the directory of a configuration.
const STATE: &str = "terraform.tfstate";
/// How to get it, also from a remote backend.
const STATE_HINT: &str = "get the state with: terraform state pull > terraform.tfstate";
/// The end of a file with configuration in JSON syntax.
const JSON_SYNTAX: &str = ".tf.json";

impl Execute for ImportSubcommand {
    const GLOBALS: GlobalOptions = Some(&["config env"]);

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        let Self::Terraform(arguments) = self;
        terraform(arguments, context)
    }
}

fn terraform(arguments: &TerraformArgs, context: &Context) -> Result<ExitStatus> {
    let mut import = Import::default();
    for path in &arguments.paths {
        import.add(if path.is_dir() {
            read_directory(path)?
        } else {
            vec![read(path, &file::read(path, limit::SAVED)?)?]
        });
    }
    for address in &import.unread {
        context.output.notice(&format!("not read: {address}: `trueup kinds` does not list its kind"));
    }
    let config = settings::of_directory(context, &arguments.files.output)?;
    let target = DefinitionTarget::new(&arguments.files, context, config)?;
    let mut files = Vec::new();
    for (address, endpoint) in std::mem::take(&mut import.objects).into_values() {
        if let Some(reason) = target.leaves_out(&endpoint.key) {
            import.left_out.push((address, reason));
            continue;
        }
        let sensitive = import.sensitive.remove(&endpoint.key).unwrap_or_default();
        match target.file(&endpoint, DefinitionOptions::default()) {
            Ok(file) => {
                for label in definition::platform_labels(&endpoint) {
                    context.output.notice(&format!("not written: labels.{label} of {address}: the service sets it"));
                }
                for name in &sensitive {
                    let what =
                        format!("written in clear text: {name} of {address}, which Terraform marks as sensitive");
                    context.output.notice(&what);
                }
                files.push(file);
            }
            Err(reason) => import.leave_out(address, reason, &sensitive),
        }
    }
    if files.is_empty() && import.left_out.is_empty() {
        return Err(error!(Failed, "there are no `{TYPE_PREFIX}…` resources to import").hint("nothing was written"));
    }
    let written = target.write(&BTreeSet::new(), &files)?;
    target.summarise(context, "Imported", &files, written);
    import.left_out.sort();
    for (address, reason) in &import.left_out {
        context.output.notice(&format!("left out: {address}: {reason}"));
    }
    let what = match import.left_out.len() {
        0 => return Ok(ExitStatus::Done),
        1 => "1 resource was left out".to_owned(),
        count => format!("{count} resources were left out"),
    };
    Err(if files.is_empty() { error!(Failed, "{what}") } else { error!(Partly, "{what}") })
}

/// The configuration in JSON syntax and the state in a directory.
fn read_directory(path: &Path) -> Result<Vec<Document>> {
    let directory = Directory::open(path).with_status(ExitStatus::Failed)?;
    let names = directory.names().with_status(ExitStatus::Failed)?.into_iter();
    let is_read = |name: &String| name == STATE || name.ends_with(JSON_SYNTAX);
    let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).filter(is_read).collect();
    names.sort();
    if names.is_empty() {
        return Err(error!(Failed, "`{}` has neither a state nor a `*{JSON_SYNTAX}` file", path.display())
            .hint(STATE_HINT)
            .hint("nothing was written"));
    }
    let bytes = |name: &str| directory.read(name, limit::SAVED).with_status(ExitStatus::Failed);
    names.iter().map(|name| read(&path.join(name), &bytes(name)?)).collect()
}

fn read(path: &Path, bytes: &[u8]) -> Result<Document> {
    Document::read(bytes)
        .with_context(|| format!("`{}` cannot be imported", path.display()))
        .with_status(ExitStatus::Failed)
        .hint(STATE_HINT)
        .hint("nothing was written")
}
