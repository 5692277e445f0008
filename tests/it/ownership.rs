//! Whose an object is: annotations that were copied, edited or written by an older trueup never lead
//! to a delete.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use trueup::model::{Key, Object, Ownership};
use trueup::plan::{Action, Note, PlanSettings};

use crate::properties::{self, STACK};
use crate::strategies;
use crate::support::{Service, Stage, applied, definition};

fn settings(adopt: bool, annotates: bool) -> PlanSettings {
    let mut settings = PlanSettings { adopt, ..PlanSettings::default() };
    settings.safeguards.ownership_annotations = annotates;
    settings
}

/// Copies an object as the console does: everything but its name.
fn copy(service: &Service, from: &str, to: &str, change: impl FnOnce(&mut Value)) {
    let object = service.get(from);
    let (namespace, name) = to.split_once('/').expect("namespace/name");
    let mut body = json!({ "metadata": object["metadata"], "spec": object["spec"] });
    body["metadata"]["name"] = json!(name);
    body["metadata"]["namespace"] = json!(namespace);
    change(&mut body);
    service.create(&body);
}

/// Writes the annotation as trueup wrote it before it named keys.
fn to_version_1(service: &Service, key: &str) {
    service.change(key, |object| {
        let text = object["metadata"]["annotations"]["trueup/applied"].as_str().expect("a mark").to_owned();
        let parts: Vec<&str> = text.split(' ').collect();
        let [version, run, _, _, entries] = parts.as_slice() else { panic!("{text}") };
        assert_eq!(*version, "2");
        object["metadata"]["annotations"]["trueup/applied"] = json!(format!("1 {run} {entries}"));
    });
}

/// The service has labels of its own under `ves.io/`, and people set others there.
#[test]
fn a_label_under_the_prefix_of_the_service_is_as_any_other_where_the_definition_names_it() {
    for settings in ["", "ownership_annotations: false\n"] {
        let service = Service::start();
        let live = || service.get("shop/cart")["metadata"]["labels"]["ves.io/app_type"].clone();
        let label = |key: &str, value: &str| {
            service.change("shop/cart", |object| object["metadata"]["labels"][key] = json!(value));
        };
        let stage = Stage::new()
            .at(&service)
            .file("trueup.yaml", &format!("stack: shop\nnamespaces: [shop]\nprune: none\n{settings}"));
        let define = |value: &str, port: u16| {
            let labels = format!("  labels: {{ves.io/app_type: {value}}}\nspec:");
            stage.write("cart.yaml", &definition("shop/cart", port).replace("spec:", &labels));
        };
        let run = |line: &str, code: i32| {
            let ran = stage.run(line);
            ran.code(code).stderr_ignored();
            ran
        };
        define("one", 80);
        run("apply . --yes", 0);
        define("two", 80);
        run("apply . --yes", 0).stdout_contains("Verified");
        assert_eq!(live(), "two", "{settings}");
        run("plan . --detailed-exitcode", 0).stdout_contains("In sync");
        run("rollback last --yes", 0).stdout_contains("Verified");
        assert_eq!(live(), "one", "{settings}");
        // Somebody sets it between the plan and its apply.
        run("plan . -o plan.json", 0);
        label("ves.io/app_type", "three");
        run("apply plan.json --yes", 6);
        assert_eq!(live(), "three", "{settings}");
        run("apply . --yes", 0);
        // What no definition names does not count, and stays.
        define("two", 81);
        run("plan . -o plan.json", 0);
        label("ves.io/node", "a");
        run("apply plan.json --yes", 0).stdout_contains("Verified");
        label("ves.io/node", "b");
        run("plan . --detailed-exitcode", 0).stdout_contains("In sync");
        run("rollback last --yes", 0).stdout_contains("Verified");
        assert_eq!(
            service.get("shop/cart")["metadata"]["labels"],
            json!({"ves.io/app_type": "two", "ves.io/node": "b"})
        );
    }
}

