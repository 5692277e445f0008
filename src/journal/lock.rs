use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::JournalError;
use super::write::private_directory;
use crate::plan::Header;

/// Held while a run of one stack against one service goes on; dies with its holder.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    pub(super) fn take(state: &Path, header: &Header) -> Result<Self, JournalError> {
        let directory = state.join("locks");
        private_directory(&directory)?;
        let stack = header.plan.stack.as_deref();
        let base_url = &header.plan.service.base_url;
        let name = Sha256::digest(format!("{base_url}\n{}", stack.unwrap_or_default()));
        let name: String = name.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        let path = directory.join(format!("{name}.lock"));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&path).map_err(JournalError::io("open", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // Only for the message.
                let _ = (&file).take(100).read_to_string(&mut holder);
                let fits = crate::plan::RunId::new(holder.trim());
                return Err(JournalError::Locked {
                    stack: stack.map_or_else(|| format!("`{base_url}`"), |stack| format!("stack `{stack}`")),
                    holder: fits.map(|run| format!(" (run `{run}`)")).unwrap_or_default(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(JournalError::io("lock", &path)(error)),
        }
        // Who holds it is only for the message of whoever comes second.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", header.run));
        Ok(Self { _file: file })
    }
}
