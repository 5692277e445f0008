//! A saved plan and a journal are data of whoever can write the file: edited in any place, they are
//! refused, or do exactly what was reviewed, and no guard is passed without its consent.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trueup::model::{Namespace, RunId, Scope};
use trueup::plan::{Action, Allowances, Approval, Plan, PlanOrigin, PlanSource, RunLimits};

use crate::support::{Ran, Service, Stage, definition, removed_and_referred_to};

/// A stack of which all definitions but one are gone: two guards stand over its plan.
fn emptied(service: &Service) -> Stage {
    let mut stage = Stage::new().at(service).env("USER", "kim").file(
        "trueup.yaml",
        "stack: digest\nnamespaces: [shop]\nignore: [{object: 'shop/*', field: spec.health_check_port}]\n",
    );
    for number in 0..12 {
        stage = stage.file(&format!("ep-{number}.yaml"), &definition(&format!("shop/ep-{number}"), 80));
    }
    stage.run("apply . --yes --quiet").code(0);
    for number in 0..12 {
        stage.remove(&format!("ep-{number}.yaml"));
    }
    stage.write("new.yaml", &definition("shop/new", 80));
    stage
}

fn saved(stage: &Stage) -> Value {
    serde_json::from_str(&stage.read("p.json")).expect("a plan")
}

/// Writes an edited plan with the digest and the guards that its content has.
fn forge(file: &Value) -> Option<String> {
    let mut plan: Plan = serde_json::from_value(file["plan"].clone()).ok()?;
    plan.guard();
    Some(plan.to_file())
}

fn digest(ran: &Ran) -> String {
    let digest = ran.json()["digest"].as_str().expect("a digest").to_owned();
    assert_eq!(digest.len(), 64);
    digest
}

#[test]
fn a_digest_is_shown_and_taken_with_128_bits_at_least() {
    let service = Service::start();
    let stage = Stage::new().at(&service).file("a.yaml", &definition("shop/cart", 80));
    let whole = digest(&stage.run("plan . --format json"));
    let text = stage.run("plan .");
    text.code(0)
        .stdout_contains(&format!("digest {}\n", &whole[..32]))
        .stdout_contains(&format!("--digest {}\n", &whole[..32]));
    stage.run(&format!("apply . --digest {}", &whole[..31])).code(64).stderr_contains("at least 32 hex digits");
    stage.run(&format!("apply . --digest {} --quiet", &whole[..32])).code(0);
    // A job that is run again after its apply finds another plan, though nothing changed but live.
    let again = format!("apply . --digest {} --quiet", &whole[..32]);
    stage.run(&again).code(6).stderr_contains("the live objects, the service, ");
}

#[test]
fn guards_that_are_cut_out_of_a_file_still_stand() {
    let service = Service::start();
    let stage = emptied(&service);
    stage.run("plan . -o p.json").code(0).stdout_contains("REFUSED");
    let mut file = saved(&stage);
    file["plan"]["guards"] = json!([]);
    stage.write("p.json", &file.to_string());
    stage.run("apply p.json --yes").code(6).stderr_contains("was altered").does_not_say("digest is");
    assert_eq!(service.requests("DELETE"), 0);
}

#[test]
fn what_is_blocked_and_counts_for_a_guard_is_part_of_the_digest() {
    let service = Service::start();
    let stage = removed_and_referred_to(&service);
    stage.run("plan . -o p.json").code(0).stdout_contains("--allow empty-namespace");
    let (mut file, deletes) = (saved(&stage), service.requests("DELETE"));
    file["plan"]["blocked"] = json!([]);
    stage.write("p.json", &forge(&file).expect("a plan"));
    let digest = file["digest"].as_str().expect("a digest");
    stage.run(&format!("apply p.json --digest {digest}")).code(6).stderr_contains("this plan's digest is not");
    assert_eq!(service.requests("DELETE"), deletes);
}

