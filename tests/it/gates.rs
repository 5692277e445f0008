//! Gates look at every site that a change names, and before every run.

use crate::support::{Service, Stage};
use trueup::sandbox::Tenant;

const TENANT: &str = "\
kind: tenant
name: acme-cuxnbbdn
namespaces: [shop]
sites:
  - {name: busy, nodes: [master-0], upgrade: {to: crt-1, started: -5m, duration: 10h}}
  - {name: idle}
";

const SETTINGS: &str = "stack: gated\nnamespaces: [shop]\ngates: {upgrade: block, ddos: off}\n";

fn at_site(site: &str) -> String {
    format!(
        "metadata:\n  name: cart\n  namespace: shop\nspec:\n  ip: 10.0.0.7\n  where:\n    site:\n      ref:\n        \
         - name: {site}\n          namespace: system\n"
    )
}

/// `cart` is at `site`, and its definition moves it to `other`.
fn moved(site: &str, other: &str) -> (Service, Stage) {
    let service = Service::with(|options| {
        options.tenant_file = Some(Tenant::read(TENANT, options.clock.now()).expect("a tenant"));
    });
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: gated\nnamespaces: [shop]\ngates: {upgrade: off, ddos: off}\n");
    stage.write("cart.yaml", &at_site(site));
    stage.run("apply . --yes --quiet").code(0);
    stage.write("trueup.yaml", SETTINGS);
    stage.write("cart.yaml", &at_site(other));
    (service, stage)
}

#[test]
fn a_change_from_or_to_a_site_that_is_upgraded_is_refused() {
    for (site, other) in [("idle", "busy"), ("busy", "idle")] {
        let (service, stage) = moved(site, other);
        stage.run("plan .").code(0).stdout_contains("~ ");
        stage
            .run("apply . --yes --quiet")
            .code(6)
            .stderr_contains("site `busy` is being upgraded")
            .stderr_contains("nothing was sent");
        assert_eq!(service.requests("PUT"), 0, "{site} to {other}");
    }
}

#[test]
fn a_resume_asks_the_gates_before_its_first_write() {
    let (service, stage) = moved("idle", "busy");
    // When the run began, the site was not upgraded yet.
    service.misbehave(
        "rules: [{operation: upgrade-status-get, for: 1, status: {code: 404}}, \
         {operation: endpoint-replace, status: {code: 400}}]",
    );
    stage.run("apply . --yes --quiet").code(1).stderr_ignored();
    service.misbehave("rules: []");
    let sent = service.requests("PUT");
    let refused = stage.run("apply --resume last --yes --quiet");
    refused.code(6).stderr_contains("site `busy` is being upgraded").stderr_contains("nothing was sent");
    assert_eq!(service.requests("PUT"), sent);
}
