//! A namespace with an object of every kind is pulled and applied to an empty tenant, which then has the same.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trueup::kind::Kind;

use crate::support::answers::meaning;
use crate::support::objects::{self, Specs};
use crate::support::{Service, Stage};

/// What the service has of each kind, as far as it means something.
fn live(service: &Service, kinds: &[&'static Kind]) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for kind in kinds {
        let namespace = objects::namespace(kind);
        let path = format!("{}?report_fields=x", kind.path().replace("{namespace}", namespace));
        let (status, body) = service.send("GET", &path, None);
        assert_eq!(status, 200, "{}: {body}", kind.name);
        let list: Value = serde_json::from_str(&body).expect("JSON");
        for item in list["items"].as_array().expect("a list").iter().filter(|item| item["owner_view"].is_null()) {
            let name = item["name"].as_str().expect("a name");
            let spec = meaning(kind.spec, &item["get_spec"], namespace);
            let labels = item["metadata"]["labels"].clone();
            all.insert(format!("{} {name}", kind.name), json!({"labels": labels, "spec": spec}));
        }
    }
    all
}

#[test]
fn a_namespace_with_every_kind_is_pulled_and_applied_to_an_empty_tenant_which_then_has_the_same() {
    let seed = objects::seed();
    let mut specs = Specs::new(seed);
    let service = Service::start();
    let kinds = objects::kinds();
    let stage = Stage::new().at(&service).file("trueup.yaml", &objects::settings());
    let mut kept = Vec::new();
    for kind in &kinds {
        // Nobody who pulls gets a secret: such an object is created with the secret put in by hand.
        let Some(spec) = specs.without_secret(kind) else {
            kept.push(kind.name);
            continue;
        };
        let labels = json!({"team": "cart"});
        let metadata = json!({"name": "a", "namespace": objects::namespace(kind), "labels": labels});
        let object = json!({"kind": kind.name, "metadata": metadata, "spec": spec});
        stage.write(&format!("d/{}.json", kind.name), &format!("{object:#}"));
    }
    eprintln!("an object of these needs a secret: {kept:?}");
    assert!(kept.len() < 12, "{kept:?}");
    stage.run("apply . --yes").code(0).stderr_ignored();
    std::fs::remove_dir_all(stage.path("d")).expect("the definitions");
    stage.run("pull --output p").stderr_ignored();

    let empty = Service::start();
    let copy = Stage::new().at(&empty).file("trueup.yaml", &objects::settings());
    for entry in walkdir::WalkDir::new(stage.path("p")) {
        let entry = entry.expect("an entry");
        if entry.file_type().is_file() && entry.path().extension().is_some_and(|extension| extension == "yaml") {
            let path = entry.path().strip_prefix(stage.path("p")).expect("below").to_str().expect("a path").to_owned();
            copy.write(&format!("d/{path}"), &std::fs::read_to_string(entry.path()).expect("a file"));
        }
    }
    let applied = copy.run("apply . --yes");
    applied.stderr_ignored();
    assert_eq!(applied.exit(), 0, "TRUEUP_SEED={seed}: {}", applied.text());
    let (before, after) = (live(&service, &kinds), live(&empty, &kinds));
    assert!(before.len() > 125, "{}", before.len());
    for (key, object) in &before {
        assert_eq!(after.get(key), Some(object), "TRUEUP_SEED={seed}: {key}");
    }
    assert_eq!(before.len(), after.len());
    copy.run("plan .").code(0);
    copy.run("drift .").code(0);
}