#[test]
fn a_forged_file_that_lowers_its_guards_or_counts_is_still_refused_without_a_digest() {
    type Forgery = (&'static str, fn(&mut Value));
    let forgeries: [Forgery; 5] = [
        ("the numbers", |plan| plan["settings"]["safeguards"]["guards"] = json!({"percent": 100, "least": 9999})),
        ("the counts", |plan| {
            plan["scope"]["shop"]["read"] = json!({"complete": {"live": 999, "owned": 999, "removable": 999}});
        }),
        ("the consents", |plan| {
            plan["allowed"] = json!([{"name": "mass-change", "by": "kim"}, {"name": "empty-namespace", "by": "kim"}]);
        }),
        ("the scope", |plan| plan["scope"] = json!({})),
        ("the stack", |plan| plan["stack"] = json!("other")),
    ];
    let service = Service::start();
    let stage = emptied(&service);
    stage.run("plan . -o p.json").code(0);
    let reviewed = saved(&stage);
    for (what, forgery) in forgeries {
        let mut file = reviewed.clone();
        forgery(&mut file["plan"]);
        stage.write("p.json", &forge(&file).expect("a plan"));
        stage.run("apply p.json --yes").code(6).stderr_ignored();
        let digest = reviewed["digest"].as_str().expect("a digest");
        stage.run(&format!("apply p.json --digest {digest}")).code(6).stderr_ignored().does_not_say("--base");
        assert_eq!(service.requests("DELETE") + service.requests("PUT"), 0, "{what}");
    }
}

#[test]
fn the_guard_over_all_namespaces_counts_what_is_there_now() {
    let service = Service::start();
    let file = |namespace: &str, count: usize, port: u16| {
        let definitions = (0..count).map(|n| definition(&format!("{namespace}/e{n}"), port));
        definitions.collect::<Vec<_>>().join("---\n")
    };
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [a, b, z]\n")
        .file("a.yaml", &file("a", 6, 80))
        .file("b.yaml", &file("b", 6, 80))
        .file("z.yaml", &file("z", 30, 80))
        .applied(".");
    for namespace in ["a", "b"] {
        stage.write(&format!("{namespace}.yaml"), &file(namespace, 6, 81));
    }
    stage.run("plan . -o p.json").code(0).does_not_say("REFUSED");
    (0..30).for_each(|n| service.delete(&format!("z/e{n}")));
    let reviewed = saved(&stage);
    let mut forged = reviewed.clone();
    forged["plan"]["scope"]["zz"] = forged["plan"]["scope"]["z"].clone();
    for file in [reviewed.to_string(), forge(&forged).expect("a plan")] {
        stage.write("p.json", &file);
        stage.run("apply p.json --yes").code(6).stderr_contains("mass-change");
    }
    // Of what cannot be read nothing is counted.
    service.misbehave("rules: [{operation: endpoint-list, namespace: z, status: {code: 503}}]");
    stage.run("apply p.json --yes").code(6).stderr_contains("mass-change").stderr_ignored();
    assert_eq!(service.requests("PUT"), 0);
}

#[test]
fn a_plan_that_its_apply_would_refuse_says_so_first_and_ends_with_6() {
    let service = Service::start();
    let stage = emptied(&service);
    let first = |format: &str, at: usize| {
        let ran = stage.run(&format!("plan . --detailed-exitcode --format {format}"));
        ran.code(6);
        ran.text().lines().nth(at).unwrap_or_default().to_owned()
    };
    assert!(first("text", 0).starts_with("REFUSED  an apply of this plan is refused"), "{}", first("text", 0));
    assert!(first("markdown", 1).starts_with("### trueup plan: refused, "), "{}", first("markdown", 1));
    assert!(first("markdown", 3).starts_with("**Refused:** an apply of this plan"), "{}", first("markdown", 3));
    stage.run("plan . --format html").code(0).stdout_contains("an apply of this plan is refused");
    let json = stage.run("plan . --format json").code(0).json();
    assert_eq!(json["refused"], true);
    assert_eq!(json["refused_by"].as_array().map(Vec::len), Some(2));
    stage.run("plan .").code(0);
}

#[test]
fn a_consent_is_recorded_in_the_plan_and_counts_with_its_digest_alone() {
    let service = Service::start();
    let stage = emptied(&service);
    let bare = digest(&stage.run("plan . --format json"));
    let allow = "--allow mass-change --allow empty-namespace";
    // A consent that the plan does not need is no part of it.
    let ran = stage.run(&format!("plan . -o p.json {allow} --allow behind-base --detailed-exitcode"));
    ran.code(2).stdout_contains("ALLOWED  mass-change by kim\n").does_not_say("REFUSED");
    let file = saved(&stage);
    assert_eq!(file["plan"]["allowed"][1], json!({"name": "mass-change", "by": "kim"}));
    let with = file["digest"].as_str().expect("a digest").to_owned();
    assert_ne!(with, bare);
    for format in ["markdown", "html"] {
        stage
            .run(&format!("plan . {allow} --format {format}"))
            .code(0)
            .stdout_contains("Allowed")
            .stdout_contains("kim");
    }
    // Whoever can write the file can write a consent: `--yes` takes none from it.
    stage.run("apply p.json --yes").code(6).stderr_contains("--allow mass-change");
    // The digest of the plan without consents does not cover them.
    stage.run(&format!("apply p.json --digest {bare}")).code(6).stderr_contains("--allow mass-change");
    stage.run(&format!("apply . --digest {with}")).code(6).stderr_contains("this plan's digest is not");
    assert_eq!(service.requests("DELETE"), 0);
    stage.run(&format!("apply p.json --digest {with} --quiet")).code(0).stdout_contains("12 deleted");
}

#[test]
fn a_consent_may_also_be_given_where_the_reviewed_plan_is_applied() {
    for reviewed_with in [true, false] {
        let service = Service::start();
        let stage = emptied(&service);
        let allow = "--allow mass-change --allow empty-namespace";
        let digest = digest(&stage.run(&format!("plan . --format json {}", if reviewed_with { allow } else { "" })));
        stage.run(&format!("apply . --digest {digest} {allow} --quiet")).code(0).stdout_contains("12 deleted");
    }
}

#[test]
fn a_consent_to_the_apply_of_a_saved_plan_is_recorded_and_its_digest_does_not_cover_it() {
    for approval in ["--yes", "--digest"] {
        let service = Service::start();
        let stage = emptied(&service);
        // The digest covers the consent that was reviewed, and the call gives another beside it.
        let reviewed = "--allow empty-namespace";
        stage.run(&format!("plan . -o p.json {reviewed}")).code(0);
        let digest = saved(&stage)["digest"].as_str().expect("a digest").to_owned();
        let approval = if approval == "--yes" { approval.to_owned() } else { format!("{approval} {digest}") };
        service.misbehave("rules: [{operation: endpoint-delete, status: {code: 403}}]");
        let apply = format!("apply p.json {approval} --allow mass-change {reviewed}");
        let applied = stage.run(&apply);
        applied.code(7).does_not_say("an apply is refused").stderr_ignored();
        let given = json!({"name": "mass-change", "by": "kim", "at_apply": true});
        assert_eq!(stage.run("show last --format json").json()["plan"]["allowed"][1], given);
        stage.run("show last").stdout_contains(&format!("  plan {}", &digest[..32])).stderr_ignored();
        service.misbehave("rules: []");
        let resume = applied.text().split("resume with: trueup ").nth(1).and_then(|rest| rest.lines().next());
        let resume = resume.expect("a proposal");
        assert!(resume.contains("--allow mass-change"), "{resume}");
        // Who can write a record can write a consent.
        stage.run(&format!("apply --resume last --digest {digest}")).code(6).stderr_contains("--allow mass-change");
        stage.run(&format!("{resume} --yes --quiet")).code(0);
        // Of a plan that nobody applied it is an alteration.
        let mut forged = saved(&stage);
        forged["plan"]["allowed"] = json!([given]);
        stage.write("p.json", &forged.to_string());
        stage.run("apply p.json --yes").code(6).stderr_contains("altered");
    }
}

#[test]
fn a_consent_to_a_guard_that_became_stricter_after_the_plan_is_recorded() {
    let service = Service::start();
    let stage = emptied(&service);
    let settings = stage.read("trueup.yaml");
    stage.write("trueup.yaml", &format!("{settings}guards: {{percent: 100}}\n"));
    stage.run("plan . -o p.json --allow empty-namespace").code(0);
    stage.write("trueup.yaml", &format!("{settings}guards: {{percent: 0}}\n"));
    let allow = "--allow mass-change --allow empty-namespace";
    service.misbehave("rules: [{operation: endpoint-delete, status: {code: 403}}]");
    stage.run(&format!("apply p.json --yes {allow}")).code(7).stderr_ignored().does_not_say("an apply is refused");
    let plan = stage.run("show last --format json").json()["plan"].clone();
    assert!(plan["allowed"].as_array().is_some_and(|all| all.iter().any(|one| one["name"] == "mass-change")), "{plan}");
    stage.run("history").stdout_contains("--allow mass-change");
}

#[test]
fn a_rollback_under_stricter_settings_says_what_its_apply_needs() {
    let service = Service::start();
    let stage = Stage::new().at(&service).file("a.yaml", &definition("shop/a", 80));
    let settings = |percent: u8| format!("stack: s\nnamespaces: [shop]\nguards: {{percent: {percent}, least: 0}}\n");
    stage.write("trueup.yaml", &settings(100));
    stage.run("apply . --yes --quiet").code(0);
    stage.edit("a.yaml", "port: 80", "port: 81");
    stage.run("apply . --yes --quiet").code(0);
    stage.write("trueup.yaml", &settings(0));
    let label = "Apply exactly this, once it is allowed:  trueup ";
    let plan = stage.run("rollback last -o back.json");
    let proposed = plan.code(0).text().lines().find_map(|line| line.strip_prefix(label)).expect("a command");
    stage.run(proposed).code(6).stderr_contains("--allow mass-change");
    stage.run(&format!("{proposed} --allow mass-change --quiet")).code(0);
}

#[test]
fn what_is_proposed_once_it_is_allowed_works_with_the_consents_that_are_missing() {
    for plan in ["plan .", "plan . ../other"] {
        let service = Service::start();
        let stage = emptied(&service);
        stage.write("../other/trueup.yaml", "stack: other\nnamespaces: [other]\n");
        stage.write("../other/a.yaml", &definition("other/a", 80));
        let proposed = stage.run(&format!("{plan} --allow mass-change"));
        let command = proposed.code(0).text().lines().find_map(|line| line.split_once("once it is allowed:  trueup "));
        let command = command.expect("a proposal").1.to_owned();
        assert!(command.contains("--allow mass-change"), "{command}");
        stage.run(&command).code(6).stderr_contains("--allow empty-namespace");
        stage.run(&format!("{command} --allow empty-namespace --quiet")).code(0).stdout_contains("12 deleted");
    }
}

#[test]
fn a_resume_asks_for_the_consents_again_and_is_of_the_same_stack() {
    let service = Service::start();
    let stage = emptied(&service);
    let allow = "--allow mass-change --allow empty-namespace";
    service.misbehave("rules: [{operation: endpoint-delete, status: {code: 403}}]");
    stage.run(&format!("apply . --yes --quiet {allow}")).code(7);
    service.misbehave("rules: []");
    stage.run("apply --resume last --yes").code(6).stderr_contains("to allow it: --allow mass-change");
    stage
        .run(&format!("apply --resume last --yes --stack other {allow}"))
        .code(1)
        .stderr_contains("there is no run of stack `other`");
    stage.run(&format!("apply --resume last --yes --quiet {allow}")).code(0);
}

#[test]
fn a_forged_journal_passes_no_guard() {
    type Forgery = fn(&mut Value);
    let forgeries: [Forgery; 5] = [
        |plan| plan["settings"]["safeguards"]["guards"] = json!({"percent": 100, "least": 9999}),
        |plan| {
            plan["scope"]["shop"]["read"] = json!({"complete": {"live": 999, "owned": 999, "removable": 999}});
            plan["settings"]["safeguards"]["guards"] = json!({"percent": 100, "least": 9999});
        },
        |plan| plan["scope"] = json!({}),
        |plan| plan["stack"] = json!("other"),
        |plan| plan["service"]["base_url"] = json!("https://other.example.net"),
    ];
    let service = Service::start();
    let stage = emptied(&service);
    service.misbehave("rules: [{operation: endpoint-delete, status: {code: 403}}]");
    stage.run("apply . --yes --quiet --allow mass-change --allow empty-namespace").code(7);
    service.misbehave("rules: []");
    let sent = service.requests("DELETE");
    let runs = std::fs::read_dir(stage.path("../state/trueup/runs")).expect("runs");
    let file = runs.map(|entry| entry.expect("a run").path()).max().expect("a run");
    let run = file.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
    let text = std::fs::read_to_string(&file).expect("a journal");
    let (first, rest) = text.split_once('\n').expect("a header");
    for (at, forgery) in forgeries.into_iter().enumerate() {
        let mut header: Value = serde_json::from_str(first).expect("JSON");
        forgery(&mut header["header"]["header"]["plan"]);
        std::fs::write(&file, format!("{header}\n{rest}")).expect("it is ours");
        stage.run(&format!("apply --resume {run} --yes")).code(6).stderr_ignored();
        assert_eq!(service.requests("DELETE"), sent, "forgery {at}");
    }
}

/// Every place in a document, as the path to it.
fn places(value: &Value, path: &mut Vec<String>, all: &mut Vec<Vec<String>>) {
    all.push(path.clone());
    let below: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => list.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (key, value) in below {
        path.push(key);
        places(value, path, all);
        path.pop();
    }
}

fn parent<'v>(document: &'v mut Value, path: &[String]) -> Option<(&'v mut Value, String)> {
    let (last, above) = path.split_last()?;
    let mut at = document;
    for part in above {
        at = match at {
            Value::Array(list) => list.get_mut(part.parse::<usize>().ok()?)?,
            other => other.get_mut(part)?,
        };
    }
    Some((at, last.clone()))
}

