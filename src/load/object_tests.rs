//! Documents of other kinds than endpoint.

use serde_json::json;

use super::{LoadOptions, SourceFile, sources};
use crate::kind::{self, Field, FieldKind, Flag, Part};
use crate::model::Json;

/// What a check of these documents finds: message, label and help of each problem with its line.
fn found(text: &str) -> Vec<String> {
    let options = LoadOptions::default();
    let file = SourceFile { path: "a.yaml".to_owned(), bytes: text.as_bytes().to_vec() };
    let Err(found) = sources(vec![file], &options) else { return Vec::new() };
    let line = |problem: &super::Diagnostic| {
        let label = problem.labels.first().map(|label| label.label.clone()).unwrap_or_default();
        format!("{}: {} [{label}] {}", problem.line(), problem.message, problem.help.clone().unwrap_or_default())
            .trim_end()
            .to_owned()
    };
    found.list.iter().map(line).collect()
}

fn pool(spec: &str) -> String {
    format!("kind: origin_pool\nmetadata: {{name: cart, namespace: shop}}\nspec:\n{spec}")
}

const SERVERS: &str = "  origin_servers: [{public_ip: {ip: 192.0.2.4}}]\n  no_tls: {}\n";

#[test]
fn a_good_object_of_any_kind_has_no_problem() {
    assert_eq!(
        found(&pool(&format!("{SERVERS}  port: 80\n  endpointSelection: LOCAL_PREFERRED\n"))),
        Vec::<String>::new()
    );
    // Numbers as texts, words as numbers, what means nothing, and null.
    assert_eq!(
        found(&pool(&format!(
            "{SERVERS}  port: \"80\"\n  endpoint_selection: 2\n  healthcheck: []\n  advanced_options:\n"
        ))),
        Vec::<String>::new()
    );
}

#[test]
fn every_problem_of_an_object_is_found_at_its_place_in_one_go() {
    let text = pool(
        "  origin_servers:\n  - public_ip: {ip: 192.0.2.400}\n  - public_ip: {ip: 192.0.2.4}\n    private_name: {}\n  \
         port: 70000\n  lb_port: {}\n  healthchek: []\n  endpoint_selection: LOCAL_PREFERED\n  use_tls: 5\n  \
         loadbalancer_algorithm: [1]\n",
    );
    let expected = [
        "5: `192.0.2.400` is not a valid IPv4 address []",
        "7: `public_ip` and `private_name` cannot both be set [one of them]",
        "8: `port` is 70000 [allowed: 1 to 65535]",
        "9: `port` and `lb_port` cannot both be set [one of them]",
        "10: unknown field `healthchek` [did you mean `healthcheck`?]",
        "11: unknown value `LOCAL_PREFERED` for `endpoint_selection` [did you mean `LOCAL_PREFERRED`?]",
        "12: `use_tls` is (not shown), not a mapping [a mapping is needed here]",
        "13: `loadbalancer_algorithm` is a list, not a word [a word is needed here]",
    ];
    let found = found(&text);
    for expected in expected {
        assert!(found.iter().any(|found| found.starts_with(expected)), "{expected}\n{found:#?}");
    }
}

#[test]
fn a_reference_that_is_a_name_alone_is_shown_as_it_is_written() {
    for (written, label) in [("[alive]", "write `{name: alive}`"), ("[Alive]", "a mapping is needed here")] {
        let expected = [format!("6: `healthcheck` is `{}`, not a mapping [{label}]", &written[1..6])];
        assert_eq!(found(&pool(&format!("{SERVERS}  healthcheck: {written}\n  port: 80\n"))), expected);
    }
}

#[test]
fn a_part_of_references_belongs_under_none_of_them() {
    let metadata = |key: &str| {
        pool(&format!("{SERVERS}  port: 80\n")).replace("namespace: shop", &format!("namespace: shop, {key}: x"))
    };
    let spec = |key: &str| pool(&format!("{SERVERS}  port: 80\n  {key}: x\n"));
    for key in ["kind", "tenant"] {
        for text in [metadata(key), spec(key)] {
            let found = found(&text);
            assert!(found.len() == 1 && !found[0].contains("belongs under"), "{found:?}");
        }
    }
}

#[test]
fn a_word_that_a_rule_excludes_is_refused_with_the_words_that_are_left() {
    let policy = |action: &str| {
        let spec = format!("rule_list: {{rules: [{{metadata: {{name: a}}, action: {action}}}]}}, any_proxy: {{}}");
        found(&format!("kind: forward_proxy_policy\nmetadata: {{name: a, namespace: shop}}\nspec: {{{spec}}}\n"))
    };
    assert_eq!(policy("ALLOW"), Vec::<String>::new());
    let refused = policy("NEXT_POLICY_SET");
    assert!(refused[0].starts_with("3: unknown value `NEXT_POLICY_SET` for `action`"), "{refused:?}");
    assert!(refused[0].ends_with("one of DENY, ALLOW"), "{refused:?}");
}

