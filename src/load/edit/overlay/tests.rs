//! Whatever somebody changed outside, the overlay makes the definition of its environment that, and no other one.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::load::{LoadOptions, SourceFile, sources};
use crate::model::Field;
use crate::model::growth_tests::assert_at_most_linear;

/// An endpoint as the wire writes it.
fn endpoint() -> impl Strategy<Value = Json> {
    let some = |values: Vec<Json>| prop::option::of(prop::sample::select(values));
    let target = prop::sample::select(vec![
        json!({"ip": "10.0.0.7"}),
        json!({"ip": "10.0.0.8"}),
        json!({"dns_name": "a.example.net"}),
        json!({"dns_name_advanced": {"name": "b.example.net", "refresh_interval": 60}}),
        json!({"dns_name_advanced": {"name": "b.example.net", "strict_ttl": {}}}),
    ]);
    let site = |more: Json| {
        let mut site =
            json!({"ref": [{"name": "ce01", "namespace": "system"}], "network_type": "VIRTUAL_NETWORK_SITE_LOCAL"});
        site.as_object_mut().into_iter().for_each(|site| site.extend(more.as_object().cloned().unwrap_or_default()));
        json!({ "site": site })
    };
    let place = vec![
        site(json!({})),
        site(json!({"network_type": "VIRTUAL_NETWORK_PUBLIC", "enable_internet_vip": {}})),
        json!({"virtual_network": {"ref": [{"name": "blue", "namespace": "shop"}]}}),
    ];
    let pool = vec![
        json!({"no_snat_pool": {}}),
        json!({"snat_pool": {"prefixes": ["10.1.0.0/16"]}}),
        json!({"snat_pool": {"prefixes": ["10.2.0.0/16", "10.3.0.0/16"]}}),
    ];
    let metadata = (
        some(vec!["1".into(), "2".into()]),
        some(vec!["3".into(), "".into()]),
        some(vec!["x".into(), "${y}".into()]),
        any::<bool>(),
    );
    let spec = (target, some(vec![1.into(), 2.into()]), some(vec!["UDP".into()]), some(pool), some(place));
    (metadata, spec).prop_map(|((a, b, description, disable), (target, port, protocol, pool, place))| {
        let map = |entries: Vec<(&str, Option<Json>)>| -> Json {
            entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
        };
        let metadata = map(vec![
            ("name", Some("cart".into())),
            ("namespace", Some("shop".into())),
            ("labels", Some(map(vec![("a", a), ("b/c", b)]))),
            ("description", description),
            ("disable", Some(disable.into())),
        ]);
        let mut spec = map(vec![("port", port), ("protocol", protocol), ("snat_pool", pool), ("where", place)]);
        spec.as_object_mut().into_iter().for_each(|spec| spec.extend(target.as_object().cloned().unwrap_or_default()));
        json!({"metadata": metadata, "spec": spec})
    })
}

fn read(files: &[(&str, String)], environment: &str) -> Loaded {
    let file =
        |(path, text): &(&str, String)| SourceFile { path: (*path).to_owned(), bytes: text.clone().into_bytes() };
    let options = LoadOptions { environment: Some(environment.to_owned()), ..LoadOptions::default() };
    sources(files.iter().map(file).collect(), &options).expect("a stack")
}

fn only(loaded: &Loaded) -> &Object {
    &loaded.desired.definitions.values().next().expect("one").endpoint
}

const SETTINGS: &str = "environments: {low: {overlay: low}, prod: {extends: low, overlay: prod}}\n";

