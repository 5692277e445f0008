use serde_json::{Value, json};

use super::{Document, Import, TerraformError};
use crate::kind::{self, Kind};

/// What the provider writes into a state: every attribute, unset ones too.
fn attributes(name: &str) -> Value {
    json!({
        "annotations": null, "description": "", "disable": false, "dns_name": "cart.example.net", "dns_name_advanced": [],
        "health_check_port": 0, "id": "3b6c", "ip": "", "labels": {"tier": "web", "empty": ""}, "name": name,
        "namespace": "shop", "port": 8443, "protocol": "TCP", "service_info": [],
        "snat_pool": [{"no_snat_pool": false, "snat_pool": [{"ipv6_prefixes": null, "prefixes": ["10.0.0.0/28"]}]}],
        "where": [{
            "site": [{
                "disable_internet_vip": true, "enable_internet_vip": false, "network_type": "VIRTUAL_NETWORK_SITE_LOCAL",
                "ref": [{"name": "ce01", "namespace": "system", "tenant": ""}], "refs": []
            }],
            "virtual_network": [], "virtual_site": []
        }]
    })
}

fn state(instances: &[Value]) -> Value {
    json!({
        "version": 4, "terraform_version": "1.9.5", "serial": 7, "lineage": "x", "outputs": {},
        "resources": [
            {"mode": "managed", "type": "random_password", "name": "db", "provider": "x", "instances": [
                {"schema_version": 0, "attributes": {"result": "s3cret"}}]},
            {"mode": "data", "type": "volterra_endpoint", "name": "read", "provider": "x", "instances": []},
            {"module": "module.shop", "mode": "managed", "type": "volterra_endpoint", "name": "cart", "provider": "x",
             "instances": instances}
        ]
    })
}

fn document_of(document: &Value) -> Document {
    Document::read(document.to_string().as_bytes()).expect("a document")
}

fn import(document: &Value) -> Import {
    let mut import = Import::default();
    import.add(vec![document_of(document)]);
    import
}

fn addresses(import: &Import) -> Vec<String> {
    import.objects.iter().map(|(key, (address, _))| format!("{key} {address}")).collect()
}

fn left_out(import: &Import) -> Vec<(&str, &str)> {
    let mut left_out: Vec<(&str, &str)> =
        import.left_out.iter().map(|(address, why)| (address.as_str(), why.as_str())).collect();
    left_out.sort_unstable();
    left_out
}

#[test]
fn a_state_gives_every_instance_of_an_endpoint_and_nothing_else() {
    let import = import(&state(&[
        json!({"schema_version": 0, "index_key": "a", "attributes": attributes("a")}),
        json!({"schema_version": 0, "index_key": 1, "attributes": attributes("b")}),
        json!({"schema_version": 0, "index_key": 2}),
    ]));
    let expected = ["shop/a module.shop.volterra_endpoint.cart[\"a\"]", "shop/b module.shop.volterra_endpoint.cart[1]"];
    assert_eq!(addresses(&import), expected);
    assert_eq!(left_out(&import), [("module.shop.volterra_endpoint.cart[2]", "the state has no attributes of it")]);
}

#[test]
fn what_terraform_marks_as_sensitive_is_known_of_an_object() {
    let path = json!([[{"type": "get_attr", "value": "labels"}, {"type": "index", "value": "tier"}]]);
    let of_state = state(&[json!({"attributes": attributes("cart"), "sensitive_attributes": path})]);
    let shown = json!({"address": "volterra_endpoint.cart", "mode": "managed", "type": "volterra_endpoint", "name": "cart",
        "values": attributes("cart"), "sensitive_values": {"labels": {"tier": true}, "where": [{"site": [{}]}]}});
    let of_show = json!({"format_version": "1.0", "values": {"root_module": {"resources": [shown]}}});
    for document in [of_state, of_show] {
        let sensitive: Vec<Vec<String>> =
            import(&document).sensitive.into_values().map(|names| names.into_iter().collect()).collect();
        assert_eq!(sensitive, [["labels"]], "{document}");
    }
}