#[test]
fn the_key_of_a_map_of_numbers_is_one_in_its_range() {
    let host = |keys: &str| {
        let spec = format!("spec: {{domains: [a.example.com], proxy: HTTP_PROXY, custom_errors:\n{keys}}}");
        found(&format!("kind: virtual_host\nmetadata: {{name: a, namespace: shop}}\n{spec}\n"))
    };
    assert_eq!(host("  {404: string:///QUJD, '5': string:///QUJD}"), Vec::<String>::new());
    for key in ["abc", "'4040'", "'0404'", "-1", "+404", "600", "''"] {
        let found = host(&format!("  {{404: string:///QUJD,\n  {key}: string:///QUJD}}"));
        assert!(
            found.len() == 1 && found[0].starts_with("5: ") && found[0].contains("[allowed: 3 to 599]"),
            "{key}: {found:?}"
        );
    }
}

#[test]
fn an_object_with_many_fields_has_room_for_fewer_labels() {
    let spec = "domains: [a.example.com], proxy: HTTP_PROXY, add_location: true, disable_default_error_pages: true, \
                disable_dns_resolve: true, max_request_header_size: 59, idle_timeout: 5, connection_idle_timeout: 5, \
                request_headers_to_remove: [a], response_headers_to_remove: [a], request_cookies_to_remove: [a], \
                response_cookies_to_remove: [a], request_headers_to_add: [{name: a, value: b}], \
                response_headers_to_add: [{name: a, value: b}], routes: [{name: a}], advertise_policies: [{name: a}], \
                user_identification: [{name: a}], rate_limiter_allowed_prefixes: [{name: a}], \
                sensitive_data_policy: [{name: a}], buffer_policy: {max_request_bytes: 5}, \
                custom_errors: {404: 'string:///QUJD'}, js_challenge: {cookie_expiry: 1000}, pass_through: {}, \
                default_loadbalancer: {}, disable_path_normalize: {}";
    let host = |count: usize| {
        let labels: Vec<String> = (0..count).map(|label| format!("l{label}: a")).collect();
        let metadata = format!("{{name: a, namespace: shop, labels: {{{}}}}}", labels.join(", "));
        found(&format!("kind: virtual_host\nmetadata: {metadata}\nspec: {{{spec}}}\n"))
    };
    assert_eq!(host(20), Vec::<String>::new());
    let found = host(59);
    assert!(found.len() == 1 && found[0].starts_with("2: `trueup/applied` would be "), "{found:?}");
}

#[test]
fn what_follows_from_a_problem_is_no_problem_of_its_own() {
    let object = |kind: &str, spec: &str| format!("kind: {kind}\nmetadata: {{name: a, namespace: shop}}\n{spec}\n");
    for (kind, spec, problem) in [
        ("usb_policy", "spec: {allowed_devices: [{i_serial: [1]}]}", "`i_serial` is a list, not a text"),
        ("usb_policy", "spec: {allowed_devices: [{i_seral: a}]}", "unknown field `i_seral`"),
        ("usb_policy", "spec: {allowed_devices: [{i_serial: a, b_device_class: {}}]}", "`b_device_class` is a mapping"),
        ("origin_pool", "spec: {healthcheck: [{nane: a}]}", "unknown field `nane`"),
        ("origin_pool", "spec: {healthcheck: [{name: [a]}]}", "`name` is a list, not a text"),
        ("code_base_integration", "spec: {code_base_integration: {githb: {}}}", "unknown field `githb`"),
        (
            "code_base_integration",
            "spec: {code_base_integration: {github: 5}}",
            "`github` is (not shown), not a mapping",
        ),
        ("origin_pool", "specs: {}", "unknown field `specs`"),
        ("orign_pool", "spec: {origin_servers: []}", "unknown kind `orign_pool` [did you mean `origin_pool`?]"),
        ("endpoints", "spec: {prot: 1}", "unknown kind `endpoints` [did you mean `endpoint`?]"),
        (
            "loadbalancer",
            "spec: {}",
            "unknown kind `loadbalancer` [did you mean one of `cdn_loadbalancer`, `http_loadbalancer`, `tcp_loadbalancer`, \
             `udp_loadbalancer`?]",
        ),
        ("volterra_origin_pool", "spec: {}", "unknown kind `volterra_origin_pool` [did you mean `origin_pool`?]"),
        (
            "ves.io.schema.views.origin_pool.Object",
            "spec: {}",
            "unknown kind `ves.io.schema.views.origin_pool.Object` [did you mean `origin_pool`?]",
        ),
        ("policy", "spec: {}", "unknown kind `policy` [] to list the kinds"),
        ("endpoint", "spec: {ip: 192.0.2.1, port: -1}", "`port` is -1 [must be 0 to 65535]"),
        ("endpoint", "spec: {ip: 192.0.2.1, port: 4294967296}", "`port` is 4294967296 [must be 0 to 65535]"),
        ("*kind", "spec: {prot: 1}", "`*kind` names no anchor"),
        ("${kind}", "spec: {prot: 1}", "variable"),
        ("{a: 1}", "spec: {prot: 1}", "`kind` is a mapping [the name of a kind is needed here]"),
    ] {
        let text = found(&object(kind, spec));
        assert!(text.len() == 1 && text[0].contains(problem), "{spec}: {text:?}");
    }
    // What does not follow is found in the same pass.
    let text = found(&object("usb_policy", "spec: {allowed_devices: [{i_serial: [1]}, {}]}"));
    assert_eq!(text.len(), 2, "{text:?}");
    let text = found(&object(
        "nginx_service_discovery",
        "spec: {server_block_filters: [5, {name_regex: b}, {name_regex: b}]}",
    ));
    assert!(text.len() == 2 && text[1].contains("duplicate item [second time here]"), "{text:?}");
}