/// The overlay that is there before: none, one for another field, one in brackets, or several documents.
fn overlay() -> impl Strategy<Value = Option<&'static str>> {
    prop::sample::select(vec![
        None,
        Some(
            "# ours\nmetadata:\n  name: cart # it\n  namespace: shop\n  labels:\n    a: '9'\nspec:\n  port: 9\n  snat_pool:\n    snat_pool:\n      prefixes: [10.9.0.0/16]\n",
        ),
        Some("metadata: {name: cart, namespace: shop}\nspec: {dns_name: c.example.net, port: null}\n"),
        Some("metadata: {name: cart, namespace: shop}\n"),
        Some("{\"metadata\": {\"name\": \"cart\", \"namespace\": \"shop\"}}\n"),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_overlay_makes_the_definition_what_is_live(base in endpoint(), live in endpoint(), low in any::<bool>(), there in overlay()) {
        let escaped = base.to_string().replace("${", "$${");
        let low = if low { "metadata: {name: cart, namespace: shop}\nspec: {port: 7, protocol: UDP}\n" } else { "" };
        let mut files = vec![("trueup.yaml", SETTINGS.to_owned()), ("cart.yaml", escaped), ("low/cart.yaml", low.to_owned())];
        files.extend(there.map(|text| ("prod/shop/cart.yaml", text.to_owned())));
        let before = read(&files, "prod");
        let shared = read(&files, "low");
        let live: Object = serde_json::from_value(live).expect("an endpoint");
        let labels: BTreeSet<&String> = only(&before).labels.keys().chain(live.labels.keys()).collect();
        let fields = Field::of_endpoint().chain(labels.into_iter().map(|key| Field::Label(key.clone())));
        let key = live.key.clone();
        let wanted: Vec<ValueToAdopt> = fields
            .filter(|field| field.value(&live) != field.value(only(&before)))
            .map(|field| ValueToAdopt { key: key.clone(), live: field.value(&live), field, unnamed: None, tenant: None })
            .collect();
        let edits = adopt_into_overlay(&before, "prod", &wanted);
        prop_assert!(edits.left.is_empty(), "{:?}\n{:?}", edits.left, edits.files);
        prop_assert_eq!(edits.files.keys().map(|file| &**file).collect::<Vec<_>>(), if wanted.is_empty() { vec![] } else { vec!["prod/shop/cart.yaml"] });
        for (_, edit) in edits.files {
            files.retain(|(path, _)| *path != "prod/shop/cart.yaml");
            files.push(("prod/shop/cart.yaml", String::from_utf8(edit.now).expect("UTF-8")));
        }
        let after = read(&files, "prod");
        prop_assert_eq!(only(&after), &live);
        let unchanged = read(&files, "low");
        prop_assert_eq!(only(&unchanged), only(&shared));
    }
}

#[test]
fn a_variable_and_what_a_load_would_not_read_are_left() {
    let wanted = |live: u64| ValueToAdopt {
        key: Key::parse("shop/cart").expect("a key"),
        field: Field::of_unit("port"),
        live: live.into(),
        unnamed: None,
        tenant: None,
    };
    let base = ("cart.yaml", "metadata: {name: cart, namespace: shop}\nspec: {ip: 10.0.0.7}\n".to_owned());
    let variable = "metadata: {name: cart, namespace: shop}\nspec:\n  port: ${port}\n".to_owned();
    let settings = format!("variables: {{port: 1}}\n{SETTINGS}");
    let loaded = read(&[("trueup.yaml", settings), base.clone(), ("prod/cart.yaml", variable)], "prod");
    assert_eq!(adopt_into_overlay(&loaded, "prod", &[wanted(2)]).left[0].2, NotEditable::Variable);
    let settings = format!("files: {{exclude: [prod/shop/**]}}\n{SETTINGS}");
    let loaded = read(&[("trueup.yaml", settings), base], "prod");
    assert_eq!(adopt_into_overlay(&loaded, "prod", &[wanted(2)]).left[0].2, NotEditable::Withdrawn);
    assert_eq!(removal_in_overlay(&loaded, "prod", &wanted(2).key), Some(("prod".into(), None)));
}

#[test]
fn a_document_whose_namespace_is_a_variable_is_edited_in_an_overlay() {
    let settings = "variables: {ns: other}\nenvironments: {prod: {overlay: prod, variables: {ns: shop}}}\n".to_owned();
    let base = ("cart.yaml", "metadata: {name: cart, namespace: '${ns}'}\nspec: {ip: 10.0.0.7}\n".to_owned());
    let overlay = "metadata:\n  name: cart\n  namespace: ${ns}\nspec:\n  port: 4\n";
    let loaded = read(&[("trueup.yaml", settings), base, ("prod/all.yaml", overlay.to_owned())], "prod");
    let key = Key::parse("shop/cart").expect("a key");
    let wanted = ValueToAdopt { key, field: Field::of_unit("port"), live: 9.into(), unnamed: None, tenant: None };
    let edits = adopt_into_overlay(&loaded, "prod", &[wanted]);
    assert_eq!(
        edits.files["prod/all.yaml"].now,
        overlay.replace("port: 4", "port: 9").into_bytes(),
        "{:?}",
        edits.left
    );
}

#[test]
fn a_text_that_only_escapes_a_variable_is_edited_in_an_overlay() {
    let base = ("cart.yaml", "metadata: {name: cart, namespace: shop}\nspec: {ip: 10.0.0.7}\n".to_owned());
    let overlay = "metadata: {name: cart, namespace: shop, description: '$${x}'}\n";
    let loaded = read(&[("trueup.yaml", SETTINGS.to_owned()), base, ("prod/cart.yaml", overlay.to_owned())], "prod");
    let key = Key::parse("shop/cart").expect("a key");
    let wanted = ValueToAdopt { key, field: Field::Description, live: "${y}".into(), unnamed: None, tenant: None };
    let edits = adopt_into_overlay(&loaded, "prod", &[wanted]);
    assert_eq!(edits.files["prod/cart.yaml"].now, overlay.replace("{x}", "{y}").into_bytes(), "{:?}", edits.left);
}

#[test]
fn a_file_of_an_overlay_that_has_only_comments_gets_a_document_and_keeps_them() {
    let key = Key::parse("shop/cart").expect("a key");
    let wanted = ValueToAdopt { key, live: 80.into(), field: Field::of_unit("port"), unnamed: None, tenant: None };
    let document = "metadata:\n  name: cart\n  namespace: shop\nspec: {port: 80}\n";
    for (comments, before) in [("", ""), ("# ours\n", "# ours\n"), ("# a\n\n# b", "# a\n\n# b\n")] {
        let base = ("cart.yaml", "metadata: {name: cart, namespace: shop}\nspec: {ip: 10.0.0.7}\n".to_owned());
        let overlay = ("prod/shop/cart.yaml", comments.to_owned());
        let loaded = read(&[("trueup.yaml", SETTINGS.to_owned()), base, overlay], "prod");
        let edits = adopt_into_overlay(&loaded, "prod", std::slice::from_ref(&wanted));
        let text = edits.files.get("prod/shop/cart.yaml").map(|edit| String::from_utf8_lossy(&edit.now).into_owned());
        assert_eq!(text, Some(format!("{before}{document}")), "{comments:?}: {:?}", edits.left);
    }
}

#[test]
fn a_list_with_a_secret_is_left_because_of_it() {
    let pool = "kind: origin_pool
metadata: {name: cart, namespace: shop}
spec:
  origin_servers: [{public_ip: {ip: 192.0.2.1}}]
  port: 443
  use_tls:
    skip_server_verification: {}
    use_mtls:
      tls_certificates:
      - certificate_url: string:///YQ==
        private_key: {blindfold_secret_info: {location: 'string:///U0VD'}}
    use_host_header_as_sni: {}
    tls_config: {default_security: {}}
";
    let loaded = read(&[("trueup.yaml", SETTINGS.to_owned()), ("pool.yaml", pool.to_owned())], "prod");
    let key = loaded.desired.definitions.keys().next().expect("one").clone();
    let field = Field::of_unit("tls_choice");
    let mut live = field.value(only(&loaded));
    let certificates = live.pointer_mut("/use_tls/use_mtls/tls_certificates/0/certificate_url").expect("a certificate");
    *certificates = "string:///Yz==".into();
    let wanted = ValueToAdopt { key, live, field, unnamed: None, tenant: None };
    let edits = adopt_into_overlay(&loaded, "prod", &[wanted]);
    assert_eq!(edits.left.iter().map(|(_, _, reason)| reason).collect::<Vec<_>>(), [&NotEditable::Secret]);
}

#[test]
fn a_value_that_was_edited_since_it_was_loaded_is_left_to_the_next_run() {
    let stack = |port: u16| {
        let base = format!("metadata: {{name: cart, namespace: shop}}\nspec: {{ip: 10.0.0.7, port: {port}}}\n");
        read(&[("trueup.yaml", SETTINGS.to_owned()), ("cart.yaml", base)], "prod")
    };
    let stack = Loaded { origin: stack(5).origin, ..stack(80) };
    let key = Key::parse("shop/cart").expect("a key");
    let wanted = ValueToAdopt { key, field: Field::of_unit("port"), live: 1.into(), unnamed: None, tenant: None };
    assert_eq!(adopt_into_overlay(&stack, "prod", &[wanted]).left[0].2, NotEditable::EditedMeanwhile);
}

/// Endpoints in one file, and an overlay with a document for each.
fn many(count: usize) -> (Loaded, Vec<ValueToAdopt>) {
    let document =
        |at: usize, spec: &str| format!("---\nmetadata: {{name: e{at}, namespace: shop}}\nspec:\n  {spec}\n");
    let all = |spec: &str| (0..count).map(|at| document(at, spec)).collect::<String>();
    let files = [("base.yaml", all("ip: 10.0.0.7")), ("prod/all.yaml", all("port: 1 # ours"))];
    let loaded = read(&[&[("trueup.yaml", SETTINGS.to_owned())][..], &files].concat(), "prod");
    let wanted = |at: usize| ValueToAdopt {
        key: Key::parse(&format!("shop/e{at}")).expect("a key"),
        field: Field::of_unit("port"),
        live: 2.into(),
        unnamed: None,
        tenant: None,
    };
    (loaded, (0..count).map(wanted).collect())
}

#[test]
fn documents_of_one_overlay_are_edited_in_linear_time() {
    let (loaded, wanted) = many(3);
    let edits = adopt_into_overlay(&loaded, "prod", &wanted);
    assert_eq!(edits.adopted.len(), 3);
    let text = String::from_utf8_lossy(&edits.files["prod/all.yaml"].now).into_owned();
    assert_eq!(text.matches("port: 2 # ours\n").count(), 3);
    assert_at_most_linear("an overlay", 20, many, |(loaded, wanted)| {
        assert_eq!(adopt_into_overlay(&loaded, "prod", &wanted).adopted.len(), wanted.len());
    });
}

#[test]
fn an_object_of_the_overlay_and_a_change_in_the_same_file_are_both_edited() {
    let object = |name: &str, spec: &str| {
        format!("kind: ip_prefix_set\nmetadata: {{name: {name}, namespace: shop, description: a}}\nspec: {spec}\n")
    };
    let prefixes = "{ipv4_prefixes: [{ipv4_prefix: 10.0.0.0/8}]}";
    let files = [
        ("trueup.yaml", SETTINGS.to_owned()),
        ("base.yaml", object("base", prefixes)),
        ("prod/both.yaml", format!("{}---\n{}", object("own", prefixes), object("base", "{}"))),
    ];
    let loaded = read(&files, "prod");
    let wanted = |key: &Key| ValueToAdopt {
        key: key.clone(),
        live: "b".into(),
        field: Field::Description,
        unnamed: None,
        tenant: None,
    };
    let wanted: Vec<ValueToAdopt> = loaded.desired.definitions.keys().map(wanted).collect();
    assert_eq!(wanted.len(), 2);
    let edits = adopt_into_overlay(&loaded, "prod", &wanted);
    let text = String::from_utf8(edits.files["prod/both.yaml"].now.clone()).expect("UTF-8");
    assert_eq!((edits.adopted.len(), text.matches("description: b").count()), (2, 2), "{text}");
}

#[test]
fn an_overlay_inside_of_that_of_the_environment_is_left_to_its_own() {
    let settings = "environments: {low: {overlay: prod/low}, prod: {extends: low, overlay: prod}}\n";
    let object = |name: &str, spec: &str| format!("metadata: {{name: {name}, namespace: shop}}\nspec: {spec}\n");
    let files = [
        ("trueup.yaml", settings.to_owned()),
        ("cart.yaml", object("cart", "{ip: 10.0.0.7}")),
        ("prod/low/cart.yaml", object("cart", "{port: 7}")),
        ("prod/low/of-low.yaml", object("of-low", "{ip: 10.0.0.8, port: 8}")),
    ];
    let loaded = read(&files, "prod");
    let port = |key: &Key| ValueToAdopt {
        key: key.clone(),
        live: 80.into(),
        field: Field::of_unit("port"),
        unnamed: None,
        tenant: None,
    };
    let wanted: Vec<ValueToAdopt> = loaded.desired.definitions.keys().map(port).collect();
    let edits = adopt_into_overlay(&loaded, "prod", &wanted);
    assert!(edits.left.is_empty(), "{:?}", edits.left);
    let written: Vec<&str> = edits.files.keys().map(|file| &**file).collect();
    assert_eq!(written, ["prod/shop/cart.yaml", "prod/shop/of-low.yaml"]);
    let removal = |key: &Key| {
        let (file, text) = removal_in_overlay(&loaded, "prod", key).expect("a removal");
        (file, text.expect("a text").now)
    };
    let removals: Vec<(Arc<str>, Vec<u8>)> = loaded.desired.definitions.keys().map(removal).collect();
    let text =
        |(file, bytes): &(Arc<str>, Vec<u8>)| (file.to_string(), String::from_utf8(bytes.clone()).expect("UTF-8"));
    let removals: Vec<(String, String)> = removals.iter().map(text).collect();
    let files: Vec<(&str, String)> =
        files.into_iter().chain(removals.iter().map(|(file, text)| (file.as_str(), text.clone()))).collect();
    assert!(read(&files, "prod").desired.definitions.is_empty());
    assert_eq!(read(&files, "low").desired.definitions.len(), 2);
}

#[test]
fn a_name_that_means_something_else_as_a_file_has_its_overlay() {
    let definition = "metadata: {name: trueup, namespace: con}\nspec: {ip: 10.0.0.7, port: 5}\n".to_owned();
    let loaded = read(&[("trueup.yaml", SETTINGS.to_owned()), ("cart.yaml", definition)], "prod");
    let key = Key::parse("con/trueup").expect("a key");
    let wanted = ValueToAdopt { key, live: 80.into(), field: Field::of_unit("port"), unnamed: None, tenant: None };
    let edits = adopt_into_overlay(&loaded, "prod", std::slice::from_ref(&wanted));
    assert_eq!(edits.files.keys().map(|file| &**file).collect::<Vec<_>>(), ["prod/con_/trueup_.yaml"]);
    let (file, text) = removal_in_overlay(&loaded, "prod", &wanted.key).expect("a removal");
    assert_eq!((&*file, text.is_some()), ("prod/con_/trueup_.yaml", true));
}

#[test]
fn an_overlay_inside_of_it_with_the_name_of_a_namespace_is_not_written() {
    let settings = "environments: {low: {overlay: prod/shop}, prod: {extends: low, overlay: prod}}\n".to_owned();
    let definition = "metadata: {name: cart, namespace: shop}\nspec: {ip: 10.0.0.7, port: 5}\n".to_owned();
    let loaded = read(&[("trueup.yaml", settings), ("cart.yaml", definition)], "prod");
    let key = Key::parse("shop/cart").expect("a key");
    assert_eq!(removal_in_overlay(&loaded, "prod", &key), Some(("prod".into(), None)));
    let wanted = ValueToAdopt { key, live: 80.into(), field: Field::of_unit("port"), unnamed: None, tenant: None };
    let edits = adopt_into_overlay(&loaded, "prod", &[wanted]);
    assert!(edits.files.is_empty(), "{:?}", edits.files);
    assert_eq!(edits.left[0].2, NotEditable::Withdrawn);
}

#[test]
fn a_name_that_is_too_long_for_a_file_is_left_and_the_others_are_written() {
    let label = |letter: &str, length: usize| letter.repeat(length);
    let longest = format!("{}.{}.{}.{}", label("a", 63), label("b", 63), label("c", 63), label("d", 61));
    let names = ["example.com".to_owned(), longest];
    let zone = |name: &String| {
        format!(
            "kind: dns_zone\nmetadata: {{name: {name}, namespace: system, description: a}}\nspec: {{primary: {{}}}}\n"
        )
    };
    let zones = names.iter().map(zone).collect::<Vec<_>>().join("---\n");
    let loaded = read(&[("trueup.yaml", SETTINGS.to_owned()), ("zones.yaml", zones)], "prod");
    let keys: Vec<&Key> = loaded.desired.definitions.keys().collect();
    let description = |key: &&Key| ValueToAdopt {
        key: (*key).clone(),
        live: "b".into(),
        field: Field::Description,
        unnamed: None,
        tenant: None,
    };
    let edits = adopt_into_overlay(&loaded, "prod", &keys.iter().map(description).collect::<Vec<_>>());
    assert_eq!(edits.files.keys().map(|file| &**file).collect::<Vec<_>>(), ["prod/system/dns_zone/example.com.yaml"]);
    assert_eq!(edits.left.iter().map(|(_, _, reason)| reason).collect::<Vec<_>>(), [&NotEditable::LongName]);
    let is_made = |key: &&&Key| removal_in_overlay(&loaded, "prod", key).is_some_and(|(_, text)| text.is_some());
    assert_eq!(keys.iter().filter(is_made).count(), 1);
}