/// What the service or a person has written there since stays.
#[test]
fn a_label_under_the_prefix_of_the_service_goes_with_its_definition_where_an_apply_wrote_it() {
    let service = Service::start();
    let labels = || service.get("shop/cart")["metadata"]["labels"].clone();
    let stage = Stage::new().at(&service).file("trueup.yaml", "stack: shop\nnamespaces: [shop]\n");
    let define = |labels: &str| {
        let labels = format!("  labels: {{{labels}}}\nspec:");
        stage.write("cart.yaml", &definition("shop/cart", 80).replace("spec:", &labels));
    };
    let run = |line: &str, code: i32| {
        let ran = stage.run(line);
        ran.code(code).stderr_ignored();
        ran
    };
    define("ves.io/app_type: one, ves.io/other: one, tier: web");
    run("apply . --yes", 0);
    service.change("shop/cart", |object| object["metadata"]["labels"]["ves.io/node"] = json!("a"));
    define("ves.io/other: one, tier: web");
    run("drift .", 2).stdout_contains("labels.ves.io/app_type");
    run("apply . --yes", 0).stdout_contains("Verified");
    assert_eq!(labels(), json!({"ves.io/other": "one", "ves.io/node": "a", "tier": "web"}));
    run("rollback last --yes", 0).stdout_contains("Verified");
    assert_eq!(labels()["ves.io/app_type"], "one");
    run("apply . --yes", 0);
    service.change("shop/cart", |object| object["metadata"]["labels"]["ves.io/other"] = json!("two"));
    define("tier: web");
    run("apply . --yes", 0);
    assert_eq!(labels(), json!({"ves.io/other": "two", "ves.io/node": "a", "tier": "web"}));
}

#[test]
fn a_clone_with_its_annotations_is_never_deleted() {
    let service = Service::start();
    let stage = applied(&service);
    copy(&service, "shop/cart", "shop/cart2", |_| {});
    stage
        .run("plan . --detailed-exitcode")
        .code(0)
        .stdout_contains("In sync")
        .stdout_contains(
            "1 endpoint carries copied ownership annotations and belongs to no stack: shop/cart2 (of shop/cart)",
        )
        .stdout_contains("is not managed here: shop/cart2")
        .does_not_say("delete");
    stage.run("apply . --yes").code(0);
    assert!(service.has("shop/cart2"));
    stage.run("drift . --unmanaged fail").code(3).stdout_contains("shop/cart2         not managed");
    // What names nobody is deleted only where everything is.
    stage.write("trueup.yaml", "stack: shop\nnamespaces: [shop]\nprune: all\n");
    stage
        .run("plan .")
        .code(0)
        .stdout_contains("- delete  shop/cart2")
        .stdout_contains("not managed")
        .stdout_contains("copied");
}

#[test]
fn a_clone_of_another_stacks_object_is_not_that_stacks() {
    let service = Service::start();
    let stage = applied(&service);
    copy(&service, "shop/cart", "shop/copy", |_| {});
    let other = Stage::stack(&service, "other").file("copy.yaml", &definition("shop/copy", 81));
    other
        .run("plan .")
        .code(0)
        .stdout_contains("~ replace shop/copy")
        .stdout_contains("adopts")
        .does_not_say("blocked");
    other.run("apply . --yes --quiet").code(0);
    assert_eq!(service.get("shop/copy")["metadata"]["annotations"]["trueup/stack"], "other");
    stage.run("apply . --yes --quiet").code(0);
    assert!(service.has("shop/copy"));
}

#[test]
fn a_clone_that_is_as_defined_is_adopted_on_request() {
    let service = Service::start();
    let stage = applied(&service);
    copy(&service, "shop/cart", "shop/copy", |_| {});
    stage.write("copy.yaml", &definition("shop/copy", 80));
    stage
        .run("plan .")
        .code(0)
        .stdout_contains("In sync")
        .stdout_contains("copied")
        .stdout_contains("--adopt takes ownership");
    stage.run("apply . --adopt --yes --quiet").code(0);
    stage.run("plan .").code(0).stdout_contains("In sync").does_not_say("copied");
    stage.remove("copy.yaml");
    stage.run("plan .").code(0).stdout_contains("- delete  shop/copy");
}