/// The document with the place at `path` changed, removed, doubled, retyped, or with something beside it.
fn edits(document: &Value, path: &[String]) -> Vec<Value> {
    let mut all = Vec::new();
    let mut edit = |change: &dyn Fn(&mut Value, &str)| {
        let mut edited = document.clone();
        if let Some((above, last)) = parent(&mut edited, path) {
            change(above, &last);
            if edited != *document {
                all.push(edited);
            }
        }
    };
    fn slot<'v>(above: &'v mut Value, last: &str) -> Option<&'v mut Value> {
        match above {
            Value::Array(list) => list.get_mut(last.parse::<usize>().ok()?),
            other => other.get_mut(last),
        }
    }
    let put = |value: Value| {
        move |above: &mut Value, last: &str| {
            if let Some(slot) = slot(above, last) {
                slot.clone_from(&value);
            }
        }
    };
    for value in [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(99_999),
        json!(-1),
        json!(""),
        json!("other"),
        json!("shop/other"),
        json!("move from stack a to stack b"),
        json!("none"),
        json!("all"),
        json!("shop"),
        json!([]),
        json!({}),
        json!(["x"]),
    ] {
        edit(&put(value));
    }
    edit(&|above, last| match slot(above, last) {
        Some(Value::String(text)) => text.push('x'),
        Some(Value::Object(map)) => drop(map.insert("added".to_owned(), json!(1))),
        Some(Value::Array(list)) => list.extend(list.clone().first().cloned()),
        _ => {}
    });
    edit(&|above, last| match above {
        Value::Object(map) => drop(map.remove(last)),
        Value::Array(list) => drop(last.parse::<usize>().map(|at| list.remove(at))),
        _ => {}
    });
    all
}

