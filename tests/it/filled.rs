//! What the service fills for what a definition leaves to it is no difference.

use serde_json::{Value, json};

use crate::requests::Recorder;
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

/// Changes an object in `system` in place, as the service does by itself.
fn change(service: &Service, path: &str, change: impl FnOnce(&mut Value)) -> Value {
    let path = format!("/api/config{path}");
    let read = || -> Value { serde_json::from_str(&service.send("GET", &path, None).1).expect("JSON") };
    let mut object = read();
    let mut body = json!({"metadata": object["metadata"].take(), "spec": object["spec"].take()});
    change(&mut body);
    let (status, answer) = service.send("PUT", &path, Some(&body.to_string()));
    assert_eq!(status, 200, "{answer}");
    read()
}

#[test]
fn the_labels_that_a_node_writes_on_its_site_stay_and_are_no_difference() {
    let service = Service::start();
    let site = "kind: securemesh_site_v2\nmetadata: {name: edge, namespace: system, labels: {tier: a}}\nspec: {kvm: {not_managed: {}}}\n";
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [system]\nkinds: [securemesh_site_v2]\n")
        .file("edge.yaml", site);
    stage.run("apply . --yes --quiet").code(0);
    let registered = |object: &mut Value| {
        let labels = &mut object["metadata"]["labels"];
        for (key, value) in [("domain", ""), ("hw-model", "vm"), ("hw-serial-number", "1"), ("internal.ves.io/x", "y")]
        {
            labels[key] = value.into();
        }
    };
    let path = "/namespaces/system/securemesh_site_v2s/edge";
    change(&service, path, registered);
    stage.run("drift .").code(0).stdout_contains("In sync");
    stage.edit("edge.yaml", "tier: a", "tier: b");
    stage.run("apply . --yes --quiet").code(0);
    let labels = change(&service, path, |_| {})["metadata"]["labels"].clone();
    assert_eq!((&labels["tier"], &labels["hw-model"], &labels["domain"]), (&json!("b"), &json!("vm"), &json!("")));
    stage.run("get securemesh_site_v2:system -o yaml").code(0).stdout_contains("tier: b").does_not_say("hw-");
    stage.write("edge.yaml", &site.replace("tier: a", "domain: a"));
    stage.run("validate .").code(0).stderr_contains("the label `domain` is one that the service writes");
}

#[test]
fn the_records_that_the_service_keeps_in_a_zone_stay_and_are_no_difference() {
    let service = Service::start();
    let group = |name: &str| {
        format!(
            "    - {{metadata: {{name: {name}}}, rr_set: [{{ttl: 60, a_record: {{name: {name}, values: [192.0.2.1]}}}}]}}\n"
        )
    };
    let zone = |groups: &str| {
        let metadata = "metadata: {name: example.com, namespace: system}";
        format!("kind: dns_zone\n{metadata}\nspec:\n  primary:\n    allow_http_lb_managed_records: true\n{groups}")
    };
    let list =
        |names: &[&str]| format!("    rr_set_group:\n{}", names.iter().map(|name| group(name)).collect::<String>());
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [system]\nkinds: [dns_zone]\n")
        .file("zone.yaml", &zone(&list(&["web", "mail"])));
    stage.run("apply . --yes --quiet").code(0);
    let path = "/dns/namespaces/system/dns_zones/example.com";
    let kept = json!({"metadata": {"name": "x-ves-io-managed"}, "rr_set": [{"ttl": 300, "a_record": {"name": "lb", "values": ["192.0.2.9"]}}]});
    change(&service, path, |zone| {
        zone["spec"]["primary"]["rr_set_group"].as_array_mut().expect("a list").insert(0, kept.clone());
    });
    let groups = || -> Vec<(String, Value)> {
        let zone = change(&service, path, |_| {});
        let groups = zone["spec"]["primary"]["rr_set_group"].as_array().cloned().unwrap_or_default();
        groups
            .iter()
            .map(|group| (group["metadata"]["name"].as_str().unwrap_or_default().to_owned(), group["rr_set"].clone()))
            .collect()
    };
    let has_kept = || groups().iter().any(|(name, records)| name == "x-ves-io-managed" && records[0]["ttl"] == 300);
    stage.run("drift .").code(0).stdout_contains("In sync").does_not_say("managed");
    stage.run("get dns_zone:system -o yaml").code(0).stdout_contains("mail").does_not_say("x-ves-io");
    // A changed list, one without items, one that goes, and one that is written again.
    for (groups_now, count) in [
        (list(&["mail", "new"]), 3),
        ("    rr_set_group: []\n".to_owned(), 1),
        (list(&["web"]), 2),
        (String::new(), 1),
        (list(&["web"]), 2),
    ] {
        stage.write("zone.yaml", &zone(&groups_now));
        stage.run("apply . --yes --quiet").code(0);
        assert!(has_kept() && groups().len() == count, "{groups_now}: {:?}", groups());
        stage.run("drift .").code(0).stdout_contains("In sync");
    }
    // As an older version pulled it.
    stage.write("zone.yaml", &zone(&list(&["x-ves-io-managed", "web"])));
    stage.run("validate .").code(0).stderr_contains("this item of `rr_set_group` is written only by the service");
    stage.run("plan .").code(0).stdout_contains("In sync");
    stage.run("explain dns_zone.spec.primary.rr_set_group").code(0).stdout_contains("x-ves-io-managed");
}

