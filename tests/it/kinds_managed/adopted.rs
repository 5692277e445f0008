//! `pull --drift` of objects of other kinds than endpoint: the files take over what was changed in the console, and stay
//! as they are otherwise.

use serde_json::{Map, Value, json};
use trueup::kind::{self, FieldKind, Flag, Kind};

use super::CHECK;
use crate::support::objects::{self, Specs};
use crate::support::{Service, Stage};

const SETTINGS: &str = "stack: chain\nnamespaces: [shop]\nkinds: [origin_pool, healthcheck, route]\n";
const POOL: &str = "# the pool of the cart
kind: origin_pool
metadata: {name: cart, namespace: shop}
spec:
  # two of them
  origin_servers:
  - public_ip: {ip: 192.0.2.1}   # the old one
    labels: {zone: \"a\"}
  - public_ip:
      ip: '192.0.2.2'
  port: 443   # as everywhere
  no_tls: {}
  healthcheck: [{name: alive}]
";
const ROUTE: &str = "kind: route
metadata: {name: all, namespace: shop}
spec:
  routes:
  # first
  - match:
    - path: {prefix: /one}   # one
    route_direct_response: {response_code: 201}
  # second
  - match:
    - path: {prefix: /two}
    route_direct_response: {response_code: 202}
";

fn applied(service: &Service) -> Stage {
    let stage = Stage::new()
        .at(service)
        .file("trueup.yaml", SETTINGS)
        .file("pool.yaml", POOL)
        .file("check.yaml", CHECK)
        .file("route.yaml", ROUTE);
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage
}

/// Changes the spec of an object as the console would.
fn change(service: &Service, plural: &str, name: &str, change: impl FnOnce(&mut Value)) {
    let path = format!("/api/config/namespaces/shop/{plural}/{name}");
    let (status, body) = put(service, &path, change);
    assert_eq!(status, 200, "{body}");
}

fn put(service: &Service, path: &str, change: impl FnOnce(&mut Value)) -> (u16, String) {
    let (status, body) = service.send("GET", path, None);
    assert_eq!(status, 200, "{body}");
    let mut now: Value = serde_json::from_str(&body).expect("JSON");
    let mut spec = now["spec"].take();
    change(&mut spec);
    service.send("PUT", path, Some(&json!({"metadata": now["metadata"].take(), "spec": spec}).to_string()))
}

#[test]
fn a_definition_of_any_kind_takes_over_what_was_changed_outside_with_its_comments_and_its_order() {
    let service = Service::start();
    let stage = applied(&service);
    change(&service, "origin_pools", "cart", |spec| {
        spec["origin_servers"][0]["public_ip"]["ip"] = json!("192.0.2.8");
        spec["port"] = json!(8443);
        spec.as_object_mut().expect("a spec").remove("no_tls");
        spec["use_tls"] = json!({"skip_server_verification": {}, "no_mtls": {}, "use_host_header_as_sni": {},
            "default_session_key_caching": {}, "tls_config": {"default_security": {}}});
        spec["healthcheck"].as_array_mut().expect("a list").push(json!({"name": "other", "namespace": "shop"}));
    });
    stage
        .run("pull --drift .")
        .code(0)
        .stdout_contains("Taken over from live:")
        .stdout_contains("origin_pool:shop/cart")
        .stdout_contains("spec.port")
        .stdout_contains("pool.yaml:11");
    let expected = POOL
        .replace("192.0.2.1}", "192.0.2.8}")
        .replace("port: 443 ", "port: 8443 ")
        .replace("no_tls: {}", "use_tls: {skip_server_verification: {}, tls_config: {}}")
        .replace("[{name: alive}]", "[{name: alive}, {name: other, namespace: shop}]");
    assert_eq!(stage.read("pool.yaml"), expected);
    assert_eq!((stage.read("check.yaml"), stage.read("route.yaml")), (CHECK.to_owned(), ROUTE.to_owned()));
    stage.run("drift .").code(0).stdout_contains("In sync");
    stage.run("pull --drift .").code(0).stdout_contains("No drift");
}

#[test]
fn items_of_a_list_come_and_go_where_they_are_and_the_others_stay() {
    let service = Service::start();
    let stage = applied(&service);
    let route = |path: &str, code: u16| json!({"match": [{"path": {"prefix": path}}], "route_direct_response": {"response_code": code}});
    change(&service, "routes", "all", |spec| {
        let routes = spec["routes"].as_array_mut().expect("a list");
        routes.insert(1, route("/half", 215));
        routes.push(route("/three", 203));
    });
    stage.run("pull --drift .").code(0).stdout_contains("spec.routes");
    let text = stage.read("route.yaml");
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} is not in\n{text}"));
    assert!(at("# first") < at("/one") && at("/one}   # one") < at("/half") && at("/half") < at("# second"), "{text}");
    assert!(at("# second") < at("/two") && at("/two") < at("/three"), "{text}");
    stage.run("drift .").code(0).stdout_contains("In sync");
    stage.run("apply . --yes").code(0).stderr_ignored();
    change(&service, "routes", "all", |spec| {
        spec["routes"].as_array_mut().expect("a list").remove(1);
        spec["routes"].as_array_mut().expect("a list").pop();
    });
    stage.run("pull --drift .").code(0);
    assert_eq!(stage.read("route.yaml"), ROUTE, "but for what came and went nothing changed");
    stage.run("apply . --yes").code(0).stderr_ignored();
    change(&service, "routes", "all", |spec| {
        spec["routes"].as_array_mut().expect("a list").insert(0, route("/zero", 200));
    });
    stage.run("pull --drift .").code(0);
    let text = stage.read("route.yaml");
    assert!(text.find("/zero") < text.find("# first"), "a comment stays with its item\n{text}");
    stage.run("apply . --yes").code(0).stderr_ignored();
    change(&service, "routes", "all", |spec| {
        spec["routes"].as_array_mut().expect("a list").remove(0);
    });
    stage.run("pull --drift .").code(0);
    assert_eq!(stage.read("route.yaml"), ROUTE);
    // What carries a comment is not moved.
    stage.run("apply . --yes").code(0).stderr_ignored();
    change(&service, "routes", "all", |spec| spec["routes"].as_array_mut().expect("a list").reverse());
    stage.run("pull --drift .").code(3).stdout_contains("it contains a comment: edit it by hand");
    assert_eq!(stage.read("route.yaml"), ROUTE);
}

