//! Loading takes at most linear time in what is read: settings, namespaces, variables, environments, overlays.

use std::fmt::Write as _;

use super::{LoadOptions, RenderOptions, SourceFile, SourceMap, settings_of, sources};
use crate::model::growth_tests::assert_at_most_linear;

fn file(path: &str, text: &str) -> SourceFile {
    SourceFile { path: path.to_owned(), bytes: text.as_bytes().to_vec() }
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "{}", line(number));
        text
    })
}

#[test]
fn settings_with_many_variables_and_environments_take_linear_time() {
    let both = |count: usize| {
        let variables = lines(count, |number| format!("  v{number}: text"));
        let environments = lines(count / 5, |number| format!("  e{number}: {{variables: {{v{number}: own}}}}"));
        format!("stack: shop\nvariables:\n{variables}environments:\n{environments}")
    };
    let overridden = |count: usize| {
        let [below, above] = ["text", "own"].map(|value| lines(count, |number| format!("    v{number}: {value}")));
        format!("stack: shop\ndefaults:\n  variables:\n{below}environments:\n prod:\n   variables:\n{above}")
            .replace("\n   variables", "\n  variables")
    };
    let extending = |count: usize| {
        let environments = lines(count, |number| format!("  e{number}: {{extends: base}}"));
        format!("environments:\n  base: {{rate_limit: 5}}\n{environments}")
    };
    let prod = LoadOptions { environment: Some("prod".to_owned()), ..LoadOptions::default() };
    let bare = LoadOptions::default();
    let read = |options: &LoadOptions, text: String| {
        let read = settings_of(Some(text.into()), options);
        assert!(read.is_ok(), "{:?}", read.err());
    };
    assert_at_most_linear("variables and environments", 500, both, |text| read(&bare, text));
    assert_at_most_linear("variables of two layers", 2_000, overridden, |text| read(&prod, text));
    assert_at_most_linear("environments that extend one", 1_000, extending, |text| read(&bare, text));
}

#[test]
fn settings_with_many_namespaces_take_linear_time() {
    let namespaces = |count: usize| {
        let listed = lines(count, |number| format!("- n{number}"));
        format!("stack: shop\nnamespaces:\n{listed}")
    };
    assert_at_most_linear("namespaces", 2_000, namespaces, |text| {
        assert!(settings_of(Some(text.into()), &LoadOptions::default()).is_ok());
    });
}

#[test]
fn environments_that_inherit_more_than_fits_are_refused_in_time() {
    let listed = lines(20_000, |number| format!("- n{number}"));
    let environments = lines(20_000, |number| format!("  e{number}: {{rate_limit: 5}}"));
    let text = format!("stack: shop\nnamespaces:\n{listed}environments:\n{environments}");
    let problems = settings_of(Some(text.into()), &LoadOptions::default()).expect_err("too much");
    let text = problems.render(&RenderOptions::default());
    assert!(text.contains("have more than 1000000 values together"), "{text}");
}

/// A file of endpoints, and how many of them have the key of the first.
fn endpoints(count: usize, twice: usize) -> Vec<SourceFile> {
    let name = |number: usize| if number < twice { 0 } else { number };
    let endpoint =
        |number| format!("---\nmetadata: {{name: a{}, namespace: shop}}\nspec: {{ip: 10.0.0.7}}", name(number));
    vec![file("trueup.yaml", "stack: shop\nnamespaces: [shop]\n"), file("shop.yaml", &lines(count, endpoint))]
}

#[test]
fn a_file_with_duplicates_is_read_a_fixed_number_of_times() {
    assert_at_most_linear(
        "duplicates",
        2,
        |count| endpoints(100 * count, count),
        |files| {
            let problems = sources(files, &LoadOptions::default()).expect_err("duplicates");
            assert!(problems.list.iter().all(|problem| problem.message.contains("is defined twice")), "{problems:?}");
        },
    );
}

#[test]
fn errors_about_definitions_read_their_file_a_fixed_number_of_times() {
    let loaded = |count| sources(endpoints(count, 0), &LoadOptions::default()).expect("a stack");
    assert_at_most_linear("errors", 30, loaded, |loaded| {
        let places = SourceMap::new(&loaded);
        for key in loaded.desired.definitions.keys() {
            let error = places.error("wrong", "correct it", &[(key, "spec.ip", "here".to_owned())]);
            assert_eq!(error.file(), Some("shop.yaml"));
        }
    });
}

