//! Runs an approved plan.