#[test]
fn version_1_of_the_annotation_is_renewed_and_is_never_enough_for_a_delete() {
    let service = Service::start();
    let stage = applied(&service);
    to_version_1(&service, "shop/cart");
    to_version_1(&service, "shop/search");
    // It still says why a field differs.
    service.change("shop/cart", |object| object["spec"]["port"] = json!(9));
    stage.run("drift .").code(3).stdout_contains("spec.port  80       9 ");
    service.change("shop/cart", |object| object["spec"]["port"] = json!(80));
    stage.run("plan . --detailed-exitcode").code(0).stdout_contains("* annotate");
    stage.remove("search.yaml");
    stage
        .run("plan .")
        .code(0)
        .stdout_contains("blocked")
        .stdout_contains("does not name the object that it was written for")
        .stdout_contains("--allow unverified=shop/search");
    stage.run("apply . --yes --quiet");
    assert!(service.has("shop/search"));
    assert!(
        service.get("shop/cart")["metadata"]["annotations"]["trueup/applied"]
            .as_str()
            .expect("a mark")
            .starts_with("2 ")
    );
    stage.run("apply . --yes --quiet --allow unverified=shop/search").code(0);
    assert!(!service.has("shop/search"));
}

#[test]
fn what_was_applied_before_there_was_a_stack_is_taken_over_and_noted() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("cart.yaml", &definition("shop/cart", 80))
        .file("search.yaml", &definition("shop/search", 80))
        .applied(".");
    stage.write("trueup.yaml", "stack: shop\nnamespaces: [shop]\n");
    stage
        .run("plan . --detailed-exitcode")
        .code(0)
        .stdout_contains(
            "2 endpoints were applied without a stack and are taken over by this one: shop/cart, shop/search",
        )
        .stdout_contains("* annotate");
    stage.run("apply . --yes --quiet").code(0);
    stage.run("plan .").code(0).stdout_contains("In sync").does_not_say("without a stack");
    stage.remove("search.yaml");
    stage.run("plan .").code(0).stdout_contains("- delete  shop/search");
}

/// The annotations that a live object carries, good, copied, edited, mixed.
#[derive(Debug, Clone)]
enum Annotations {
    None,
    Own,
    Without,
    Of(Key),
    Foreign,
    Version1(Key),
    Mixed(Key),
    Edited(usize, char),
    Any(String),
}

fn annotations() -> impl Strategy<Value = Annotations> {
    let key = || "(shop|pay)/e[0-5]".prop_map(|key| Key::parse(&key).expect("a key"));
    prop_oneof![
        Just(Annotations::None),
        Just(Annotations::Own),
        Just(Annotations::Own),
        Just(Annotations::Without),
        key().prop_map(Annotations::Of),
        Just(Annotations::Foreign),
        key().prop_map(Annotations::Version1),
        key().prop_map(Annotations::Mixed),
        (0usize..80, prop_oneof![Just(' '), Just('A'), Just('1'), Just('z')])
            .prop_map(|(at, to)| Annotations::Edited(at, to)),
        "[ -~]{0,60}".prop_map(Annotations::Any),
    ]
}