#[test]
fn the_attributes_become_the_endpoint_that_the_provider_sends() {
    let import = import(&state(&[json!({"attributes": attributes("cart")})]));
    let (_, endpoint) = import.objects.values().next().expect("one endpoint");
    let wanted = json!({
        "metadata": {"name": "cart", "namespace": "shop", "labels": {"tier": "web", "empty": ""}},
        "spec": {
            "dns_name": "cart.example.net", "protocol": "TCP", "port": 8443,
            "snat_pool": {"snat_pool": {"prefixes": ["10.0.0.0/28"]}},
            "where": {"site": {"network_type": "VIRTUAL_NETWORK_SITE_LOCAL", "disable_internet_vip": {},
                               "ref": [{"name": "ce01", "namespace": "system"}]}}
        }
    });
    assert_eq!(*endpoint, serde_json::from_value(wanted).expect("an endpoint"));
}

#[test]
fn every_target_is_read() {
    let mut import = Import::default();
    let targets = [
        json!({"dns_name": "", "ip": "2001:db8::1"}),
        json!({"dns_name": "", "dns_name_advanced": [{"name": "a.example", "refresh_interval": 60, "strict_ttl": false}]}),
        json!({"dns_name": "", "dns_name_advanced": [{"name": "a.example", "refresh_interval": 0, "strict_ttl": true}]}),
        json!({"dns_name": "", "service_info": [{"discovery_type": "K8S", "service_name": "cart.shop", "service_selector": []}]}),
        json!({"dns_name": "", "service_info": [{"discovery_type": "CONSUL", "service_name": "",
               "service_selector": [{"expressions": ["tier in (web)"]}]}]}),
    ];
    for (number, target) in targets.iter().enumerate() {
        let mut one = attributes(&format!("cart-{number}"));
        for (name, value) in target.as_object().expect("attributes") {
            one[name] = value.clone();
        }
        import.add(vec![document_of(&state(&[json!({ "attributes": one })]))]);
    }
    assert_eq!((import.objects.len(), left_out(&import)), (targets.len(), Vec::new()));
}

#[test]
fn the_output_of_show_is_read_with_its_modules() {
    let one = |name: &str| {
        json!({"address": format!("volterra_endpoint.{name}"), "mode": "managed",
                                  "type": "volterra_endpoint", "name": name, "values": attributes(name)})
    };
    let import = import(&json!({
        "format_version": "1.0",
        "values": {"root_module": {"resources": [one("a")], "child_modules": [{"resources": [one("b")]}]}}
    }));
    assert_eq!(addresses(&import), ["shop/a volterra_endpoint.a", "shop/b volterra_endpoint.b"]);
}

#[test]
fn configuration_in_json_syntax_is_read_where_it_has_no_expressions() {
    let plain = json!({
        "name": "cart", "namespace": "shop", "ip": "10.0.0.7", "port": "8443", "description": "costs $${total}",
        "snat_pool": {"no_snat_pool": true}, "lifecycle": {"prevent_destroy": true},
        "where": {"virtual_site": {"ref": {"name": "all", "namespace": "shared"}}}
    });
    let mut expression = plain.clone();
    expression["ip"] = json!("${var.ip}");
    let mut repeated = plain.clone();
    repeated["count"] = json!(2);
    let import =
        import(&json!({"resource": [{"volterra_endpoint": {"cart": plain, "other": [expression], "many": repeated}},
                                             {"null_resource": {"x": {}}}]}));
    assert_eq!(addresses(&import), ["shop/cart volterra_endpoint.cart"]);
    let (_, endpoint) = import.objects.values().next().expect("one endpoint");
    assert_eq!((endpoint.spec.unit("port"), endpoint.description.as_str()), (8443.into(), "costs ${total}"));
    let expected = [
        ("volterra_endpoint.many", "it has `count`: import the state instead"),
        ("volterra_endpoint.other", "`ip` contains an expression: import the state instead"),
    ];
    assert_eq!(left_out(&import), expected);
}

