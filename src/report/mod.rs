//! Plans, outcomes and verdicts for people and programs.
