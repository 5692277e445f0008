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

/// Kinds whose objects are at a site, with the key of their address.
const KINDS: [(&str, &str); 2] = [("endpoint", "ip"), ("advertise_policy", "address")];

fn at_site((kind, address): (&str, &str), site: &str) -> String {
    format!(
        "kind: {kind}\nmetadata:\n  name: cart\n  namespace: shop\nspec:\n  {address}: 10.0.0.7\n  port: 80\n  \
         where:\n    site:\n      ref:\n        - name: {site}\n          namespace: system\n"
    )
}

/// `cart` is at `site`, and its definition moves it to `other`.
fn moved(kind: (&str, &str), site: &str, other: &str) -> (Service, Stage) {
    let service = Service::with(|options| {
        options.tenant_file = Some(Tenant::read(TENANT, options.clock.now()).expect("a tenant"));
    });
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: gated\nnamespaces: [shop]\ngates: {upgrade: off, ddos: off}\n");
    stage.write("cart.yaml", &at_site(kind, site));
    stage.run("apply . --yes --quiet").code(0);
    stage.write("trueup.yaml", SETTINGS);
    stage.write("cart.yaml", &at_site(kind, other));
    (service, stage)
}

#[test]
fn a_change_from_or_to_a_site_that_is_upgraded_is_refused() {
    for (kind, (site, other)) in KINDS.iter().flat_map(|kind| [(kind, ("idle", "busy")), (kind, ("busy", "idle"))]) {
        let (service, stage) = moved(*kind, site, other);
        stage.run("plan .").code(0).stdout_contains("~ ");
        stage
            .run("apply . --yes --quiet")
            .code(6)
            .stderr_contains("site `busy` is being upgraded")
            .stderr_contains("nothing was sent");
        assert_eq!(service.requests("PUT"), 0, "{kind:?}: {site} to {other}");
    }
}

#[test]
fn a_resume_asks_the_gates_before_its_first_write() {
    for kind in KINDS {
        let (service, stage) = moved(kind, "idle", "busy");
        // When the run began, the site was not upgraded yet.
        service.misbehave(
            "rules: [{operation: upgrade-status-get, for: 1, status: {code: 404}}, \
             {operation: '*-replace', status: {code: 400}}]",
        );
        stage.run("apply . --yes --quiet").code(1).stderr_ignored();
        service.misbehave("rules: []");
        let sent = service.requests("PUT");
        let refused = stage.run("apply --resume last --yes --quiet");
        refused.code(6).stderr_contains("site `busy` is being upgraded").stderr_contains("nothing was sent");
        assert_eq!(service.requests("PUT"), sent, "{kind:?}");
    }
}