/// Everything that decides which writes an apply makes, in no order that does not matter.
fn decides(plan: &Plan) -> Value {
    let changes: BTreeMap<String, Value> = plan
        .changes
        .iter()
        .map(|change| {
            let fields: Vec<Value> = change.fields().iter().map(|field| json!([field.field, field.after])).collect();
            let before = change.action.before().map(|before| {
                let mut endpoint = json!(before.endpoint);
                if let Some(text) = endpoint["metadata"]["annotations"]["trueup/applied"].as_str() {
                    let words: Vec<&str> =
                        text.split(' ').enumerate().filter(|(at, _)| *at != 1).map(|(_, word)| word).collect();
                    endpoint["metadata"]["annotations"]["trueup/applied"] = words.join(" ").into();
                }
                json!([before.uid, endpoint])
            });
            let rest = match &change.action {
                Action::Create { wanted } => json!(wanted),
                Action::Delete { referrers, .. } => json!(referrers),
                Action::Replace { .. } | Action::Recreate { .. } | Action::Annotate { .. } => Value::Null,
            };
            let output = json!([change.action.kind(), fields, before, rest, change.ownership, change.is_behind_base()]);
            (change.key.to_string(), output)
        })
        .collect();
    json!([
        changes,
        plan.service,
        plan.stack,
        plan.settings,
        plan.scope,
        format!("{:?}", plan.consents()) == format!("{:?}", Allowances::default()),
        plan.undone(),
        plan.handed_over()
    ])
}

