//! `report`: the checks of shards as one report. Whatever is missing or wrong in their files is a part of it, and never
//! in sync.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};
use trueup::drift::{Acknowledgements, Check, DriftState, SeenSince, Shard, UnmanagedPolicy, Verdict};
use trueup::model::Object;
use trueup::plan::PlanSettings;
use trueup::report::TextView;
use trueup::report::fleet::{Fleet, FleetCommand, FleetPart, NoResult, StackReport};
use trueup::report::merge::{MergedChecks, merge};
use trueup::report::{Format, render};

use crate::support::{Service, Stage, definition};
use crate::{properties, strategies};

/// A stack of a random fleet: what is defined and live, whether it failed, and whether its drift is accepted.
#[derive(Debug, Clone)]
struct Random {
    definitions: Vec<Object>,
    live: Vec<Object>,
    failed: bool,
    accepted: bool,
    unmanaged: bool,
    shard: u32,
}

fn stack() -> impl Strategy<Value = Random> {
    let flags = (prop::bool::weighted(0.1), any::<bool>(), any::<bool>(), 0..5_u32);
    (strategies::endpoints(), strategies::endpoints(), flags).prop_map(
        |(definitions, live, (failed, accepted, unmanaged, shard))| Random {
            definitions,
            live,
            failed,
            accepted,
            unmanaged,
            shard,
        },
    )
}

fn now() -> jiff::Timestamp {
    "2026-11-22T06:00:00Z".parse().expect("a time")
}

impl Random {
    /// What its checker finds.
    fn found(&self) -> Check {
        let mut settings = PlanSettings::default();
        settings.safeguards.prune = if self.accepted { trueup::plan::Prune::All } else { trueup::plan::Prune::Owned };
        let plan = properties::planned(self.definitions.clone(), &properties::by_key(self.live.clone()), &settings);
        let seen = SeenSince { first_seen: now(), checks: 3 };
        let drifted = plan.drifted(&plan.verdicts(self.policy()));
        let state = DriftState::of_seen(drifted.into_iter().map(|one| (one.object, one.field, seen)));
        let verdicts = plan.verdicts(self.policy());
        let check = Check { drift_state: self.unmanaged.then_some(state), ..Check::new(plan, verdicts, now()) };
        let expires = "2026-12-01".parse().expect("a day");
        let offered = Acknowledgements::offered(&check.plan, &check.found, &[], ("reason", expires));
        if self.accepted { check.accepting(&offered) } else { check }
    }

    fn policy(&self) -> UnmanagedPolicy {
        if self.unmanaged { UnmanagedPolicy::Fail } else { UnmanagedPolicy::Note }
    }

    fn part<'f>(&self, number: usize, found: &'f Check) -> FleetPart<'f> {
        let outcome =
            if self.failed { Err(NoResult::Failed("no token".to_owned())) } else { Ok(StackReport::Checked(found)) };
        let directory = format!("t{number}");
        let own = TextView { call: directory.clone(), ..TextView::default() };
        FleetPart { directory, environment: None, apart: None, id: format!("id-{number}"), own, outcome }
    }
}

fn rendered(fleet: &Fleet<'_>, format: Format) -> String {
    render(fleet, format, &TextView::default())
}

fn merged(files: Vec<(u32, String)>) -> MergedChecks {
    let inputs = files.into_iter().map(|(number, text)| (format!("{number}.json"), Ok(text.into())));
    merge(inputs, now(), std::time::Duration::from_mins(1))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn shards_merged_are_what_one_checker_finds(
        stacks in prop::collection::vec(stack(), 1..6), of in 1..6_u32, lost in 1..6_u32
    ) {
        let found: Vec<Check> = stacks.iter().map(Random::found).collect();
        let parts = |shard: Option<u32>| -> Vec<FleetPart<'_>> {
            let each = stacks.iter().zip(&found).enumerate();
            each.map(|(number, (stack, found))| {
                let part = stack.part(number, found);
                let is_elsewhere = shard.is_some_and(|shard| stack.shard % of + 1 != shard);
                FleetPart { outcome: if is_elsewhere { Err(NoResult::Elsewhere) } else { part.outcome }, ..part }
            })
            .collect()
        };
        let whole = Fleet::new(FleetCommand::Drift, parts(None));
        let files = || (1..=of).rev().map(|shard| {
            let fleet = Fleet { shard: Some(Shard { index: shard, of }), ..Fleet::new(FleetCommand::Drift, parts(Some(shard))) };
            (shard, rendered(&fleet, Format::Json))
        });
        let all = merged(files().collect());
        let together = Fleet { merged: None, ..all.fleet() };
        for format in Format::OF_MERGED {
            prop_assert_eq!(rendered(&together, *format), rendered(&whole, *format));
        }
        // The report of merged reports is the same report.
        let again = merged(vec![(0, rendered(&all.fleet(), Format::Json))]);
        prop_assert_eq!(rendered(&again.fleet(), Format::Json), rendered(&whole, Format::Json));
        // Without one of them, nothing is in sync as a whole, and what it alone knew is unknown.
        let rest = merged(files().filter(|(shard, _)| *shard != lost).collect());
        if lost <= of {
            prop_assert_eq!(rest.fleet().whole(), Verdict::Unknown);
            if of > 1 {
                let unknown = {
                    let rest = rest.fleet();
                    rest.parts.iter().filter(|part| matches!(part.outcome, Err(NoResult::Unknown(_)))).count()
                };
                prop_assert_eq!(unknown, stacks.iter().filter(|stack| stack.shard % of + 1 == lost).count());
            }
        }
    }
}

