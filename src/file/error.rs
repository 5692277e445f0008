//! The errors of reading and writing files. Messages name the path and none of the contents.

use std::io;
use std::path::{Path, PathBuf};

/// Why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refused.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// `read`, `write`, `create`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A link on the path leads out of the directory that the path names.
    #[error("`{}` leads out of `{}` through a symbolic link", path.display(), directory.display())]
    Outside {
        /// The file.
        path: PathBuf,
        /// The directory.
        directory: PathBuf,
    },
    /// A link where a file is expected.
    #[error("`{}` is a symbolic link", .0.display())]
    Link(PathBuf),
    /// A directory, a device, a socket or a pipe where a file is expected.
    #[error("`{}` is not a regular file", .0.display())]
    NotRegular(PathBuf),
    /// Not UTF-8.
    #[error("`{}` is not UTF-8 text", .0.display())]
    NotText(PathBuf),
    /// More brackets are open at the same time than any input needs.
    #[error("`{}` is nested too deep", .0.display())]
    TooDeep(PathBuf),
    /// The file is larger than an input of its kind may be.
    #[error("`{}` is larger than the allowed {}", path.display(), size(*limit))]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The allowed size in bytes.
        limit: u64,
    },
    /// Another process edited the file while an edit of it was made.
    #[error("`{}` was edited meanwhile", .0.display())]
    Edited(PathBuf),
    /// A pipe that does not end.
    #[error("`{}` did not end within {seconds} seconds", path.display())]
    TooSlow {
        /// The pipe.
        path: PathBuf,
        /// How long it was read, in seconds.
        seconds: u64,
    },
    /// A directory of ours that others can change.
    #[error("the directory `{}` {problem}; use one that only you can write, such as a new one below it", path.display())]
    Exposed {
        /// The directory.
        path: PathBuf,
        /// What is wrong with its owner or its mode.
        problem: &'static str,
    },
}

fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1024 * 1024 * 1024, "GiB"), (1024 * 1024, "MiB"), (1024, "KiB")];
    let unit = UNITS.iter().find(|(unit, _)| bytes >= *unit);
    unit.map_or_else(|| format!("{bytes} bytes"), |(unit, name)| format!("{} {name}", bytes / unit))
}

impl FileError {
    /// Returns a function that turns an error of the system into a [`FileError`].
    pub fn io(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path: path.clone(), source }
    }

    /// Whether the file does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// What the user can do about it, if anything.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Io { .. } | Self::TooSlow { .. } | Self::TooLarge { .. } | Self::Exposed { .. } => None,
            Self::NotText(_) | Self::TooDeep(_) => None,
            Self::Outside { .. } => Some("give the path that the link leads to, or put the file in its place"),
            Self::Link(_) => Some("give the path that the link leads to"),
            Self::NotRegular(_) => Some("give a regular file"),
            Self::Edited(_) => Some("look at it before you run the command again"),
        }
    }
}
