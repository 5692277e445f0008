//! Which differences count: canonical values, references that the service fills, labels and annotations.

use super::*;
use crate::model::{Key, Ownership, Spec, StringMap};

fn endpoint(metadata: &str, spec: &str) -> Object {
    let text = format!(r#"{{"metadata":{{"name":"a","namespace":"n"{metadata}}},"spec":{spec}}}"#);
    serde_json::from_str(&text).expect("an endpoint")
}

fn fields(live: &Object, desired: &Object) -> Vec<String> {
    compare(live, desired, CompareOptions::default()).iter().map(|difference| difference.field.to_string()).collect()
}

fn none() -> Vec<String> {
    Vec::new()
}

#[test]
fn an_absent_value_equals_its_default() {
    let short = endpoint("", r#"{"ip":"10.0.0.1"}"#);
    let long = endpoint(
        r#","labels":{},"annotations":null,"description":"","disable":false"#,
        r#"{"ip":"10.0.0.1","port":0,"health_check_port":"0","protocol":"TCP","snat_pool":{"no_snat_pool":{}},"where":null}"#,
    );
    assert_eq!(fields(&short, &long), none());
    assert_eq!(fields(&long, &short), none());
}

#[test]
fn an_empty_label_value_is_a_label() {
    let with = endpoint(r#","labels":{"x":""}"#, r#"{"ip":"10.0.0.1"}"#);
    let without = endpoint("", r#"{"ip":"10.0.0.1"}"#);
    assert_eq!(fields(&without, &with), ["labels.x"]);
    assert_eq!(fields(&with, &without), ["labels.x"]);
}

#[test]
fn names_addresses_prefixes_and_selectors_are_compared_by_value() {
    let pairs = [
        (r#"{"dns_name":"Shop.Example.net."}"#, r#"{"dns_name":"shop.example.net"}"#),
        (r#"{"ip":"2001:db8::0:1"}"#, r#"{"ip":"2001:db8::1"}"#),
        (
            r#"{"ip":"::1","snat_pool":{"snat_pool":{"prefixes":["10.0.0.7/8","192.0.2.0/24"]}}}"#,
            r#"{"ip":"::1","snat_pool":{"snat_pool":{"prefixes":["192.0.2.0/24","10.0.0.0/8"]}}}"#,
        ),
        (
            r#"{"service_info":{"discovery_type":"K8S","service_selector":{"expressions":["b in (x), a"]}}}"#,
            r#"{"service_info":{"discovery_type":"K8S","service_selector":{"expressions":["a,b=x"]}}}"#,
        ),
    ];
    for (live, desired) in pairs {
        assert_eq!(fields(&endpoint("", live), &endpoint("", desired)), none(), "{live}");
    }
}

#[test]
fn an_empty_pool_is_not_no_pool() {
    let empty = endpoint("", r#"{"ip":"::1","snat_pool":{"snat_pool":{"prefixes":[]}}}"#);
    let none = endpoint("", r#"{"ip":"::1"}"#);
    assert_eq!(fields(&empty, &none), ["spec.snat_pool"]);
}

#[test]
fn what_a_definition_leaves_out_of_a_reference_is_the_services_to_fill() {
    let place =
        |reference: &str| endpoint("", &format!(r#"{{"ip":"::1","where":{{"site":{{"ref":[{reference}]}}}}}}"#));
    let live = place(r#"{"kind":"site","name":"ce01","namespace":"system","tenant":"acme-x","uid":"u"}"#);
    assert_eq!(fields(&live, &place(r#"{"name":"ce01"}"#)), none());
    assert_eq!(fields(&live, &place(r#"{"name":"ce01","namespace":"system"}"#)), none());
    assert_eq!(fields(&live, &place(r#"{"name":"ce01","kind":"site.Object"}"#)), none());
    assert_eq!(fields(&live, &place(r#"{"name":"ce01","namespace":"shop"}"#)), ["spec.where"]);
    assert_eq!(fields(&live, &place(r#"{"name":"ce02"}"#)), ["spec.where"]);
}

#[test]
fn an_interval_that_a_definition_leaves_out_is_the_services_to_fill() {
    let advanced =
        |interval: &str| endpoint("", &format!(r#"{{"dns_name_advanced":{{"name":"a.example.net"{interval}}}}}"#));
    let (left_out, filled) = (advanced(""), advanced(r#","refresh_interval":300"#));
    let asked = advanced(r#","refresh_interval":60"#);
    assert_eq!(fields(&filled, &left_out), none());
    assert_eq!(fields(&advanced(r#","strict_ttl":{}"#), &left_out), ["spec.target"]);
    assert_eq!(fields(&left_out, &asked), ["spec.target"]);
    assert_eq!(fields(&filled, &asked), ["spec.target"]);
    let found = |live: &Object, desired: &Object, applied: &Object| {
        let applied = Ownership::of(applied, None, "r").applied;
        let options = CompareOptions { applied: applied.as_ref(), ignored: &[], strict: false };
        compare(live, desired, options).into_iter().map(|d| d.field.to_string()).collect::<Vec<_>>()
    };
    // Written without one: what is live is the service's.
    assert_eq!(found(&filled, &left_out, &left_out), none());
    // The definition named it, and leaves it out now.
    assert_eq!(found(&asked, &left_out, &asked), ["spec.target"]);
    // And so it is again after the apply, when the service filled its own.
    assert_eq!(found(&filled, &left_out, &asked), none());
}

#[test]
fn labels_of_the_platform_stay_unless_a_definition_names_them() {
    let live = endpoint(r#","labels":{"ves.io/x":"1","tier":"web"}"#, r#"{"ip":"::1"}"#);
    assert_eq!(fields(&live, &endpoint("", r#"{"ip":"::1"}"#)), ["labels.tier"]);
    let named = endpoint(r#","labels":{"ves.io/x":"2","tier":"web"}"#, r#"{"ip":"::1"}"#);
    assert_eq!(fields(&live, &named), ["labels.ves.io/x"]);
    let internal = endpoint(r#","labels":{"internal.ves.io/x":"1","hw-model":"1"}"#, r#"{"ip":"::1"}"#);
    assert_eq!(fields(&internal, &endpoint("", r#"{"ip":"::1"}"#)), ["labels.hw-model"]);
}

#[test]
fn an_annotation_of_somebody_else_stays_and_one_of_ours_goes() {
    let wrote = endpoint(r#","annotations":{"ours":"1"}"#, r#"{"ip":"::1"}"#);
    let live = endpoint(r#","annotations":{"ours":"1","theirs":"2","trueup/stack":"s"}"#, r#"{"ip":"::1"}"#);
    let desired = endpoint("", r#"{"ip":"::1"}"#);
    assert_eq!(fields(&live, &desired), none());
    let applied = Ownership::of(&wrote, None, "r").applied;
    let options = CompareOptions { applied: applied.as_ref(), ignored: &[], strict: false };
    let found: Vec<Field> = compare(&live, &desired, options).into_iter().map(|d| d.field).collect();
    assert_eq!(found, [Field::Annotation("ours".to_owned())]);
}

#[test]
fn an_ignored_field_is_left_out() {
    let live = endpoint(r#","labels":{"a":"1"}"#, r#"{"ip":"::1","port":1}"#);
    let desired = endpoint("", r#"{"ip":"::1","port":2}"#);
    let options = CompareOptions {
        applied: None,
        ignored: &[Field::of_unit("port"), Field::Label("a".to_owned())],
        strict: false,
    };
    assert_eq!(compare(&live, &desired, options), []);
}

#[test]
fn a_foreign_annotation_is_no_move_and_protection_is() {
    let before = endpoint("", r#"{"ip":"::1"}"#);
    let theirs = endpoint(r#","annotations":{"x":"1"}"#, r#"{"ip":"::1"}"#);
    let protected = endpoint(r#","annotations":{"trueup/protect":"true"}"#, r#"{"ip":"::1"}"#);
    assert_eq!(moved(&before, &theirs, |_| false, CompareOptions::default()), [].into());
    assert_eq!(
        moved(&before, &protected, |_| false, CompareOptions::default()),
        [Field::Annotation(PROTECT.to_owned())].into()
    );
}

#[test]
fn a_label_of_the_service_moves_only_where_the_definition_names_it() {
    let labelled = |value: &str| endpoint(&format!(r#","labels":{{"ves.io/type":"{value}"}}"#), r#"{"ip":"::1"}"#);
    let (before, now, label) = (labelled("a"), labelled("b"), Field::Label("ves.io/type".to_owned()));
    assert_eq!(moved(&before, &now, |_| false, CompareOptions::default()), [].into());
    assert_eq!(moved(&before, &now, |field| *field == label, CompareOptions::default()), [label.clone()].into());
}

#[test]
fn differences_are_in_the_order_of_the_fields() {
    let live = endpoint(r#","labels":{"z":"1"},"annotations":{"a":"1"}"#, r#"{"ip":"::1","port":1}"#);
    let desired =
        endpoint(r#","description":"d","labels":{"b":"1"},"annotations":{"a":"2"}"#, r#"{"ip":"::1","port":2}"#);
    assert_eq!(fields(&live, &desired), ["description", "labels.b", "labels.z", "annotations.a", "spec.port"]);
}

#[test]
fn what_moved_is_named_once_and_in_order_and_what_is_ignored_is_not() {
    let before = endpoint(r#","labels":{"b":"1","i":"1"}"#, r#"{"ip":"::1"}"#);
    let now = endpoint(r#","description":"d","labels":{"a":"1","b":"2","i":"2"}"#, r#"{"ip":"::1","port":2}"#);
    let ignored = [Field::Label("i".to_owned())];
    let options = CompareOptions { ignored: &ignored, ..CompareOptions::default() };
    let moved: Vec<String> = moved(&before, &now, |_| false, options).iter().map(ToString::to_string).collect();
    assert_eq!(moved, ["description", "labels.a", "labels.b", "spec.port"]);
}

#[test]
fn what_no_answer_shows_of_what_was_written_did_not_move() {
    let rule = |spec: &str| {
        let key = Key::parse("infraprotect_deny_list_rule:system/a").expect("a key");
        let spec = Spec::written(key.kind, serde_json::from_str(spec).expect("JSON")).expect("a spec");
        let (labels, annotations) = (StringMap::default(), StringMap::default());
        Object { key, labels, annotations, description: String::new(), disable: false, spec }
    };
    let written = rule(r#"{"prefix":"192.0.2.0/24","one_day":{}}"#);
    let moved = |now| moved(&written, &rule(now), |_| false, CompareOptions::default());
    assert_eq!(moved(r#"{"prefix":"192.0.2.0/24"}"#), [].into());
    assert_eq!(moved(r#"{"prefix":"198.51.100.0/24"}"#), [Field::of_unit("prefix")].into());
}
