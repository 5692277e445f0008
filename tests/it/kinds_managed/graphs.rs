//! Random graphs of objects of several kinds: applied, changed and deleted, with faults and a killed apply in between. In the
//! end everything is settled; no object was created before its targets, and none deleted before its referrers let go.
//! `TRUEUP_SEED` repeats a run, `TRUEUP_GRAPH` sets the most objects of a graph.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use fastrand::Rng;
use serde_json::{Value, json};
use trueup::sandbox::RequestEffect;

use crate::support::{Service, Stage};

/// Kinds, each with those that it may refer to. The last two refer to one another.
const KINDS: [(&str, &[&str]); 10] = [
    ("endpoint", &[]),
    ("healthcheck", &[]),
    ("app_firewall", &[]),
    ("origin_pool", &["healthcheck"]),
    ("cluster", &["endpoint", "healthcheck"]),
    ("route", &["cluster"]),
    ("virtual_host", &["route"]),
    ("http_loadbalancer", &["origin_pool", "app_firewall"]),
    ("service_policy", &["service_policy_rule"]),
    ("service_policy_rule", &["service_policy"]),
];
const NAMESPACES: [&str; 2] = ["shop", "pay"];

/// An object: what it refers to, and a number that makes it another one. Objects refer to those of a lower rank alone, so
/// that there is no circle.
#[derive(Clone, Debug, PartialEq)]
struct Node {
    rank: usize,
    targets: BTreeSet<String>,
    number: usize,
}

/// Objects by key.
type Graph = BTreeMap<String, Node>;

fn kind(key: &str) -> &str {
    key.split_once(':').map_or("endpoint", |(kind, _)| kind)
}

/// The namespace and the name of a key.
fn place(key: &str) -> (&str, &str) {
    key.rsplit(':').next().and_then(|place| place.split_once('/')).expect("a key")
}

/// Random targets for an object of this rank: at most one of each kind but of health checks, of which a pool may have more.
fn targets(rng: &mut Rng, graph: &Graph, key: &str, rank: usize) -> BTreeSet<String> {
    let (_, kinds) = KINDS.iter().find(|(name, _)| *name == kind(key)).expect("a kind");
    let mut targets = BTreeSet::new();
    for target in *kinds {
        let all: Vec<&String> = graph
            .iter()
            .filter(|(other, node)| kind(other) == *target && node.rank < rank)
            .map(|(key, _)| key)
            .collect();
        let most = if *target == "healthcheck" { 3 } else { 1 };
        for _ in 0..rng.usize(0..=most) {
            targets.extend(rng.choice(&all).map(|key| (*key).clone()));
        }
    }
    targets
}

fn graph(rng: &mut Rng, size: usize) -> Graph {
    let mut graph = Graph::new();
    for rank in 0..size {
        add(rng, &mut graph, rank);
    }
    graph
}

fn add(rng: &mut Rng, graph: &mut Graph, rank: usize) {
    let (kind, _) = KINDS[rng.usize(..KINDS.len())];
    let prefix = if kind == "endpoint" { String::new() } else { format!("{kind}:") };
    let key = format!("{prefix}{}/n{rank}", NAMESPACES[rng.usize(..NAMESPACES.len())]);
    let targets = targets(rng, graph, &key, rank);
    graph.insert(key, Node { rank, targets, number: rng.usize(1..100) });
}

/// The graph after somebody worked on it: some objects went, some refer to others, some came.
fn changed(rng: &mut Rng, graph: &Graph) -> Graph {
    let mut next = graph.clone();
    next.retain(|_, _| rng.u8(..4) > 0);
    let there: BTreeSet<String> = next.keys().cloned().collect();
    for node in next.values_mut() {
        node.targets.retain(|target| there.contains(target));
    }
    let known = next.clone();
    for (key, node) in &mut next {
        match rng.u8(..3) {
            0 => node.targets = targets(rng, &known, key, node.rank),
            1 => node.number = rng.usize(1..100),
            _ => {}
        }
    }
    let rank = graph.values().map(|node| node.rank).max().unwrap_or_default() + 1;
    (rank..rank + graph.len() / 4).for_each(|rank| add(rng, &mut next, rank));
    next
}

