//! Layouts of a repository: several directories and environments, with stacks, services and namespaces of their own.
//! What another stack defines now is never deleted, and no layout loosens the rules of the base.

use proptest::prelude::*;
use serde_json::Value;

use crate::support::{Service, Stage, commit, definition, git};

/// The stack `a` in `a`, called in its environment `one`, which has applied `shop/x` and `shop/stays` and defines `shop/x`
/// no more.
fn without_x(service: &Service) -> Stage {
    let stage = Stage::new()
        .at(service)
        .file("a/trueup.yaml", OWN)
        .file("a/stays.yaml", &definition("shop/stays", 80))
        .file("a/x.yaml", &definition("shop/x", 80));
    stage.run("apply a --env one --yes --quiet").code(0);
    stage.remove("a/x.yaml");
    stage
}

const OWN: &str = "stack: a\nnamespaces: [shop]\nenvironments:\n  one: {overlay: o/one}\n";

/// A place in which `shop/x` is now, or only seems to be.
struct Place {
    name: &'static str,
    /// Its settings; those of `a` are extended by environments.
    settings: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// Whether the delete must be blocked because of it.
    blocks: bool,
}

const X: &str = "metadata: {name: x, namespace: shop}\nspec: {ip: 10.0.0.7, port: 80}\n";
const X_FILE: &[(&str, &str)] = &[("x.yaml", X)];

const PLACES: [Place; 21] = [
    Place { name: "plain", settings: "stack: b\nnamespaces: [shop]\n", files: X_FILE, blocks: true },
    Place { name: "named", settings: "stack: b\nnamespaces: [shop]\nbase_url: URL\n", files: X_FILE, blocks: true },
    Place {
        name: "another-service",
        settings: "stack: b\nnamespaces: [shop]\nbase_url: https://far.example.net\n",
        files: X_FILE,
        blocks: false,
    },
    Place { name: "no-stack", settings: "namespaces: [shop]\n", files: X_FILE, blocks: true },
    Place {
        name: "namespaces-of-an-environment",
        settings: "stack: b\nenvironments: {prod: {namespaces: [shop]}, dev: {namespaces: [dev], base_url: 'https://far.example.net'}}\n",
        files: X_FILE,
        blocks: true,
    },
    Place {
        name: "top-level-beside-an-environment-of-another-service",
        settings: "stack: b\nnamespaces: [shop]\nenvironments: {prod: {base_url: 'https://far.example.net'}}\n",
        files: X_FILE,
        blocks: true,
    },
    Place {
        name: "top-level-beside-an-environment-of-another-namespace",
        settings: "stack: b\nnamespaces: [shop]\nenvironments: {prod: {namespaces: [far], base_url: 'https://far.example.net'}}\n",
        files: X_FILE,
        blocks: true,
    },
    Place {
        name: "service-of-an-environment",
        settings: "stack: b\nnamespaces: [shop]\nbase_url: https://far.example.net\nenvironments: {prod: {base_url: 'URL'}}\n",
        files: X_FILE,
        blocks: true,
    },
    Place {
        name: "only-other-services",
        settings: "stack: b\nnamespaces: [shop]\nbase_url: https://far.example.net\nenvironments: {prod: {base_url: 'https://farther.example.net'}}\n",
        files: X_FILE,
        blocks: false,
    },
    Place { name: "settings-that-do-not-load", settings: "stak: b\n", files: X_FILE, blocks: true },
    Place {
        name: "settings-of-others",
        settings: "stak: b\n",
        files: &[("y.yaml", "metadata: {name: y}\n")],
        blocks: false,
    },
    Place {
        name: "a-file-that-does-not-load",
        settings: "stack: b\nnamespaces: [shop]\n",
        files: &[("x.yaml", "metadata: {name: x, namespace: shop\n")],
        blocks: true,
    },
    Place {
        name: "a-namespace-that-is-not-listed",
        settings: "stack: b\nnamespaces: [far]\n",
        files: X_FILE,
        blocks: true,
    },
    Place {
        name: "excluded",
        settings: "stack: b\nnamespaces: [shop]\nfiles: {exclude: [x.yaml]}\n",
        files: &[("x.yaml", X), ("y.yaml", "metadata: {name: y, namespace: shop}\nspec: {ip: 10.0.0.7, port: 80}\n")],
        blocks: false,
    },
    Place {
        name: "a-name-of-a-variable",
        settings: "stack: b\nnamespaces: [shop]\nenvironments: {prod: {variables: {n: x}}}\n",
        files: &[("v.yaml", "metadata: {name: '${n}', namespace: shop}\nspec: {ip: 10.0.0.7, port: 80}\n")],
        blocks: true,
    },
    Place {
        name: "a-name-of-a-variable-that-cannot-be-it",
        settings: "stack: b\nnamespaces: [shop]\n",
        files: &[("v.yaml", "metadata: {name: 'other-${n}', namespace: shop}\nspec: {ip: 10.0.0.7, port: 80}\n")],
        blocks: false,
    },
    Place {
        name: "top-level-that-does-not-load-beside-an-environment-of-another-service",
        settings: "stack: b\nnamespaces: [shop]\nenvironments: {prod: {stack: far, base_url: 'https://far.example.net'}}\n",
        files: &[("x.yaml", X), ("y.yaml", "metadata: {name: y, namespace: shop}\nspec: {ip: 10.0.0.7, port: y}\n")],
        blocks: true,
    },
    Place {
        name: "top-level-that-needs-the-variables-of-an-environment-of-another-service",
        settings: "stack: b\nenvironments: {prod: {stack: far, base_url: 'https://far.example.net', variables: {p: '80'}}}\n",
        files: &[("x.yaml", "metadata: {name: x, namespace: shop}\nspec: {ip: 10.0.0.7, port: '${p}'}\n")],
        blocks: true,
    },
    Place {
        name: "top-level-that-needs-the-variables-of-an-environment-of-this-service",
        settings: "stack: b\nenvironments: {prod: {stack: near, base_url: URL, variables: {n: y}}}\n",
        files: &[("v.yaml", "metadata: {name: '${n}', namespace: shop}\nspec: {ip: 10.0.0.7, port: 80}\n")],
        blocks: false,
    },
    Place { name: "claimed", settings: "stack: a\nnamespaces: [shop]\n", files: X_FILE, blocks: true },
    Place { name: "empty", settings: "stack: b\nallow_empty: true\n", files: &[], blocks: false },
];