#[test]
fn the_catalogue_that_the_service_shows_in_a_firewall_is_no_difference_and_is_not_sent_back() {
    let service = Service::start();
    let recorder = Recorder::before(&service);
    let firewall = "kind: app_firewall\nmetadata: {name: waf, namespace: shop}\nspec:\n  blocking: {}\n  detection_settings:\n    enable_suppression: {}\n    signature_selection_setting: {}\n";
    let stage = Stage::new()
        .at(&service)
        .env("TRUEUP_BASE_URL", &recorder.url)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop]\nkinds: [app_firewall]\n")
        .file("waf.yaml", firewall);
    stage.run("apply . --yes --quiet").code(0);
    let path = "/namespaces/shop/app_firewalls/waf";
    let mut live = change(&service, path, |_| {});
    let catalogue = json!([
        {"name": "VIOL_COOKIE_MODIFIED", "title": "Modified cookie", "enabled": true, "enabled_by_default": "true"},
        {"name": "VIOL_ENCODING", "title": "Encoding", "enabled": false, "enabled_by_default": "false"},
    ]);
    live["spec"]["detection_settings"]["violations_view"] = catalogue.clone();
    service.send("DELETE", &format!("/api/config{path}"), None);
    service.plant(&json!([{"kind": "app_firewall", "metadata": live["metadata"], "raw_spec": live["spec"]}]));
    stage.run("drift .").code(0).stdout_contains("In sync").does_not_say("violations_view");
    stage.run("get app_firewall:shop -o yaml").code(0).stdout_contains("detection_settings").does_not_say("violations");
    stage.edit("waf.yaml", "enable_suppression", "disable_suppression");
    stage.run("apply . --yes --quiet").code(0);
    let sent = recorder.take();
    let body =
        sent.iter().rev().find(|sent| sent.method == "PUT").and_then(|sent| sent.body.as_ref()).expect("a replace");
    let settings = &body["spec"]["detection_settings"];
    assert!(settings["disable_suppression"].is_object() && settings.get("violations_view").is_none(), "{body}");
    stage.edit("waf.yaml", "    signature", "    violations_view: [{enabled: true}]\n    signature");
    stage.run("validate .").code(0).stderr_contains("`violations_view` is written only by the service");
}

#[test]
fn the_nodes_that_register_at_a_site_stay_and_are_no_difference() {
    let service = Service::start();
    let site = "kind: securemesh_site_v2\nmetadata: {name: edge, namespace: system, labels: {tier: a}}\nspec: {aws: {not_managed: {}}}\n";
    let settings = "stack: s\nnamespaces: [system]\nkinds: [securemesh_site_v2]\n";
    let stage = Stage::new().at(&service).file("trueup.yaml", settings).file("edge.yaml", site);
    stage.run("apply . --yes --quiet").code(0);
    let path = "/namespaces/system/securemesh_site_v2s/edge";
    let interface = json!({"name": "ens5", "ethernet_interface": {"device": "ens5"}, "network_option": {"site_local_network": {}}, "dhcp_client": {}});
    let nodes = json!([{"hostname": "node-0", "type": "Control", "interface_list": [interface]}]);
    change(&service, path, |site| site["spec"]["aws"]["not_managed"] = json!({"node_list": nodes}));
    let hosts = || change(&service, path, |_| {})["spec"]["aws"]["not_managed"]["node_list"][0]["hostname"].clone();
    for (settings_now, tier) in [(settings.to_owned(), "b"), (format!("{settings}strict: true\n"), "c")] {
        stage.write("trueup.yaml", &settings_now);
        stage.run("drift .").code(0).stdout_contains("In sync").does_not_say("node_list");
        stage.write("edge.yaml", &site.replace("tier: a", &format!("tier: {tier}")));
        stage.run("apply . --yes --quiet").code(0);
        assert_eq!(hosts(), "node-0", "{settings_now}");
    }
    // A definition that names them has them compared, and leaves them where it lets go of them.
    let named = |host: &str| {
        site.replace("not_managed: {}", &format!("not_managed: {{node_list: [{{hostname: {host}, type: Control, interface_list: [{{name: ens5, ethernet_interface: {{device: ens5}}, network_option: {{site_local_network: {{}}}}, dhcp_client: {{}}}}]}}]}}"))
    };
    stage.write("edge.yaml", &named("node-1").replace("tier: a", "tier: c"));
    stage.run("plan .").code(0).stdout_contains("node_list");
    stage.write("edge.yaml", &named("node-0"));
    stage.run("apply . --yes --quiet").code(0);
    stage.write("edge.yaml", site);
    stage.run("apply . --yes --quiet").code(0);
    assert_eq!(hosts(), "node-0");
    stage.run("drift .").code(0).stdout_contains("In sync");
}

