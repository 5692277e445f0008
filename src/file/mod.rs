//! Reading and writing files. A [`Directory`] opens files beneath it and never follows a link out of it; [`read`] and
//! [`replace`] take a path that the caller named. Every read is bounded in size and time, and accepts only regular
//! files unless the caller named a pipe. Every write goes to a new file with a random name, which is then renamed: a
//! write never follows a link, and a reader sees the old text or the new one. Errors name the path but never show the
//! content of a file.

mod directory;
mod error;
mod many;
mod named;
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod platform;
mod private;
mod stream;
#[cfg(all(test, unix))]
mod tests;
mod walk;
mod yaml;

pub use directory::{Directory, FileEdit, FileMode};
pub use error::FileError;
pub use many::ManyFiles;
pub use named::{
    append_private, check_replace, create_directory, exists, leads_out, lock, open_private, read, read_secret,
    real_path, real_path_or_given, replace, slashed, with_slashes,
};
pub use platform::{is_program, owner};
pub use private::{open_own, read_own};
pub use stream::stdin;
pub use walk::{MOST_ENTRIES, Walk, WalkError, is_hidden_entry};
pub use yaml::{is_nested_too_deep, read_yaml};

/// The largest input of each kind, in bytes.
pub mod limit {
    /// Acknowledgements, policies, faults, tenants and request bodies.
    pub const SETTINGS: u64 = 16 * 1024 * 1024;
    /// A file of definitions, or the settings of a stack.
    pub const DEFINITIONS: u64 = 16 * 1024 * 1024;
    /// A file with a token.
    pub const TOKEN: u64 = 64 * 1024;
    /// A file with certificates or a key.
    pub const CERTIFICATES: u64 = 4 * 1024 * 1024;
    /// A saved plan, a snapshot or a drift state.
    pub const SAVED: u64 = 1024 * 1024 * 1024;
    /// The journal of one run.
    pub const JOURNAL: u64 = 4 * 1024 * 1024 * 1024;
}
