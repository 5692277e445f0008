//! Edits in place keep comments, quotes and order, and are withdrawn where they would change more.

use serde_json::{Value, json};

use super::*;
use crate::load::source::FileOrigin;
use crate::load::{self, LoadOptions, SourceFile};
use crate::tests::comparisons::count;

const KEY: &str = "shop/cart";

fn loaded(files: &[(&str, &str)]) -> Loaded {
    let files = files
        .iter()
        .map(|(path, text)| SourceFile { path: (*path).to_owned(), bytes: text.as_bytes().to_vec() })
        .collect();
    load::sources(files, &LoadOptions::default()).unwrap_or_else(|wrong| panic!("{:?}", wrong.list))
}

fn wanted(field: &str, live: &Value) -> ValueToAdopt {
    let field = match field {
        "target" => Field::of_unit("target"),
        "snat_pool" => Field::of_unit("snat_pool"),
        "where" => Field::of_unit("where"),
        path => Field::from_path(path).unwrap_or_else(|| panic!("`{path}` is not a field")),
    };
    ValueToAdopt {
        key: Key::parse(KEY).expect("a key"),
        field,
        live: live.clone(),
        unnamed: None,
        tenant: Some("t".to_owned()),
    }
}

fn adopted(files: &[(&str, &str)], changes: &[(&str, Value)]) -> AdoptedEdits {
    let wanted: Vec<ValueToAdopt> = changes.iter().map(|(field, live)| wanted(field, live)).collect();
    adopt(&loaded(files), &wanted)
}

/// The text of `a.yaml` after the edits.
#[track_caller]
fn edited(text: &str, changes: &[(&str, Value)]) -> String {
    edited_in("a.yaml", text, changes)
}

#[track_caller]
fn edited_in(name: &str, text: &str, changes: &[(&str, Value)]) -> String {
    let edits = adopted(&[(name, text)], changes);
    assert_eq!(edits.left, [], "left");
    assert_eq!(edits.adopted.len(), changes.len());
    String::from_utf8(edits.files.get(name).expect("an edit").now.clone()).expect("a text")
}

/// The reasons why nothing of `a.yaml` was edited.
#[track_caller]
fn refused(files: &[(&str, &str)], field: &str, live: Value) -> NotEditable {
    let mut edits = adopted(files, &[(field, live)]);
    assert!(edits.files.is_empty(), "nothing is edited");
    edits.left.pop().expect("a reason").2
}

const FILE: &str = "\
# the cart
metadata:
  name: cart   # its name
  namespace: shop
  labels:
    tier: db   # as agreed
    'team': \"a\"
spec:

  ip: 10.0.0.7 # überall
  port: 8080
  snat_pool:
    snat_pool:
      prefixes:
        # office
        - 10.1.0.0/16
        - 10.2.0.0/16   # lab
  where:
    site:
      ref: [{name: ce01, namespace: system}]
      network_type: VIRTUAL_NETWORK_SITE_LOCAL
# the end
";

#[test]
fn a_scalar_changes_and_nothing_around_it() {
    assert_eq!(edited(FILE, &[("spec.port", json!(8443))]), FILE.replace("port: 8080", "port: 8443"));
    assert_eq!(edited(FILE, &[("labels.tier", json!("web"))]), FILE.replace("tier: db ", "tier: web "));
    assert_eq!(edited(FILE, &[("labels.team", json!("b"))]), FILE.replace("\"a\"", "\"b\""));
    assert_eq!(edited(FILE, &[("labels.tier", json!("1.50"))]), FILE.replace("tier: db ", "tier: \"1.50\" "));
    assert_eq!(edited(FILE, &[("target", json!({"ip": "2001:db8::1"}))]), FILE.replace("10.0.0.7", "2001:db8::1"));
}

#[test]
fn a_text_in_quotes_stays_in_quotes_and_is_escaped() {
    let text = "metadata: {name: cart, namespace: shop, description: \"a\"}\nspec: {ip: 10.0.0.7}\n";
    assert_eq!(edited(text, &[("description", json!("b\"ü"))]), text.replace("\"a\"", "\"b\\\"ü\""));
}

