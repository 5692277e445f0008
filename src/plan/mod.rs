//! Arranges differences into one plan: ownership, causes, guards, approval, saved form.