/// What `trueup` writes on an endpoint of this key.
fn written(endpoint: &Object, key: &Key, stack: Option<&str>) -> Vec<(String, String)> {
    let marked = Object { key: key.clone(), ..endpoint.clone() };
    let annotations = Ownership::of(&marked, stack, "run-0").annotations();
    annotations.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn annotated(mut endpoint: Object, annotations: &Annotations) -> Object {
    let own = |stack| written(&endpoint, &endpoint.key, stack);
    let with = |endpoint: &Object, edit: &dyn Fn(String) -> String, key: &Key| {
        let pairs = written(endpoint, key, Some(STACK)).into_iter();
        pairs.map(|(key, value)| if key == "trueup/applied" { (key, edit(value)) } else { (key, value) }).collect()
    };
    let pairs: Vec<(String, String)> = match annotations {
        Annotations::None => Vec::new(),
        Annotations::Own => own(Some(STACK)),
        Annotations::Without => own(None),
        Annotations::Of(key) => written(&endpoint, key, Some(STACK)),
        Annotations::Foreign => own(Some("other")),
        Annotations::Version1(key) => with(&endpoint, &|text| version_1(&text), key),
        Annotations::Mixed(key) => {
            let applied = written(&endpoint, key, None).into_iter();
            applied.chain(own(Some(STACK)).into_iter().filter(|(key, _)| key == "trueup/stack")).collect()
        }
        Annotations::Edited(at, to) => {
            let edit = |text: String| {
                let with = |(place, c): (usize, char)| if place == at % text.len() { *to } else { c };
                text.char_indices().map(with).collect::<String>()
            };
            with(&endpoint, &edit, &endpoint.key)
        }
        Annotations::Any(text) => with(&endpoint, &|_| text.clone(), &endpoint.key),
    };
    endpoint.annotations.extend(pairs);
    endpoint
}

fn version_1(text: &str) -> String {
    let parts: Vec<&str> = text.split(' ').collect();
    format!("1 {} {}", parts[1], parts[4])
}

/// Whether the annotations prove that this stack wrote them for this key: the third word of the
/// second version, as a write for the key has it.
fn proves(endpoint: &Object) -> bool {
    let word = |text: &str| {
        let mut words = text.split(' ');
        (words.next() == Some("2")).then(|| words.nth(1).map(str::to_owned)).flatten()
    };
    let wanted = written(endpoint, &endpoint.key, Some(STACK)).into_iter().collect::<BTreeMap<_, _>>();
    let stack = endpoint.annotations.get("trueup/stack").map(String::as_str);
    let named = endpoint.annotations.get("trueup/applied").and_then(|text| word(text));
    stack == Some(STACK) && named.is_some() && named == word(&wanted["trueup/applied"])
}

fn live() -> impl Strategy<Value = BTreeMap<Key, Object>> {
    (strategies::endpoints(), prop::collection::vec(annotations(), 8)).prop_map(|(endpoints, annotations)| {
        properties::by_key(endpoints.into_iter().zip(&annotations).map(|(one, how)| annotated(one, how)).collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn only_what_was_written_for_its_key_and_this_stack_is_ever_deleted(
        definitions in strategies::endpoints(),
        live in live(),
        adopt: bool,
        annotates: bool,
    ) {
        let settings = settings(adopt, annotates);
        let plan = properties::planned(definitions, &live, &settings);
        for change in plan.changes.iter().filter(|change| matches!(change.action, Action::Delete { .. })) {
            prop_assert!(proves(&live[&change.key]), "{:?}", live[&change.key].annotations);
        }
        for note in &plan.notes {
            if let Note::Copied { key, .. } = note {
                prop_assert!(!proves(&live[key]), "{:?}", live[key].annotations);
            }
        }
    }

    #[test]
    fn after_an_apply_over_any_annotations_nothing_is_left_to_do(
        definitions in strategies::endpoints(),
        live in live(),
        adopt: bool,
        annotates: bool,
    ) {
        let mut live = live;
        let settings = settings(adopt, annotates);
        let first = properties::planned(definitions.clone(), &live, &settings);
        properties::apply(&first, &mut live);
        let second = properties::planned(definitions, &live, &settings);
        prop_assert!(second.changes.is_empty(), "left: {:?}", second.changes);
    }
}

#[test]
fn a_stack_without_annotations_adopts_nothing() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: shop\nnamespaces: [shop]\nownership_annotations: false\n")
        .file("cart.yaml", &definition("shop/cart", 80))
        .applied(".");
    stage.edit("cart.yaml", "port: 80", "port: 81");
    stage.run("plan .").code(0).stdout_contains("1 to replace").does_not_say("adopt");
}