#[test]
fn many_fields_change_at_once() {
    let changes = [
        ("labels.tier", json!("web")),
        ("spec.port", json!(1)),
        ("spec.protocol", json!("UDP")),
        ("labels.team", Value::Null),
    ];
    let expected = FILE
        .replace("tier: db ", "tier: web ")
        .replace("    'team': \"a\"\n", "")
        .replace("port: 8080", "port: 1")
        .replace("_SITE_LOCAL\n", "_SITE_LOCAL\n  protocol: UDP\n");
    assert_eq!(edited(FILE, &changes), expected);
}

#[test]
fn an_option_is_renamed() {
    let renamed = edited(FILE, &[("target", json!({"dns_name": "cart.example.net"}))]);
    assert_eq!(renamed, FILE.replace("ip: 10.0.0.7 #", "dns_name: cart.example.net #"));
    let advanced = json!({"dns_name_advanced": {"name": "cart.example.net", "refresh_interval": 60}});
    let renamed = edited(FILE, &[("target", advanced)]);
    assert_eq!(
        renamed,
        FILE.replace("ip: 10.0.0.7 #", "dns_name_advanced: {name: cart.example.net, refresh_interval: 60} #")
    );
    let text = "metadata: {name: cart, namespace: shop}\nspec:\n  dnsNameAdvanced:\n    name: a.example.net\n    refreshInterval: 30\n  port: 1\n";
    assert_eq!(
        edited(text, &[("target", json!({"ip": "10.0.0.7"}))]),
        "metadata: {name: cart, namespace: shop}\nspec:\n  ip: 10.0.0.7\n  port: 1\n"
    );
    let other = json!({"dns_name_advanced": {"name": "a.example.net", "refresh_interval": 90}});
    assert_eq!(edited(text, &[("target", other)]), text.replace("30", "90"));
}

#[test]
fn a_field_that_is_not_written_gets_a_line() {
    assert_eq!(edited(FILE, &[("labels.zone", json!("eu"))]), FILE.replace("\"a\"\n", "\"a\"\n    zone: eu\n"));
    assert_eq!(
        edited(FILE, &[("description", json!("of the shop"))]),
        FILE.replace("\"a\"\n", "\"a\"\n  description: of the shop\n")
    );
    assert_eq!(
        edited(FILE, &[("annotations.team", json!("x"))]),
        FILE.replace("\"a\"\n", "\"a\"\n  annotations: {team: x}\n")
    );
    let two = [("annotations.a", json!("1 a")), ("annotations.b", json!("x: y"))];
    assert_eq!(edited(FILE, &two), FILE.replace("\"a\"\n", "\"a\"\n  annotations: {a: \"1 a\", b: \"x: y\"}\n"));
}

#[test]
fn a_line_is_added_at_the_end_of_a_file_without_a_line_break() {
    let text = "metadata:\n  name: cart\n  namespace: shop\nspec:\n  ip: 10.0.0.7";
    assert_eq!(edited(text, &[("spec.port", json!(5))]), format!("{text}\n  port: 5"));
}

#[test]
fn a_label_is_removed_with_its_line() {
    assert_eq!(edited(FILE, &[("labels.tier", Value::Null)]), FILE.replace("    tier: db   # as agreed\n", ""));
    let text = "metadata:\n  name: cart\n  namespace: shop\n  labels:\n    a: b\nspec: {ip: 10.0.0.7}\n";
    assert_eq!(edited(text, &[("labels.a", Value::Null)]), text.replace("labels:\n    a: b\n", "labels: {}\n"));
}

#[test]
fn what_has_a_comment_inside_is_not_removed() {
    for place in ["    site:\n      # the old one\n", "    site:   # old\n", "    site:\n"] {
        let file = FILE.replace("    site:\n", place);
        let file = if place == "    site:\n" { file.replace("LOCAL\n", "LOCAL   # inside\n") } else { file };
        assert_eq!(refused(&[("a.yaml", &file)], "where", Value::Null), NotEditable::Comment, "{file}");
    }
    for label in
        ["tier:\n      # as agreed\n      db\n", "tier: # as agreed\n      db\n", "tier: |- # as agreed\n      db\n"]
    {
        let file = FILE.replace("tier: db   # as agreed\n", label);
        assert_eq!(refused(&[("a.yaml", &file)], "labels.tier", Value::Null), NotEditable::Comment, "{file}");
    }
    let place = &FILE[FILE.find("  where").expect("a place")..FILE.find("# the end").expect("an end")];
    assert_eq!(edited(FILE, &[("where", Value::Null)]), FILE.replace(place, ""));
}

