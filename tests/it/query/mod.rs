//! The rest of the interface through the binary: events, DDoS events, versions, upgrade status, and
//! every operation by its name.

mod call;
mod ddos;
mod events;
mod interface;
mod upgrades;

use trueup::sandbox::Tenant;

use crate::support::Service;

const TENANT: &str = include_str!("tenant.yaml");

/// A service with the tenant of these tests, and with what else the text lists under the same keys.
fn service() -> Service {
    seeded(TENANT)
}

fn seeded(tenant: &str) -> Service {
    Service::with(|options| {
        options.tenant_file = Some(Tenant::read(tenant, options.clock.now()).expect("a tenant"));
    })
}
