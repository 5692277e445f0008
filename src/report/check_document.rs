//! The JSON of a check, read back: a document of `drift --format json` about one stack or several, as it was written.
//! The verdicts are derived again from the plan in the document, and other verdicts are an error, so that a report made
//! of it says what its checker found. What a document says is untrusted wherever it is shown.

use std::borrow::Cow;
use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use serde::Deserialize;

use super::document::FORMAT_VERSION;
use super::error;
use super::fleet::{InputProblem, NoResult};
use super::json::{ChecksDocument, StackDocument};
use crate::drift::{
    Acknowledgements, Check, DriftState, MOST_SHARDS, STACK_FLAGS, SeenSince, Shard, UnmanagedPolicy, Verdicts,
};
use crate::model::document::{DocumentError, DocumentFormat, kind_of};
use crate::model::{Field, Key};

/// The checks of one document.
#[derive(Debug)]
pub struct CheckDocument {
    /// Which of how many shards of a list of stacks it is.
    pub shard: Option<Shard>,
    /// The stacks that it names, in its order.
    pub stacks: Vec<SavedStack>,
    /// What was missing or wrong, if it is a merged report.
    pub problems: Vec<InputProblem>,
}

/// A stack that a document names.
#[derive(Debug)]
pub struct SavedStack {
    /// Its directory, as the call of the check named it.
    pub directory: String,
    /// Its environment; without a check, only if the check failed or the environment is one of several.
    pub environment: Option<String>,
    /// The id of the stack, if the document is of a shard of a list.
    pub id: Option<String>,
    /// Its check, or why it has none.
    pub result: SavedResult,
}

/// A check that a document contains, or why it contains none of a stack.
pub type SavedResult = Result<Box<Check>, NoResult>;

const FORMAT: DocumentFormat = DocumentFormat {
    name: "a whole check",
    kinds: &["drift", "fleet"],
    versions: FORMAT_VERSION..=FORMAT_VERSION,
    remedy: "check again with this version: `trueup drift --format json`",
};

const FAILED: DocumentFormat = DocumentFormat { kinds: &[error::KIND], ..FORMAT };

/// The document of a check that failed as a whole.
#[derive(Deserialize)]
struct Failed {
    message: String,
}

/// Why a file contains no check.
#[derive(Debug, thiserror::Error)]
pub enum CheckDocumentError {
    /// It is not a document of a check, or it is cut off.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// Its shard is not valid.
    #[error("it is shard {} of {}, which does not exist: there are 1 to {MOST_SHARDS} shards", .0.index, .0.of)]
    Shard(Shard),
    /// The plan in it leads to other verdicts: it was altered, or another version judged by other rules.
    #[error("the verdicts on `{directory}` do not follow from its plan: it was altered, or another version wrote it")]
    Altered {
        /// The stack.
        directory: String,
    },
}

impl CheckDocument {
    /// The checks that a file contains.
    ///
    /// # Errors
    /// The file is cut off, of another kind or format, or was altered.
    pub fn from_file(bytes: &[u8]) -> Result<Self, CheckDocumentError> {
        if kind_of(bytes).as_deref() == Some("drift") {
            let mut stack = SavedStack::read(FORMAT.read(bytes)?)?;
            if let Ok(check) = &stack.result {
                stack.directory = check.plan.source.origin.to_string();
            }
            return Ok(Self::of(stack));
        }
        let file = FORMAT.read::<ChecksDocument<'static>>(bytes)?;
        let stacks = file.checks.into_iter().map(SavedStack::read).collect::<Result<_, _>>()?;
        Ok(Self { shard: existing(file.shard)?, stacks, problems: file.problems.into_owned() })
    }

    /// Why a check failed as a whole, if the file says no more. It names no stack.
    pub fn failure(bytes: &[u8]) -> Option<String> {
        let is_failure = kind_of(bytes).as_deref() == Some(error::KIND);
        is_failure.then(|| FAILED.read(bytes).ok().map(|Failed { message }| message)).flatten()
    }

    /// The document for the stack whose job wrote such a `file`.
    pub fn failed(file: String, message: String) -> Self {
        let result = Err(NoResult::Failed(message));
        Self::of(SavedStack { directory: file, environment: None, id: None, result })
    }