#[test]
fn a_resource_that_is_not_an_endpoint_is_left_out_with_the_reason() {
    let mut two_targets = attributes("two");
    two_targets["ip"] = json!("10.0.0.7");
    let mut unknown = attributes("unknown");
    unknown["newer"] = json!("x");
    let import = import(&state(&[
        json!({"index_key": 0, "attributes": attributes("cart")}),
        json!({"index_key": 1, "attributes": attributes("cart")}),
        json!({"index_key": 2, "attributes": two_targets}),
        json!({"index_key": 3, "attributes": unknown}),
    ]));
    assert_eq!(import.objects.len(), 1);
    let reasons: Vec<&str> = left_out(&import).into_iter().map(|(_, why)| why).collect();
    assert!(
        reasons[0].starts_with("`module.shop.volterra_endpoint.cart[0]` has the same namespace and name"),
        "{reasons:?}"
    );
    assert!(reasons[1].contains("has both `dns_name` and `ip`"), "{reasons:?}");
    assert!(reasons[2].contains("its kind has no `newer`"), "{reasons:?}");
}

#[test]
fn a_number_that_terraform_would_not_take_is_not_dropped() {
    for (written, port) in [("8443", Some(8443)), ("80.0", Some(80)), ("8e1", Some(80)), ("", None)] {
        let mut one = attributes("cart");
        one["port"] = json!(written);
        let import = import(&state(&[json!({ "attributes": one })]));
        assert_eq!(
            import.objects.values().map(|(_, one)| one.spec.unit("port")).collect::<Vec<_>>(),
            [port.map(Value::from).unwrap_or_default()],
            "{written}"
        );
    }
    let all: [(&str, Value); 9] = [
        ("port", json!(" 80")),
        ("port", json!("5m")),
        ("port", json!("80.5")),
        ("port", json!(80.5)),
        ("port", json!("-1")),
        ("port", json!([80])),
        ("disable", json!("yes")),
        ("description", json!(0)),
        ("snat_pool", json!([{"no_snat_pool": true}, {"no_snat_pool": true}])),
    ];
    for (name, wrong) in all {
        let mut one = attributes("cart");
        one[name] = wrong.clone();
        let import = import(&state(&[json!({ "attributes": one })]));
        assert_eq!((import.objects.len(), import.left_out.len()), (0, 1), "{name}: {wrong}");
    }
    let mut nested = attributes("cart");
    nested["dns_name"] = json!("");
    nested["dns_name_advanced"] = json!([{"name": "a.example", "refresh_interval": "5m"}]);
    let import = import(&state(&[json!({ "attributes": nested })]));
    assert!(
        import.left_out.iter().all(|(_, why)| why.contains("not of its type: `dns_name_advanced.refresh_interval`"))
    );
    assert_eq!(import.left_out.len(), 1);
}

#[test]
fn an_object_that_terraform_deletes_next_is_left_out() {
    let old = json!({"deposed": "00aa11bb", "attributes": attributes("old")});
    let from_state = import(&state(&[json!({"attributes": attributes("new")}), old]));
    let shown = |name: &str, deposed: Value| {
        json!({"address": "volterra_endpoint.cart", "mode": "managed", "type": "volterra_endpoint", "name": "cart",
               "deposed_key": deposed, "values": attributes(name)})
    };
    let resources = [shown("new", Value::Null), shown("old", json!("00aa11bb"))];
    let from_show = import(&json!({"format_version": "1.0", "values": {"root_module": {"resources": resources}}}));
    for import in [from_state, from_show] {
        assert_eq!(import.objects.keys().map(ToString::to_string).collect::<Vec<_>>(), ["shop/new"]);
        let (address, why) = left_out(&import)[0];
        assert!(address.ends_with("volterra_endpoint.cart (deposed 00aa11bb)"), "{address}");
        assert_eq!(why, "it was replaced, and Terraform deletes it next");
    }
}