#[test]
fn overlays_without_a_definition_among_many_take_linear_time() {
    let overlays = |document: &'static str| {
        move |count| {
            let overlay = lines(count, |number| document.replace("NAME", &format!("for{number}")));
            let mut files = endpoints(count, 0);
            files.push(file("prod/shop.yaml", &overlay));
            files[0] = file("trueup.yaml", "stack: shop\nnamespaces: [shop]\nenvironments: {prod: {overlay: prod}}\n");
            files
        }
    };
    // The time of this thread is measured.
    let prod = LoadOptions { environment: Some("prod".to_owned()), threads: Some(1), ..LoadOptions::default() };
    let partial = "---\n{metadata: {name: NAME, namespace: shop}, spec: {port: 80}}";
    assert_at_most_linear("overlays", 200, overlays(partial), |files| assert!(sources(files, &prod).is_err()));
    let whole = "---\n{kind: healthcheck, metadata: {name: NAME, namespace: shop}, spec: {timeout: 3, interval: 15, \
                 unhealthy_threshold: 1, healthy_threshold: 3, tcp_health_check: {}}}";
    assert_at_most_linear("objects of an environment", 200, overlays(whole), |files| {
        assert!(sources(files, &prod).is_ok_and(|loaded| !loaded.desired.definitions.is_empty()));
    });
}

#[test]
fn an_overlay_with_many_annotations_takes_linear_time() {
    let files = |count: usize| {
        let head = "metadata:\n  name: cart\n  namespace: shop\n";
        let annotations = |value: &str| {
            lines(count, |number| format!("    k{number}: {}", if number % 3 == 0 { "null" } else { value }))
        };
        let below = lines(count, |number| format!("    k{number}: below"));
        vec![
            file("trueup.yaml", "stack: shop\nnamespaces: [shop]\nenvironments: {prod: {overlay: prod}}\n"),
            file("cart.yaml", &format!("{head}  annotations:\n{below}spec:\n  ip: 10.0.0.7\n  port: 80\n")),
            file("prod/cart.yaml", &format!("{head}  annotations:\n{}", annotations("above"))),
        ]
    };
    let prod = LoadOptions { environment: Some("prod".to_owned()), ..LoadOptions::default() };
    assert_at_most_linear("annotations of an overlay", 1_000, files, |files| {
        // How many annotations an endpoint may have is another question.
        drop(sources(files, &prod));
    });
}

#[test]
fn a_mapping_that_merges_many_keys_takes_linear_time() {
    let merged = |count: usize| {
        let keys = lines(count, |number| format!("    k{number}: text"));
        format!(
            "metadata:\n  name: cart\n  namespace: shop\n  labels: &all\n{keys}  annotations: {{<<: *all}}\nspec: {{}}\n"
        )
    };
    assert_at_most_linear("merged keys", 2_000, merged, |text| {
        let mut problems = Vec::new();
        let source = super::text::SourceText::inline("cart.yaml", &text);
        let tree = super::tree::Documents::new(&source).next().expect("a document").expect("a tree");
        assert!(super::item::resolve(&tree, &source, &mut problems).is_some() && problems.is_empty(), "{problems:?}");
    });
}

#[test]
fn places_on_one_long_line_are_found_in_linear_time() {
    let line = |count: usize| super::text::SourceText::inline("cart.yaml", &"a: ü, ".repeat(count));
    assert_at_most_linear("places", 4_000, line, |line| {
        let end = line.as_str().len();
        assert!((0..end).step_by(7).all(|at| line.position(at).line == 1 && line.line(at) == (0..end)));
    });
}

#[test]
fn what_aliases_put_in_is_bounded() {
    let long = "x".repeat(1 << 20);
    let aliases = lines(40, |_| "- *long".to_owned());
    let file = file("cart.yaml", &format!("metadata: &long {long}\nspec:\n{aliases}"));
    let problems = sources(vec![file], &LoadOptions::default()).expect_err("too much").list;
    assert!(problems.iter().any(|problem| problem.message.contains("the aliases of the document")), "{problems:?}");
}