/// The same in another environment of the same directory, with an overlay that has the endpoint.
const ENVIRONMENTS: [(&str, bool); 5] = [
    ("{overlay: o/two, stack: two}", true),
    ("{overlay: o/two}", true),
    ("{overlay: o/two, base_url: 'URL'}", true),
    ("{overlay: o/two, stack: two, base_url: 'https://far.example.net'}", false),
    ("{overlay: o/two, base_url: 'https://far.example.net'}", false),
];

fn put(stage: &Stage, service: &Service, number: usize, place: &Place) {
    let directory = format!("p{number}");
    stage.write(&format!("{directory}/trueup.yaml"), &place.settings.replace("URL", &service.url()));
    for (file, text) in place.files {
        stage.write(&format!("{directory}/{file}"), text);
    }
}

fn put_environment(stage: &Stage, service: &Service, settings: &str) {
    stage.write("a/trueup.yaml", &format!("{OWN}  two: {}\n", settings.replace("URL", &service.url())));
    stage.write("a/o/two/x.yaml", X);
}

#[track_caller]
fn is_kept(stage: &Stage, service: &Service, blocks: bool, names: &[&str]) {
    let done = stage.run("apply a --env one --yes --quiet");
    done.stderr_ignored();
    assert_eq!(service.has("shop/x"), blocks, "{names:?}\n{}\n{}", done.text(), done.errors());
    assert_eq!(done.exit(), if blocks { 6 } else { 0 }, "{names:?}\n{}", done.text());
    assert!(!blocks || done.text().contains("blocked shop/x"), "{names:?}\n{}", done.text());
}

