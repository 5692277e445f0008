//! A rollback writes no reference to what is not there: what it cannot create again blocks those that would refer to it.

use super::{CHECK, POOL, object};
use crate::support::{Service, Stage, definition};

const CERTIFICATE: &str = "kind: certificate
metadata: {name: web, namespace: shop}
spec:
  certificate_url: string:///LS0t
  private_key: {blindfold_secret_info: {location: 'string:///AAAA'}}
";
const BALANCER: &str = "kind: http_loadbalancer
metadata: {name: web, namespace: shop}
spec:
  domains: [shop.example.com]
";
const HTTPS: &str = "  https: {tls_cert_params: {certificates: [{name: web}], tls_config: {default_security: {}}}}\n";
const ALLOW: &str = "--allow mass-change --allow empty-namespace";

/// The last run of the stage.
fn last(stage: &Stage) -> String {
    let history = stage.run("history --format json").json();
    history["runs"][0]["run"].as_str().expect("a run").to_owned()
}

#[test]
fn a_rollback_restores_no_reference_to_what_it_cannot_create_again() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop]\nkinds: [certificate, http_loadbalancer]\n")
        .file("certificate.yaml", CERTIFICATE)
        .file("balancer.yaml", &format!("{BALANCER}{HTTPS}"))
        .applied(".");
    stage.write("balancer.yaml", &format!("{BALANCER}  http: {{port: 80}}\n"));
    stage.remove("certificate.yaml");
    stage.run(&format!("apply . --yes --quiet {ALLOW}")).code(0);
    let served = || {
        let spec = object(&service, "http_loadbalancers", "web")["spec"].clone();
        (spec["http"]["port"].clone(), spec["https"]["tls_cert_params"]["certificates"][0]["name"].clone())
    };
    assert_eq!(served().0, 80);
    let run = last(&stage);
    let back = stage.run(&format!("rollback {run} --yes {ALLOW}"));
    back.stderr_ignored();
    back.stdout_contains("blocked").stdout_contains("certificate:shop/web, which does not exist");
    assert_eq!(served().0, 80, "{}", back.text());
    // With the secret both are restored, the certificate first.
    stage.write("certificate.yaml", CERTIFICATE);
    stage.run(&format!("rollback {run} --yes --quiet --only http_loadbalancer:* {ALLOW}")).stderr_ignored();
    assert_eq!(served().0, 80);
    stage.run(&format!("rollback {run} --yes --quiet {ALLOW}")).code(0);
    assert_eq!(served().1, "web");
    object(&service, "certificates", "web");
}

/// What the plan of a rollback could not read is no condition of its apply.
#[test]
fn the_rollback_of_a_rollback_needs_no_list_that_the_token_may_not_read() {
    let service = Service::start();
    let stage = Stage::new().at(&service).file("check.yaml", CHECK).applied("check.yaml");
    let stage = stage.file("st/trueup.yaml", "stack: s\nnamespaces: [shop]\n");
    service.misbehave("rules: [{operation: healthcheck-list, status: {code: 403}}]");
    for pool in [POOL.to_owned(), POOL.replace("  healthcheck:\n  - {name: alive}\n", "")] {
        stage.write("st/pool.yaml", &pool);
        stage.run("apply st --yes --quiet").code(0);
    }
    for _ in 0..2 {
        stage.run("rollback last --config st/trueup.yaml --yes --quiet").code(0);
    }
    stage.run("rollback last --config st/trueup.yaml -o back.json --quiet").code(0);
    stage.run("apply back.json --config st/trueup.yaml --yes --quiet").code(0);
    assert_eq!(object(&service, "origin_pools", "cart")["spec"]["healthcheck"][0]["name"], "alive");
}

#[test]
fn a_rollback_writes_no_reference_into_a_list_that_can_no_longer_be_read() {
    let service = Service::start();
    let stage = Stage::new().at(&service).file("check.yaml", CHECK).applied("check.yaml");
    let stage = stage.file("st/trueup.yaml", "stack: s\nnamespaces: [shop]\nkinds: [origin_pool, healthcheck]\n");
    for pool in [POOL.to_owned(), POOL.replace("  healthcheck:\n  - {name: alive}\n", "")] {
        stage.write("st/pool.yaml", &pool);
        stage.run("apply st --yes --quiet").code(0);
    }
    service.misbehave("rules: [{operation: healthcheck-list, status: {code: 403}}]");
    let undo = "rollback last --config st/trueup.yaml --quiet";
    stage.run(&format!("{undo} -o back.json")).code(0).stdout_contains("could not be read");
    stage.run(&format!("{undo} --yes")).code(6).stdout_contains("could not be read");
    service.misbehave("rules: []");
    stage.run(&format!("{undo} --yes")).code(0);
    assert_eq!(object(&service, "origin_pools", "cart")["spec"]["healthcheck"][0]["name"], "alive");
}