#[test]
fn a_sign_of_a_comment_within_a_text_is_none() {
    let json = r#"{"metadata": {"name": "cart", "namespace": "shop", "annotations": {"a#": "issue #1", "b": " # c"}}, "spec": {"ip": "10.0.0.7"}}"#;
    let less = json.replace("\"a#\": \"issue #1\", ", "");
    assert_eq!(edited_in("a.json", json, &[("annotations.a#", Value::Null)]), less);
    let annotated = |annotations: &str| {
        format!(
            "metadata:\n  name: cart\n  namespace: shop\n  annotations:\n    z: z\n{annotations}spec: {{ip: 10.0.0.7}}\n"
        )
    };
    for text in
        ["    a: x#y\n", "    a: ' # y'\n", "    a: |\n      # y\n", "    a: \"x\n      # y\"\n", "    a: x # y\n"]
    {
        let file = annotated(text);
        assert_eq!(edited(&file, &[("annotations.a", Value::Null)]), annotated(""), "{file}");
    }
    for text in ["    a: | # y\n      # z\n", "    a:\n      # y\n      ' # z'\n"] {
        assert_eq!(
            refused(&[("a.yaml", &annotated(text))], "annotations.a", Value::Null),
            NotEditable::Comment,
            "{text}"
        );
    }
    let head = "kind: route\nmetadata: {name: cart, namespace: shop}\nspec:\n  routes:\n  - match: [path: {prefix: /a}]\n    route_direct_response: {response_code: 200}\n";
    let body = |body: &str| {
        format!(
            "{head}  - match: [path: {{regex: '/a[^#]*'}}]\n    route_direct_response:\n      response_body: {body}\n      response_code: 201\n"
        )
    };
    for (text, is_left) in [
        (body("a#b"), false),
        (body("|\n        # a\n"), false),
        (body("|\n        # a\n      # the code"), true),
        (body("a # b"), true),
    ] {
        let loaded = loaded(&[("a.yaml", &text)]);
        let (key, definition) = loaded.desired.definitions.first_key_value().expect("a definition");
        let field = Field::of_unit("routes");
        let live = json!([field.value(&definition.endpoint)[0]]);
        let edits = adopt(&loaded, &[ValueToAdopt { key: key.clone(), field, live, unnamed: None, tenant: None }]);
        match edits.left.first() {
            Some(left) => assert!(is_left && left.2 == NotEditable::Comment, "{text}: {left:?}"),
            None => assert!(!is_left && edits.files["a.yaml"].now == head.as_bytes(), "{text}: {:?}", edits.files),
        }
    }
}

#[test]
fn a_prefix_list_keeps_its_order_and_comments() {
    let pool = |prefixes: &[&str]| json!({"snat_pool": {"prefixes": prefixes}});
    assert_eq!(
        edited(FILE, &[("snat_pool", pool(&["10.2.0.0/16", "10.3.0.0/16"]))]),
        FILE.replace("        - 10.1.0.0/16\n", "").replace("# lab\n", "# lab\n        - 10.3.0.0/16\n")
    );
    assert_eq!(
        edited(FILE, &[("snat_pool", pool(&["10.1.0.0/16"]))]),
        FILE.replace("        - 10.2.0.0/16   # lab\n", "")
    );
    assert_eq!(
        edited(FILE, &[("snat_pool", pool(&["10.9.0.0/16"]))]),
        FILE.replace("        - 10.1.0.0/16\n", "")
            .replace("        - 10.2.0.0/16   # lab\n", "        - 10.9.0.0/16\n")
    );
    let flow = "metadata: {name: cart, namespace: shop}\nspec:\n  ip: 10.0.0.7\n  snat_pool: {snat_pool: {prefixes: [10.1.0.0/16,  '10.2.0.0/16']}}\n";
    assert_eq!(
        edited(flow, &[("snat_pool", pool(&["10.2.0.0/16", "10.3.0.0/16"]))]),
        flow.replace("[10.1.0.0/16,  '10.2.0.0/16']", "['10.2.0.0/16',  \"10.3.0.0/16\"]").replace('"', "")
    );
    assert_eq!(
        edited(flow, &[("snat_pool", json!({"no_snat_pool": {}}))]),
        flow.replace("{snat_pool: {prefixes: [10.1.0.0/16,  '10.2.0.0/16']}}", "{no_snat_pool: {}}")
    );
}