#[test]
fn the_comment_of_a_last_line_is_beside_no_other_item() {
    let service = Service::start();
    let pool = "kind: origin_pool
metadata: {name: p, namespace: shop}
spec:
  origin_servers:
  - public_ip: {ip: 192.0.2.2}
  - public_ip: {ip: 192.0.2.1}   # never remove
  port: 443
";
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop]\nkinds: [origin_pool]\n")
        .file("p.yaml", pool)
        .applied(".");
    change(&service, "origin_pools", "p", |spec| spec["origin_servers"].as_array_mut().expect("a list").reverse());
    stage.run("pull --drift .").code(3).stdout_contains("it contains a comment: edit it by hand");
    assert_eq!(stage.read("p.yaml"), pool);
}

#[test]
fn a_mapping_and_the_last_value_in_it_both_get_a_line() {
    let zone = "kind: dns_zone
metadata: {name: example.com, namespace: system}
spec:
  primary:
    default_soa_parameters: {}
    default_rr_set_group:
    - ttl: 300   # short
      a_record:
        name: \"www\"
        values:
        - '192.0.2.1'
";
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: chain\nnamespaces: [system]\nkinds: [dns_zone]\n")
        .file("zone.yaml", zone);
    stage.run("apply . --yes --quiet").code(0);
    let (status, body) = put(&service, "/api/config/dns/namespaces/system/dns_zones/example.com", |spec| {
        let primary = &mut spec["primary"];
        primary["allow_http_lb_managed_records"] = json!(true);
        primary["default_rr_set_group"][0]["a_record"]["values"] = json!(["192.0.2.1", "192.0.2.2"]);
    });
    assert_eq!(status, 200, "{body}");
    stage.run("pull --drift . --unnamed").code(0).stderr_ignored();
    let lines = "        - 192.0.2.2\n    allow_http_lb_managed_records: true\n";
    assert_eq!(stage.read("zone.yaml"), format!("{zone}{lines}"));
    stage.run("plan .").code(0).stdout_contains("to annotate");
}