/// A stack of a list of which several versions exist: another service, environment or name makes it another stack.
#[derive(Debug, Clone, Copy)]
struct Listed {
    stack: u32,
    version: u32,
}

impl Listed {
    fn id(self) -> String {
        format!("{}-{}", self.stack, self.version)
    }

    /// Its shard follows from what it is, as that of every stack does.
    fn shard(self, of: u32) -> u32 {
        (self.stack * 5 + self.version * 3) % of + 1
    }

    fn part(self, is_elsewhere: bool, check: &Check) -> FleetPart<'_> {
        let outcome = if is_elsewhere { Err(NoResult::Elsewhere) } else { Ok(StackReport::Checked(check)) };
        let directory = format!("t{}", self.stack);
        let own = TextView { call: directory.clone(), ..TextView::default() };
        FleetPart { directory, environment: None, apart: None, id: self.id(), own, outcome }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn only_a_recent_check_of_a_whole_stack_gives_a_verdict(
        one in stack(),
        ahead in prop_oneof![Just(0_i64), -100..400_i64, any::<i32>().prop_map(i64::from)],
        filter in prop::option::weighted(0.2, "--only [a-z\n]{1,8}"),
        shard in prop::option::weighted(0.4, prop_oneof![Just((1, 1)), (0..9_u32, 0..9_u32), (any::<u32>(), any::<u32>())]),
        snapshot in prop::option::weighted(0.2, -100..400_i64),
    ) {
        let one = Random { failed: false, ..one };
        let found = one.found();
        let part = one.part(0, &found);
        let Ok(StackReport::Checked(check)) = &part.outcome else { unreachable!("it did not fail") };
        let verdict = check.verdicts.whole();
        let mut document: Value =
            serde_json::from_str(&rendered(&Fleet::new(FleetCommand::Drift, vec![part]), Format::Json)).expect("JSON");
        let after = |seconds| (now() + jiff::SignedDuration::from_secs(seconds)).to_string();
        document["checks"][0]["checked"] = json!(after(ahead));
        document["checks"][0]["plan"]["source"]["filters"] = json!(filter.iter().collect::<Vec<_>>());
        document["checks"][0]["plan"]["source"]["snapshot"] = json!(snapshot.map(after));
        document["shard"] = json!(shard.map(|(index, of)| json!({"index": index, "of": of})));
        let merged = merged(vec![(0, document.to_string())]);
        let fleet = merged.fleet();
        prop_assert!(fleet.problems.len() < 30, "{}", fleet.problems.len());
        // A minute is allowed, and five of them between the clocks of two machines.
        let is_recent = |seconds: &i64| (-60..=300).contains(seconds);
        let is_recent = is_recent(&ahead) && snapshot.as_ref().is_none_or(is_recent);
        if is_recent && filter.is_none() && matches!(shard, None | Some((1, 1))) {
            prop_assert_eq!(fleet.whole(), verdict);
        } else {
            prop_assert_eq!(fleet.whole(), Verdict::Unknown);
        }
        // Each format is made, whatever the files say.
        prop_assert!(!rendered(&fleet, Format::Markdown).is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_file_of_another_list_stands_in_for_a_check(
        lists in prop::collection::vec(prop::collection::vec(0..3_u32, 1..4), 1..3),
        of in 1..4_u32,
        taken in prop::collection::vec((0..3_usize, 1..4_u32), 1..5),
    ) {
        let plan = properties::planned(Vec::new(), &properties::by_key(Vec::new()), &PlanSettings::default());
        let verdicts = plan.verdicts(UnmanagedPolicy::Note);
        let check = Check::new(plan, verdicts, now());
        let list = |at: usize| {
            let versions = lists[at % lists.len()].iter();
            (0..).zip(versions).map(|(stack, version)| Listed { stack, version: *version }).collect::<Vec<_>>()
        };
        let (mut files, mut named, mut checked) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        for (number, (at, shard)) in (0..).zip(&taken) {
            let shard = (shard - 1) % of + 1;
            named.extend(list(*at).into_iter().map(Listed::id));
            checked.extend(list(*at).into_iter().filter(|one| one.shard(of) == shard).map(Listed::id));
            let parts = list(*at).into_iter().map(|one| one.part(one.shard(of) != shard, &check)).collect();
            let fleet = Fleet { shard: Some(Shard { index: shard, of }), ..Fleet::new(FleetCommand::Drift, parts) };
            files.push((number, rendered(&fleet, Format::Json)));
        }
        let merged = merged(files);
        if merged.fleet().whole() == Verdict::InSync {
            prop_assert_eq!(checked, named);
        }
        // A collector refuses a file with two samples of one name.
        let metrics = rendered(&merged.fleet(), Format::Prometheus);
        let mut samples = BTreeSet::new();
        prop_assert!(metrics.lines().filter(|line| !line.starts_with('#')).all(|line| samples.insert(line)));
    }
}

/// Six stacks of one service, applied; `t2` was changed outside and `t4` was edited.
fn fleet(service: &Service) -> Stage {
    let stage = Stage::new().at(service);
    for number in 0..6 {
        let settings = format!("stack: t{number}\nnamespaces: [n{number}]\n");
        stage.write(&format!("tenants/t{number}/trueup.yaml"), &settings);
        stage.write(&format!("tenants/t{number}/cart.yaml"), &definition(&format!("n{number}/cart"), 80));
    }
    stage.run("apply -R tenants --yes --quiet").code(0);
    service.change("n2/cart", |object| object["spec"]["port"] = json!(9));
    stage.edit("tenants/t4/cart.yaml", "port: 80", "port: 81");
    stage
}

/// Checks of three shards, in `checks`.
fn sharded(stage: &Stage) {
    for index in 0..3 {
        let ran = stage.run(&format!("drift -R tenants --shard {index}/3 --format json --output checks/{index}.json"));
        assert!([0, 2, 3, 4].contains(&ran.exit()));
    }
}

/// The same without what a time and a number of requests change.
fn timeless(mut document: Value) -> Value {
    for check in document["checks"].as_array_mut().expect("checks") {
        check["checked"] = json!("");
        check["plan"]["source"]["requests"] = json!(0);
        check["counts"]["requests"] = json!(0);
    }
    document
}

#[test]
fn the_checks_of_all_shards_are_the_report_of_one_checker() {
    let service = Service::start();
    let stage = fleet(&service);
    sharded(&stage);
    let one = stage.run("drift -R tenants --format json").code(4).json();
    let all = stage.run("fleet report checks --format json").code(4).json();
    assert_eq!(timeless(all), timeless(one));
    stage
        .run("fleet report checks/2.json checks/0.json checks/1.json checks")
        .code(4)
        .stdout_contains("== tenants/t2  (http://127.0.0.1:")
        .stdout_contains("DRIFT  1 of 1 endpoint")
        .stdout_contains("6 stacks: 4 in sync, 1 pending, 1 changed outside; 1 endpoint changed outside, 1 endpoint not applied yet\nfrom 3 files, checked 2");
    stage
        .run("fleet report checks --format markdown")
        .code(4)
        .stdout_contains("| `tenants/t0` | in sync |")
        .stdout_contains(
            "### trueup drift: 6 stacks: 4 in sync, 1 pending, 1 changed outside; 1 endpoint changed outside, 1 endpoint not applied yet\n",
        );
    stage.run("fleet report checks --format prometheus").code(4).stdout_contains("\ntrueup_drift_report_problems 0\n");
    stage.run("fleet report checks --format junit").code(4).stdout_contains("tenants/t2: n2");
    stage.run("fleet report checks --format github").code(4).stdout_contains("file=tenants/t4/cart.yaml");
    stage
        .run("fleet report checks --write html=out/fleet.html --write prometheus=fleet.prom --output fleet.md --format markdown")
        .code(4)
        .stdout("");
    let text = stage.run("drift -R tenants --write json=one/all.json");
    text.code(4).stdout_contains("6 stacks: ");
    stage.run("fleet report one").code(4).stdout_contains("from 1 file");
    assert!(stage.read("out/fleet.html").contains("<h1>Drift of 6 stacks</h1>"));
    assert!(stage.read("fleet.prom").contains("trueup_drift_verdict{"));
    assert!(stage.read("fleet.md").starts_with("<!-- trueup:fleet"));
    stage.run("fleet report checks --write pdf=x").code(64).stderr_contains("write it as FORMAT=FILE");
    stage.run("fleet report checks --write html").code(64).stderr_contains("name the file: html=FILE");
    stage.run("fleet report checks --max-age soon").code(64).stderr_contains("write 90s, 15m, 1h");
}

#[test]
fn a_stack_of_a_shard_and_of_a_file_of_its_own_is_one_stack() {
    let service = Service::start();
    let stage = fleet(&service);
    stage.write("tenants/t5/cart.yaml", "metadata: {}\n");
    for index in 0..3 {
        stage
            .run(&format!("drift -R tenants --shard {index}/3 --format json --output checks/{index}.json"))
            .stderr_ignored();
    }
    let sum = "6 stacks: 3 in sync, 1 pending, 1 changed outside, 1 not checked; ";
    // The report in the directory that it is made of, and the job of one stack.
    stage.run("fleet report checks --write json=checks/fleet.json").code(64).stderr_contains("the call also reads");
    stage.run("fleet report checks --write json=fleet.json").code(1).stdout_contains(sum);
    stage.write("checks/fleet.json", &stage.read("fleet.json"));
    stage
        .run("fleet report checks")
        .code(1)
        .stdout_contains(sum)
        .stdout_contains("4 files")
        .stdout_contains("6 problems");
    stage.remove("checks/fleet.json");
    stage.run("drift tenants/t0 --format json --output checks/one.json").code(0);
    let ran = stage.run("fleet report checks");
    ran.code(1).stdout_contains(sum).stdout_contains("one.json have a result for it: the newest check is shown");
}

#[test]
fn what_is_missing_or_wrong_in_the_files_is_told_and_never_in_sync() {
    let service = Service::start();
    let stage = fleet(&service);
    sharded(&stage);
    let texts = [0, 1, 2].map(|index| stage.read(&format!("checks/{index}.json")));
    let shard = |index: usize| if index == 0 { 3 } else { index };
    let names = |index: usize| -> Vec<String> {
        let document: Value = serde_json::from_str(&texts[index]).expect("JSON");
        let checks = document["checks"].as_array().expect("checks").iter();
        let own = checks.filter(|check| check["elsewhere"].is_null());
        own.map(|check| check["directory"].as_str().expect("a directory").to_owned()).collect()
    };
    let owner = (0..3).find(|index| !names(*index).is_empty()).expect("a shard with stacks");
    let reset = || (0..3).for_each(|index| stage.write(&format!("checks/{index}.json"), &texts[index]));
    let reported = |message: &str| {
        let ran = stage.run("fleet report checks");
        ran.code(5).stdout_contains(message);
        for format in ["json", "markdown", "html", "junit", "prometheus", "github", "sarif"] {
            stage.run(&format!("fleet report checks --format {format}")).code(5);
        }
        let document = stage.run("fleet report checks --format json").code(5).json();
        assert_eq!(document["verdict"], "unknown", "{message}");
        ran
    };
    let whole = &texts[owner];
    let path = format!("checks/{owner}.json");
    // Nobody wrote it.
    stage.remove(&path);
    reported(&format!("== shard {}/3\nINCOMPLETE  no file contains it", shard(owner)))
        .stdout_contains("UNKNOWN  no file contains a check")
        .stdout_contains(&names(owner)[0]);
    let unknown = names(owner).len();
    stage
        .run("fleet report checks --format html")
        .code(5)
        .stdout_contains("<strong>Incomplete:</strong>")
        .stdout_contains(&format!("<b>{unknown}</b> stack{} unknown", if unknown == 1 { "" } else { "s" }));
    stage.run("fleet report checks --format prometheus").code(5).stdout_contains("trueup_drift_report_problems 1");
    stage.run(&format!("fleet report {path}")).code(5).stdout_contains(&format!("== {path}\nINCOMPLETE  "));
    // The writer was killed, or the disk was full.
    stage.write(&path, &whole[..whole.len() / 2]);
    reported("the file is not a whole check: EOF while parsing");
    stage.write(&path, "");
    reported("the file is not a whole check");
    // It is another document, or of another version.
    stage.write(&path, &whole.replace("\"kind\": \"fleet\"", "\"kind\": \"plan\""));
    reported("its kind is `plan`, not `drift` or `fleet`");
    stage.write(&path, &whole.replacen("\"format_version\": 1", "\"format_version\": 2", 1));
    reported("it has format version 2, this trueup reads 1");
    stage.write(&path, &whole.replacen("\"checked\":", "\"was\":", 1));
    reported("the file is not a whole check: it has no `checked`");
    stage.write(&path, &whole.replace(&format!("\"index\": {}", shard(owner)), "\"index\": 9"));
    reported("it is shard 9 of 3, which does not exist");
    // It is larger than any check.
    stage.write(&path, "");
    let file = std::fs::OpenOptions::new().write(true).open(stage.path(&path)).expect("the file");
    file.set_len(2 << 30).expect("a length");
    reported("is larger than");
    // It is of a fleet that was divided otherwise.
    reset();
    stage.run("drift -R tenants --shard 4/4 --format json --output checks/other.json");
    reported("== checks/other.json\nINCOMPLETE  it is shard 4/4, and others are of 3");
    stage.remove("checks/other.json");
    // Two files have the same stacks.
    stage.write("checks/again.json", whole);
    reported(&format!("== {}\nINCOMPLETE  checks/{owner}.json and checks/again.json", names(owner)[0]));
    stage.remove("checks/again.json");
    // It is left from yesterday.
    let now = jiff::Timestamp::now();
    let day = |text: &str| {
        regex::Regex::new("\"checked\": \"[^\"]*\"")
            .expect("a pattern")
            .replace_all(text, "\"checked\": \"2020-01-01T10:00:00Z\"")
            .into_owned()
    };
    stage.write(&path, &day(whole));
    reported("it was checked at 2020-01-01 10:00 UTC, ").stdout_contains(" d ago, and 24 h are allowed");
    stage.run("fleet report checks --max-age 999w").code(4);
    // It was made against a snapshot of yesterday.
    let snapshot = day(whole).replace("\"checked\": \"2020-01-01T10:00:00Z\"", &format!("\"checked\": \"{now}\""));
    stage.write(&path, &snapshot.replace("\"snapshot\": null", "\"snapshot\": \"2020-01-01T10:00:00Z\""));
    reported("its snapshot was taken at 2020-01-01 10:00 UTC, ");
    // There is none.
    stage.write("empty/notes.txt", "");
    stage
        .run("fleet report empty")
        .code(5)
        .stdout_contains("== empty\nINCOMPLETE  it contains no *.json file")
        .stdout_contains("\nincomplete, 0 stacks\n");
    stage.run("fleet report nowhere").code(5).stdout_contains("== nowhere\nINCOMPLETE  ");
    stage.run("fleet report").code(64).stderr_ignored();
    reset();
    stage.run("fleet report checks").code(4);
}

#[test]
fn verdicts_that_do_not_follow_from_the_plan_are_refused() {
    let service = Service::start();
    let stage = fleet(&service);
    let text = stage.run("drift tenants/t2 --format json --output checks/t2.json").code(3).text().to_owned();
    assert_eq!(text, "");
    let mut document: Value = serde_json::from_str(&stage.read("checks/t2.json")).expect("JSON");
    stage.run("fleet report checks").code(3).stdout_contains("== tenants/t2  ");
    stage.run("show checks/t2.json").code(1).stderr_contains("to show it: trueup fleet report checks/t2.json");
    document["verdict"] = json!("in_sync");
    document["verdicts"]["objects"] = json!({});
    stage.write("checks/t2.json", &document.to_string());
    stage
        .run("fleet report checks")
        .code(5)
        .stdout_contains("the verdicts on `tenants/t2` do not follow from its plan");
    document["plan"]["stack"] = json!(7);
    stage.write("checks/t2.json", &document.to_string());
    stage.run("fleet report checks").code(5).stdout_contains("the file is not a whole check: invalid type");
}

#[test]
fn a_stack_that_failed_is_the_worst_and_keeps_its_reason() {
    let service = Service::start();
    let stage = fleet(&service);
    stage.write("tenants/t9/trueup.yaml", "stack: t9\n");
    stage.write("tenants/t9/x.yaml", "metadata: [\n");
    for index in 1..=2 {
        stage
            .run(&format!("drift -R tenants --shard {index}/2 --format json --output checks/{index}.json"))
            .stderr_ignored();
    }
    stage
        .run("fleet report checks")
        .code(1)
        .stdout_contains("== tenants/t9\nNOT CHECKED  ")
        .stdout_contains("7 stacks: 4 in sync, 1 pending, 1 changed outside, 1 not checked");
    assert_eq!(stage.run("fleet report checks --format json").code(1).json()["failed"], 1);
}

#[test]
fn the_jobs_of_single_stacks_and_the_shards_of_one_are_merged_too() {
    let service = Service::start();
    let stage = fleet(&service);
    for name in ["t0", "t2", "t4"] {
        stage.run(&format!("drift tenants/{name} --format json --output checks/{name}/check.json"));
    }
    stage
        .run("fleet report checks")
        .code(4)
        .stdout_contains("== tenants/t4  ")
        .stdout_contains("3 stacks: 1 in sync, 1 pending, 1 changed outside; 1 endpoint changed outside, 1 endpoint not applied yet\nfrom 3 files");
    stage.write("tenants/t5/wrong.yaml", "wrong: 1\n");
    for flags in ["--format json", "--write json=checks/t5.json", "--format json -o checks/t5.json"] {
        // Nothing of an earlier call stays.
        stage.write("checks/t5.json", &stage.read("checks/t4/check.json"));
        let failed = stage.run(&format!("drift tenants/t5 {flags}"));
        failed.code(1).stderr_ignored();
        if flags == "--format json" {
            stage.write("checks/t5.json", failed.text());
        }
        let report = stage.run("fleet report checks");
        report.code(1).stdout_contains("== checks/t5.json\nNOT CHECKED  1 error in 1 of 3 files; nothing was sent\n");
        report
            .stdout_contains("4 stacks: 1 in sync, 1 pending, 1 changed outside, 1 not checked")
            .does_not_say("INCOMPLETE");
    }
    // Nor where the call is wrong, unless the file itself is refused.
    for (line, code) in [
        ("drift tenants/t4 --shard env --format json -o checks/t5.json", 1),
        ("drift tenants/t4 --format json -o checks/t5.json --write json=checks/t5.json", 5),
    ] {
        stage.write("checks/t5.json", &stage.read("checks/t4/check.json"));
        stage.run(line).code(64).stderr_ignored();
        stage.run("fleet report checks").code(code);
    }
    stage.remove("tenants/t5/wrong.yaml");
    stage.write("two/trueup.yaml", "stack: two\nnamespaces: [a, b, c, d, e, f]\n");
    stage.write("two/x.yaml", &definition("a/x", 80));
    for index in 1..=2 {
        let line = format!("drift two --shard {index}/2 --format json --output shards/{index}.json");
        assert!([0, 2].contains(&stage.run(&line).exit()));
    }
    stage
        .run("fleet report shards")
        .code(2)
        .stdout_contains("== two (shard 1/2)  ")
        .stdout_contains("== two (shard 2/2)  ");
    // Each has a sample of its own also without a check that counts: a collector refuses a file with two of one sample.
    let old = stage.run("fleet report shards --max-age 0s --format prometheus");
    old.code(5)
        .stdout_contains("_unchecked{directory=\"two (shard 1/2)\"} 1\n")
        .stdout_contains("two (shard 2/2)\"} 1\n");
    stage.remove("shards/2.json");
    stage.run("fleet report shards").code(5).stdout_contains("== shard 2/2 of two\nINCOMPLETE  no file contains it");
    // What the checker of a shard writes that fails does not count as a stack.
    stage.run("drift -R tenants --shard 1/2 --format json --output list/1.json");
    let failed = stage.run("drift -R tenants --shard 2/2 --format json --nonsense");
    stage.write("list/2.json", failed.code(64).stderr_ignored().text());
    stage.run("fleet report list").code(5).stdout_contains("== list/2.json\nINCOMPLETE  unexpected argument");
}

#[test]
fn checks_of_other_stacks_of_the_same_directory_are_not_taken_for_the_ones_that_are_missing() {
    let service = Service::start();
    let stage = Stage::new().at(&service);
    // The jobs of two stacks, each in its own directory, lost another half of their namespaces.
    for name in ["a", "b"] {
        stage.write(
            &format!("{name}/trueup.yaml"),
            &format!("stack: {name}\nnamespaces: [{name}-1, {name}-2, {name}-3]\n"),
        );
        stage.write(&format!("{name}/x.yaml"), &definition(&format!("{name}-1/x"), 80));
        stage.run(&format!("apply {name} --yes --quiet")).code(0);
    }
    let check = |stack: &str, shard: &str| {
        let words = ["drift", ".", "--shard", shard, "--format", "json"];
        let ran = stage.command(&words).current_dir(stage.path(stack)).output().expect("it starts");
        String::from_utf8(ran.stdout).expect("UTF-8")
    };
    stage.write("halves/1.json", &check("a", "1/2"));
    stage.write("halves/2.json", &check("b", "2/2"));
    stage
        .run("fleet report halves")
        .code(5)
        .stdout_contains(&format!("== . (a at {0}, shard 1/2)  ({0})", service.url()))
        .stdout_contains(&format!("== . (b at {0}, shard 2/2)  ({0})", service.url()))
        .stdout_contains(&format!("== shard 2/2 of . (a at {})\nINCOMPLETE  no file contains it", service.url()))
        .stdout_contains(&format!("== shard 1/2 of . (b at {})\nINCOMPLETE  no file contains it", service.url()));
    // One cannot be told from the other by its directory, even where its check is too old.
    for format in ["text", "markdown"] {
        let old = stage.run(&format!("fleet report halves --max-age 0s --format {format}"));
        old.code(5).stdout_contains(&format!(". (b at {})", service.url()));
    }
    // The checkers of one stack read other lists of namespaces.
    stage.write("all/1.json", &check("a", "1/2"));
    stage.write("all/2.json", &check("a", "2/2"));
    stage.run("fleet report all").code(0);
    let more: Vec<String> = (1..40).map(|n| format!("a-{n}")).collect();
    stage.write("a/trueup.yaml", &format!("stack: a\nnamespaces: [{}]\n", more.join(", ")));
    stage.write("all/2.json", &check("a", "2/2"));
    stage.run("fleet report all").code(5).stdout_contains(" of .\nINCOMPLETE  no file contains it");
    stage.write("all/1.json", &check("a", "1/2"));
    stage.run("fleet report all").code(0);
}

#[test]
fn the_shards_of_two_environments_are_not_one_fleet() {
    let service = Service::start();
    let stage = Stage::new().at(&service);
    // So many that each shard has some, whatever the address of the service.
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    for name in names {
        let environments =
            ["dev", "prod"].map(|env| format!("{env}: {{stack: {name}-{env}, namespaces: [{name}-{env}]}}"));
        stage.write(&format!("s/{name}/trueup.yaml"), &format!("environments: {{{}}}\n", environments.join(", ")));
        stage.write(&format!("s/{name}/x.yaml"), &definition(&format!("{name}-${{env}}/x"), 80));
        let text = stage
            .read(&format!("s/{name}/trueup.yaml"))
            .replace("namespaces: [", "variables: {env: ENV}, namespaces: [");
        let text = text.replacen("ENV", "dev", 1).replacen("ENV", "prod", 1);
        stage.write(&format!("s/{name}/trueup.yaml"), &text);
    }
    for env in ["dev", "prod"] {
        stage.run(&format!("apply -R s --env {env} --yes --quiet")).code(0);
        for index in 1..=2 {
            stage
                .run(&format!("drift -R s --env {env} --shard {index}/2 --format json --output {env}/{index}.json"))
                .code(0);
        }
        stage.run(&format!("fleet report {env}")).code(0).stdout_contains("12 stacks: 12 in sync");
    }
    for (one, two) in [("dev", "prod"), ("prod", "dev")] {
        let ran = stage.run(&format!("fleet report {one}/1.json {two}/2.json"));
        ran.code(5).stdout_contains("UNKNOWN  no file contains a check");
    }
}

#[test]
fn an_environment_is_one_stack_whether_the_call_names_it_or_all() {
    let service = Service::start();
    let stage = Stage::new().at(&service);
    for name in ["a", "b"] {
        let environments = ["dev", "prod"].map(|env| {
            format!("{env}: {{stack: {name}-{env}, namespaces: [{name}-{env}], variables: {{env: {env}}}}}")
        });
        stage.write(&format!("{name}/trueup.yaml"), &format!("environments: {{{}}}\n", environments.join(", ")));
        stage.write(&format!("{name}/x.yaml"), &definition(&format!("{name}-${{env}}/x"), 80));
    }
    let apply = |stacks: &str| {
        for env in ["dev", "prod"] {
            stage.run(&format!("apply {stacks} --env {env} --yes --quiet")).code(0);
        }
    };
    apply("a b");
    stage.edit("a/x.yaml", "port: 80", "port: 81");
    stage.run("drift a b --env all --format json --output checks/all.json").code(2);
    apply("a");
    stage.run("drift a b --env prod --format json --output checks/prod.json").code(0);
    stage.run("drift a --env prod --format json --output checks/one.json").code(0);
    let twice =
        "checks/all.json and checks/one.json and checks/prod.json have a result for it: the newest check is shown";
    let report = stage.run("fleet report checks");
    report
        .code(5)
        .stdout_contains(&format!("== a (prod)\nINCOMPLETE  {twice}"))
        .stdout_contains("4 stacks: 3 in sync, 1 pending; ");
    // One that failed as well, and the shards that leave it to another.
    for env in ["all", "prod"] {
        for index in 1..=2 {
            let file = format!("--format json --output shards/{env}-{index}.json");
            stage.run(&format!("drift a b --env {env} --shard {index}/2 {file}")).stderr_ignored();
        }
        stage.write("b/wrong.yaml", "wrong: 1\n");
    }
    stage.run("fleet report shards").code(5).stdout_contains("4 stacks: 4 in sync");
    stage.remove("shards/all-1.json");
    stage.remove("shards/all-2.json");
    stage.run("fleet report shards").code(1).stdout_contains("2 stacks: 1 in sync, 1 not checked");
}

#[test]
fn a_stack_that_fails_in_two_environments_is_two_failures() {
    let service = Service::start();
    let stage = Stage::new().at(&service);
    for name in ["a", "b", "c"] {
        let settings = format!("stack: {name}\nnamespaces: [{name}]\nenvironments: {{dev: {{}}, prod: {{}}}}\n");
        stage.write(&format!("{name}/trueup.yaml"), &settings);
        stage.write(&format!("{name}/x.yaml"), &definition(&format!("{name}/x"), 80));
    }
    stage.write("b/wrong.yaml", "wrong: 1\n");
    for env in ["dev", "prod"] {
        stage.run(&format!("drift a b c --env {env} --write json=whole/{env}.json")).code(1).stderr_ignored();
        for index in 1..=2 {
            let file = format!("--write json={env}/{index}.json");
            stage.run(&format!("drift a b c --env {env} --shard {index}/2 {file}")).stderr_ignored();
        }
        // The shard that leaves it to the other knows it by what the other says.
        stage.run(&format!("fleet report {env}")).code(1).stdout_contains("3 stacks: 2 pending, 1 not checked");
    }
    let report = stage.run("fleet report whole");
    report
        .code(1)
        .stdout_contains("  b (dev), b (prod)")
        .stdout_contains("6 stacks: 4 pending, 2 not checked")
        .does_not_say("INCOMPLETE");
}

#[test]
fn a_stack_that_several_checks_skip_is_skipped() {
    let service = Service::start();
    let stage = Stage::new().at(&service);
    for (name, environments) in [("a", &["dev", "qa", "prod"][..]), ("b", &["prod"])] {
        let settings =
            |env| format!("{env}: {{stack: {name}-{env}, namespaces: [{name}-{env}], variables: {{env: {env}}}}}");
        let environments: Vec<String> = environments.iter().map(settings).collect();
        stage.write(&format!("{name}/trueup.yaml"), &format!("environments: {{{}}}\n", environments.join(", ")));
        stage.write(&format!("{name}/x.yaml"), &definition(&format!("{name}-${{env}}/x"), 80));
    }
    for env in ["dev", "qa", "prod"] {
        let call = format!("a b --env {env} --skip-missing-env");
        stage.run(&format!("apply {call} --yes --quiet")).code(0).stderr_ignored();
        stage.run(&format!("drift {call} --format json --output checks/{env}.json")).code(0).stderr_ignored();
    }
    let report = stage.run("fleet report checks");
    report
        .code(0)
        .stdout_contains("== b\nSKIPPED  ")
        .stdout_contains("4 in sync, 1 skipped")
        .does_not_say("INCOMPLETE");
}

#[test]
fn the_commands_of_a_merged_report_have_the_flags_of_the_check() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop]\nvariables: {port: 80}\n")
        .file("x.yaml", &definition("shop/x", 80).replace("port: 80", "port: ${port}"));
    let flags = "--stack other --var port=8443";
    stage.run(&format!("apply . {flags} --yes --quiet")).code(0);
    service.change("shop/x", |object| object["spec"]["ip"] = json!("10.9.9.9"));
    let proposed = format!("trueup apply . {flags}");
    stage.run(&format!("drift . {flags} --write json=checks/1.json")).code(3).stdout_contains(&proposed);
    stage.run("fleet report checks").code(3).stdout_contains(&proposed);
    // A file proposes no other flag.
    let mut check: Value = serde_json::from_str(&stage.read("checks/1.json")).expect("JSON");
    check["flags"]["base-url"] = json!(["https://elsewhere.example"]);
    stage.write("checks/1.json", &check.to_string());
    stage.run("fleet report checks").code(3).stdout_contains(&proposed).does_not_say("elsewhere.example");
}

