//! Is it safe to change now?