#[test]
fn the_coordinates_of_a_cloud_site_are_left_to_the_service() {
    let service = Service::start();
    let credentials = "kind: cloud_credentials\nmetadata: {name: cloud, namespace: system}\nspec: {azure_client_secret: {client_id: c, subscription_id: s, tenant_id: t, client_secret: {blindfold_secret_info: {location: string:///eA==}}}}\n";
    let site = "kind: azure_vnet_site\nmetadata: {name: edge, namespace: system, labels: {tier: a}}\nspec:\n  azure_region: westeurope\n  resource_group: edge\n  ssh_key: ssh-rsa A\n  machine_type: Standard_D3_v2\n  azure_cred: {name: cloud}\n  vnet: {new_vnet: {autogenerate: {}, primary_ipv4: 10.0.0.0/16}}\n  ingress_gw:\n    azure_certified_hw: azure-byol-voltmesh\n    az_nodes: [{azure_az: '1', local_subnet: {subnet_param: {ipv4: 10.0.0.0/24}}}]\n";
    let settings = "stack: s\nnamespaces: [system]\nkinds: [azure_vnet_site, cloud_credentials]\n";
    let stage =
        Stage::new().at(&service).file("trueup.yaml", settings).file("cloud.yaml", credentials).file("edge.yaml", site);
    stage.run("apply . --yes --quiet").code(0);
    let path = "/namespaces/system/azure_vnet_sites/edge";
    let of_region = json!({"latitude": 52.5, "longitude": 4.75});
    change(&service, path, |site| site["spec"]["coordinates"] = of_region.clone());
    for (settings_now, tier) in [(settings.to_owned(), "b"), (format!("{settings}strict: true\n"), "c")] {
        stage.write("trueup.yaml", &settings_now);
        stage.run("drift .").code(0).stdout_contains("In sync").does_not_say("coordinates");
        stage.write("edge.yaml", &site.replace("tier: a", &format!("tier: {tier}")));
        stage.run("apply . --yes --quiet").code(0);
        assert_eq!(change(&service, path, |_| {})["spec"]["coordinates"], of_region, "{tier}");
    }
    // Others that a definition names are asked for.
    stage.write("edge.yaml", &format!("{site}  coordinates: {{latitude: 1, longitude: 2}}\n"));
    stage.run("plan . --detailed-exitcode").code(2).stdout_contains("spec.coordinates");
}

#[test]
fn a_zone_whose_change_before_is_still_pending_is_waited_for() {
    let service = Service::start();
    let zone = |ttl: u32| {
        format!(
            "kind: dns_zone\nmetadata: {{name: example.com, namespace: system}}\nspec:\n  primary:\n    default_rr_set_group: [{{ttl: {ttl}, a_record: {{name: web, values: [192.0.2.1]}}}}]\n"
        )
    };
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [system]\nkinds: [dns_zone]\n")
        .file("zone.yaml", &zone(60));
    stage.run("apply . --yes --quiet").code(0);
    let answer = r#"{"code":14,"message":"Previous DNS zone change is pending","details":[]}"#;
    service.misbehave(&format!(
        "rules: [{{operation: dns_zone-replace, for: 6, status: {{code: 503, retry_after: 0, body: '{answer}'}}}}]"
    ));
    stage.write("zone.yaml", &zone(90));
    stage.run("apply . --yes").code(0).stdout_contains("Verified").stderr_ignored();
    assert_eq!(service.requests("PUT"), 7);
    stage.run("plan .").code(0).stdout_contains("In sync");
}