#[test]
fn the_commands_of_a_merged_report_have_no_variable_that_their_stack_does_not_use() {
    let service = Service::start();
    let stage = Stage::new().at(&service);
    for (name, port) in [("a", "80"), ("b", "${port}")] {
        stage.write(&format!("{name}/trueup.yaml"), &format!("stack: {name}\nnamespaces: [{name}]\n"));
        stage.write(&format!("{name}/x.yaml"), &definition(&format!("{name}/x"), 80).replace("80", port));
    }
    let check = stage.run("drift a b --var port=8443 --write json=checks/1.json");
    for report in [check, stage.run("fleet report checks")] {
        report.code(2).stdout_contains("trueup apply a\n").stdout_contains("trueup apply b --var port=8443\n");
    }
}

#[test]
fn files_that_name_no_stack_are_not_in_sync() {
    let stage = Stage::new();
    let file = |checks: Value| json!({"kind": "fleet", "format_version": 1, "verdict": "in_sync", "failed": 0, "checks": checks});
    for checks in [json!([]), json!([{"directory": "a", "skipped": "it has no environment `prod`"}])] {
        stage.write("checks/1.json", &file(checks).to_string());
        stage.run("fleet report checks").code(5).stdout_contains("== .\nINCOMPLETE  no file contains a check");
    }
}