#[test]
fn a_place_is_edited_without_what_the_service_fills_in() {
    let live = json!({"site": {"ref": [{"name": "ce02", "namespace": "system", "tenant": "t", "uid": "u"}],
        "network_type": "VIRTUAL_NETWORK_SITE_LOCAL_INSIDE", "disable_internet_vip": {}}});
    assert_eq!(
        edited(FILE, &[("where", live)]),
        FILE.replace("ce01", "ce02").replace("_SITE_LOCAL\n", "_SITE_LOCAL_INSIDE\n")
    );
    let live = json!({"virtual_site": {"ref": [{"name": "edge", "namespace": "shared", "tenant": "t", "uid": "u"}],
        "network_type": "VIRTUAL_NETWORK_SITE_LOCAL", "disable_internet_vip": {}}});
    let edited = edited(FILE, &[("where", live)]);
    assert!(edited.contains("  where:\n    virtual_site:\n      "), "{edited}");
    assert!(edited.contains("\n      ref: [{name: edge, namespace: shared}]\n"), "{edited}");
    assert!(edited.ends_with("\n# the end\n"), "{edited}");
}

#[test]
fn line_breaks_of_windows_and_a_byte_order_mark_stay() {
    let text = format!("\u{feff}{}", FILE.replace('\n', "\r\n"));
    let changes = [("labels.zone", json!("eu")), ("spec.port", json!(1)), ("labels.tier", Value::Null)];
    let expected = text
        .replace("    tier: db   # as agreed\r\n", "")
        .replace("\"a\"\r\n", "\"a\"\r\n    zone: eu\r\n")
        .replace("8080", "1");
    assert_eq!(edited(&text, &changes), expected);
}

#[test]
fn flow_style_stays_on_its_lines() {
    let text = "{metadata: {name: cart, namespace: shop, labels: {a: b, c: d}},\n spec: {ip: 10.0.0.7, port: 80}}\n";
    assert_eq!(edited(text, &[("labels.a", Value::Null)]), text.replace("{a: b, c: d}", "{c: d}"));
    assert_eq!(edited(text, &[("labels.c", Value::Null)]), text.replace("{a: b, c: d}", "{a: b}"));
    assert_eq!(edited(text, &[("labels.e", json!("1.5"))]), text.replace("c: d}", "c: d, e: \"1.5\"}"));
    assert_eq!(edited(text, &[("spec.port", json!(81))]), text.replace("80", "81"));
    assert_eq!(edited(text, &[("spec.health_check_port", json!(9))]), text.replace("80}", "80, health_check_port: 9}"));
}

#[test]
fn the_last_entry_in_brackets_goes_with_its_comma() {
    let text = |labels: &str| {
        format!("metadata:\n  name: cart\n  namespace: shop\n  labels: {labels}\nspec: {{ip: 10.0.0.7, port: 80}}\n")
    };
    let lines = |entries: &str| format!("{{\n    {entries}\n  }}");
    let gone = |key: &'static str| (key, Value::Null);
    for (before, wanted, after) in [
        ("{a: b,}".to_owned(), vec![gone("labels.a")], "{}".to_owned()),
        ("{a: b , }".to_owned(), vec![gone("labels.a")], "{ }".to_owned()),
        (lines("a: b,"), vec![gone("labels.a")], lines("")),
        ("{a: b, c: d,}".to_owned(), vec![gone("labels.a"), gone("labels.c")], "{}".to_owned()),
        ("{a: b, c: d,}".to_owned(), vec![gone("labels.c")], "{a: b,}".to_owned()),
        ("{a: b, c: d,}".to_owned(), vec![gone("labels.a")], "{c: d,}".to_owned()),
    ] {
        assert_eq!(edited(&text(&before), &wanted), text(&after), "{before}");
    }
}