#[test]
fn what_the_settings_list_is_allowed_in_an_option_without_fields_too() {
    let text = pool(&format!("{}  port: 80\n", SERVERS.replace("no_tls: {}", "no_tls: {mode: 1}")));
    assert!(found(&text)[0].contains("unchecked: [origin_pool.spec.no_tls.mode]"), "{:?}", found(&text));
    let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), bytes: text.as_bytes().to_vec() };
    let settings = file("trueup.yaml", "unchecked: [origin_pool.spec.no_tls.mode]");
    let loaded = sources(vec![settings, file("a.yaml", &text)], &LoadOptions::default()).expect("good definitions");
    let pool = &loaded.desired.definitions.values().next().expect("one").endpoint;
    assert_eq!(json!(pool)["spec"]["no_tls"], json!({"mode": 1}));
    // Typed as in YAML, and what is set to nothing is left out.
    let text =
        text.replace("{mode: 1}", "{mode: {a: null, b: ~, c: [null, 'null', True, false, 0x1F, 1.5], d: {e: }}}");
    let settings = file("trueup.yaml", "unchecked: [origin_pool.spec.no_tls.mode]");
    let loaded = sources(vec![settings, file("a.yaml", &text)], &LoadOptions::default()).expect("good definitions");
    let pool = &loaded.desired.definitions.values().next().expect("one").endpoint;
    let typed = json!({"c": [null, "null", true, false, 31, 1.5], "d": {}});
    assert_eq!(json!(pool)["spec"]["no_tls"]["mode"], typed);
}

#[test]
fn what_is_allowed_is_listed_where_it_is_short() {
    for (kind, said) in [
        ("http_loadbalancer", "fields that are allowed here: trueup explain http_loadbalancer.spec"),
        ("healthcheck", "allowed here: `http_health_check`"),
    ] {
        let text = format!("kind: {kind}\nmetadata: {{name: a, namespace: shop}}\nspec: {{nowhere: 1}}\n");
        let file = SourceFile { path: "a.yaml".to_owned(), bytes: text.into_bytes() };
        let problems = sources(vec![file], &LoadOptions::default()).expect_err("unknown");
        let drawn = problems.render(&super::RenderOptions::default());
        assert!(drawn.contains(said), "{drawn}");
    }
}

#[test]
fn a_secret_is_sealed_and_nothing_of_it_is_shown() {
    let certificate = |key: &str| {
        format!(
            "kind: certificate\nmetadata: {{name: a, namespace: shop}}\nspec:\n  certificate_url: string:///YQ==\n{key}"
        )
    };
    let sealed = "  private_key: {blindfold_secret_info: {location: string:///c2VhbGVk}}\n";
    assert_eq!(found(&certificate(sealed)), Vec::<String>::new());
    let clear = "  private_key: {clear_secret_info: {url: string:///aHVudGVyMg==}}\n  prot: 1\n";
    let text = found(&certificate(clear));
    assert!(text[0].starts_with("5: the secret `private_key` is in clear text"), "{text:?}");
    assert!(text[1].starts_with("6: unknown field `prot`"), "{text:?}");
    // Something is there, although it is not read.
    for wrong in ["blindfold_secret_info: {lcoation: a}", "blindfold_secret_inf: {location: a}"] {
        let text = found(&certificate(&format!("  private_key: {{{wrong}}}\n")));
        assert!(text.len() == 1 && text[0].contains("does not have the form of one"), "{wrong}: {text:?}");
    }
    let text = found(&certificate("  private_key: {blindfold_secret_info: {location: \"string:///${key}\"}}\n"));
    assert!(text.len() == 1 && text[0].contains("variable"), "{text:?}");
    for wrong in ["hunter2", "[hunter2]", "{blindfold_secret_info: hunter2}", "{hunter2: {}}", "5"] {
        let key = format!("  private_key: {wrong}\n");
        let options = LoadOptions::default();
        let file = SourceFile { path: "a.yaml".to_owned(), bytes: certificate(&key).into_bytes() };
        let problems = sources(vec![file], &options).expect_err("no secret");
        assert_eq!(problems.list.len(), 1, "{wrong}: {problems:?}");
        assert!(problems.list[0].message.starts_with("the secret `private_key`"), "{wrong}: {problems:?}");
        let drawn = problems.render(&super::RenderOptions::default());
        assert!(!drawn.contains("hunter2"), "{drawn}");
    }
    // All of it on the line of what a problem marks.
    let json = r#"{"kind": "bgp", "metadata": {}, "spec": {"peers": [{"external": {"md5_auth_key": "hunter2"}}]}}"#;
    let file = SourceFile { path: "a.json".to_owned(), bytes: json.as_bytes().to_vec() };
    let problems = sources(vec![file], &LoadOptions::default()).expect_err("no secret");
    let drawn = problems.render(&super::RenderOptions::default());
    assert!(!drawn.contains("hunter2"), "{drawn}");
}