#[test]
fn what_no_definition_names_is_written_when_it_is_asked_for() {
    let service = Service::start();
    let stage = applied(&service);
    change(&service, "origin_pools", "cart", |spec| {
        spec["advanced_options"] = json!({"connection_timeout": 2500});
        spec["origin_servers"][1]["labels"] = json!({"zone": "b"});
        spec["port"] = json!(8443);
    });
    stage.run("pull --drift . --only healthcheck:*").code(0).stdout_contains("No drift");
    // A change of the file that waits for its apply stays.
    stage.edit("pool.yaml", "ip: '192.0.2.2'", "ip: '192.0.2.3'");
    stage
        .run("pull --drift .")
        .code(3)
        .stdout_contains("spec.port")
        .stdout_contains("set outside, not named in the file: --unnamed writes it");
    assert!(!stage.read("pool.yaml").contains("advanced_options"));
    // In its unit nothing is taken over: the file would say more than what was applied there.
    let waits = "set outside, not named in the file: apply the change beside it, then --unnamed writes it";
    stage
        .run("pull --drift . --unnamed")
        .code(3)
        .stdout_contains("spec.advanced_options")
        .stdout_contains("spec.origin_servers[1].labels")
        .stdout_contains(waits);
    let text = stage.read("pool.yaml");
    assert!(text.contains("  advanced_options: {connection_timeout: 2500}\n"), "{text}");
    assert!(!text.contains("zone: b") && text.contains("192.0.2.3") && text.contains("# the old one"), "{text}");
    assert!(text.contains("port: 8443   # as everywhere"), "{text}");
    stage.run("plan .").code(0).stdout_contains("192.0.2.2 -> 192.0.2.3").does_not_say("changed here and outside");
    // Nor where what waits was changed outside as well.
    let set = |ip: &str| {
        change(&service, "origin_pools", "cart", |spec| spec["origin_servers"][1]["public_ip"]["ip"] = json!(ip));
    };
    set("192.0.2.9");
    stage.run("pull --drift . --unnamed").code(3).stdout_contains("decide").stdout_contains(waits);
    assert_eq!(stage.read("pool.yaml"), text);
    set("192.0.2.2");
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.run("pull --drift . --unnamed").code(0).stdout_contains("spec.origin_servers");
    assert!(stage.read("pool.yaml").contains("zone: b"));
    stage.run("drift .").code(0).stdout_contains("In sync").does_not_say("do not name").does_not_say("does not name");
    // A reference without what the service fills in it.
    stage.write("pool.yaml", &POOL.replace("  healthcheck: [{name: alive}]\n", ""));
    stage.run("apply . --yes").code(0).stderr_ignored();
    let reference =
        json!({"name": "alive", "namespace": "shop", "tenant": "sandbox-tenant", "uid": "u", "kind": "healthcheck"});
    change(&service, "origin_pools", "cart", |spec| spec["healthcheck"] = json!([reference]));
    stage.run("pull --drift . --unnamed").stdout_contains("spec.healthcheck");
    let text = stage.read("pool.yaml");
    assert!(text.contains("name: alive") && !text.contains("tenant") && !text.contains("uid"), "{text}");
    stage.run("pull --unnamed -o x").code(64).stderr_contains("--drift");
}

#[test]
fn an_environment_takes_drift_of_any_kind_into_its_overlay() {
    let service = Service::start();
    let settings = "namespaces: [shop]\nkinds: [origin_pool]\nenvironments:\n  prod: {stack: shop, overlay: o/prod}\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings).file("pool.yaml", POOL);
    stage.write("o/prod/none.yaml", "");
    stage.run("apply . --env prod --yes").code(0).stderr_ignored();
    change(&service, "origin_pools", "cart", |spec| {
        spec["port"] = json!(8443);
        spec.as_object_mut().expect("a spec").remove("no_tls");
        spec["use_tls"] = json!({"skip_server_verification": {}, "no_mtls": {}, "use_host_header_as_sni": {},
            "default_session_key_caching": {}, "tls_config": {"default_security": {}}});
    });
    let taken = stage.run("pull --drift . --env prod");
    assert_eq!(stage.read("pool.yaml"), POOL);
    let text = stage.read("o/prod/shop/origin_pool/cart.yaml");
    let line = 1 + text.lines().position(|line| line.contains("port: 8443")).expect("the port");
    taken.code(0).stderr_ignored().stdout_contains(&format!("  o/prod/shop/origin_pool/cart.yaml:{line}\n"));
    assert!(text.starts_with("kind: origin_pool\nmetadata:\n  name: cart\n  namespace: shop\nspec:"), "{text}");
    stage.run("drift . --env prod").code(0).stdout_contains("In sync");
    service.send("DELETE", "/api/config/namespaces/shop/origin_pools/cart", Some("{}"));
    stage.run("pull --drift . --env prod").stderr_ignored();
}