#[test]
fn nothing_goes_between_a_value_in_brackets_and_its_comment() {
    let of =
        |spec: &str| format!("metadata: {{name: cart, namespace: shop}}\nspec: {{\n  ip: 10.0.0.7,\n  {spec}\n}}\n");
    for (spec, field, live) in [
        ("port: 80   # never change", "spec.health_check_port", json!(9)),
        ("port: 80,   # never change", "spec.health_check_port", json!(9)),
        ("snat_pool: {snat_pool: {prefixes: [\n    10.1.0.0/16   # office\n  ]}}", "snat_pool", {
            json!({"snat_pool": {"prefixes": ["10.1.0.0/16", "10.2.0.0/16"]}})
        }),
    ] {
        assert_eq!(refused(&[("a.yaml", &of(spec))], field, live), NotEditable::Comment);
    }
}

#[test]
fn json_stays_json() {
    let text = "{\n  \"metadata\": {\n    \"name\": \"cart\",\n    \"namespace\": \"shop\"\n  },\n  \"spec\": {\n    \"ip\": \"10.0.0.7\"\n  }\n}\n";
    assert_eq!(
        edited_in("a.json", text, &[("spec.port", json!(5)), ("labels.a", json!("b"))]),
        text.replace("\"10.0.0.7\"\n", "\"10.0.0.7\",\n    \"port\": 5\n")
            .replace("\"shop\"\n", "\"shop\",\n    \"labels\": {\"a\": \"b\"}\n")
    );
    assert_eq!(
        edited_in("a.json", text, &[("target", json!({"dns_name": "a.example.net"}))]),
        text.replace("\"ip\": \"10.0.0.7\"", "\"dns_name\": \"a.example.net\"")
    );
}

#[test]
fn block_scalars_and_empty_values_are_edited() {
    let text = "metadata:\n  name: cart\n  namespace: shop\n  description: |-  # why\n    first\n    second\n\n  labels:\nspec:\n  ip: 10.0.0.7\n  port:\n";
    assert_eq!(
        edited(text, &[("description", json!("one\ntwo\nthree"))]),
        text.replace("first\n    second", "one\n    two\n    three")
    );
    assert_eq!(edited(text, &[("labels.a", json!("b"))]), text.replace("labels:\n", "labels: {a: b}\n"));
    assert_eq!(edited(text, &[("spec.port", json!(7))]), text.replace("port:\n", "port: 7\n"));
    let odd = edited(text, &[("description", json!("a\n\n  b"))]);
    assert_eq!(odd, text.replace("|-  # why\n    first\n    second", "\"a\\n\\n  b\"  # why"));
}

#[test]
fn a_block_scalar_at_the_end_of_a_file_without_a_line_break_is_edited() {
    let text = "spec: {ip: 10.0.0.7}\nmetadata:\n  name: cart\n  namespace: shop\n  description: |\n    first";
    for (live, written) in [("second", "|-\n    second"), ("second\n", "\"second\\n\"")] {
        assert_eq!(edited(text, &[("description", json!(live))]), text.replace("|\n    first", written));
    }
}

#[test]
fn a_text_that_only_escapes_a_variable_is_edited() {
    let text = "metadata: {name: cart, namespace: shop, description: 'costs $${x}'}\nspec: {ip: 10.0.0.7}\n";
    assert_eq!(edited(text, &[("description", json!("costs ${y}"))]), text.replace("{x}", "{y}"));
}

#[test]
fn one_of_many_documents_is_edited() {
    let text = "---\nmetadata: {name: other, namespace: shop}\nspec:\n  ip: 10.0.0.7\n---\nmetadata: {name: cart, namespace: shop}\nspec:\n  ip: 10.0.0.7\n...\n---\nmetadata: {name: last, namespace: shop}\nspec:\n  ip: 10.0.0.7\n";
    let changed = edited(text, &[("spec.port", json!(5))]);
    assert_eq!(changed, text.replace("10.0.0.7\n...", "10.0.0.7\n  port: 5\n..."));
}