    fn of(stack: SavedStack) -> Self {
        Self { shard: None, stacks: vec![stack], problems: Vec::new() }
    }
}

fn existing(shard: Option<Shard>) -> Result<Option<Shard>, CheckDocumentError> {
    match shard {
        Some(shard) if shard.of > MOST_SHARDS || !(1..=shard.of).contains(&shard.index) => {
            Err(CheckDocumentError::Shard(shard))
        }
        shard => Ok(shard),
    }
}

impl SavedStack {
    fn read(mut file: StackDocument<'static>) -> Result<Self, CheckDocumentError> {
        let directory = std::mem::take(&mut file.directory).into_owned();
        let [environment, id] = [file.environment.take(), file.id.take()].map(|text| text.map(Cow::into_owned));
        let result = match file {
            StackDocument { plan: Some(_), .. } => Ok(Box::new(check(file)?)),
            StackDocument { failed: Some(reason), .. } => Err(NoResult::Failed(reason.into_owned())),
            StackDocument { unknown: Some(reason), .. } => Err(NoResult::Unknown(reason.into_owned())),
            StackDocument { elsewhere: true, .. } => Err(NoResult::Elsewhere),
            StackDocument { skipped: Some(reason), .. } => Err(NoResult::Skipped(reason.into_owned())),
            StackDocument { .. } => return Err(CheckDocumentError::missing("plan")),
        };
        let environment = environment.or_else(|| result.as_ref().ok()?.plan.source.environment.clone());
        Ok(Self { directory, environment, id, result })
    }
}

impl CheckDocumentError {
    fn missing(what: &str) -> Self {
        FORMAT.other(format_args!("it has no `{what}`")).into()
    }
}

/// The check of a document, whose verdicts follow from its plan.
fn check(file: StackDocument<'static>) -> Result<Check, CheckDocumentError> {
    let StackDocument { plan, verdicts, checked, acknowledged, drifted, shares_all, .. } = file;
    let (elsewhere, drifted) = (file.elsewhere_namespaces.into_owned(), drifted.unwrap_or_default());
    let mut flags = file.flags.into_owned();
    // Any other flag would let the file choose the words of a command that a report proposes.
    flags.retain(|flag, _| STACK_FLAGS.split(' ').any(|known| known == flag));
    let acknowledged = acknowledged.map(Cow::into_owned).unwrap_or_default();
    let plan = plan.ok_or_else(|| CheckDocumentError::missing("plan"))?.into_owned();
    let verdicts = verdicts.ok_or_else(|| CheckDocumentError::missing("verdicts"))?.into_owned();
    let checked = checked.ok_or_else(|| CheckDocumentError::missing("checked"))?;
    let altered = || CheckDocumentError::Altered { directory: plan.source.origin.to_string() };
    let today = checked.to_zoned(TimeZone::UTC).date();
    let accepted = Acknowledgements {
        acknowledged: acknowledged.iter().map(|one| one.acknowledgement.clone()).collect(),
        ..Acknowledgements::default()
    };
    // Whether objects without a definition are drift was an option of the call: the verdicts show it.
    let found = [UnmanagedPolicy::Note, UnmanagedPolicy::Fail].map(|policy| plan.verdicts(policy));
    let follows = |found: &Verdicts| {
        let (left, judged, _) = accepted.silence(&plan, found, today);
        judged == acknowledged && (left == verdicts || (judged.is_empty() && *found == verdicts))
    };
    let found = found.into_iter().find(follows).ok_or_else(altered)?;
    let values = |found: &Verdicts| -> BTreeSet<(Key, Option<Field>)> {
        plan.drifted(found).into_iter().map(|one| (one.object, one.field)).collect()
    };
    if values(&found) != drifted.iter().map(|one| (one.object.clone(), one.field.clone())).collect() {
        return Err(altered());
    }
    let seen = drifted.into_iter().filter_map(|one| {
        Some((one.object, one.field, SeenSince { first_seen: one.first_seen?, checks: one.checks? }))
    });
    let (drift_state, shard) = (Some(DriftState::of_seen(seen)), existing(file.shard)?);
    let check = Check::new(plan, found, checked);
    Ok(Check { verdicts, acknowledged, drift_state, shard, elsewhere, flags, shares_all, ..check })
}
