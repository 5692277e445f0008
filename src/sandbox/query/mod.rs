//! The areas besides objects: security events, DDoS events, software versions and the upgrade status of sites, in both
//! path layouts, filled from a tenant file.
//!
//! Decisions of the sandbox that the reference leaves open (`docs/interface.md` repeats them):
//! - In the uniform layout `POST …/events` is the security event query, and a body with a `scroll_id`
//!   asks for the next batch; `GET …/events` is the DDoS list with its filters as query parameters,
//!   `GET` and `PUT …/events/{event_id}` show and edit one.
//! - DDoS events are only in namespace `system`; another namespace is 400, according to the schemas.
//! - `GET …/upgradable_sw_versions/{version}` returns a known version in the form of the list.
//! - The other examples of the reference's section 4.6 (`POST` and `DELETE` on versions and statuses, `DELETE` on
//!   events, `POST` on one event, the list of statuses) do not name an operation: 501, code 12.
//! - A current version that is not given does not exclude anything.

mod dataset;
mod ddos;
mod event;
pub mod handlers;
pub mod security;
mod tenant;
mod time;
mod upgrade;
mod version;

pub use dataset::{Dataset, is_new, queries, seed, tenant_name};
pub use event::language::Query as EventLanguage;
pub use tenant::Tenant;