#[test]
fn what_a_reader_put_together_is_not_edited() {
    let anchored = "metadata: {name: cart, namespace: shop, labels: {a: &x b, c: *x}}\nspec: {ip: 10.0.0.7}\n";
    assert_eq!(refused(&[("a.yaml", anchored)], "labels.a", json!("z")), NotEditable::Anchor);
    assert_eq!(refused(&[("a.yaml", anchored)], "labels.c", json!("z")), NotEditable::Alias);
    let merged = "metadata:\n  name: cart\n  namespace: shop\n  annotations: &all\n    a: b\n  labels:\n    <<: *all\nspec: {ip: 10.0.0.7}\n";
    assert_eq!(refused(&[("a.yaml", merged)], "labels.a", json!("z")), NotEditable::MergeKey);
    let stack = ("trueup.yaml", "stack: s\nvariables: {tier: db}\n");
    let variable = "metadata: {name: cart, namespace: shop, labels: {a: '${tier}-1'}}\nspec: {ip: 10.0.0.7}\n";
    assert_eq!(refused(&[stack, ("a.yaml", variable)], "labels.a", json!("z")), NotEditable::Variable);
    let comment = "metadata: {name: cart, namespace: shop}\nspec:\n  dns_name_advanced:\n    name: a.example.net # its name\n    refresh_interval: 30\n";
    assert_eq!(refused(&[("a.yaml", comment)], "target", json!({"ip": "10.0.0.7"})), NotEditable::Comment);
}

#[test]
fn a_field_beside_an_anchor_is_edited() {
    let text = "metadata: {name: cart, namespace: shop, labels: {a: &x b, c: *x, d: e}}\nspec: {ip: 10.0.0.7}\n";
    assert_eq!(edited(text, &[("labels.d", json!("f"))]), text.replace("d: e", "d: f"));
}

#[test]
fn what_one_edit_breaks_does_not_break_the_others() {
    // The file contains an empty option, so renaming the target would write its key twice.
    let text = "metadata: {name: cart, namespace: shop}\nspec:\n  dns_name: a.example.net\n  ip:\n  port: 1\n";
    let edits = adopted(&[("a.yaml", text)], &[("target", json!({"ip": "10.0.0.7"})), ("spec.port", json!(2))]);
    assert_eq!(edits.left.len(), 1);
    assert_eq!(edits.left[0].2, NotEditable::Withdrawn);
    assert_eq!(edits.files["a.yaml"].now, text.replace("port: 1", "port: 2").into_bytes());
}

#[test]
fn a_value_that_no_definition_may_have_is_withdrawn() {
    assert_eq!(refused(&[("a.yaml", FILE)], "spec.protocol", json!("SCTP")), NotEditable::Withdrawn);
    assert_eq!(refused(&[("a.yaml", FILE)], "spec.port", json!(70000)), NotEditable::Withdrawn);
}

#[test]
fn an_overlay_is_not_edited() {
    let files = [
        ("trueup.yaml", "stack: s\nenvironments: {prod: {overlay: prod}}\n"),
        ("a.yaml", "metadata: {name: cart, namespace: shop}\nspec: {ip: 10.0.0.7, port: 1}\n"),
        ("prod/a.yaml", "metadata: {name: cart, namespace: shop}\nspec: {port: 2}\n"),
    ];
    let files =
        files.iter().map(|(path, text)| SourceFile { path: (*path).to_owned(), bytes: text.as_bytes().to_vec() });
    let options = LoadOptions { environment: Some("prod".to_owned()), ..LoadOptions::default() };
    let loaded = load::sources(files.collect(), &options).expect("a stack");
    let edits = adopt(&loaded, &[wanted("spec.port", &json!(3))]);
    assert_eq!(edits.left[0].2, NotEditable::Overlay("prod/a.yaml".to_owned()));
    assert!(edits.files.is_empty());
}

#[test]
fn a_text_that_keeps_its_blank_lines_stays_whole() {
    let head = "metadata:\n  name: cart\n  namespace: shop\n  annotations:\n    a: |+\n      x\n\n";
    let text = format!("{head}spec:\n  ip: 10.0.0.1\n");
    let after = edited(&text, &[("annotations.b", json!("web"))]);
    assert_eq!(after, format!("{head}    b: web\nspec:\n  ip: 10.0.0.1\n"));
}