#[test]
fn a_delete_of_what_a_stack_with_environments_of_its_own_or_one_that_does_not_load_defines_is_blocked() {
    for place in &PLACES {
        let service = Service::start();
        let stage = without_x(&service);
        put(&stage, &service, 0, place);
        let stage = stage.committed();
        is_kept(&stage, &service, place.blocks, &[place.name]);
    }
}

/// The stack does not load with any of them.
#[test]
fn a_delete_of_what_another_stack_defines_with_a_mistake_is_blocked() {
    let spec = "spec: {ip: 10.0.0.7, port: 80}\n";
    let mistakes = [
        format!("metadata:\nname: x\nnamespace: shop\n{spec}"),
        format!("metadta: {{name: x, namespace: shop}}\n{spec}"),
        format!("Metadata: {{name: x, namespace: shop}}\n{spec}"),
        format!("items:\n- metadata: {{name: x, namespace: shop}}\n  {spec}"),
        format!("$remove: false\n{X}"),
        "|\n  metadata: {name: x, namespace: shop}\n".to_owned(),
        // Written in UTF-16.
        X.to_owned(),
    ];
    for mistake in &mistakes {
        let service = Service::start();
        let stage =
            without_x(&service).file("b/trueup.yaml", "stack: b\nnamespaces: [shop]\n").file("b/x.yaml", mistake);
        if mistake == X {
            let utf16: Vec<u8> = format!("\u{feff}{X}").encode_utf16().flat_map(u16::to_le_bytes).collect();
            std::fs::write(stage.path("b/x.yaml"), utf16).expect("a file");
        }
        stage.run("validate b").code(1).stderr_ignored();
        is_kept(&stage.committed(), &service, true, &[mistake]);
    }
}

#[test]
fn a_delete_of_what_a_directory_with_settings_of_a_wrong_name_defines_is_blocked() {
    for (name, blocks) in [("trueup.yml", true), ("Trueup.yaml", true), ("settings.yaml", false)] {
        let service = Service::start();
        let settings = format!("b/{name}");
        let stage = without_x(&service).file(&settings, "stack: b\nnamespaces: [shop]\n").file("b/x.yaml", X);
        let stage = stage.committed();
        if name == "trueup.yml" {
            let reason = "b may define it: settings are read from trueup.yaml, not from trueup.yml";
            stage.run("plan a --env one").code(0).stdout_contains(reason);
        }
        is_kept(&stage, &service, blocks, &[name]);
    }
}

#[test]
fn a_delete_of_what_another_environment_of_the_directory_defines_is_blocked() {
    for (settings, blocks) in ENVIRONMENTS {
        let service = Service::start();
        let stage = without_x(&service);
        put_environment(&stage, &service, settings);
        // Outside of a repository as well.
        is_kept(&stage, &service, blocks, &[settings]);
    }
}

#[test]
fn a_blocked_delete_says_which_environment_defines_the_endpoint_or_why_that_is_unknown() {
    let service = Service::start();
    let stage = without_x(&service);
    let blocked = |text: &str| {
        stage.run("plan a --env one").code(0).stdout_contains("! blocked shop/x").stdout_contains(text);
    };
    put_environment(&stage, &service, "{overlay: o/two, stack: two}");
    blocked(
        "stack two in a (environment two) defines it; transfer it first: trueup move --from a --directory a --env two",
    );
    put_environment(&stage, &service, "{overlay: o/two}");
    blocked("stack a in a (environment two) defines it; this is the same stack; give each");
    stage.write("a/o/two/x.yaml", "metadata: {name: x, namespace: shop}\nspec: {prot: 80}\n");
    blocked("whether another stack defines it is unknown: a (environment two) may define it: ");
    stage.run("plan a --env one --format json").code(0).stdout_contains("definers_unknown");
    stage.run("apply a --env one --yes").code(6).stderr_ignored();
    assert!(service.has("shop/x"));
    // The commands that the plans proposed are tried when the stage is dropped.
    put_environment(&stage, &service, "{overlay: o/two, stack: two}");
}

