//! The lock of a stack on a service. It allows one run at a time on a machine, and the system releases it when
//! the process ends.

use std::borrow::Cow;
use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::net::IpAddr;
use std::path::Path;

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use super::{JournalError, LOCKS};
use crate::file::{Directory, FileError};
use crate::run::RunHeader;

/// The name of the lock of a run: a digest of service and stack.
pub(super) fn name(header: &RunHeader) -> String {
    let (base_url, stack) = (machine(&header.plan.service.base_url), header.plan.stack.as_deref());
    let sandbox = header.sandbox.as_deref().unwrap_or_default();
    let digest = Sha256::digest(format!("{base_url}{sandbox}\n{}", stack.unwrap_or_default()));
    HEXLOWER.encode(&digest[..12])
}

/// The address with `localhost` for each name of this machine, and without the dot at the end of a host.
fn machine(base_url: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = base_url.split_once("://") else { return base_url.into() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    // The colons of an IPv6 address are in brackets.
    let port = authority.rfind(':').filter(|at| !authority[*at..].contains(']'));
    let (host, port) = authority.split_at(port.unwrap_or(authority.len()));
    let host = host.trim_end_matches('.');
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let is_loopback = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    format!("{scheme}://{}{port}{path}", if is_loopback { "localhost" } else { host }).into()
}

/// What the lock protects: "stack `shop`", or the service if there is no stack.
pub(super) fn protected(header: &RunHeader) -> String {
    let base_url = &header.plan.service.base_url;
    header.plan.stack.as_ref().map_or_else(|| format!("`{base_url}`"), |stack| format!("stack `{stack}`"))
}

/// Locked while a run of one stack against one service is in progress; released when its process ends.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A program that another thread is starting may inherit the file briefly and would keep the lock.
        let _ = self.file.unlock();
    }
}

impl Lock {
    pub(super) fn take(state: &Path, header: &RunHeader) -> Result<Self, JournalError> {
        let directory = Directory::private(state, LOCKS)?;
        let name = format!("{}.lock", name(header));
        let path = directory.path().join(&name);
        let mut file = directory.open_or_create(&name)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // The run is only for the message.
                let _ = (&file).take(100).read_to_string(&mut holder);
                let fits = crate::model::RunId::new(holder.trim());
                return Err(JournalError::Locked {
                    stack: protected(header),
                    holder: fits.map(|run| format!(" (run `{run}`)")).unwrap_or_default(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(FileError::io("lock", &path)(error).into()),
        }
        // The run is only for the message of a second process.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", header.run));
        Ok(Self { file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_free_although_a_program_that_was_started_meanwhile_has_its_file() {
        let directory = tempfile::tempdir().expect("a directory");
        let header = crate::journal::tests::header("2026-11-22T05-00-00-000-shop-0001");
        let lock = Lock::take(directory.path(), &header).expect("free");
        let _inherited = lock.file.try_clone().expect("a second one");
        assert!(Lock::take(directory.path(), &header).is_err());
        drop(lock);
        drop(Lock::take(directory.path(), &header).expect("free again"));
    }
}