/// A plan with every kind of change, over which two guards stand.
fn reviewed() -> Value {
    let service = Service::start();
    let stage = emptied(&service);
    stage.write("ep-0.yaml", &definition("shop/ep-0", 81));
    stage.run("plan . -o p.json").code(0);
    let mut file = saved(&stage);
    // One delete that was allowed although somebody refers to the object, and a mark.
    let changes = file["plan"]["changes"].as_array_mut().expect("changes");
    let gone = changes.iter_mut().find(|change| change["action"]["delete"].is_object()).expect("a delete");
    gone["action"]["delete"]["referrers"] = json!([{"kind": "cluster", "namespace": "shop", "name": "web"}]);
    let mut mark = changes.iter().find(|change| change["action"]["replace"].is_object()).expect("a replace").clone();
    let before = mark["action"]["replace"]["before"].clone();
    mark["action"] = json!({"annotate": {"before": before}});
    mark["key"] = json!("shop/mark");
    mark["action"]["annotate"]["before"]["endpoint"]["metadata"]["name"] = json!("mark");
    changes.push(mark);
    let kept = changes.len() - 3;
    assert!(kept > 10);
    serde_json::from_str(&forge(&file).expect("a plan")).expect("JSON")
}

#[test]
fn a_plan_edited_in_any_place_is_refused_or_does_what_was_reviewed() {
    let original = reviewed();
    let text = original.to_string();
    let plan = Plan::from_file(text.as_bytes()).expect("a plan");
    let digest = plan.digest();
    let mut allow = Allowances::default();
    for name in ["mass-change", "empty-namespace"] {
        allow.add(name).expect("a guard");
    }
    let referred = plan.changes.iter().find_map(|change| match &change.action {
        Action::Delete { referrers, .. } if !referrers.is_empty() => Some(change.key.clone()),
        _ => None,
    });
    allow.add(&format!("referred={}", referred.expect("one"))).expect("a key");
    plan.approve(Approval::Digest(digest.short()), &allow).expect("the reviewed plan is applied");
    let decided = decides(&plan);
    let mut all = Vec::new();
    places(&original, &mut Vec::new(), &mut all);
    let (mut tried, mut taken) = (0, 0);
    // One change of each kind, and a second one: the others are like these.
    let listed = original["plan"]["changes"].as_array().expect("changes");
    let mut kinds: BTreeMap<&String, usize> = BTreeMap::new();
    let chosen: Vec<bool> = listed
        .iter()
        .map(|change| {
            let kind = change["action"].as_object().and_then(|action| action.keys().next()).expect("an action");
            let seen = kinds.entry(kind).or_default();
            *seen += 1;
            *seen <= 2
        })
        .collect();
    all.retain(|path| match path.as_slice() {
        [_, list, at, ..] if list == "changes" => at.parse::<usize>().is_ok_and(|at| chosen[at]),
        _ => true,
    });
    for path in &all {
        for edited in edits(&original, path) {
            // The edit as it is, and with the digest and guards that its content has.
            for text in std::iter::once(edited.to_string()).chain(forge(&edited)) {
                tried += 1;
                let Ok(plan) = Plan::from_file(text.as_bytes()) else { continue };
                if plan.approve(Approval::Digest(digest.short()), &allow).is_ok() {
                    taken += 1;
                    assert_eq!(decides(&plan), decided, "{path:?}: passes with the reviewed digest");
                }
                // Without a digest, what the call itself knows bounds the guards.
                let counts = BTreeMap::from([(
                    plan.scope
                        .keys()
                        .next()
                        .cloned()
                        .unwrap_or_else(|| Scope::endpoints(Namespace::parse("shop").expect("a name"))),
                    trueup::plan::Counts { owned: 12, removable: 12 },
                )]);
                let limits = RunLimits { safeguards: trueup::model::policy::Safeguards::default(), counts };
                let much = plan.changes.iter().filter(|change| change.action.before().is_some()).count() > 5;
                assert!(
                    !much || plan.approve_within(Approval::Given, &Allowances::default(), &limits).is_err(),
                    "{path:?}: passes its guards without a consent"
                );
            }
        }
    }
    assert!(tried > 3_000 && taken > 100, "{tried} edits, {taken} taken");
}

