//! What the service fills for what a definition leaves to it is no difference.

use crate::support::{Service, Stage};

fn advanced(interval: &str) -> String {
    format!(
        "metadata:\n  name: cart\n  namespace: shop\nspec:\n  dns_name_advanced:\n    name: cart.example.net\n{interval}"
    )
}

#[test]
fn a_service_that_fills_the_refresh_interval_makes_no_plan_differ() {
    let service = Service::start();
    let stage = Stage::stack(&service, "filled");
    stage.write("cart.yaml", &advanced(""));
    stage.run("apply . --yes --quiet").code(0);
    service.change("shop/cart", |object| object["spec"]["dns_name_advanced"]["refresh_interval"] = 300.into());
    stage.run("plan . --detailed-exitcode").code(0).stdout_contains("In sync");
    stage.run("drift .").code(0);
    // Another field changes: what the service filled stays.
    stage.write("cart.yaml", &format!("{}  port: 8080\n", advanced("")));
    stage.run("apply . --yes --quiet").code(0);
    assert_eq!(service.get("shop/cart")["spec"]["dns_name_advanced"]["refresh_interval"], 300);
    // An interval that the definition names is asked for, and taken back when it leaves it out again.
    stage.write("cart.yaml", &advanced("    refresh_interval: 60\n"));
    stage.run("plan . --detailed-exitcode").code(2).stdout_contains("refresh_interval");
    stage.run("apply . --yes --quiet").code(0);
    assert_eq!(service.get("shop/cart")["spec"]["dns_name_advanced"]["refresh_interval"], 60);
    stage.write("cart.yaml", &advanced(""));
    stage.run("drift .").code(2);
    stage.run("apply . --yes --quiet").code(0);
    assert_ne!(service.get("shop/cart")["spec"]["dns_name_advanced"]["refresh_interval"], 60);
    stage.run("plan . --detailed-exitcode").code(0).stdout_contains("In sync");
}

#[test]
fn a_plan_says_once_why_all_values_of_an_object_differ_and_else_of_each() {
    let service = Service::start();
    let cart = |ports: &str| format!("metadata: {{name: cart, namespace: shop}}\nspec:\n  ip: 10.0.0.1\n{ports}");
    let stage = Stage::stack(&service, "said");
    stage.write("cart.yaml", &cart("  port: 80\n  health_check_port: 81\n"));
    stage.run("apply . --yes --quiet").code(0);
    service.change("shop/cart", |object| {
        object["spec"]["port"] = 90.into();
        object["spec"]["health_check_port"] = 91.into();
    });
    let said = || stage.run("plan .").code(0).text().matches("(changed outside").count();
    assert_eq!(said(), 1);
    stage.write("cart.yaml", &cart("  port: 80\n  health_check_port: 81\n").replace("10.0.0.1", "10.0.0.2"));
    assert_eq!(said(), 2);
}