#[test]
fn what_an_environment_is_known_to_define_comes_before_what_is_not_known_without_one() {
    let service = Service::start();
    let stage = without_x(&service).committed();
    stage.write("b/trueup.yaml", "stack: b\nenvironments: {prod: {stack: b-prod, overlay: o}}\n");
    stage.write("b/x.yaml", &X.replace("80", "oops"));
    stage.write("b/o/x.yaml", "metadata: {name: x, namespace: shop}\nspec: {port: 80}\n");
    let known = "stack b-prod in b (environment prod) defines it; transfer it first";
    stage.run("plan a --env one").code(0).stdout_contains(known);
}

#[test]
fn a_stack_that_may_be_for_another_service_blocks_no_delete_once_it_names_that() {
    let service = Service::start();
    let stage = without_x(&service);
    let place = PLACES.iter().find(|place| place.name.contains("needs-the-variables")).expect("a place");
    put(&stage, &service, 0, place);
    let stage = stage.committed();
    let reason = "p0 may define it: only its environments set the variables that it uses; if it is for another \
                  service, name that with `base_url:`";
    stage.run("plan a --env one").code(0).stdout_contains("! blocked shop/x").stdout_contains(reason);
    stage.edit("p0/trueup.yaml", "stack: b\n", "stack: b\nbase_url: https://far.example.net\n");
    is_kept(&stage, &service, false, &[place.name]);
}

#[cfg(unix)]
#[test]
fn a_repository_that_cannot_be_searched_for_stacks_blocks_every_delete() {
    use std::os::unix::fs::PermissionsExt as _;
    let service = Service::start();
    let stage = without_x(&service).committed();
    let closed = stage.path("closed");
    std::fs::create_dir(&closed).expect("a directory");
    let mode = |mode| std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(mode)).expect("a mode");
    mode(0);
    // Root reads everything.
    if std::fs::read_dir(&closed).is_err() {
        stage.run("plan a --env one").code(0).stdout_contains("! blocked shop/x").stdout_contains("cannot be searched");
    }
    mode(0o700);
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(16)
}