#[test]
fn what_a_digest_does_not_cover_is_only_how_a_plan_is_reported() {
    let mut plan: Plan = serde_json::from_value(reviewed()["plan"].clone()).expect("a plan");
    let digest = plan.digest();
    plan.tool_version = "other".to_owned();
    plan.notes.clear();
    plan.source = PlanSource { origin: PlanOrigin::Directory("elsewhere".to_owned()), ..PlanSource::default() };
    plan.changes.iter_mut().for_each(|change| change.place = None);
    assert_eq!(plan.digest(), digest);
    let (from, to) = ("digest".to_owned(), "other".to_owned());
    for origin in [PlanOrigin::Rollback(RunId::new("r").expect("an id")), PlanOrigin::Move { from, to }] {
        plan.source = PlanSource { origin, ..PlanSource::default() };
        assert_ne!(plan.digest(), digest);
    }
}

#[test]
fn a_plan_that_calls_itself_a_move_is_refused() {
    let service = Service::start();
    let stage = Stage::stack(&service, "a").file("cart.yaml", &definition("shop/cart", 80));
    stage.run("plan . -o p.json").code(0);
    let mut file = saved(&stage);
    file["plan"]["source"]["directory"] = json!("move from stack a to stack b");
    stage.write("p.json", &file.to_string());
    stage
        .run("apply p.json --yes")
        .code(6)
        .stderr_contains("`p.json` is not applied")
        .stderr_contains("it was altered");
    stage.write("p.json", &forge(&file).expect("a plan"));
    stage.run("apply p.json --yes").code(6).stderr_contains("it is a move, and `shop/cart` would be changed otherwise");
    assert_eq!(service.requests("POST"), 0);
}

