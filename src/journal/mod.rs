//! Runs on disk, resume and rollback.
