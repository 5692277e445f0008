//! Globs over keys: what a filter selects is never in a namespace that it is said not to reach, however
//! the glob is written.

use proptest::prelude::*;
use trueup::model::{Desired, Key};
use trueup::plan::Selection;

use crate::support::{Service, Stage, definition};

/// Globs of the pieces that tell namespaces and names apart, many of them odd.
fn globs() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("shop"),
        Just("pay"),
        Just("p"),
        Just("ay"),
        Just("/"),
        Just("[/]"),
        Just("*"),
        Just("**"),
        Just("?"),
        Just("{"),
        Just("}"),
        Just(","),
        Just("a"),
        Just("b"),
        Just("[a-z]"),
        Just("[!/]"),
        Just("\\"),
        Just("\\/"),
        Just("{shop/,pay/}"),
        Just("{a,b}"),
        Just("**/"),
    ];
    let kind = prop_oneof![Just(""), Just(""), Just("endpoint:"), Just("health*:"), Just("*:")];
    (kind, proptest::collection::vec(piece, 0..7)).prop_map(|(kind, pieces)| kind.to_owned() + &pieces.concat())
}

fn keys() -> impl Strategy<Value = Key> {
    let namespace = prop_oneof![Just("shop"), Just("pay"), Just("p"), Just("payb")];
    let name = prop_oneof![Just("a"), Just("b"), Just("shop"), Just("ab"), Just("pay")];
    let kind = prop_oneof![Just(""), Just("healthcheck:")];
    let key = |(kind, namespace, name)| Key::parse(&format!("{kind}{namespace}/{name}")).expect("a key");
    (kind, namespace, name).prop_map(key)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_selected_is_in_a_list_that_is_reached(
        only in proptest::collection::vec(globs(), 0..3),
        except in proptest::collection::vec(globs(), 0..3),
        key in keys(),
    ) {
        let mut selection = Selection::all();
        let texts = only.iter().filter(|glob| selection.add_only(glob).is_ok()).count()
            + except.iter().filter(|glob| selection.add_except(glob).is_ok()).count();
        if texts > 0 && selection.selects(&key, None, None) {
            prop_assert!(selection.reaches(&(&key).into(), &Desired::default()), "{only:?} {except:?} {key}");
        }
    }
}

fn stage(service: &Service) -> Stage {
    Stage::new()
        .at(service)
        .file("trueup.yaml", "stack: globs\nnamespaces: [shop, pay]\n")
        .file("a.yaml", &definition("shop/a", 80))
        .file("b.yaml", &definition("pay/b", 80))
        .applied(".")
}

#[test]
fn a_namespace_that_a_glob_names_in_an_odd_way_is_unknown_where_it_could_not_be_read() {
    let service = Service::start();
    let stage = stage(&service);
    service.misbehave("rules: [{operation: endpoint-list, namespace: pay, status: {code: 403}}]");
    for glob in ["{shop/a,pay/b}", "pay[/]b", "p{ay/}b", "**", "*", "pay\\/b", "*/b"] {
        for command in ["plan", "drift"] {
            let ran = stage.run_words(&[command, ".", "--only", glob]);
            assert!(format!("{}{}", ran.code(5).text(), ran.errors()).contains("pay"), "{command} {glob}");
        }
    }
    stage.run("plan . --only shop/*").code(0).stdout_contains("In sync: 1 endpoint in 1 namespace");
    // What is left out whole need not be read.
    stage.run("plan . --except pay/*").code(0).stdout_contains("In sync: 1 endpoint in 1 namespace");
    stage.run("plan . --except pay/c*").code(5);
}