fn document(key: &str, node: &Node) -> Value {
    let of = |wanted: &str| -> Vec<Value> {
        let those = node.targets.iter().filter(|target| kind(target) == wanted);
        those.map(|target| json!({"name": place(target).1, "namespace": place(target).0})).collect()
    };
    let number = node.number;
    let mut spec = match kind(key) {
        "endpoint" => json!({"ip": "10.0.0.7", "port": number}),
        "healthcheck" => json!({"tcp_health_check": {}, "timeout": 3, "interval": number.max(10),
            "unhealthy_threshold": 2, "healthy_threshold": 3}),
        "app_firewall" => json!({"monitoring": {}}),
        "origin_pool" => json!({"origin_servers": [{"public_ip": {"ip": "192.0.2.1"}}], "port": number,
            "no_tls": {}, "healthcheck": of("healthcheck")}),
        "cluster" => json!({"endpoints": of("endpoint"), "health_checks": of("healthcheck"),
            "loadbalancer_algorithm": "ROUND_ROBIN"}),
        "route" => json!({"routes": [{"match": [{"path": {"prefix": format!("/{number}")}, "http_method": "ANY"}],
            "route_destination": {"destinations": [{"cluster": of("cluster")}], "auto_host_rewrite": true}}]}),
        "virtual_host" => {
            json!({"domains": [format!("a{number}.example.com")], "proxy": "HTTP_PROXY", "routes": of("route")})
        }
        "http_loadbalancer" => {
            let pools: Vec<Value> =
                of("origin_pool").into_iter().map(|pool| json!({"pool": pool, "weight": 1})).collect();
            json!({"domains": [format!("b{number}.example.com")], "https_auto_cert": {}, "default_route_pools": pools})
        }
        "service_policy" => json!({"algo": "FIRST_MATCH", "legacy_rule_list": {"rules": of("service_policy_rule")}}),
        "service_policy_rule" => {
            json!({"action": "DENY", "waf_action": {"none": {}}, "goto_policy": of("service_policy")})
        }
        other => panic!("no spec of {other}"),
    };
    if let Some(firewall) = of("app_firewall").first() {
        spec["app_firewall"] = firewall.clone();
    }
    let (namespace, name) = place(key);
    json!({"kind": kind(key), "metadata": {"name": name, "namespace": namespace}, "spec": spec})
}

fn write(stage: &Stage, graph: &Graph) {
    let _ = std::fs::remove_dir_all(stage.path("d"));
    for (key, node) in graph {
        stage.write(&format!("d/{}.json", key.replace(['/', ':'], "-")), &format!("{:#}", document(key, node)));
    }
}

/// A few faults of writes that end after some time.
fn faults(rng: &mut Rng) -> String {
    let rules: Vec<String> = (0..rng.usize(0..4))
        .map(|_| {
            let operation = ["*-create", "*-replace", "*-delete"][rng.usize(..3)];
            let actions = [
                "status: {code: 403}",
                "status: {code: 503}",
                "status: {code: 500, effect: done}",
                "cut: before",
                "cut: after",
                "status: {code: 429, retry_after: 0}",
            ];
            let action = actions[rng.usize(..actions.len())];
            format!("{{operation: '{operation}', after: {}, for: {}, {action}}}", rng.usize(..5), rng.usize(1..4))
        })
        .collect();
    format!("rules: [{}]", rules.join(", "))
}

const APPLY: &[&str] = &["apply", ".", "--yes", "--allow", "mass-change", "--allow", "empty-namespace", "--quiet"];

/// Applies, and kills the program after so many lines about changes.
fn killed(stage: &Stage, lines: usize) {
    let words = ["apply", ".", "--yes", "--allow", "mass-change", "--allow", "empty-namespace"];
    let mut command = stage.command(&words);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let progress = BufReader::new(child.stderr.take().expect("a pipe"));
    progress.lines().map_while(Result::ok).take(lines).for_each(drop);
    let _ = child.kill();
    child.wait().expect("it ends");
}