#[test]
fn a_state_beside_its_configuration_is_the_one_that_is_read() {
    let configured = json!({"name": "cart", "namespace": "shop", "ip": "10.0.0.7", "port": "${var.port}"});
    let configuration = json!({"resource": {"volterra_endpoint": {"cart": configured, "//": "a comment",
        "fresh": {"name": "fresh", "namespace": "shop", "ip": "10.0.0.8"}}}});
    let mut state = state(&[json!({"index_key": "a", "attributes": attributes("cart")})]);
    state["resources"][2]["module"] = Value::Null;
    for documents in [[&configuration, &state], [&state, &configuration]] {
        let mut import = Import::default();
        import.add(documents.map(document_of).into());
        let expected = ["shop/cart volterra_endpoint.cart[\"a\"]", "shop/fresh volterra_endpoint.fresh"];
        assert_eq!((addresses(&import), import.left_out.len()), (expected.map(str::to_owned).into(), 0));
    }
}

#[test]
fn files_without_resources_are_files_of_terraform() {
    for block in ["check", "data", "ephemeral", "import", "locals", "module", "moved", "output", "provider", "removed"]
    {
        let document = document_of(&json!({"//": "a comment", block: {"x": {}}}));
        assert!(document.resources.is_empty(), "{block}");
    }
    for empty in [
        "",
        "\n",
        "{}",
        "{\"version\": 4, \"serial\": 1}",
        "{\"version\": 4, \"resources\": null}",
        "{\"format_version\": \"1.0\"}",
        "{\"format_version\": \"1.0\", \"terraform_version\": \"1.9.5\"}",
        "{\"format_version\": \"1.0\", \"values\": {}}",
    ] {
        assert!(Document::read(empty.as_bytes()).expect(empty).resources.is_empty(), "{empty}");
    }
    let marked = format!("\u{feff}{}", state(&[json!({"attributes": attributes("cart")})]));
    let utf16: Vec<u8> = marked.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for bytes in [marked.as_bytes(), &utf16] {
        assert_eq!(Document::read(bytes).expect("a state").resources.len(), 1);
    }
    let cut = Document::read(&utf16[..utf16.len() / 2]).err().expect("an error");
    assert!(matches!(cut, TerraformError::Syntax { .. }), "{cut}");
}

#[test]
fn what_is_not_of_terraform_is_an_error_without_its_content() {
    let error = |text: &str| Document::read(text.as_bytes()).err().expect("an error");
    assert!(matches!(error("{\"secret\": tru"), TerraformError::Syntax { line: 1, .. }));
    assert!(matches!(error("{\"secret\": \"x\"}"), TerraformError::Kind));
    assert!(matches!(error("{\"secret\": \"x\", \"resource\": {}}"), TerraformError::Kind));
    assert!(matches!(error("[1]"), TerraformError::Kind));
    assert!(matches!(error("{\"version\": 3, \"resources\": []}"), TerraformError::Version(3)));
}

/// A resource as the provider writes it, whose schemas name some attributes otherwise than the service their fields.
fn renamed(kind: &str, attributes: &Value) -> Value {
    let mut all = json!({"id": "x", "name": "a", "namespace": "system", "annotations": null, "labels": null,
                         "description": "", "disable": false});
    for (name, value) in attributes.as_object().expect("attributes") {
        all[name] = value.clone();
    }
    json!({"mode": "managed", "type": format!("volterra_{kind}"), "name": kind, "instances": [{"attributes": all}]})
}