#[test]
fn what_a_rollback_left_is_allowed_with_the_run_that_it_undoes() {
    let service = Service::start();
    let site = |kind: &str| {
        format!(
            "kind: virtual_site\nmetadata: {{name: v, namespace: shop}}\n\
             spec: {{site_type: {kind}, site_selector: {{expressions: [a in (b)]}}}}\n"
        )
    };
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop]\nkinds: [virtual_site]\n")
        .file("v.yaml", &site("REGIONAL_EDGE"))
        .file("x.yaml", &definition("shop/x", 80))
        .applied(".");
    stage.write("v.yaml", &site("CUSTOMER_EDGE"));
    stage.edit("x.yaml", "port: 80", "port: 81");
    stage.run(&format!("apply . --yes --quiet --allow recreate=virtual_site:shop/v {ALLOW}")).code(0);
    let run = last(&stage);
    let left = stage.run("rollback last --yes");
    let proposed = format!("to allow it: trueup rollback {run} --allow recreate=virtual_site:shop/v\n");
    left.code(7).stdout_contains(&proposed).stderr_ignored();
    stage.run(&format!("rollback {run} --yes --quiet --allow recreate=virtual_site:shop/v {ALLOW}")).code(0);
    assert_eq!(object(&service, "virtual_sites", "v")["spec"]["site_type"], "REGIONAL_EDGE");
    assert_eq!(service.get("shop/x")["spec"]["port"], 80);
}

#[test]
fn a_rollback_names_what_an_ignore_rule_leaves_as_it_is_and_it_is_no_drift_later() {
    let service = Service::start();
    let settings = "stack: s\nnamespaces: [shop]\n";
    let ignoring = format!("{settings}ignore: [{{object: 'shop/*', field: spec.port}}]\n");
    let stage = Stage::new().at(&service).file("trueup.yaml", settings);
    let stage = stage.file("a.yaml", &definition("shop/a", 80)).applied(".");
    let note = "spec.port of 1 endpoint is not restored, because `ignore:` leaves it out: shop/a";
    let apply = |text: &str| {
        stage.write("trueup.yaml", settings);
        stage.write("a.yaml", text);
        stage.run("apply . --yes").code(0).stderr_ignored();
        stage.write("trueup.yaml", &ignoring);
    };
    apply(&definition("shop/a", 81));
    stage.run("rollback last --yes").code(0).stdout_contains(note).stdout_contains("Nothing to roll back: all else");
    apply(&definition("shop/a", 82).replace("spec:", "  labels: {tier: web}\nspec:"));
    stage.run("rollback last --yes").code(0).stdout_contains("1 replaced").stderr_contains(note);
    stage.write("trueup.yaml", settings);
    stage.write("a.yaml", &definition("shop/a", 80));
    stage.run("drift .").code(2).stdout_contains("spec.port").does_not_say("tier");
}

#[test]
fn a_create_shows_the_default_that_its_definition_names_and_none_that_the_service_filled() {
    let service = Service::start();
    let firewall = "kind: app_firewall\nmetadata: {name: web, namespace: shop}\nspec: {monitoring: {}}\n";
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop]\nkinds: [app_firewall]\nallow_empty: true\n")
        .file("web.yaml", firewall);
    for format in ["text", "markdown", "html"] {
        stage.run(&format!("plan . --format {format}")).code(0).stdout_contains("spec.monitoring");
    }
    stage.run("apply . --yes").code(0).stderr_contains("spec.monitoring");
    stage.run("show last").code(0).stdout_contains("spec.monitoring");
    stage.remove("web.yaml");
    stage.run(&format!("apply . --yes --quiet {ALLOW}")).code(0);
    stage.run("rollback last").stderr_contains("+ create  app_firewall:shop/web").does_not_say("spec.monitoring");
}

#[test]
fn a_rollback_creates_nothing_again_whose_target_another_run_deleted() {
    let service = Service::start();
    let balancer =
        format!("{BALANCER}  http: {{port: 80}}\n  default_route_pools: [{{pool: {{name: cart}}, weight: 1}}]\n");
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop]\nkinds: [healthcheck, origin_pool, http_loadbalancer]\n")
        .file("balancer.yaml", &balancer)
        .file("pool.yaml", POOL)
        .file("check.yaml", CHECK)
        .file("other.yaml", &CHECK.replace("name: alive", "name: other"))
        .applied(".");
    stage.remove("balancer.yaml");
    stage.remove("pool.yaml");
    stage.run(&format!("apply . --yes --quiet {ALLOW}")).code(0);
    let first = last(&stage);
    stage.remove("check.yaml");
    stage.run(&format!("apply . --yes --quiet {ALLOW}")).code(0);
    let second = last(&stage);
    let back = format!("rollback {first} {ALLOW}");
    let shown = stage.run(&format!("{back} --output ../back.json"));
    shown.stderr_ignored();
    shown
        .stdout_contains("healthcheck:shop/alive, which does not exist")
        .stdout_contains("origin_pool:shop/cart, which does not exist")
        .does_not_say("+ create")
        .does_not_say("created again");
    stage.run(&format!("rollback {second} --yes --quiet {ALLOW}")).code(0);
    stage.run(&format!("{back} --yes --quiet")).code(0);
    let pools = object(&service, "http_loadbalancers", "web")["spec"]["default_route_pools"].clone();
    assert_eq!(pools[0]["pool"]["name"], "cart");
    object(&service, "origin_pools", "cart");
}
