//! Gates look at every site that a change names, and before every run.

use crate::support::{Service, Stage, commit, definition, git};
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
fn a_view_of_which_the_service_makes_a_site_is_that_site() {
    let service = Service::with(|options| {
        options.tenant_file = Some(Tenant::read(TENANT, options.clock.now()).expect("a tenant"));
    });
    let site =
        |name: &str| format!("kind: securemesh_site_v2\nmetadata: {{name: {name}, namespace: system}}\nspec: {{}}\n");
    let stage = Stage::new().at(&service).file("trueup.yaml", &SETTINGS.replace("shop", "system"));
    stage.write("site.yaml", &site("busy"));
    stage.run("apply . --yes --quiet").code(6).stderr_contains("site `busy` is being upgraded");
    assert_eq!(service.requests("POST"), 0);
    stage.write("site.yaml", &site("idle"));
    stage.run("apply . --yes --quiet").code(0);
}

#[test]
fn a_site_is_looked_for_in_system_where_a_reference_leaves_the_namespace_out() {
    let service = Service::with(|options| {
        options.tenant_file = Some(Tenant::read(TENANT, options.clock.now()).expect("a tenant"));
    });
    let pool = "kind: origin_pool\nmetadata: {name: cart, namespace: shop}\nspec: {port: 80, origin_servers: [{private_ip: \
                {ip: 10.0.0.7, site_locator: {site: {name: busy}}, inside_network: {}}}]}\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", SETTINGS).file("cart.yaml", pool);
    stage.run("apply . --yes --quiet").code(6).stderr_contains("site `busy` is being upgraded");
    assert_eq!(service.requests("POST"), 0);
    stage.edit("cart.yaml", "busy", "idle");
    stage.run("apply . --yes --quiet").code(0);
    // A plan of a file does not know what our tenant is called, and takes no site for another's.
    stage.edit("cart.yaml", "name: idle", "name: busy, tenant: other");
    stage.run("plan . -o plan.json --quiet").code(0);
    stage.run("apply plan.json --yes --quiet").code(6).stderr_contains("site `busy` is being upgraded");
    // What is live shows it.
    stage.run("apply . --yes --quiet").stderr_ignored().does_not_say("being upgraded");
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

#[cfg(unix)]
#[test]
fn what_began_while_a_person_was_asked_stops_the_run() {
    for several in ["", " ../other"] {
        let (service, stage) = moved(KINDS[0], "idle", "idle");
        stage.edit("cart.yaml", "port: 80", "port: 81");
        let stage = stage.file("../other/trueup.yaml", "stack: other\nnamespaces: [other]\nallow_empty: true\n");
        let mut terminal = crate::terminal::Terminal::run(&stage, &format!("apply .{several}"));
        terminal.wait_for("Type 'yes' to apply");
        service.misbehave("rules: [{operation: '*upgrade*', status: {code: 403}}]");
        terminal.enter("yes");
        let (code, screen) = terminal.end();
        assert_eq!(code, 6, "{screen}");
        assert!(screen.contains("the upgrade status of `idle` is unknown"), "{screen}");
        assert_eq!(service.requests("PUT"), 0, "{screen}");
    }
}