/// Brings live to the definitions, however often that takes.
fn settle(stage: &Stage, service: &Service, rng: &mut Rng, seed: u64) {
    service.misbehave(&faults(rng));
    if rng.bool() {
        killed(stage, rng.usize(0..20));
    }
    let mut codes = Vec::new();
    for _ in 0..12 {
        // Nothing to resume is 1; what a run left is finished by the next apply.
        codes.push(stage.run_words(&["apply", "--resume", "last", "--yes", "--quiet"]).stderr_ignored().exit());
        let applied = stage.run_words(APPLY);
        codes.push(applied.stderr_ignored().exit());
        if applied.exit() == 0 {
            break;
        }
    }
    assert_eq!(codes.last(), Some(&0), "TRUEUP_SEED={seed}: never settled: {codes:?}");
    let plan = stage.run("plan . --format json").code(0).json();
    let left = [&plan["plan"]["changes"], &plan["plan"]["blocked"]].map(|part| part.as_array().map_or(0, Vec::len));
    assert_eq!(left, [0, 0], "TRUEUP_SEED={seed}: {plan:#}");
}

/// Follows the writes from this request on that took effect, and returns what is live after them.
fn follow(service: &Service, from: usize, live: &Graph, wanted: &Graph, seed: u64) -> Graph {
    let mut live = live.clone();
    let kinds: BTreeMap<String, &str> = KINDS.iter().map(|(kind, _)| (format!("{kind}-"), *kind)).collect();
    for entry in service.log().iter().skip(from).filter(|entry| entry.effect == RequestEffect::Done) {
        let Some((operation, action)) = entry.operation.rsplit_once('-') else { continue };
        let Some(kind) = kinds.get(&format!("{operation}-")).copied() else { continue };
        let prefix = if kind == "endpoint" { String::new() } else { format!("{kind}:") };
        let key = format!("{prefix}{}/{}", entry.namespace, entry.name);
        match action {
            "create" | "replace" => {
                let node = wanted.get(&key).unwrap_or_else(|| panic!("TRUEUP_SEED={seed}: {key} is not defined"));
                let missing = node.targets.iter().find(|target| !live.contains_key(*target));
                assert_eq!(missing, None, "TRUEUP_SEED={seed}: {action} of {key} before its target");
                live.insert(key, node.clone());
            }
            "delete" => {
                live.remove(&key);
                let referrer = live.iter().find(|(_, node)| node.targets.contains(&key)).map(|(key, _)| key);
                assert_eq!(referrer, None, "TRUEUP_SEED={seed}: {key} is deleted before its referrer let go");
            }
            _ => {}
        }
    }
    live
}

#[test]
fn a_random_graph_is_applied_changed_and_deleted_in_order_whatever_fails() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("TRUEUP_SEED").unwrap_or_else(|| fastrand::u64(..));
    let most = number("TRUEUP_GRAPH").and_then(|most| usize::try_from(most).ok()).unwrap_or(40);
    let mut rng = Rng::with_seed(seed);
    let kinds: Vec<&str> = KINDS.iter().skip(1).map(|(kind, _)| *kind).collect();
    let settings = format!(
        "stack: graphs\nnamespaces: [{}]\nkinds: [{}]\nallow_empty: true\nrate_limit: 10000\n",
        NAMESPACES.join(", "),
        kinds.join(", ")
    );
    for size in [2, rng.usize(3..=most / 2 + 2), most] {
        eprintln!("TRUEUP_SEED={seed}, {size} objects");
        let service = Service::start();
        let stage = Stage::new().at(&service).file("trueup.yaml", &settings);
        let mut live = Graph::new();
        let first = graph(&mut rng, size);
        let second = changed(&mut rng, &first);
        for wanted in [first, second, Graph::new()] {
            write(&stage, &wanted);
            let from = service.log().len();
            settle(&stage, &service, &mut rng, seed);
            live = follow(&service, from, &live, &wanted, seed);
            let documents = |graph: &Graph| graph.iter().map(|(key, node)| document(key, node)).collect::<Vec<_>>();
            assert_eq!(documents(&live), documents(&wanted), "TRUEUP_SEED={seed}");
        }
    }
}