#[test]
fn a_value_that_was_taken_over_into_an_overlay_is_named_with_its_line_there() {
    let service = Service::start();
    let settings = "namespaces: [shop]\nkinds: [healthcheck]\nenvironments: {prod: {stack: shop, overlay: o/prod}}\n";
    let check = "kind: healthcheck\nmetadata: {name: alive, namespace: shop}\nspec:\n  http_health_check: {path: /a}\n  timeout: 3\n  interval: 15\n  unhealthy_threshold: 1\n  healthy_threshold: 3\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings).file("alive.yaml", check);
    stage.run("apply . --env prod --yes --quiet").code(0);
    change(&service, "healthchecks", "alive", |spec| spec["http_health_check"]["path"] = json!("/b"));
    let pulled = stage.run("pull --drift . --env prod");
    pulled.code(0).stdout_contains("spec.health_check").stdout_contains("o/prod/shop/healthcheck/alive.yaml:5");
}

#[test]
fn an_overlay_takes_over_a_switch_to_the_default_of_a_group() {
    let service = Service::start();
    let settings = "namespaces: [shop]\nkinds: [origin_pool]\nenvironments:\n  prod: {stack: shop, overlay: o/prod}\n";
    let tls = "  use_tls: {skip_server_verification: {}, no_mtls: {}, use_host_header_as_sni: {}, \
               default_session_key_caching: {}, tls_config: {default_security: {}}}\n";
    let pool = POOL.replace("  no_tls: {}\n", tls);
    assert_ne!(pool, POOL);
    let stage = Stage::new().at(&service).file("trueup.yaml", settings).file("pool.yaml", &pool);
    stage.write("o/prod/none.yaml", "");
    stage.run("apply . --env prod --yes").code(0).stderr_ignored();
    change(&service, "origin_pools", "cart", |spec| {
        spec.as_object_mut().expect("a spec").remove("use_tls");
        spec["no_tls"] = json!({});
    });
    stage.run("pull --drift . --env prod --into overlay").code(0).stderr_ignored();
    assert_eq!(stage.read("pool.yaml"), pool);
    let text = stage.read("o/prod/shop/origin_pool/cart.yaml");
    assert!(text.ends_with("spec: {no_tls: {}}\n"), "{text}");
    stage.run("drift . --env prod").code(0).stdout_contains("In sync");
}

#[test]
fn a_secret_stays_in_its_file_when_something_beside_it_is_taken_over() {
    let service = Service::start();
    let text = "kind: certificate
metadata: {name: web, namespace: shop}
spec:
  certificate_url: string:///YQ==   # from the vault
  private_key:
    blindfold_secret_info: {location: 'string:///c2VhbGVk'}
";
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop]\nkinds: [certificate]\n")
        .file("web.yaml", text);
    stage.run("apply . --yes").code(0).stderr_ignored();
    change(&service, "certificates", "web", |spec| spec["certificate_url"] = json!("string:///Yg=="));
    stage.run("pull --drift .").code(0).stdout_contains("spec.certificate_url").does_not_say("c2VhbGVk");
    let taken = text.replace("string:///YQ==", "string:///Yg==");
    assert_eq!(stage.read("web.yaml"), taken);
    std::fs::create_dir(stage.path("shop")).expect("a directory");
    stage.write("shop/certificate/web.yaml", &taken);
    stage.remove("web.yaml");
    stage.run("pull --overwrite").code(0).stderr_contains("no answer shows all that its file has");
    assert_eq!(stage.read("shop/certificate/web.yaml"), taken);
}