/// Specs that have a text, or a list with one, where a mapping with a secret at any depth belongs.
fn texts_instead(
    message: &'static kind::Message,
    around: &dyn Fn(Json) -> Json,
    seen: &mut Vec<*const kind::Message>,
    specs: &mut Vec<Json>,
) {
    seen.push(message);
    specs.extend([json!("hunter2"), json!("hunter2:key"), json!(["hunter2"])].map(around));
    for field in message.fields.iter().filter(|field| !field.is(Flag::Secret)) {
        let below = field.below().filter(|id| !id.is_empty()).map(kind::message);
        let Some(below) = below.filter(|below| below.hides() && !seen.contains(&std::ptr::from_ref(*below))) else {
            continue;
        };
        let around = |value: Json| {
            around(match field.kind {
                _ if field.is_list => json!({field.name: [value]}),
                FieldKind::Map(_) => json!({field.name: {"a": value}}),
                _ => json!({field.name: value}),
            })
        };
        texts_instead(below, &around, seen, specs);
    }
}

#[test]
fn a_text_instead_of_what_has_a_secret_is_not_shown() {
    let mut count = 0;
    for kind in kind::all().filter(|kind| kind.message().hides()) {
        let mut specs = Vec::new();
        texts_instead(kind.message(), &|value| value, &mut Vec::new(), &mut specs);
        for spec in specs {
            let object = json!({"kind": kind.name, "metadata": {"name": "a", "namespace": "shop"}, "spec": spec});
            for (path, text) in
                [("a.json", object.to_string()), ("a.yaml", serde_yaml::to_string(&object).expect("YAML"))]
            {
                let file = SourceFile { path: path.to_owned(), bytes: text.clone().into_bytes() };
                let problems = sources(vec![file], &LoadOptions::default()).expect_err("no mapping");
                let drawn = problems.render(&super::RenderOptions::default());
                assert!(!drawn.contains("hunter2"), "{text}\n{drawn}");
                count += 1;
            }
        }
    }
    assert!(count > 800, "{count}");
    // A word that is no secret is worth its line.
    let text = found(&pool("  origin_servers: [{public_ip: {ip: 192.0.2.4}}]\n  use_tls: true\n"));
    assert!(text[0].contains("`use_tls` is `true`, not a mapping"), "{text:?}");
}

#[test]
fn a_map_of_secrets_has_one_in_each_of_its_values() {
    let access = |headers: &str| {
        format!(
            "kind: secret_management_access\nmetadata: {{name: a, namespace: shop}}\nspec:\n  provider_name: a\n  \
             where: {{virtual_site: {{ref: [{{name: s}}]}}}}\n  access_info:\n    server_endpoint: a\n    \
             rest_auth_info: {{headers_auth: {{headers: {headers}}}}}\n"
        )
    };
    let sealed = "{blindfold_secret_info: {location: string:///c2VhbGVk}}";
    assert_eq!(found(&access(&format!("{{x: {sealed}, y: {sealed}}}"))), Vec::<String>::new());
    let shown = ["{}", "{secret_encoding_type: EncodingNone}", "{blindfold_secret_info_internal: null}"];
    let headers = shown.map(|shown| format!("{{x: {sealed}, y: {shown}}}"));
    for headers in headers.iter().map(String::as_str).chain(["{}"]) {
        let text = found(&access(headers));
        assert!(text.len() == 1 && text[0].contains("the secret `headers` has no value"), "{headers}: {text:?}");
    }
}

#[test]
fn an_object_is_only_where_its_kind_may_be_and_once() {
    let of_system = [
        "dns_domain",
        "geo_location_set",
        "infraprotect_deny_list_rule",
        "infraprotect_internet_prefix_advertisement",
        "network_firewall",
    ];
    for kind in of_system {
        let text = found(&format!("kind: {kind}\nmetadata: {{name: a, namespace: shop}}\nspec: {{}}\n"));
        let expected = format!("2: an object of the kind `{kind}` cannot be in the namespace `shop`");
        assert!(text[0].starts_with(&expected), "{text:?}");
    }
    let one = pool(&format!("{SERVERS}  port: 80\n"));
    let text = found(&format!("{one}---\n{one}"));
    assert_eq!(text, ["9: `origin_pool:shop/cart` is defined twice [second definition here]"]);
    // An endpoint of the same name is another object.
    let endpoint = "metadata: {name: cart, namespace: shop}\nspec: {ip: 192.0.2.4}\n";
    assert_eq!(found(&format!("{one}---\n{endpoint}")), Vec::<String>::new());
}