#[test]
fn what_a_file_says_is_only_text_in_a_report() {
    let service = Service::start();
    let stage = fleet(&service);
    sharded(&stage);
    for (number, text) in ["\u{1b}[31m<script>alert(1)</script>", "a | b `x`\n| c", "x\" } 1\n"].iter().enumerate() {
        let document = json!({
            "kind": "fleet", "format_version": 1, "verdict": "in_sync", "failed": 1,
            "checks": [{"directory": text, "failed": text}, {"directory": format!("b{text}"), "unknown": text}],
            "problems": [{"place": text, "message": text}],
        });
        stage.write(&format!("checks/hostile-{number}.json"), &document.to_string());
    }
    for format in ["text", "json", "markdown", "html", "junit", "prometheus", "github", "sarif"] {
        let ran = stage.run(&format!("fleet report checks --format {format}"));
        ran.code(1).does_not_say("\u{1b}");
        if format == "html" {
            ran.does_not_say("<script>alert");
        }
        if format == "prometheus" {
            assert!(ran.text().lines().all(|line| line.starts_with('#') || line.starts_with("trueup_drift_")));
        }
    }
}

#[test]
fn many_stacks_in_sync_are_one_section() {
    let service = Service::start();
    let stage = fleet(&service);
    for number in 10..25 {
        stage.write(&format!("tenants/t{number}/trueup.yaml"), &format!("stack: t{number}\nnamespaces: [n{number}]\n"));
        stage.write(&format!("tenants/t{number}/cart.yaml"), &definition(&format!("n{number}/cart"), 80));
    }
    stage.run("apply -R tenants --yes --quiet").code(0);
    service.change("n2/cart", |object| object["spec"]["port"] = json!(9));
    stage
        .run("drift -R tenants")
        .code(3)
        .stdout_contains("== 20 stacks\nIn sync: tenants/t0, tenants/t1, tenants/t10, ")
        .stdout_contains(" and 8 more\n")
        .stdout_contains("21 stacks: 20 in sync, 1 changed outside");
    stage.run("drift -R tenants --format markdown").code(3).stdout_contains("| 20 more | in sync |");
    stage.run("drift -R tenants --format html").code(3).stdout_contains("20 stacks: in sync");
    stage.run("validate -R tenants").code(0).stdout_contains("== 21 stacks\nValid: tenants/t0, ");
}

#[test]
fn a_filtered_check_is_not_that_of_the_whole_stack() {
    let service = Service::start();
    let stage = fleet(&service);
    stage.run("drift tenants/t2 --format json --output checks/whole.json").code(3);
    stage.run("fleet report checks").code(3);
    service.create(&json!({"metadata": {"name": "other", "namespace": "n2"}, "spec": {"ip": "10.0.0.9"}}));
    stage.write("tenants/t2/other.yaml", &definition("n2/other", 80));
    stage.run("drift tenants/t2 --except n2/cart --format json --output checks/whole.json").code(3);
    let report = stage.run("fleet report checks");
    report.code(5).stdout_contains("it was checked with filters (--except n2/cart)");
    stage.run("drift tenants --shard 1/4294967295").code(64).stderr_contains("there are at most 4096 shards");
}
