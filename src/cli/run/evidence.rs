//! The evidence file of a run (`--evidence`): where it goes, that it overwrites nothing, and its writing when the run has
//! ended, however it did.

use std::path::PathBuf;

use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::file;
use crate::model::policy::Safeguards;
use crate::report::safe;
use crate::run::{Evidence, EvidenceSettings, Outcome, PolicyEvidence, RunHeader};

/// The evidence of a run that is about to begin.
pub struct PendingEvidence {
    path: PathBuf,
    header: RunHeader,
    settings: Safeguards,
}

impl PendingEvidence {
    /// The evidence of this run in the file, or in the directory that several runs share.
    ///
    /// # Errors
    /// The file exists: an archive never loses what it has.
    pub fn new(
        path: Option<&PathBuf>,
        is_shared: bool,
        header: &RunHeader,
        settings: &Safeguards,
    ) -> Result<Option<Self>, CommandError> {
        let Some(path) = path else { return Ok(None) };
        let path = if is_shared { path.join(format!("{}.json", header.run)) } else { path.clone() };
        if crate::file::exists(&path) {
            let message = format!("the evidence file `{}` exists already and is not overwritten", path.display());
            return Err(CommandError::words(ExitStatus::Refused, message)
                .hint("name another file for each run")
                .hint("nothing was sent"));
        }
        Ok(Some(Self { path, header: header.clone(), settings: settings.clone() }))
    }

    /// Writes it. A file that cannot be written is an error at the end of the command: the outcome goes first.
    pub fn write(self, context: &Context, outcome: &Outcome) {
        let policy = context
            .policy
            .as_ref()
            .map(|file| PolicyEvidence { path: file.path.display().to_string(), sha256: file.sha256.clone() });
        let tool_version = env!("CARGO_PKG_VERSION").to_owned();
        let in_force = EvidenceSettings { settings: self.settings, policy, tool_version };
        let exit_code = ExitStatus::of_outcome(outcome, &self.header.plan).code();
        let ended = context.environment.now().to_string();
        let evidence = Evidence::of(&self.header, outcome, in_force, exit_code, ended);
        if let Err(error) =
            file::write_private(&self.path, |out| out.write_all(safe::json(&evidence.to_file()).as_bytes()))
        {
            context.output.note_unwritten(format!("cannot write the evidence: {error}"));
        }
    }
}