#[test]
fn what_an_object_needs_is_named_where_it_is_missing() {
    let text = found("kind: origin_pool\nspec:\n  healthcheck: [{namespace: shop}]\n");
    assert!(text.iter().any(|line| line.contains("`metadata.name` is missing")), "{text:?}");
    assert!(text.iter().any(|line| line.contains("`metadata.namespace` is missing")), "{text:?}");
    assert!(text.iter().any(|line| line.starts_with("3: `name` is missing")), "{text:?}");
    let text = found(&pool(&format!("{SERVERS}  port: 80\n  healthcheck: [{{name: ''}}]\n")));
    assert!(text.len() == 1 && text[0].contains("`name` is missing"), "{text:?}");
    assert!(
        found("kind: origin_pool\nmetadata: {name: a, namespace: b}\n")
            .iter()
            .any(|line| line.contains("`spec` is missing"))
    );
}

#[test]
fn a_prefix_has_the_bits_and_a_text_of_ports_the_number_that_are_allowed() {
    let slice = |prefix: &str| {
        let spec = format!("sid_prefixes: ['{prefix}']");
        found(&format!("kind: srv6_network_slice\nmetadata: {{name: a, namespace: system}}\nspec: {{{spec}}}\n"))
    };
    let text = slice("2001:db8::/48");
    assert!(text.len() == 1 && text[0].contains("has a prefix of 48 bits [allowed: exactly 32 bits"), "{text:?}");
    assert_eq!(slice("2001:db8::/32"), Vec::<String>::new());
    let policy = |ports: &str| {
        let spec = format!("protocol: TCP, port_ranges: '{ports}', public_ip: [{{name: x}}]");
        found(&format!("kind: advertise_policy\nmetadata: {{name: a, namespace: shop}}\nspec: {{{spec}}}\n"))
    };
    let text = policy("80,1000-2023");
    assert!(
        text.len() == 1 && text[0].contains("`port_ranges` has 1025 ports [allowed: at most 1024 ports]"),
        "{text:?}"
    );
    // The service refuses what cannot be read as a range.
    for ports in ["80", "1-1024", "80, 8080 - 9000", "9-1", "a", "1-70000"] {
        assert_eq!(policy(ports), Vec::<String>::new(), "{ports}");
    }
}

#[test]
fn a_required_text_is_not_empty() {
    let filter = |key: &str, id: &str| {
        let fields = format!("filter_fields: [{{field_id: {id}, string_field: {{field_values: [b]}}}}]");
        found(&format!("kind: filter_set\nmetadata: {{name: a, namespace: shop}}\nspec:\n{key}  {fields}\n"))
    };
    assert_eq!(filter("  context_key: ''\n", "a"), ["4: `context_key` is empty [it is required]"]);
    assert_eq!(filter("", "a"), ["3: `context_key` is missing [it is required]"]);
    assert_eq!(filter("  contextKey: k\n", "''"), ["5: `field_id` is empty [it is required]"]);
    assert_eq!(filter("  context_key: k\n", "a"), Vec::<String>::new());
}