#[test]
fn what_the_file_newly_names_was_not_changed_outside() {
    let service = Service::start();
    let pool = "kind: origin_pool
metadata: {name: p, namespace: shop}
spec:
  origin_servers: [{public_ip: {ip: 192.0.2.1}}]
  port: 443
  healthcheck: [{name: h}]
";
    let check = "kind: healthcheck\nmetadata: {name: h, namespace: shop}\nspec: {timeout: 3, interval: 15, \
                 unhealthy_threshold: 1, healthy_threshold: 3, tcp_health_check: {}}\n";
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop]\nkinds: [origin_pool, healthcheck]\n")
        .file("p.yaml", pool)
        .file("h.yaml", check);
    stage.run("apply . --yes").code(0).stderr_ignored();
    // A group that is open has its default, so the digest of both is the same.
    let named = format!("{pool}  same_as_endpoint_port: {{}}\n");
    stage.write("p.yaml", &named);
    stage.run("drift .").code(2).stdout_contains("spec.same_as_endpoint_port");
    change(&service, "origin_pools", "p", |spec| spec["port"] = json!(444));
    stage.run("pull --drift .").code(0).stdout_contains("spec.port");
    assert_eq!(stage.read("p.yaml"), named.replace("443", "444"));
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.run("drift .").code(0);
    stage.write("p.yaml", &stage.read("p.yaml").replace("{name: h}", "{name: h, tenant: ves-io}"));
    stage.run("drift .").code(2).stdout_contains("tenant");
    stage.run("pull --drift .").code(0).stdout_contains("No drift");
}

#[test]
fn what_an_overlay_sets_to_nothing_stays_in_the_definition_that_others_share() {
    let service = Service::start();
    let check = "kind: healthcheck
metadata: {name: h, namespace: shop}
spec:
  timeout: 3
  interval: 15
  unhealthy_threshold: 1
  healthy_threshold: 2
  http_health_check:
    path: /
    use_origin_server_name: {}
    headers:
      x-keep: for-f
      x-a: one
";
    let without =
        |hidden: &str| format!("kind: healthcheck\nmetadata: {{name: h, namespace: shop}}\nspec: {{{hidden}}}\n");
    let settings = "namespaces: [shop]\nkinds: [healthcheck]\n\
                    environments: {e: {stack: e, overlay: o}, f: {stack: f}}\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings).file("d/h.yaml", check);
    for hidden in ["http_health_check: {headers: {x-keep: null}}", "httpHealthCheck: {headers: {x-keep: null}}"] {
        stage.write("o/h.yaml", &without(hidden));
        stage.run("apply . --env e --yes").code(0).stderr_ignored();
        change(&service, "healthchecks", "h", |spec| spec["http_health_check"]["headers"] = json!({"x-b": "two"}));
        stage.run("pull --drift . --env e --into base").code(3).stdout_contains("the overlay o/h.yaml sets it");
        assert_eq!(stage.read("d/h.yaml"), check);
    }
    // Another overlay that says nothing of it is not named; a variable that only the others have is hidden like a value.
    let of_others = check.replace("for-f", "\"${v}\"");
    stage.write(
        "trueup.yaml",
        "namespaces: [shop]\nkinds: [healthcheck]\ndefaults: {overlay: o}\nenvironments: \
                                {e: {stack: e, overlay: p}, f: {stack: f, variables: {v: a}}}\n",
    );
    stage.write("d/h.yaml", &of_others);
    stage.write("p/h.yaml", &without("timeout: 3"));
    stage.run("pull --drift . --env e --into base").code(3).stdout_contains("the overlay o/h.yaml sets it");
    assert_eq!(stage.read("d/h.yaml"), of_others);
    stage.write("trueup.yaml", settings);
    stage.write("d/h.yaml", check);
    stage.remove("p/h.yaml");
    // A second option beside one that the overlay hides would be an error for the others.
    stage.write("o/h.yaml", &without("http_health_check: {use_origin_server_name: null}"));
    stage.run("apply . --env e --yes").code(0).stderr_ignored();
    let host = json!({"path": "/", "host_header": "q.example.net", "headers": {"x-keep": "for-f", "x-a": "one"}});
    change(&service, "healthchecks", "h", |spec| spec["http_health_check"] = host);
    stage.run("pull --drift . --env e --into base").stdout_contains("the overlay o/h.yaml sets it");
    assert_eq!(stage.read("d/h.yaml"), check);
    // What is beside it is taken over.
    stage.write("o/h.yaml", &without("http_health_check: {headers: null}"));
    stage.run("apply . --env e --yes").code(0).stderr_ignored();
    let other = json!({"path": "/p", "use_origin_server_name": {}});
    change(&service, "healthchecks", "h", |spec| spec["http_health_check"] = other);
    stage.run("pull --drift . --env e --into base").code(0).stderr_ignored();
    assert_eq!(stage.read("d/h.yaml"), check.replace("path: /", "path: \"/p\""));
}

