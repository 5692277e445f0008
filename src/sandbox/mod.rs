//! The embedded service.