#[test]
fn items_are_equal_where_they_mean_the_same() {
    let servers = |items: &str| {
        let items = format!("  origin_servers: [{items}]\n  no_tls: {{}}\n  port: 80\n");
        found(&pool(&items))
            .iter()
            .map(|line| line.split(" [").next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    let pools = |other: &str| {
        let pools = format!("[{{pool: {{name: p}}, weight: 1}}, {{pool: {{name: p, {other}}}, weight: 1}}]");
        let spec = "spec: {domains: [a.example.net], http: {port: 80}, advertise_on_public_default_vip: {}";
        let head = "kind: http_loadbalancer\nmetadata: {name: a, namespace: shop}";
        found(&format!("{head}\n{spec}, default_route_pools: {pools}}}\n"))
    };
    let twice = |found: Vec<String>| found.len() == 1 && found[0].contains("duplicate item");
    let ip = "public_ip: {ip: 192.0.2.1}";
    for other in [ip, "publicIp: {ip: 192.0.2.1}", &format!("{ip}, labels: {{}}"), &format!("{ip}, labels: ")] {
        assert!(twice(servers(&format!("{{{ip}}}, {{{other}}}"))), "{other}");
    }
    assert_eq!(servers(&format!("{{{ip}}}, {{{ip}, labels: {{a: b}}}}")), [""; 0]);
    for other in ["namespace: shop", "namespace: ''", "namespace: shop, kind: origin_pool", "namespace: "] {
        assert!(twice(pools(other)), "{other}");
    }
    for other in ["namespace: shared", "tenant: other"] {
        assert_eq!(pools(other), Vec::<String>::new(), "{other}");
    }
}

#[test]
fn an_object_has_the_digest_of_a_secret_alone() {
    let certificate = "kind: certificate\nmetadata: {name: a, namespace: shop}\nspec:\n  certificate_url: string:///YQ==\n  \
                       private_key: {blindfold_secret_info: {location: string:///c2VhbGVk}}\n";
    let file = SourceFile { path: "a.yaml".to_owned(), bytes: certificate.as_bytes().to_vec() };
    let desired = sources(vec![file], &LoadOptions::default()).expect("a definition").desired;
    let object = &desired.definitions.values().next().expect("one").endpoint;
    let shown = format!("{desired:?}{}", serde_json::json!(object));
    assert!(!shown.contains("c2VhbGVk") && shown.contains("\"sealed\":"), "{shown}");
    let unseal = |body: &Json| {
        let body = serde_json::value::to_raw_value(body).expect("JSON");
        serde_json::from_str::<Json>(desired.sealed().unseal(object.key.kind, &body).get()).expect("JSON")
    };
    let mut body = serde_json::to_value(object.body()).expect("JSON");
    let mark = body["spec"]["private_key"].clone();
    // Where no secret is described the mark of one is a value like any other.
    body["spec"]["new_option"] = json!({"below": [mark]});
    body["metadata"]["labels"] = mark.clone();
    let mut unsealed = unseal(&body);
    assert_eq!(
        std::mem::replace(&mut unsealed["spec"]["private_key"], mark),
        json!({"blindfold_secret_info": {"location": "string:///c2VhbGVk"}})
    );
    assert_eq!(unsealed, body);
}

#[test]
fn a_hostile_object_has_a_bounded_number_of_problems() {
    let document = |spec: Json| {
        json!({"kind": "http_loadbalancer", "metadata": {"name": "a", "namespace": "shop"}, "spec": spec}).to_string()
    };
    let unknown: serde_json::Map<String, Json> = (0..20_000).map(|at| (format!("unknown_{at}"), 1.into())).collect();
    let text = found(&document(unknown.into()));
    assert_eq!(text.len(), 51, "{} problems", text.len());
    assert!(text.iter().any(|line| line.contains("19950 more unknown fields")), "{:?}", text.last());
    let labels: serde_json::Map<String, Json> = (0..20_000).map(|at| (format!("k{at}"), "_".into())).collect();
    let metadata = json!({"name": "a", "namespace": "shop", "labels": labels});
    let text = found(&json!({"metadata": metadata, "spec": {"ip": "192.0.2.1"}}).to_string());
    assert_eq!(text.len(), 200, "{} problems", text.len());
    let wrong: Vec<Json> = vec![json!({"a": {"b": 1}}); 20_000];
    let text = found(&document(json!({"domains": wrong, "routes": wrong})));
    assert!(text.len() <= 202, "{} problems", text.len());
}

/// Random objects that the description allows.
struct Generator {
    state: u64,
}

impl Generator {
    fn below(&mut self, most: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state % most as u64).expect("a small number")
    }

    /// A message with about half of its fields; nothing where the generator knows no value for one that it needs.
    fn message(&mut self, id: &str, depth: usize) -> Option<Json> {
        let message = kind::message(id);
        let mut object = serde_json::Map::new();
        let mut chosen: Vec<&str> = Vec::new();
        for group in &message.groups {
            let needs = group.needs_choice();
            if needs || self.below(2) == 0 {
                chosen.push(group.members[self.below(group.members.len())]);
            }
        }
        for field in message.fields.iter().filter(|field| !field.is(Flag::ReadOnly)) {
            let is_option = message.group_of(field.name).is_some();
            let needed = if is_option { chosen.contains(&field.name) } else { field.is(Flag::Required) };
            // The kind that a reference names is its field's to know.
            if field.name == "kind" || !needed && (is_option || depth > 3 || self.below(2) == 0) {
                continue;
            }
            match self.field(field, depth) {
                Some(value) => _ = object.insert(field.name.to_owned(), value),
                // The generator does not know what the vendor takes here.
                None if needed => return None,
                None => {}
            }
        }
        Some(object.into())
    }

    fn field(&mut self, field: &'static Field, depth: usize) -> Option<Json> {
        if field.is(Flag::Secret) {
            let sealed = json!({"blindfold_secret_info": {"location": "string:///c2VhbGVk"}});
            return (field.kind == FieldKind::Message("SecretType") && !field.is_list).then_some(sealed);
        }
        let fits = |part: Part, value: &Json| {
            field.rules.iter().all(|(of, rule)| *of != part || rule.broken(field, value).is_none())
        };
        if !field.is_list {
            return self.value(&field.kind, depth, &|value| fits(Part::Value, value));
        }
        let counts = [1, 2, 3, 4, 8];
        let allowed = |count: &&usize| {
            // Items that differ, for the rules about their number alone.
            fits(Part::Value, &(0..**count).collect())
        };
        let count = counts.iter().find(allowed)?;
        let items = (0..*count).map(|_| self.value(&field.kind, depth, &|value| fits(Part::Items, value)));
        let items: Vec<Json> = items.collect::<Option<_>>()?;
        let differ = items.iter().enumerate().all(|(at, item)| !items[..at].contains(item));
        differ.then(|| items.into())
    }

    fn value(&mut self, kind: &'static FieldKind, depth: usize, fits: &dyn Fn(&Json) -> bool) -> Option<Json> {
        let number = |number: i64| fits(&number.into()).then(|| Json::from(number));
        match kind {
            FieldKind::Bool => Some((self.below(2) == 0).into()),
            FieldKind::Integer { .. } => {
                let start = self.below(6);
                (0..12)
                    .find_map(|at| number([1, 2, 10, 80, 300, 1024, 5000, 64_512, 100, 20, 5, 600][(start + at) % 12]))
            }
            FieldKind::Float { .. } => Some(json!(0.5)),
            FieldKind::Text => {
                let texts = [
                    "a",
                    "abc",
                    "192.0.2.4",
                    "2001:db8::1",
                    "192.0.2.0/24",
                    "2001:db8::/32",
                    "a.example.net",
                    "/a",
                    "80",
                ];
                let start = self.below(texts.len());
                let texts = (0..texts.len()).map(|at| texts[(start + at) % texts.len()]);
                texts.into_iter().find(|text| fits(&(*text).into())).map(Json::from)
            }
            FieldKind::Bytes => Some("YQ==".into()),
            FieldKind::Timestamp => Some("2026-01-31T12:00:00Z".into()),
            FieldKind::Duration => Some("1.5s".into()),
            FieldKind::Any => Some(json!({"anything": [1]})),
            FieldKind::Message("") => Some(json!({})),
            FieldKind::Message(id) => {
                let object = if depth > 5 { None } else { self.message(id, depth + 1) }?;
                let is_empty = object.as_object().is_some_and(serde_json::Map::is_empty);
                (!is_empty || fits(&object)).then_some(object)
            }
            FieldKind::Enum(id) => {
                let values = kind::values(id);
                let fitting: Vec<&str> =
                    values.iter().filter(|(name, _)| fits(&(*name).into())).map(|(name, _)| *name).collect();
                (!fitting.is_empty()).then(|| fitting[self.below(fitting.len())].into())
            }
            FieldKind::Map(_) => Some(json!({})),
        }
    }
}

/// A random mapping of an object gets a key that no kind has; returns whether there was one.
fn misspell(value: &mut Json, generator: &mut Generator) -> bool {
    if let Json::Object(map) = value {
        let below: Vec<String> =
            map.iter().filter(|(_, value)| value.is_object() || value.is_array()).map(|(key, _)| key.clone()).collect();
        if !below.is_empty() && generator.below(2) == 0 {
            let key = &below[generator.below(below.len())];
            // A map has free keys, and what is below a secret or anything is not for a message.
            let is_known = !["anything", "blindfold_secret_info", "labels"].contains(&key.as_str());
            if is_known && misspell(&mut map[key], generator) {
                return true;
            }
        }
        if map.contains_key("anything") || map.contains_key("blindfold_secret_info") || map.is_empty() {
            return false;
        }
        map.insert("no_kind_has_this".to_owned(), 1.into());
        return true;
    }
    let Json::Array(items) = value else { return false };
    items.first_mut().is_some_and(|item| misspell(item, generator))
}

#[test]
fn random_objects_of_every_kind_are_read_and_a_key_too_much_is_found() {
    const EACH: usize = 20;
    let mut generator = Generator { state: 0x5eed_2026 };
    let (mut read, mut misspelt, mut without) = (0, 0, Vec::new());
    for kind in kind::all().filter(|kind| kind.name != kind::ENDPOINT) {
        let before = read;
        for _ in 0..EACH {
            let Some(mut spec) = generator.message(kind.spec, 0) else { continue };
            let namespace = match kind.namespaces.first() {
                Some(&"user") | None => "shop",
                Some(other) => other,
            };
            let document = |spec: &Json| {
                json!({"kind": kind.name, "metadata": {"name": "a", "namespace": namespace}, "spec": spec}).to_string()
            };
            assert_eq!(found(&document(&spec)), Vec::<String>::new(), "{}", document(&spec));
            read += 1;
            if misspell(&mut spec, &mut generator) {
                let found = found(&document(&spec));
                assert!(found.iter().any(|line| line.contains("`no_kind_has_this`")), "{found:?}\n{}", document(&spec));
                misspelt += 1;
            }
        }
        if read == before {
            without.push(kind.name);
        }
    }
    println!("{read} objects, {misspelt} with a key too much; none of {without:?}");
    assert!(without.len() <= 2 && misspelt > read / 2, "{read} objects, {misspelt} misspelt, none of {without:?}");
}

#[test]
fn a_key_far_below_is_not_sent_to_the_metadata() {
    let site =
        "kind: endpoint\nmetadata: {name: a, namespace: shop}\nspec: {ip: 192.0.2.1, where: {site: {name: ce01}}}\n";
    assert!(
        found(site).iter().any(|problem| problem.starts_with("3: unknown field `name` [] allowed here: `ref`")),
        "{:?}",
        found(site)
    );
    let below = "kind: endpoint\nmetadata: {name: a, namespace: shop}\nspec: {ip: 192.0.2.1, labels: {}}\n";
    assert!(
        found(below)[0].starts_with("3: unknown field `labels` [it belongs under `metadata`]"),
        "{:?}",
        found(below)
    );
}

#[test]
fn a_key_of_a_mapping_in_an_item_of_a_list_is_not_taken_for_a_newer_one() {
    let servers = |item: &str| pool(&format!("  origin_servers:\n{item}  no_tls: {{}}\n  port: 80\n"));
    let one_level_up = servers("  - private_name:\n    ip: 192.0.2.1\n");
    let set = servers("  - private_ip: {}\n    ip: 192.0.2.1\n");
    let anywhere = servers("  - public_ip:\n    ip: 192.0.2.1\n");
    let without_a_space = servers("  -public_ip: {ip: 192.0.2.1}\n");
    for (text, label) in [
        (one_level_up, "it belongs under `public_ip`"),
        (set, "it belongs under `private_ip`"),
        (anywhere, "it belongs under `public_ip`"),
        (without_a_space, "a space is missing after the `-`"),
    ] {
        let found = found(&text);
        let unknown = found.iter().find(|problem| problem.contains("unknown field")).expect("an unknown field");
        assert!(unknown.contains(label) && !unknown.contains("unchecked"), "{unknown}");
    }
    let newer = found(&servers("  - public_ip: {ip: 192.0.2.1}\n    newer_option: 1\n"));
    assert!(newer[0].contains("`unchecked: [origin_pool.spec.origin_servers.newer_option]`"), "{newer:?}");
}

#[test]
fn a_key_that_is_missing_or_has_swallowed_its_value_is_an_error() {
    let endpoint = |metadata: &str, spec: &str| {
        found(&format!("metadata: {{name: cart, namespace: shop, {metadata}}}\nspec: {{ip: 192.0.2.4, {spec}}}\n"))
    };
    let swallowed =
        |line: u32, text: &str| [format!("{line}: `{text}` has no value [a space is missing after the first `:`]")];
    assert_eq!(endpoint("labels: {team:prod, tier: web}", "port: 80"), swallowed(1, "team:prod"));
    assert_eq!(endpoint("annotations: {owner:me}", "port: 80"), swallowed(1, "owner:me"));
    assert_eq!(endpoint("disable: false", "port:80"), swallowed(2, "port:80"));
    let headers = "    http_health_check:\n      path: /\n      use_origin_server_name: {}\n      headers: {X-A:v}\n";
    let check = format!(
        "kind: healthcheck\nmetadata: {{name: web, namespace: shop}}\nspec:\n    timeout: 1\n    interval: 1\n    \
         unhealthy_threshold: 1\n    healthy_threshold: 1\n{headers}"
    );
    assert_eq!(found(&check), swallowed(11, "X-A:v"));
    for (what, of) in [("a label", "labels: {: x}"), ("an annotation", "annotations: {? : x}")] {
        assert_eq!(endpoint(of, "port: 80"), ["1: a key is missing before the `:` [here]"], "{what}");
    }
    // Absent on purpose.
    for of in ["a: null", "a: ~", "a: ", "a", "'a:b'", "'a:b': "] {
        assert_eq!(endpoint(&format!("annotations: {{{of}}}"), "port: 80"), Vec::<String>::new(), "{of}");
    }
    let block = "metadata:\n  name: cart\n  namespace: shop\n  annotations:\n    a:b:\nspec: {ip: 192.0.2.4}\n";
    assert_eq!(found(block), Vec::<String>::new());
}

#[test]
fn a_value_of_any_type_is_what_yaml_says_or_an_error() {
    let read = |written: &str| {
        let text = pool(&format!("{SERVERS}  port: 80\n  newer: {written}\n"));
        let settings = "unchecked: [origin_pool.spec.newer]\n".to_owned();
        let file = |(path, text): (&str, String)| SourceFile { path: path.to_owned(), bytes: text.into_bytes() };
        let files = [("trueup.yaml", settings), ("a.yaml", text)].map(file);
        let loaded = sources(files.into(), &LoadOptions::default()).map_err(|problems| problems.summary())?;
        let spec = &loaded.desired.definitions.values().next().expect("a definition").endpoint.spec;
        Ok::<_, String>(spec.json()["newer"].clone())
    };
    for (written, value) in [
        ("0b11", json!("0b11")),
        ("+0x1F", json!("+0x1F")),
        ("-0o17", json!("-0o17")),
        ("0x1F", json!(31)),
        ("-17", json!(-17)),
        ("1.50", json!(1.5)),
        ("[1e3, .5, yes, on]", json!([1000.0, 0.5, "yes", "on"])),
        ("{a: True, b: ~, c: '010'}", json!({"a": true, "c": "010"})),
        ("18446744073709551615", json!(u64::MAX)),
    ] {
        assert_eq!(read(written), Ok(value), "{written}");
    }
    for written in [".inf", "-.INF", ".nan", "010", "[1, 1e400]", "{a: 123456789012345678901}", "[010]"] {
        assert!(read(written).is_err(), "{written}");
    }
}

#[test]
fn a_key_is_a_text_or_an_alias_of_one() {
    let endpoint = |key: &str| {
        let metadata = "{name: cart, namespace: shop, labels: {&key a: b}}";
        found(&format!("metadata: {metadata}\nspec:\n  ip: 192.0.2.4\n  {key}: 80\n"))
    };
    assert_eq!(endpoint("port"), Vec::<String>::new());
    assert!(endpoint("*key ")[0].starts_with("4: unknown field `a`"));
    for key in ["? [port]\n  ", "? {port: 1}\n  "] {
        assert_eq!(endpoint(key), ["4: a key is a list or a mapping [a key is a text]"]);
    }
}
