//! The words: an endpoint, its groups, its key, its fields and rules. No IO.