#[test]
fn attributes_that_the_provider_renames_are_fields_of_the_spec() {
    let operator = json!({"contains": "", "does_not_contain": "", "does_not_end_with": "", "does_not_equal": "",
        "does_not_start_with": "/img", "endswith": "", "equals": "", "match_regex": "", "startswith": ""});
    let cached = json!([{"cache_bypass": true, "eligible_for_cache": [], "rule_name": "a", "rule_expression_list": [{
        "expression_name": "e", "cache_rule_expression": [{"cache_headers": [], "cookie_matcher": [],
        "query_parameters": [], "path_match": [{"operator": [operator]}]}]}]}]);
    let labels = json!([{"name": "team", "value": [{"exact_match": "web", "regex_match": ""}]}]);
    let custom = json!([{"alertlabel": labels, "alertname": [], "group": [], "severity": []}]);
    let cases = [
        ("segment", json!({"spec_disable": true, "enable": false}), json!({"disable": {}})),
        (
            "irule",
            json!({"description": "of the object", "spec_description": "rejects", "irule": "reject"}),
            json!({"description": "rejects", "irule": "reject"}),
        ),
        ("cloud_elastic_ip", json!({"count_cloud_elastic_ip": 2}), json!({"count": 2})),
        (
            "cdn_cache_rule",
            json!({ "cache_rules": cached }),
            json!({"cache_rules": {"cache_bypass": {}, "rule_name": "a", "rule_expression_list": [{
                "expression_name": "e",
                "cache_rule_expression": [{"path_match": {"operator": {"DoesNotStartWith": "/img"}}}]}]}}),
        ),
        (
            "alert_policy",
            json!({"routes": [{"send": true, "dont_send": false, "any": false, "custom": custom}]}),
            json!({"routes": [{"send": {}, "custom": {"alertlabel": {"team": {"exact_match": "web"}}}}]}),
        ),
    ];
    for (kind, attributes, spec) in cases {
        let import = import(&json!({"version": 4, "resources": [renamed(kind, &attributes)]}));
        assert_eq!(left_out(&import), [], "{kind}");
        let (_, object) = import.objects.values().next().expect("an object");
        assert_eq!(object.spec.json(), spec, "{kind}");
        assert_eq!(object.description, attributes["description"].as_str().unwrap_or_default(), "{kind}");
    }
}

#[test]
fn an_attribute_that_is_no_field_is_named_as_the_resource_has_it() {
    for (kind, attributes, reason) in [
        ("endpoint", json!({"spec_disable": true}), "its kind has no `spec_disable`"),
        ("endpoint", json!({"count_endpoint": 2}), "its kind has no `count_endpoint`"),
        ("irule", json!({"spec_name": "x", "spec_labels": {"a": "b"}}), "its kind has no `spec_labels`, `spec_name`"),
        ("endpoint", json!({"port": 80, "po_rt": 81}), "its kind has no `po_rt`"),
    ] {
        let import = import(&json!({"version": 4, "resources": [renamed(kind, &attributes)]}));
        let reasons: Vec<&str> = left_out(&import).into_iter().map(|(_, why)| why).collect();
        assert_eq!(reasons, [reason], "{kind}");
    }
}

#[test]
fn an_attribute_of_several_items_is_named_once() {
    let route = json!({"send": true, "newer": "x", "alertname": 5});
    let import =
        import(&json!({"version": 4, "resources": [renamed("alert_policy", &json!({"routes": [route, route]}))]}));
    let reason = "its kind has no `routes.newer`; not of its type: `routes.alertname`";
    assert_eq!(left_out(&import), [("volterra_alert_policy.alert_policy", reason)]);
}

#[test]
fn no_two_fields_of_a_message_have_the_same_attribute() {
    for (id, message) in kind::all().flat_map(Kind::messages) {
        for field in &message.fields {
            let attribute = field.name.to_ascii_lowercase();
            let found = super::attributes::field_of(message, &attribute).expect("a field");
            assert_eq!(found.name, field.name, "{id}");
        }
    }
}