#[test]
fn a_secret_of_an_option_that_is_taken_over_is_named() {
    let service = Service::start();
    let stage =
        Stage::new().at(&service).file("trueup.yaml", "stack: s\nnamespaces: [shop]\nkinds: [alert_receiver]\n").file(
            "r.yaml",
            "kind: alert_receiver\nmetadata: {name: r, namespace: shop}\nspec:\n  sms: {contact_number: '+1'}\n",
        );
    stage.run("apply . --yes").code(0).stderr_ignored();
    change(&service, "alert_receivers", "r", |spec| {
        spec.as_object_mut().expect("a spec").remove("sms");
        spec["slack"] = json!({"channel": "a", "url": {"blindfold_secret_info": {"location": "string:///c2VhbGVk"}}});
    });
    stage.run("pull --drift .").code(3).stdout_contains("spec.slack.url").stdout_contains("no answer shows a secret");
    assert!(stage.read("r.yaml").contains("channel: a"));
}

#[test]
fn a_secret_that_is_as_applied_is_not_changed_outside_where_something_beside_it_is() {
    let service = Service::start();
    let pool = "kind: origin_pool
metadata: {name: p, namespace: shop}
spec:
  origin_servers: [{public_ip: {ip: 192.0.2.1}}]
  port: 443
  use_tls:
    sni: a.example.net
    tls_config: {default_security: {}}
    volterra_trusted_ca: {}
    use_mtls:
      tls_certificates:
      - certificate_url: string:///YQ==
        private_key: {blindfold_secret_info: {location: 'string:///c2VhbGVk'}}
";
    let settings = "stack: s\nnamespaces: [shop]\nkinds: [origin_pool]\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings).file("p.yaml", pool).applied(".");
    change(&service, "origin_pools", "p", |spec| spec["use_tls"]["sni"] = json!("b.example.net"));
    for line in ["drift .", "drift . --format junit", "plan .", "plan . --format markdown"] {
        stage.run(line).stdout_contains("sni").does_not_say("private_key").stderr_ignored();
    }
    // One that is not as applied is a change beside it.
    stage.edit("p.yaml", "c2VhbGVk", "bmV3");
    stage.run("plan .").code(0).stdout_contains("private_key").stdout_contains("(not shown) -> sealed ");
    stage.edit("p.yaml", "bmV3", "c2VhbGVk");
    stage.run("apply . --yes").code(0).stderr_ignored();
    stage.run("drift .").code(0);
}

#[test]
fn a_definition_goes_on_naming_what_was_set_to_nothing_outside() {
    let service = Service::start();
    let text = "kind: healthcheck
metadata: {name: alive, namespace: shop}
spec:
  http_health_check:
    path: /alive
    use_origin_server_name: {}
    use_http2: true   # as agreed
  timeout: 3
  interval: 15
  unhealthy_threshold: 2
  healthy_threshold: 3
";
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop]\nkinds: [healthcheck]\n")
        .file("check.yaml", text)
        .applied(".");
    change(&service, "healthchecks", "alive", |spec| spec["http_health_check"]["use_http2"] = json!(false));
    stage.run("pull --drift .").code(0).stdout_contains("check.yaml");
    assert_eq!(stage.read("check.yaml"), text.replace("use_http2: true", "use_http2: false"));
    stage.run("plan .").code(0).stdout_contains("1 to annotate, 1 in sync");
    stage.run("apply . --yes --quiet").code(0);
    change(&service, "healthchecks", "alive", |spec| spec["http_health_check"]["use_http2"] = json!(true));
    stage.run("drift .").code(3).stdout_contains("use_http2");
}

