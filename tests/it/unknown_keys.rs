//! Keys that this version does not know, in the body of every group of a spec: a definition that changes
//! one known field beside them sends them back as they were.

use serde_json::{Value, json};

use crate::requests::{Recorder, Sent};
use crate::support::{Service, Stage};

/// A value that no version knows, with everything that JSON has but `null`, which no request contains.
fn unknown() -> Value {
    json!({"on": true, "list": [1, "two", {"three": {}}], "number": 4.5, "text": "5"})
}

/// A group: the live spec of its own, the JSON pointers of the objects in it, and the same definition
/// before and after a change of one field in it.
struct Group {
    name: &'static str,
    live: Value,
    objects: &'static [&'static str],
    before: &'static str,
    after: &'static str,
}

fn groups() -> [Group; 7] {
    let reference = json!([{"name": "ce01", "namespace": "system", "kind": "site"}]);
    [
        Group {
            name: "advanced",
            live: json!({"dns_name_advanced": {"name": "a.example.net", "refresh_interval": 60}}),
            objects: &["/dns_name_advanced"],
            before: "dns_name_advanced: {name: a.example.net, refresh_interval: 60}",
            after: "dns_name_advanced: {name: a.example.net, refresh_interval: 90}",
        },
        Group {
            name: "site",
            live: json!({"ip": "10.0.0.1", "where": {"site": {"ref": reference,
                "network_type": "VIRTUAL_NETWORK_SITE_LOCAL", "disable_internet_vip": {}}}}),
            objects: &["/where/site", "/where/site/ref/0"],
            before: "ip: 10.0.0.1\n  where: {site: {ref: [{name: ce01, namespace: system}], network_type: VIRTUAL_NETWORK_SITE_LOCAL}}",
            after: "ip: 10.0.0.1\n  where: {site: {ref: [{name: ce01, namespace: system}], network_type: VIRTUAL_NETWORK_SITE_LOCAL_INSIDE}}",
        },
        Group {
            name: "virtual-site",
            live: json!({"ip": "10.0.0.1", "where": {"virtual_site": {"ref": reference,
                "network_type": "VIRTUAL_NETWORK_SITE_LOCAL", "disable_internet_vip": {}}}}),
            objects: &["/where/virtual_site", "/where/virtual_site/ref/0"],
            before: "ip: 10.0.0.1\n  where: {virtual_site: {ref: [{name: ce01, namespace: system}], network_type: VIRTUAL_NETWORK_SITE_LOCAL}}",
            after: "ip: 10.0.0.1\n  where: {virtual_site: {ref: [{name: ce01, namespace: system}], network_type: VIRTUAL_NETWORK_SITE_LOCAL, enable_internet_vip: {}}}",
        },
        Group {
            name: "network",
            live: json!({"ip": "10.0.0.1", "where": {"virtual_network": {"ref": reference}}}),
            objects: &["/where/virtual_network", "/where/virtual_network/ref/0"],
            before: "ip: 10.0.0.1\n  where: {virtual_network: {ref: [{name: ce01, namespace: system}]}}",
            after: "ip: 10.0.0.1\n  where: {virtual_network: {ref: [{name: ce02, namespace: system}]}}",
        },
        Group {
            name: "service",
            live: json!({"service_info": {"discovery_type": "K8S", "service_name": "a.default"}}),
            objects: &["/service_info"],
            before: "service_info: {discovery_type: K8S, service_name: a.default}",
            after: "service_info: {discovery_type: K8S, service_name: b.default}",
        },
        Group {
            name: "pool",
            live: json!({"ip": "10.0.0.1", "snat_pool": {"snat_pool": {"prefixes": ["10.0.0.0/16"]}}}),
            objects: &["/snat_pool/snat_pool"],
            before: "ip: 10.0.0.1\n  snat_pool: {snat_pool: {prefixes: [10.0.0.0/16]}}",
            after: "ip: 10.0.0.1\n  snat_pool: {snat_pool: {prefixes: [10.0.0.0/16, 10.1.0.0/16]}}",
        },
        Group {
            name: "port",
            live: json!({"ip": "10.0.0.1", "port": 80}),
            objects: &[],
            before: "ip: 10.0.0.1\n  port: 80",
            after: "ip: 10.0.0.1\n  port: 81",
        },
    ]
}

/// The live spec with an unknown key in each object of the group and in the spec itself.
fn planted(group: &Group) -> (Value, Vec<String>) {
    let mut spec = group.live.clone();
    spec["protocol"] = json!("TCP");
    let mut pointers = Vec::new();
    for object in ["", "/where", "/snat_pool"].iter().chain(group.objects) {
        if let Some(Value::Object(map)) = spec.pointer_mut(object) {
            // Beside a choice an unknown key may be another choice, which blocks a replace: not here.
            if ["/where", "/snat_pool"].contains(object) {
                continue;
            }
            map.insert("of_the_future".to_owned(), unknown());
            pointers.push(format!("{object}/of_the_future"));
        }
    }
    (spec, pointers)
}

fn definition(name: &str, spec: &str) -> String {
    format!("metadata:\n  name: {name}\n  namespace: shop\nspec:\n  {spec}\n")
}

/// Puts a group there as it was at first, with its unknown keys and the annotations that it has by now.
fn plant(service: &Service, group: &Group) {
    let key = format!("shop/{}", group.name);
    let annotations = if service.has(&key) { service.get(&key)["metadata"]["annotations"].clone() } else { json!({}) };
    let metadata = json!({"namespace": "shop", "name": group.name, "annotations": annotations});
    service.plant(&json!([{"metadata": metadata, "raw_spec": planted(group).0}]));
}

/// Fails where the replace that was sent for a group lacks one of its unknown keys; gives its spec.
#[track_caller]
fn sent_back(sent: &[Sent], group: &Group) -> Value {
    let path = format!("/endpoints/{}", group.name);
    let mut replaces = sent.iter().filter(|sent| sent.method == "PUT" && sent.path.ends_with(&path));
    let (Some(replace), None) = (replaces.next(), replaces.next()) else { panic!("{}: {sent:?}", group.name) };
    let spec = replace.body.as_ref().expect("a body")["spec"].clone();
    for pointer in planted(group).1 {
        assert_eq!(spec.pointer(&pointer), Some(&unknown()), "{} {pointer} in {spec:#}", group.name);
    }
    spec
}

#[test]
fn a_replace_of_one_field_sends_every_unknown_key_of_its_group_back() {
    let service = Service::start();
    let recorder = Recorder::before(&service);
    let stage = Stage::new().at(&service).env("TRUEUP_BASE_URL", &recorder.url);
    stage.write("trueup.yaml", "stack: keys\nnamespaces: [shop]\n");
    for group in groups() {
        plant(&service, &group);
        stage.write(&format!("{}.yaml", group.name), &definition(group.name, group.before));
    }
    // They become ours, and nothing else of them changes.
    stage.run("apply . --adopt --yes --quiet").code(0).stdout_contains("Applied 7 of 7");
    let sent = recorder.take();
    let adopted = groups().map(|group| sent_back(&sent, &group));
    for (group, adopted) in groups().iter().zip(adopted) {
        plant(&service, group);
        stage.write(&format!("{}.yaml", group.name), &definition(group.name, group.after));
        stage.run(&format!("apply . --yes --quiet --only shop/{}", group.name)).code(0).stdout_contains("1 replaced");
        let replaced = sent_back(&recorder.take(), group);
        assert_ne!(replaced, adopted, "{}: one field changes", group.name);
    }
    stage.run("plan . --detailed-exitcode").code(0).stdout_contains("In sync");
}
