//! Where a check keeps its drift state: in the file that the call names, or in the state store that it names, where
//! every runner finds it. Checkers that share a stack write the same object one after the other.

use std::path::PathBuf;

use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::stack::Stack;
use crate::cli::{file, settings, state};
use crate::drift::DriftState;
use crate::file::{Directory, FileMode, limit, read_own};
use crate::state::{Bucket, CreateResult, StateStore, Tag};

/// The directory of the drift states, in the state store.
const DRIFT: &str = "drift";

/// The place of one stack's drift state.
pub struct DriftStore<'c> {
    context: &'c Context,
    place: Place<'c>,
}

enum Place<'c> {
    Nowhere,
    /// A file that the call names.
    File(PathBuf),
    /// A file of the directory that the call names as its state.
    Own {
        directory: &'c PathBuf,
        name: String,
    },
    /// An object, with the version that was read.
    Object {
        bucket: &'c Bucket,
        name: String,
        tag: Option<Tag>,
    },
}

impl<'c> DriftStore<'c> {
    /// The `file` of the call; else the state store, where the call names one and the check has no filter.
    ///
    /// # Errors
    /// A file for a check with filters: what is left out would be taken for fixed.
    pub fn of(
        context: &'c Context,
        file: Option<PathBuf>,
        stack: &Stack,
        base_url: &str,
    ) -> Result<Self, CommandError> {
        let is_whole = stack.selection.is_all();
        let is_named = state::named_state(&context.global, &context.environment).is_some();
        let place = match file {
            Some(_) if !is_whole => {
                return Err(CommandError::words(
                    ExitStatus::Usage,
                    "a drift state needs a check without filters: what is left out would be taken for fixed",
                ));
            }
            Some(file) => Place::File(file),
            None if !is_named || !is_whole => Place::Nowhere,
            None => {
                let owner = settings::stack(context, &stack.loaded.config)?;
                let name = name(base_url, owner.as_deref());
                match state::store(context)? {
                    StateStore::Directory(directory) => Place::Own { directory, name },
                    StateStore::Bucket(bucket, _) => {
                        Place::Object { bucket, name: format!("{DRIFT}/{name}"), tag: None }
                    }
                }
            }
        };
        Ok(Self { context, place })
    }

    /// Nowhere: a check that leaves nothing behind.
    pub fn nowhere(context: &'c Context) -> Self {
        Self { context, place: Place::Nowhere }
    }

    /// Whether the check is recorded.
    pub fn is_kept(&self) -> bool {
        !matches!(self.place, Place::Nowhere)
    }

    /// The drift state; an empty one if there is none yet.
    ///
    /// # Errors
    /// It cannot be read, or is not one.
    pub async fn read(&mut self) -> Result<DriftState, CommandError> {
        let (bytes, shown) = match &mut self.place {
            Place::Nowhere => return Ok(DriftState::default()),
            Place::File(path) if !crate::file::exists(path) => return Ok(DriftState::default()),
            Place::File(path) => (file::read(path, limit::SAVED)?, path.display().to_string()),
            Place::Own { directory, name } => {
                let path = directory.join(DRIFT).join(name);
                match read_own(&path, limit::SAVED) {
                    Ok(bytes) => (bytes, path.display().to_string()),
                    Err(error) if error.is_missing() => return Ok(DriftState::default()),
                    Err(error) => return Err(CommandError::new(ExitStatus::Failed, error)),
                }
            }
            Place::Object { bucket, name, tag } => {
                let object = elsewhere({
                    let (bucket, name) = (bucket.clone(), name.clone());
                    move || bucket.read(&name)
                });
                let object = object.await.map_err(|error| state::failed(self.context, error.into()))?;
                *tag = object.as_ref().map(|object| object.tag.clone());
                let Some(object) = object else { return Ok(DriftState::default()) };
                (object.bytes.into(), bucket.place(name))
            }
        };
        DriftState::from_file(&bytes).map_err(|error| {
            let failure = anyhow::Error::from(error).context(format!("`{shown}` cannot be used"));
            CommandError::new(ExitStatus::Invalid, failure)
        })
    }

    /// Stores the drift state; `false` where another checker wrote it since it was read.
    ///
    /// # Errors
    /// It cannot be written.
    pub async fn write(&self, drift_state: &DriftState) -> Result<bool, CommandError> {
        let text = drift_state.to_file();
        match &self.place {
            Place::Nowhere => {}
            Place::File(path) => file::replace(path, |out| out.write_all(text.as_bytes()))?,
            Place::Own { directory, name } => {
                let written = Directory::private(directory, DRIFT)
                    .and_then(|directory| directory.replace(name, text.as_bytes(), FileMode::Private));
                written.map_err(|error| CommandError::new(ExitStatus::Failed, error))?;
            }
            Place::Object { bucket, name, tag } => {
                let (bucket, name, tag) = ((*bucket).clone(), name.clone(), tag.clone());
                let written = elsewhere(move || match tag {
                    Some(tag) => bucket.update(&name, text, &tag).map(|tag| tag.is_some()),
                    None => bucket.create(&name, text).map(|result| result != CreateResult::Taken),
                });
                return written.await.map_err(|error| state::failed(self.context, error.into()));
            }
        }
        Ok(true)
    }
}

/// The name of a stack's drift state, by service and stack, whatever directory and environment led to them.
fn name(base_url: &str, stack: Option<&str>) -> String {
    let plain = |text: &str| -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '.') { c } else { '_' };
        text.chars().map(plain).collect()
    };
    let host = base_url.split_once("://").map_or(base_url, |(_, host)| host);
    format!("{}_{}.json", plain(host), plain(stack.unwrap_or_default()))
}

/// Waits for an object store without keeping other stacks from their work.
async fn elsewhere<T: Send + 'static>(request: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(request).await {
        Ok(answer) => answer,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}