/// Whether a value has something that a replace cannot write: the service would keep half of it.
fn is_of_create(id: &str, value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| is_of_create(id, item)),
        Value::Object(entries) => kind::message(id).fields.iter().any(|field| {
            let below = |value: &Value| match (field.below(), &field.kind, value) {
                (Some(id), FieldKind::Map(_), Value::Object(values)) => {
                    values.values().any(|value| is_of_create(id, value))
                }
                (Some(id), _, value) => is_of_create(id, value),
                (None, ..) => false,
            };
            entries.get(field.name).is_some_and(|value| field.is(Flag::CreateOnly) || below(value))
        }),
        _ => false,
    }
}

/// Sets a key of a live spec; what it excludes goes.
fn set(kind: &Kind, spec: &mut Map<String, Value>, key: &str, value: &Value) {
    let message = kind::message(kind.spec);
    let others = message.group_of(key).map(|group| group.members.clone()).unwrap_or_default();
    spec.retain(|other, _| !others.contains(&other.as_str()));
    spec.insert(key.to_owned(), value.clone());
}

#[test]
fn after_random_changes_outside_of_every_kind_the_files_are_taken_over_and_the_plan_is_empty() {
    let seed = objects::seed();
    let mut specs = Specs::new(seed);
    let service = Service::start();
    let kinds = objects::kinds();
    let stage = Stage::new().at(&service).file("trueup.yaml", &objects::settings());
    let mut written = Vec::new();
    for kind in &kinds {
        let Some(spec) = specs.without_secret(kind) else { continue };
        let metadata = json!({"name": "a", "namespace": objects::namespace(kind)});
        let object = json!({"kind": kind.name, "metadata": metadata, "spec": spec});
        stage.write(&format!("d/{}.json", kind.name), &format!("{object:#}"));
        written.push(*kind);
    }
    stage.run("apply . --yes").code(0).stderr_ignored();
    // As a person would write them; the JSON files are the other half.
    for kind in written.iter().step_by(2) {
        stage.remove(&format!("d/{}.json", kind.name));
    }
    stage.run("pull --output p").stderr_ignored();
    for kind in written.iter().skip(1).step_by(2) {
        let path = format!("p/{}/{}/a.yaml", objects::namespace(kind), kind.name);
        if stage.path(&path).exists() {
            stage.remove(&path);
        }
    }
    let mut changed = 0;
    for kind in &written {
        let Some(other) = specs.without_secret(kind) else { continue };
        let other = other.as_object().expect("a spec").clone();
        let path = format!("{}/a", kind.path().replace("{namespace}", objects::namespace(kind)));
        for _ in 0..3 {
            let Some((key, value)) = other.iter().nth(specs.below(other.len().max(1))) else { continue };
            if is_of_create(kind.spec, &json!({ key: value })) {
                continue;
            }
            let (status, _) = put(&service, &path, |spec| set(kind, spec.as_object_mut().expect("a spec"), key, value));
            changed += usize::from(status == 200);
        }
    }
    assert!(changed > 200, "TRUEUP_SEED={seed}: {changed}");
    let taken = stage.run("pull --drift . --unnamed");
    taken.stderr_ignored();
    let left: Vec<&str> = taken
        .text()
        .lines()
        .skip_while(|line| !line.starts_with("Left as it is"))
        .take_while(|line| !line.contains("edited."))
        .collect();
    eprintln!("{changed} changes; {} left", left.len().saturating_sub(1));
    if let Some(file) = left.get(1).and_then(|line| line.split_whitespace().nth(2)?.split(':').next()) {
        eprintln!("{file}:\n{}", stage.read(file));
    }
    assert_eq!(left, Vec::<&str>::new(), "TRUEUP_SEED={seed}");
    let plan = stage.run("plan . --format json").json()["plan"].clone();
    let part = |name: &str| plan[name].as_array().expect("a list").clone();
    let differing: Vec<String> = part("changes")
        .iter()
        .chain(&part("blocked"))
        .filter(|change| change["action"]["annotate"].is_null())
        .map(|change| change["key"].as_str().expect("a key").to_owned())
        .collect();
    assert_eq!(differing, Vec::<String>::new(), "TRUEUP_SEED={seed}: {}", stage.run("plan .").text());
}