/// Each layout in which a stack can use a variable, with and without an environment: what a call of it defines for this service
/// is not deleted elsewhere.
#[test]
fn what_any_call_of_another_stack_defines_is_not_deleted() {
    let service = Service::start();
    let url = service.url();
    let services = ["", "base_url: 'https://far.example.net', ", &format!("base_url: '{url}', ")];
    let levels = services.iter().flat_map(|url| ["", "variables: {p: '80'}, "].map(|set| format!("{url}{set}")));
    let levels: Vec<String> = levels.collect();
    let environments = levels.iter().flat_map(|level| ["far", "b"].map(|stack| Some((stack, level))));
    let environments: Vec<_> = environments.chain([None]).collect();
    let layouts = levels.iter().flat_map(|top| environments.iter().map(move |environment| (top, *environment)));
    let layouts: Vec<_> = layouts.enumerate().map(|(at, layout)| (format!("x{at:03}"), layout)).collect();
    let stage = Stage::new()
        .at(&service)
        .file("a/trueup.yaml", "stack: a\nnamespaces: [shop]\n")
        .file("a/stays.yaml", &definition("shop/stays", 80));
    for (name, _) in &layouts {
        stage.write(&format!("a/{name}.yaml"), &definition(&format!("shop/{name}"), 80));
    }
    let stage = stage.applied("a");
    for (name, (top, environment)) in &layouts {
        let environment =
            environment.map(|(stack, level)| format!("environments: {{prod: {{{level}stack: {stack}}}}}, "));
        let settings = format!("{{{top}{}stack: b}}\n", environment.unwrap_or_default());
        stage.write(&format!("{name}/trueup.yaml"), &settings);
        let moved = stage.read(&format!("a/{name}.yaml")).replace("port: 80", "port: '${p}'");
        stage.write(&format!("{name}/x.yaml"), &moved);
        stage.remove(&format!("a/{name}.yaml"));
    }
    let stage = stage.committed();
    let plan = stage.run("plan a --format json").code(0).json()["plan"].clone();
    let deleted = plan["changes"].to_string();
    let (deleted, blocked): (Vec<_>, Vec<_>) = layouts.iter().partition(|(name, _)| deleted.contains(name.as_str()));
    assert!(!deleted.is_empty() && !blocked.is_empty(), "{plan}");
    for (name, (top, environment)) in deleted {
        // Where the environment has the name of the stack, there is none without it.
        let alone = environment.is_none_or(|(stack, _)| stack != "b").then_some("");
        for flag in alone.into_iter().chain(environment.map(|_| "--env prod")) {
            let called = stage.run(&format!("plan {name} {flag} --var p=80"));
            called.stderr_ignored();
            assert!(!called.text().contains(name), "{name}: {top}, {environment:?}\n{}", called.text());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever else a repository has: a delete is blocked where one of its places may define the endpoint.
    #[test]
    fn a_delete_is_blocked_if_any_stack_of_the_repository_may_define_the_endpoint(
        places in prop::collection::vec(0..PLACES.len(), 0..4),
        environment in prop::option::of(0..ENVIRONMENTS.len()),
        blocking in prop::bool::weighted(0.4),
    ) {
        let service = Service::start();
        let stage = without_x(&service);
        let is_wanted = |place: &&Place| blocking || !place.blocks;
        let chosen: Vec<&Place> = places.iter().map(|at| &PLACES[*at]).filter(is_wanted).collect();
        for (number, place) in chosen.iter().enumerate() {
            put(&stage, &service, number, place);
        }
        let environment = environment.map(|at| ENVIRONMENTS[at]).filter(|(_, blocks)| blocking || !blocks);
        if let Some((settings, _)) = environment {
            put_environment(&stage, &service, settings);
        }
        let stage = stage.committed();
        let blocks = chosen.iter().any(|place| place.blocks) || environment.is_some_and(|(_, blocks)| blocks);
        let names: Vec<&str> =
            chosen.iter().map(|place| place.name).chain(environment.map(|(settings, _)| settings)).collect();
        is_kept(&stage, &service, blocks, &names);
    }
}

/// The stacks of a directory: without an environment, or by environment, each with the percentage of its guard.
#[derive(Debug, Clone)]
enum Layout {
    Alone(&'static str, u8),
    Environments(Vec<(&'static str, u8)>),
}

const NAMES: [&str; 3] = ["one", "two", "three"];

impl Layout {
    fn write(&self, stage: &Stage, directory: &str) {
        let settings = match self {
            Layout::Alone(stack, percent) => format!("stack: {stack}\nguards: {{percent: {percent}}}\n"),
            Layout::Environments(stacks) => {
                let environments = stacks.iter().zip(NAMES);
                let lines = environments.map(|((stack, percent), name)| {
                    format!("  {name}: {{stack: {stack}, guards: {{percent: {percent}}}}}\n")
                });
                format!("environments:\n{}", lines.collect::<String>())
            }
        };
        stage.write(&format!("{directory}/trueup.yaml"), &format!("namespaces: [shop]\n{settings}"));
        stage.write(&format!("{directory}/x.yaml"), &definition(&format!("shop/{directory}"), 80));
    }

    /// Each stack with its environment.
    fn stacks(&self) -> Vec<(Option<&'static str>, &'static str, u8)> {
        match self {
            Layout::Alone(stack, percent) => vec![(None, *stack, *percent)],
            Layout::Environments(stacks) => {
                stacks.iter().zip(NAMES).map(|((stack, percent), name)| (Some(name), *stack, *percent)).collect()
            }
        }
    }
}

fn layout() -> impl Strategy<Value = Layout> {
    let stack = || (prop::sample::select(vec!["s", "t", "u"]), 1_u8..30);
    prop_oneof![
        stack().prop_map(|(stack, percent)| Layout::Alone(stack, percent)),
        prop::collection::vec(stack(), 1..4).prop_map(Layout::Environments),
    ]
}

/// Which directories there are, with their stacks.
fn repository() -> impl Strategy<Value = Vec<(&'static str, Layout)>> {
    prop::collection::vec(prop::option::of(layout()), 3).prop_map(|layouts| {
        let named = ["p", "q", "r"].into_iter().zip(layouts);
        named.filter_map(|(directory, layout)| Some((directory, layout?))).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    /// However a change writes its directories and environments anew, a stack has the strictest guard that anything at
    /// the base gives it, and where its own is looser, a line says so.
    #[test]
    fn the_strictest_guard_that_the_base_has_for_a_stack_is_in_force(before in repository(), after in repository()) {
        let service = Service::start();
        let stage = Stage::new().at(&service).file("README.md", "x");
        before.iter().for_each(|(directory, layout)| layout.write(&stage, directory));
        let stage = stage.committed();
        git(&stage, "checkout -q -b change");
        for (directory, _) in &before {
            std::fs::remove_dir_all(stage.path(directory)).expect("a directory");
        }
        after.iter().for_each(|(directory, layout)| layout.write(&stage, directory));
        commit(&stage, "layout");
        let of_base: Vec<_> = before.iter().flat_map(|(_, layout)| layout.stacks()).collect();
        for (directory, layout) in &after {
            for (environment, stack, percent) in layout.stacks() {
                let flag = environment.map(|name| format!(" --env {name}")).unwrap_or_default();
                let ran = stage.run(&format!("plan {directory}{flag} --base main --format json"));
                ran.stderr_ignored();
                if ran.exit() == 1 {
                    // Where a stack was is not always clear, and then nothing is planned.
                    let errors = ran.errors();
                    prop_assert!(errors.contains("ambiguous") || errors.contains("merge main into this"), "{}", errors);
                    continue;
                }
                let plan = ran.json()["plan"].clone();
                let in_force = plan["settings"]["safeguards"]["guards"]["percent"].as_u64().expect("a number");
                let strictest = of_base.iter().filter(|(_, name, _)| *name == stack).map(|(_, _, percent)| *percent);
                let strictest = strictest.min().unwrap_or(percent);
                prop_assert!(in_force <= u64::from(strictest.min(percent)), "{directory}{flag}: {in_force} {strictest}");
                let changes = plan["setting_changes"].as_array().cloned().unwrap_or_default();
                let is_loosened = |change: &Value| {
                    change["setting"] == "guards.percent" && change["direction"] == "loosened"
                };
                prop_assert_eq!(changes.iter().any(is_loosened), in_force < u64::from(percent), "{:?}", changes);
            }
        }
    }
}

const STRICT: &str = "namespaces: [shop]\nenvironments:\n  \
    prod: {stack: shop-prod, guards: {percent: 5}, gates: {upgrade: block}, prune: none}\n  \
    dev: {stack: shop-dev, guards: {percent: 90}}\n";

/// A branch beside the strict settings of `main`, on which the stack of `prod` has looser rules than there.
fn loosened(service: &Service, write: impl FnOnce(&Stage), call: &str) {
    let stage = Stage::new()
        .at(service)
        .file("shop/trueup.yaml", STRICT)
        .file("shop/cart.yaml", &definition("shop/cart", 80))
        .committed();
    git(&stage, "checkout -q -b change");
    write(&stage);
    commit(&stage, "change");
    let plan = stage.run(&format!("plan {call} --base main"));
    plan.code(0).stdout_contains("loosened  guards.percent  5 -> ").stdout_contains("in force: 5, the stricter");
    plan.stdout_contains("loosened  gates.upgrade   block -> ").stdout_contains("loosened  prune           none -> ");
}

#[test]
fn environments_that_are_removed_and_their_stack_at_the_top_level_loosen_nothing() {
    let settings = "namespaces: [shop]\nstack: shop-prod\nguards: {percent: 90}\n";
    loosened(&Service::start(), |stage| stage.write("shop/trueup.yaml", settings), "shop");
}

#[test]
fn another_environment_that_gets_a_stack_loosens_nothing() {
    let given = |stage: &Stage| stage.edit("shop/trueup.yaml", "stack: shop-dev", "stack: shop-prod");
    loosened(&Service::start(), given, "shop --env dev");
}

#[test]
fn a_second_directory_that_claims_a_stack_loosens_nothing() {
    let claimed = |stage: &Stage| {
        stage.write("other/trueup.yaml", "stack: shop-prod\nnamespaces: [shop]\nguards: {percent: 90}\n");
        stage.write("other/cart.yaml", &definition("shop/cart", 81));
    };
    loosened(&Service::start(), claimed, "other");
    // In an environment of it as well, and where the stack's own directory is gone.
    let claimed = |stage: &Stage| {
        std::fs::remove_dir_all(stage.path("shop")).expect("a directory");
        let settings = "namespaces: [shop]\nenvironments: {live: {stack: shop-prod, guards: {percent: 90}}}\n";
        stage.write("p/other/trueup.yaml", settings);
        stage.write("p/other/cart.yaml", &definition("shop/cart", 81));
    };
    loosened(&Service::start(), claimed, "p/other --env live");
}

#[test]
fn settings_of_the_base_that_name_the_stack_and_do_not_load_are_an_error() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("shop/trueup.yaml", "stack: shop\nnamespaces: [shop]\n")
        .file("shop/cart.yaml", &definition("shop/cart", 80))
        .file("old/trueup.yaml", "stack: shop\nguard: {percent: 1}\n")
        .file("workshop/trueup.yaml", "stack: workshop\nguard: {percent: 1}\n")
        .committed();
    stage.run("plan shop --base main").code(1).stderr_contains("the settings of main do not load: old/trueup.yaml: ");
    stage.remove("old/trueup.yaml");
    commit(&stage, "without");
    stage.run("plan shop --base main").code(0);
}

#[test]
fn an_environment_may_loosen_the_top_of_its_own_file_and_not_that_of_another() {
    let service = Service::start();
    let settings = |percent: u8| format!("stack: shop\nnamespaces: [shop]\nguards: {{percent: {percent}}}\n");
    let stage = Stage::new()
        .at(&service)
        .file("shop/trueup.yaml", &(settings(4) + "environments: {dev: {guards: {percent: 29}}}\n"))
        .file("shop/cart.yaml", &definition("shop/cart", 80))
        .file("other/trueup.yaml", &settings(5))
        .committed();
    git(&stage, "checkout -q -b change");
    let plan = stage.run("plan shop --env dev --base main");
    plan.code(0).stdout_contains("5 -> 29").stdout_contains("in force: 5");
}

#[test]
fn an_environment_for_another_service_or_namespace_does_not_limit_one_of_the_same_stack() {
    let service = Service::start();
    let settings = "stack: shop\nenvironments:\n  prod: {namespaces: [prod], guards: {percent: 5}}\n  \
        far: {namespaces: [shop], base_url: 'https://far.example.net', guards: {percent: 6}}\n  \
        dev: {namespaces: [shop], guards: {percent: 29}}\n";
    let stage = Stage::new()
        .at(&service)
        .file("shop/trueup.yaml", settings)
        .file("shop/cart.yaml", &definition("shop/cart", 80))
        .committed();
    git(&stage, "checkout -q -b change");
    stage.run("plan shop --env dev --base main").code(0).does_not_say("loosened");
    // What takes more than it had at the base obeys everything that names its stack.
    let more = stage.run("plan shop --env dev --base main --prune-namespace prod");
    more.code(0).stdout_contains("5 -> 29").stdout_contains("in force: 5");
    stage.edit("shop/trueup.yaml", "dev: {namespaces: [shop]", "dev: {namespaces: [shop, prod]");
    let more = stage.run("plan shop --env dev --base main");
    more.code(0).stdout_contains("5 -> 29").stdout_contains("in force: 5");
    // The commands that the plans proposed are tried when the stage is dropped.
    stage.edit("shop/trueup.yaml", "dev: {namespaces: [shop, prod]", "dev: {namespaces: [shop]");
}
