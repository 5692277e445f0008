//! `fmt`: writes definitions in canonical form, or checks that they are.

use crate::cli::command::prelude::*;
use crate::file::{Directory, FileError, FileMode};

/// Writes definitions in canonical form.
///
/// Keys get the order and the spelling (snake_case) in which `pull` writes them; the fields of other kinds than `endpoint`
/// keep their order. Comments move with their key; values, quotes, indentation and labels stay as they are. Files that are
/// written name their path on stdout. Overlays of every environment are formatted, too.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  trueup fmt\n  trueup fmt endpoints/shop\n  trueup fmt --check endpoints")]
pub struct FmtArgs {
    /// The stack's directory, or a directory or file in it
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Write nothing, print the files that are not in canonical form, and exit with 2 if there is one
    #[arg(long)]
    pub check: bool,
}

impl Execute for FmtArgs {
    const GLOBALS: GlobalOptions = Some(&["config"]);

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        let options = settings::load_options(context);
        let of_path = |path: &PathBuf| load::format(path, &options).map_err(|found| context.wrong(&found));
        // Nothing is written unless every file can be read.
        let formatted = self.paths.iter().map(of_path).collect::<Result<Vec<_>, _>>()?;
        // A hook passes every file that was changed; a directory without any is a mistake.
        let none = self.paths.iter().zip(&formatted).filter(|(_, one)| one.files == 0 && !one.is_whole);
        let words = |path: &Path, root: &Path| {
            format!("`{}` contains no file of the stack in `{}`", path.display(), root.display())
        };
        let none: Vec<String> = none.map(|(path, one)| words(path, &one.root)).collect();
        match none.first() {
            Some(first) if none.len() == formatted.len() && self.paths.iter().any(|path| path.is_dir()) => {
                return Err(error!(Invalid, "{first}").hint("nothing was formatted"));
            }
            _ => none.iter().for_each(|none| context.output.notice(&format!("not formatted: {none}"))),
        }
        let (mut files, mut changed) = (0, 0);
        for one in &formatted {
            let shown = |path: &str| format!("{}{path}", context.environment.shown_from_here(&one.root));
            for path in &one.left {
                context
                    .output
                    .notice(&format!("left as it is: {}: its canonical form would read differently", shown(path)));
            }
            let directory = Directory::open(&one.root).with_status(ExitStatus::Failed)?;
            for (path, edit) in &one.changed {
                if matches!(directory.check_replace(&**path), Err(FileError::Link(_))) {
                    let left = format!("left as it is: {}: a link is never replaced", shown(path));
                    context.output.notice(&format!("{left}; format the file that it leads to"));
                    continue;
                }
                changed += 1;
                if !self.check {
                    directory.edit(&**path, edit, FileMode::Shared).with_status(ExitStatus::Failed)?;
                }
                context.output.answer_line(&shown(path));
            }
            files += one.files;
        }
        if !self.check || changed == 0 {
            return Ok(ExitStatus::Done);
        }
        let sum = if changed == 1 { "1 file is".to_owned() } else { format!("{changed} files are") };
        let next = format!("trueup fmt {}{}", context.call.paths(), context.call.flags("config"));
        context.output.rendered_message(&format!("{sum} not in canonical form, of {files}\n  to format: {next}"));
        Ok(ExitStatus::Pending)
    }
}
