//! The command line: one file per command, settings, errors and exit codes.