#[test]
fn an_upgrade_whose_status_is_not_known_is_found() {
    for kind in KINDS {
        let (service, stage) = moved(kind, "idle", "idle");
        stage.edit("cart.yaml", "port: 80", "port: 81");
        let answer = |progress: &str| {
            let body = format!(r#"{{"upgrade_status":{{{progress}}}}}"#);
            service.misbehave(&format!(
                "rules: [{{operation: upgrade-status-get, status: {{code: 200, body: '{body}'}}}}]"
            ));
        };
        for (status, shown) in [("ROLLING_BACK", "ROLLING_BACK"), ("UNKNOWN", "UNKNOWN"), ("", "UNKNOWN")] {
            answer(&format!(r#""sw_upgrade_progress":{{"status":"{status}","version":"crt-1"}}"#));
            stage
                .run("apply . --yes --quiet")
                .code(6)
                .stderr_contains(&format!("the upgrade of site `idle` has the status `{shown}`"))
                .stderr_contains("to apply anyway: set `gates.upgrade: warn`");
        }
        for software in [r#""sw_upgrade_progress":{},"#, r#""sw_upgrade_progress":{"status":"COMPLETED"},"#, ""] {
            answer(&format!(r#"{software}"os_upgrade_progress":{{"status":"IN_PROGRESS"}}"#));
            stage.run("apply . --yes --quiet").code(6).stderr_contains("set `gates.upgrade: warn`");
        }
        assert_eq!(service.requests("PUT"), 0, "{kind:?}");
        answer(r#""sw_upgrade_progress":{"status":"COMPLETED"},"os_upgrade_progress":null"#);
        stage.run("apply . --yes --quiet").code(0).stdout_contains("1 replaced");
    }
}

#[test]
fn a_ddos_event_is_open_until_its_end() {
    for (end, code) in [("+1h", 6), ("-1m", 0)] {
        let tenant = format!(
            "kind: tenant\nname: acme-cuxnbbdn\nnamespaces: [shop]\n\
             ddos_events: [{{id: one, name: flood, start_time: -1h, end_time: {end}}}]\n"
        );
        let service = Service::with(|options| {
            options.tenant_file = Some(Tenant::read(&tenant, options.clock.now()).expect("a tenant"));
        });
        let stage = Stage::new()
            .at(&service)
            .file("trueup.yaml", "stack: gated\nnamespaces: [shop]\ngates: {upgrade: off, ddos: block}\n")
            .file("cart.yaml", &definition("shop/cart", 80));
        let ran = stage.run("apply . --yes --quiet");
        ran.code(code);
        if code == 6 {
            ran.stderr_contains("gate `ddos`: 1 open DDoS event: `flood`");
        }
        // One of the last three days, which is what a service takes that is not told, may not be all that are open.
        let paths: Vec<String> = service.log().iter().map(|entry| entry.path.clone()).collect();
        assert!(paths.iter().any(|path| path.contains("/events?start_time=")), "{paths:?}");
    }
}

#[test]
fn more_security_events_than_allowed_in_the_last_minutes_refuse_an_apply_and_so_does_no_answer() {
    const EVENT: &str = "{time: TIME, namespace: pay, event: {sec_event_type: waf_sec_event}}";
    let events = ["-1m", "-2m", "-2h"].map(|time| EVENT.replace("TIME", time)).join(", ");
    let attack = "ddos_events: [{id: one, name: flood, start_time: -1h, end_time: +1h}]";
    let tenant =
        format!("kind: tenant\nname: acme-cuxnbbdn\nnamespaces: [shop, pay]\nsecurity_events: [{events}]\n{attack}\n");
    let service = Service::with(|options| {
        options.tenant_file = Some(Tenant::read(&tenant, options.clock.now()).expect("a tenant"));
    });
    let stage = Stage::new().at(&service).file("cart.yaml", &definition("shop/cart", 80));
    let gated_with = |ddos: &str, threshold: u32| {
        let events = format!("{{mode: block, minutes: 10, threshold: {threshold}}}");
        let gates = format!("gates: {{upgrade: off, ddos: {ddos}, events: {events}}}");
        stage.write("trueup.yaml", &format!("stack: gated\nnamespaces: [shop]\n{gates}\n"));
        stage.run("apply . --yes --quiet")
    };
    let gated = |threshold: u32| gated_with("off", threshold);
    gated(1).code(6).stderr_contains("gate `events`: 2 security events in the last 10 minutes, more than 1");
    // Each gate that blocks is named, with what to do about it.
    let both = gated_with("block", 1);
    both.code(6).stderr_contains("gate `ddos`: 1 open DDoS event: `flood`").stderr_contains("set `gates.ddos: warn`");
    both.stderr_contains("gate `events`: 2 security events").stderr_contains("set `gates.events: warn`");
    both.stderr_contains("to apply anyway: set `gates.ddos: warn` and set `gates.events: warn`, and plan again");
    // To loosen the other one is not enough.
    stage.write("../policy.yaml", "gates: {ddos: block}\n");
    let one_is_fixed = stage.run("apply . --yes --quiet --policy ../policy.yaml");
    one_is_fixed.code(6).stderr_contains("the policy says `gates.ddos: block`, which no setting loosens");
    one_is_fixed.stderr_contains("gate `events`: 2 security events").does_not_say("to apply anyway");
    service.misbehave("rules: [{operation: '*event*', status: {code: 403}}]");
    gated(2).code(6).stderr_contains("gate `events`: the security events are unknown: ");
    assert_eq!(service.requests("PUT"), 0);
    assert!(!service.has("shop/cart"));
    service.misbehave("rules: []");
    gated(2).code(0);
}

#[test]
fn a_gate_that_the_base_or_the_plan_blocks_is_not_said_to_be_loosened_here() {
    let (_service, stage) = moved(KINDS[0], "idle", "busy");
    let stage = stage.committed();
    stage.run("plan . -o ../plan.json").code(0);
    git(&stage, "checkout -q -b change");
    let hint = "set `gates.upgrade: warn`, at the base first, and plan again";
    stage.run("apply . --base main --yes").code(6).stderr_contains(hint);
    stage.edit("trueup.yaml", "upgrade: block", "upgrade: warn");
    commit(&stage, "loose");
    for (line, hint) in [
        ("apply . --base main --yes", "set `gates.upgrade: warn`, at the base first, and plan again"),
        ("apply ../plan.json --yes", "set `gates.upgrade: warn`, and plan again"),
    ] {
        stage.run(line).code(6).stderr_contains(hint);
    }
    // The base has loosened it since.
    git(&stage, "checkout -q -b late main");
    git(&stage, "branch -f main change");
    stage.run("apply . --base main --yes").code(6).stderr_contains("set `gates.upgrade: warn`, and plan again");
}

#[test]
fn a_gate_that_the_policy_blocks_is_not_said_to_be_loosened_by_a_setting() {
    let (_service, stage) = moved(KINDS[0], "idle", "busy");
    stage.edit("trueup.yaml", "upgrade: block", "upgrade: warn");
    stage.write("../policy.yaml", "gates: {upgrade: block}\n");
    let refused = stage.run("apply . --yes --quiet --policy ../policy.yaml");
    refused
        .code(6)
        .stderr_contains("site `busy` is being upgraded")
        .stderr_contains("the policy says `gates.upgrade: block`, which no setting loosens");
    refused.does_not_say("to apply anyway");
    stage.run("apply . --yes").code(0).stderr_contains("warning: gate `upgrade`: site `busy` is being upgraded");
}
