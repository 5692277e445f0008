//! The main job from end to end.

use serde_json::json;

use crate::support::{Service, Stage, definition};

#[test]
fn a_repository_is_applied_is_verified_and_then_needs_nothing() {
    let stage = Stage::example("03-repository");
    stage
        .run("apply . --sandbox --yes --quiet")
        .code(0)
        .stdout(
            "Applied 42 of 42 in [time]: 42 created.\n\
             Verified: live matches the plan.\n\
             run [run] · undo with: trueup rollback [run] --sandbox\n",
        )
        .stderr("");
    stage.run("apply . --sandbox --yes").code(0).stdout("In sync: 42 endpoints in 3 namespaces, 3 requests, [time]\n");
    stage.run("plan . --sandbox --detailed-exitcode").code(0).stdout_contains("In sync: 42 endpoints");
    stage.edit("storefront/cart.yaml", "port: 6379", "port: 6380");
    stage.run("plan . --sandbox --detailed-exitcode").code(2).stdout(
        "Plan for http://sandbox.localhost, stack acme-prod, 3 namespaces, 42 endpoints defined, 3 requests\n\
         \n  ~ replace storefront/cart-sessions                        pending\n\
         \x20       spec.port                6379 -> 6380                                storefront/cart.yaml:31\n\
         \n1 to replace, 41 in sync.   digest [digest]\n\
         Apply exactly this:  trueup apply . --sandbox --digest [digest]\n",
    );
    stage.run("plan . --sandbox").code(0).stdout_contains("storefront/cart.yaml:31");
}

#[test]
fn a_planned_object_that_moved_is_refused_three_ways_and_the_others_are_applied() {
    let service = Service::start();
    let stage = Stage::example("04-drift-story").at(&service);
    stage.run("apply . --yes --quiet").code(0).stdout_contains("3 created");
    stage.edit("orders.yaml", "port: 8443", "port: 8444");
    stage.edit("menu.yaml", "port: 443", "port: 444");
    stage.run("plan . -o p.json").code(0).stdout_contains("2 to replace, 1 in sync");

    service.change("kiosk/orders", |object| object["spec"]["port"] = json!(9999));
    stage
        .run("apply p.json --yes --quiet")
        .code(7)
        .stdout_contains("conflict: kiosk/orders")
        .stdout_contains("spec.port  8443          9999  8444    changed on both sides: decide")
        .stdout_contains("1 other change was applied.  Plan again:")
        .stdout_contains("Applied 1 of 2");
    assert_eq!(service.get("kiosk/menu")["spec"]["port"], 444);
    assert_eq!(service.get("kiosk/orders")["spec"]["port"], 9999);
}

#[test]
fn what_met_a_conflict_is_planned_again_with_the_filters_of_its_plan() {
    let service = Service::start();
    let stage = Stage::example("04-drift-story").at(&service).applied(".");
    stage.edit("orders.yaml", "port: 8443", "port: 8444");
    stage.edit("menu.yaml", "port: 443", "port: 444");
    let rows = [
        ("--only 'kiosk/*'", ". --only 'kiosk/*'", ""),
        ("--only kiosk/[om'x]*", r". --only 'kiosk/[om'\''x]*'", ""),
        ("--except kiosk/menu -n kiosk", ". --except kiosk/menu --namespace kiosk", " --only kiosk/orders"),
        ("-l '!none'", ". --selector '!none'", " --only kiosk/orders"),
        ("orders.yaml menu.yaml", "./orders.yaml ./menu.yaml", " --only kiosk/orders"),
        ("--adopt", ". --adopt", " --only kiosk/orders"),
    ];
    for (at, (filters, call, only)) in rows.into_iter().enumerate() {
        let words: Vec<&str> = filters.split(' ').map(|word| word.trim_matches('\'')).collect();
        let paths = if filters.ends_with("yaml") { vec!["plan"] } else { vec!["plan", "."] };
        stage.run_words(&[&paths[..], &words, &["-o", "p.json"]].concat()).code(0);
        let other = stage.run(&format!("apply p.json --digest {}", "0".repeat(32)));
        other.code(6).stderr_contains(&format!("plan again: trueup plan {call}\n"));
        service.change("kiosk/orders", |object| object["spec"]["port"] = json!(9000 + at));
        let met = stage.run("apply p.json --yes --quiet");
        met.stdout_contains(&format!("Plan again:  trueup plan {call}{only}\n"));
    }
}

#[test]
fn when_everything_planned_moved_nothing_is_sent() {
    let service = Service::start();
    let stage = Stage::example("04-drift-story").at(&service).applied(".");
    stage.edit("orders.yaml", "port: 8443", "port: 8444");
    stage.run("plan . -o p.json").code(0);
    service.change("kiosk/orders", |object| object["spec"]["port"] = json!(9999));
    let before = service.requests("PUT");
    stage.run("apply p.json --yes --quiet").code(6).stdout_contains("conflict: kiosk/orders");
    assert_eq!(service.requests("PUT"), before);
}