#[test]
fn a_value_that_was_edited_since_it_was_loaded_is_left_to_the_next_run() {
    let now = FILE.replace("port: 8080", "port: 5");
    let stack = Loaded { origin: loaded(&[("a.yaml", &now)]).origin, ..loaded(&[("a.yaml", FILE)]) };
    let edits = adopt(&stack, &[wanted("spec.port", &json!(1)), wanted("labels.team", &json!("b"))]);
    assert_eq!(edits.left[0].2, NotEditable::EditedMeanwhile);
    assert_eq!(edits.files["a.yaml"].now, now.replace("\"a\"", "\"b\"").into_bytes());
}

#[test]
fn the_values_of_a_file_that_was_saved_in_another_encoding_are_left_and_not_passed_over() {
    let files = BTreeMap::from([("a.yaml".into(), b"# caf\xe9\n".to_vec())]);
    let stack = Loaded { origin: Arc::new(FileOrigin::Memory { files }), ..loaded(&[("a.yaml", FILE)]) };
    let edits = adopt(&stack, &[wanted("spec.port", &json!(1)), wanted("labels.team", &json!("b"))]);
    let reasons: Vec<&NotEditable> = edits.left.iter().map(|(_, _, reason)| reason).collect();
    assert_eq!(reasons, [&NotEditable::EditedMeanwhile; 2]);
}

#[test]
fn a_value_that_no_definition_may_have_costs_the_other_documents_nothing() {
    let work = |documents: usize| {
        let document =
            |at: usize| format!("metadata: {{name: e{at}, namespace: shop}}\nspec: {{ip: 10.0.0.7, port: 80}}\n");
        let text: Vec<String> = (0..documents).map(document).collect();
        let text = text.join("---\n");
        let of = |at: usize, field: &str, live: Value| ValueToAdopt {
            key: Key::parse(&format!("shop/e{at}")).expect("a key"),
            ..wanted(field, &live)
        };
        let mut all: Vec<ValueToAdopt> = (0..documents).map(|at| of(at, "spec.port", json!(81))).collect();
        all.push(of(7, "labels.team", json!("no label value")));
        let loaded = loaded(&[("a.yaml", &text)]);
        count(|| {
            let edits = adopt(&loaded, &all);
            assert_eq!((edits.adopted.len(), edits.left.len()), (documents, 1));
            assert_eq!(edits.left[0].2, NotEditable::Withdrawn);
            assert_eq!(edits.files["a.yaml"].now, text.replace("port: 80", "port: 81").into_bytes());
        })
    };
    let (few, many) = (work(50), work(200));
    assert!(many <= 6 * few, "{few} comparisons of keys for 50 documents, {many} for 200");
}

#[test]
fn a_variable_and_an_alias_deep_in_a_list_that_would_be_written_anew_are_left() {
    let stack = ("trueup.yaml", "stack: s\nvariables: {ip: 192.0.2.2}\n");
    let cases =
        [("${ip}", NotEditable::Variable), ("*ip", NotEditable::Alias), ("&other 192.0.2.2", NotEditable::Anchor)];
    for (ip, reason) in cases {
        let text = format!(
            "kind: origin_pool\nmetadata: {{name: cart, namespace: shop, labels: {{a: &ip 192.0.2.2}}}}\nspec:\n  port: 80\n  origin_servers:\n  - public_ip: {{ip: 192.0.2.1}}\n  - public_ip:\n      ip: {ip}\n"
        );
        let loaded = loaded(&[stack, ("a.yaml", &text)]);
        let (key, definition) = loaded.desired.definitions.first_key_value().expect("a definition");
        let field = Field::of_unit("origin_servers");
        let live = field.value(&definition.endpoint).as_array().expect("a list").iter().rev().cloned().collect();
        let wanted = ValueToAdopt { key: key.clone(), field, live, unnamed: None, tenant: None };
        let edits = adopt(&loaded, &[wanted]);
        assert!(edits.files.is_empty(), "{ip}: {:?}", edits.files);
        assert_eq!(edits.left[0].2, reason);
    }
}