#[test]
fn a_directory_that_is_named_like_a_move_or_a_rollback_is_a_directory() {
    for name in ["move from stack a to stack b", "rollback of 2026-11-21T05-59-56-abc"] {
        let service = Service::start();
        let (settings, file) = (format!("{name}/trueup.yaml"), format!("{name}/cart.yaml"));
        let stage = Stage::new().at(&service).file(&settings, "stack: s\nnamespaces: [shop]\n");
        stage.write(&file, &definition("shop/cart", 80));
        stage.run_words(&["plan", name, "-o", "p.json"]).code(0).stdout_contains("+ create  shop/cart");
        assert_eq!(saved(&stage)["plan"]["source"]["directory"], format!("./{name}"));
        let apply = ["apply", "p.json", "--config", &settings, "--yes", "--quiet"];
        stage.write(&settings, "stack: s\nnamespaces: [pay]\n");
        stage
            .run_words(&apply)
            .code(6)
            .stderr_contains("would change `shop/cart`, and the settings in force do not list its namespace");
        stage.write(&settings, "stack: s\nnamespaces: [shop]\n");
        stage.run_words(&apply).code(0).stdout_contains("1 created");
    }
}

#[test]
fn a_plan_that_calls_itself_a_rollback_deletes_only_what_its_run_created() {
    let service = Service::start();
    let settings = |prune: &str| format!("stack: s\nnamespaces: [shop]\nprune: {prune}\n");
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", &settings("all"))
        .file("cart.yaml", &definition("shop/cart", 80))
        .applied(".");
    service.create(&json!({"metadata": {"name": "handmade", "namespace": "shop"}, "spec": {"ip": "10.0.0.9"}}));
    stage.run("plan . -o p.json").code(0).stdout_contains("- delete  shop/handmade");
    stage.write("trueup.yaml", &settings("owned"));
    let of_definitions = saved(&stage);
    let run = stage.run("show last --format json").code(0).json()["run"]["run"].as_str().expect("a run").to_owned();
    let apply = "apply p.json --yes --allow mass-change --allow empty-namespace";
    for (run, reason) in [
        ("2026-11-21T05-59-56-abc", "there is no record of run 2026-11-21T05-59-56-abc".to_owned()),
        (run.as_str(), format!("run {run} did not create it")),
    ] {
        let mut file = of_definitions.clone();
        file["plan"]["source"]["directory"] = json!(format!("rollback of {run}"));
        stage.write("p.json", &forge(&file).expect("a plan"));
        stage
            .run(apply)
            .code(6)
            .stderr_contains("would delete `shop/handmade`, which its stack does not own, and ")
            .stderr_contains(&reason);
        assert_eq!(service.requests("DELETE"), 0);
    }
}

#[test]
fn a_saved_rollback_of_what_has_no_ownership_annotations_needs_the_record_of_its_run() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop]\nownership_annotations: false\n")
        .file("cart.yaml", &definition("shop/cart", 80))
        .applied(".");
    stage.run("rollback last -o p.json").code(0).stdout_contains("- delete  shop/cart");
    let apply = "apply p.json --yes --quiet --allow mass-change --allow empty-namespace";
    stage.run(&format!("{apply} --state ../nowhere")).code(6).stderr_contains("there is no record of run ");
    assert_eq!(service.requests("DELETE"), 0);
    stage.run(apply).code(0).stdout_contains("1 deleted");
}