#[test]
fn drift_shows_pending_from_changed_outside() {
    let service = Service::start();
    let stage = Stage::example("04-drift-story").at(&service).applied(".");
    stage.run("drift .").code(0).stdout_contains("In sync: 3 endpoints");

    stage.edit("menu.yaml", "port: 443", "port: 444");
    stage.run("drift .").code(2).stdout_contains("PENDING  1 of 3 endpoints has changes to apply");

    service.change("kiosk/orders", |object| object["spec"]["port"] = json!(9999));
    stage
        .run("drift .")
        .code(4)
        .stdout_contains("DRIFT AND PENDING")
        .stdout_contains("kiosk/orders")
        .stdout_contains("spec.port  8443     9999");

    stage.edit("menu.yaml", "port: 444", "port: 443");
    stage.run("drift .").code(3).stdout_contains("DRIFT  1 of 3 endpoints was changed outside");
    let answer = stage.run("drift . --format json");
    assert_eq!(answer.code(3).json()["verdict"], "drift");

    service.delete("kiosk/printer");
    stage.run("drift .").code(3).stdout_contains("kiosk/printer").stdout_contains("deleted");
}

#[test]
fn what_is_pulled_has_an_empty_plan() {
    let service = Service::start();
    Stage::example("02-every-group").at(&service).run("apply . --yes --quiet").code(0);

    let other = Stage::new().at(&service);
    other.run("pull -n groups -o endpoints").code(0).stdout_contains("Pulled 16 endpoints into endpoints");
    other.run("plan endpoints --detailed-exitcode").code(0).stdout_contains("In sync: 16 endpoints");
    assert!(!other.read("endpoints/groups/resolver.yaml").contains("trueup/"));

    other.run("pull -n groups -o endpoints").code(0).stdout_contains("16 unchanged");
    other.edit("endpoints/groups/resolver.yaml", "port: 53", "port: 54");
    other.run("pull -n groups -o endpoints").code(6).stderr_contains("resolver.yaml` exists already");
    other.run("pull -n groups -o endpoints --overwrite").code(0);
    assert!(other.read("endpoints/groups/resolver.yaml").contains("port: 53"));
}

#[test]
fn a_removed_definition_is_deleted_and_a_protected_one_blocked() {
    let stage = Stage::example("05-prune-story");
    stage.run("apply . --sandbox --yes --quiet").code(0);
    stage.remove("scores.yaml");
    stage.write("games.yaml", &crate::support::definition("arcade/asteroids", 7000));
    stage
        .run("plan . --sandbox")
        .code(0)
        .stdout_contains("- delete  arcade/centipede")
        .stdout_contains("- delete  arcade/defender")
        .stdout_contains("! blocked arcade/high-scores")
        .stdout_contains("--allow protected=arcade/high-scores");
    stage
        .run("apply . --sandbox --yes --quiet")
        .code(7)
        .stdout_contains("2 deleted (unguarded)")
        .stdout_contains("Verified, except 1 blocked: live matches the rest of the plan.\n")
        .stdout_contains("blocked: arcade/high-scores");
    stage
        .run("show last --sandbox")
        .code(0)
        .stdout_contains("Verified, except 1 blocked: live matches the rest of the plan.\n")
        .stdout_contains("        spec.ip                  ");
    stage.run("plan . --sandbox").code(0).stdout_contains("1 blocked, 1 in sync");
    stage.run("apply . --sandbox --yes --quiet").code(6);
    stage
        .run("apply . --sandbox --yes --quiet --allow protected=arcade/high-scores")
        .code(0)
        .stdout_contains("1 deleted");
}

#[test]
fn a_refusal_names_each_consent_once_however_many_namespaces_need_it() {
    let stage = Stage::example("03-repository");
    stage.run("apply . --sandbox --yes --quiet").code(0);
    let refused = stage.run("rollback last --sandbox --yes --quiet");
    refused.code(6).stderr_contains("\n  to allow it: --allow mass-change --allow empty-namespace\n");
}

#[test]
fn emptying_a_namespace_needs_its_own_word() {
    let stage = Stage::example("05-prune-story");
    stage.run("apply . --sandbox --yes --quiet").code(0);
    stage.remove("games.yaml");
    stage.remove("scores.yaml");
    stage.write("trueup.yaml", &format!("{}allow_empty: true\n", stage.read("trueup.yaml")));
    let apply = "apply . --sandbox --yes --quiet --allow protected=arcade/high-scores";
    stage.run(apply).code(6).stderr(
        "refused: the plan would delete every owned endpoint of `arcade` (4)\n  \
         to allow it: --allow empty-namespace\nnothing was sent\n",
    );
    stage.run(&format!("{apply} --allow empty-namespace")).code(0).stdout_contains("4 deleted");
}

#[test]
fn what_was_applied_and_the_service_reports_as_failed_is_said() {
    let service = Service::start();
    let failed = |reason: &str, host: &str| json!({"type": "Operational", "status": "Failed", "reason": reason, "hostname": host});
    service.plant(&json!([
        {"metadata": {"name": "cart", "namespace": "shop"}, "spec": {"ip": "10.0.0.7", "port": 81},
         "status": [{"conditions": [failed("no route", "ce01"), failed("no peer", "")]}]},
        {"metadata": {"name": "other", "namespace": "shop"}, "spec": {"ip": "10.0.0.7", "port": 81},
         "status": [{"conditions": [failed("not ours", "")]}]},
    ]));
    let stage = Stage::stack(&service, "shop").file("cart.yaml", &definition("shop/cart", 80));
    stage
        .run("apply . --yes")
        .code(0)
        .stdout_contains(
            "shop/cart is applied, and the service reports: Operational failed: no route (ce01); Operational failed: no peer",
        )
        .does_not_say("not ours")
        .stderr_ignored();
    // An apply that sends nothing has nothing to look at.
    stage.run("apply . --yes").code(0).does_not_say("no route").stderr_ignored();
}
