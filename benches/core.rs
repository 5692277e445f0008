//! The steps of a plan that do not send: load, canonical form, compare, arrange, digest, saved form,
//! reports.
//! `cargo bench --bench core`; sizes are 1,000, 10,000 and 100,000 endpoints.

#![expect(missing_docs, reason = "a macro of criterion writes a public function")]

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use trueup::diff::{self, CompareOptions};
use trueup::drift::{Check, UnmanagedPolicy};
use trueup::load::{self, SourceFile};
use trueup::model::{
    Definition, Desired, Layout, ListRead, Live, LiveItem, LiveObject, Namespace, Object, Ownership, Scope,
};
use trueup::plan::{self, Allowances, Ignore, Plan, PlanInput, Selection, ServiceId};
use trueup::report::TextView;
use trueup::report::{self, Format, Report};

const STACK: &str = "bench";
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// How much of the live state differs from its definitions.
#[derive(Clone, Copy)]
enum Changed {
    None,
    OnePercent,
    All,
}

impl Changed {
    const ALL: [Changed; 3] = [Changed::None, Changed::OnePercent, Changed::All];

    fn name(self) -> &'static str {
        match self {
            Changed::None => "none",
            Changed::OnePercent => "1 %",
            Changed::All => "all",
        }
    }

    fn at(self, index: usize) -> bool {
        match self {
            Changed::None => false,
            Changed::OnePercent => index.is_multiple_of(100),
            Changed::All => true,
        }
    }
}

fn raw(index: usize, port: usize) -> String {
    format!(
        r#"{{"metadata":{{"name":"endpoint-{index:06}","namespace":"shop","labels":{{"app":"app-{}","tier":"web","zone":"z{}"}},
        "annotations":{{"owner":"team-{}"}},"description":"endpoint number {index}"}},
        "spec":{{"dns_name":"host-{index}.example.net","protocol":"TCP","port":{port},"health_check_port":8081,
        "snat_pool":{{"snat_pool":{{"prefixes":["10.{}.0.0/16","192.0.2.0/24"]}}}},
        "where":{{"site":{{"ref":[{{"name":"ce{:02}","namespace":"system"}}],"network_type":"VIRTUAL_NETWORK_SITE_LOCAL","disable_internet_vip":{{}}}}}}}}}}"#,
        index % 97,
        index % 5,
        index % 13,
        index % 200,
        index % 40,
    )
}

fn endpoint(index: usize, port: usize) -> Object {
    serde_json::from_str(&raw(index, port)).expect("a valid endpoint")
}

fn desired(count: usize) -> Desired {
    let definitions = (0..count).map(|index| {
        let endpoint = endpoint(index, 443);
        let file = format!("shop/{}.yaml", endpoint.key.name).into();
        (
            endpoint.key.clone(),
            Definition {
                endpoint,
                file,
                document: 0,
                overlays: Vec::new(),
                sealed: trueup::model::SealedSecrets::default(),
            },
        )
    });
    Desired { definitions: definitions.collect(), files: count }
}

fn live(count: usize, changed: Changed) -> Live {
    let items: BTreeMap<_, _> = (0..count)
        .map(|index| {
            let applied = endpoint(index, 443);
            let mut live = endpoint(index, if changed.at(index) { 80 } else { 443 });
            let annotations = Ownership::of(&applied, Some(STACK), "run-1").annotations();
            live.annotations.extend(annotations.into_iter().map(|(key, value)| (key.to_owned(), value)));
            let object = LiveObject::new(format!("00000000-0000-4000-8000-{index:012}"), live);
            (object.endpoint.key.clone(), LiveItem::Object(object))
        })
        .collect();
    let namespace = Namespace::parse("shop").expect("a name");
    Live { lists: BTreeMap::from([(Scope::endpoints(namespace), ListRead::Complete { items })]), requests: 1 }
}

fn arrange(desired: &Desired, live: &Live) -> Plan {
    plan::arrange(
        Plan {
            stack: Some(STACK.to_owned()),
            service: ServiceId { base_url: "https://bench.example.net".to_owned(), layout: Layout::Uniform },
            ..Plan::default()
        },
        PlanInput {
            desired,
            namespaces: &BTreeSet::from([Namespace::parse("shop").expect("a name")]),
            kinds: &BTreeSet::new(),
            ignore: &Ignore::default(),
            allow: &Allowances::default(),
            selection: &Selection::all(),
        },
        live,
    )
}

fn canonical_form(criterion: &mut Criterion) {
    let raw = raw(1, 443);
    criterion.bench_function("canonical form of one endpoint", |bencher| {
        bencher.iter(|| black_box(serde_json::from_str::<Object>(&raw).is_ok()));
    });
}

fn compare(criterion: &mut Criterion) {
    let (one, other) = (endpoint(1, 443), endpoint(1, 80));
    criterion.bench_function("compare equal", |bencher| {
        bencher.iter(|| black_box(diff::compare(&one, &one, CompareOptions::default())));
    });
    criterion.bench_function("compare one field apart", |bencher| {
        bencher.iter(|| black_box(diff::compare(&one, &other, CompareOptions::default())));
    });
}

/// From memory, so that the disk is left out; each endpoint is a file of its own, as JSON is YAML too.
fn load(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("load");
    group.sample_size(10);
    for count in SIZES {
        let file = |index| SourceFile { path: format!("{index:06}.yaml"), bytes: raw(index, 443).into_bytes() };
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            let files = || (0..count).map(file).collect();
            bencher.iter_batched(
                files,
                |files: Vec<_>| {
                    black_box(load::sources(files, &load::LoadOptions::default()).expect("good definitions"))
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

fn arrange_all(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("arrange");
    group.sample_size(10);
    for count in SIZES {
        let desired = desired(count);
        group.throughput(Throughput::Elements(count as u64));
        for changed in Changed::ALL {
            let live = live(count, changed);
            group.bench_with_input(BenchmarkId::new(changed.name(), count), &live, |bencher, live| {
                bencher.iter(|| black_box(arrange(&desired, live)));
            });
        }
    }
    group.finish();
}

fn saved(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("saved plan, all changed");
    group.sample_size(10);
    for count in [1_000, 10_000] {
        let plan = arrange(&desired(count), &live(count, Changed::All));
        group.bench_with_input(BenchmarkId::new("digest", count), &plan, |bencher, plan| {
            bencher.iter(|| black_box(plan.digest()));
        });
        group.bench_with_input(BenchmarkId::new("to file", count), &plan, |bencher, plan| {
            bencher.iter(|| plan.write(&mut std::io::sink()));
        });
    }
    group.finish();
}

fn render(report: &dyn Report, format: Format) -> String {
    report::render(report, format, &TextView::default())
}

fn reports(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("report");
    group.sample_size(10);
    for count in SIZES {
        for changed in Changed::ALL {
            let plan = arrange(&desired(count), &live(count, changed));
            let mut report = |name: &str, draw: &dyn Fn(&Plan) -> String| {
                let id = BenchmarkId::new(format!("{name}, {}", changed.name()), count);
                group.bench_with_input(id, &plan, |bencher, plan| bencher.iter(|| black_box(draw(plan))));
            };
            for format in [Format::Text, Format::Json, Format::Markdown, Format::Html] {
                report(format.as_str(), &|plan| render(plan, format));
            }
        }
    }
    group.finish();
}

/// The reports of a check that found everything changed: the rate stays the same however many there are,
/// because each change is looked up in an index.
fn checks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("drift, all changed");
    group.sample_size(10);
    for count in SIZES {
        let plan = arrange(&desired(count), &live(count, Changed::All));
        let check = Check::new(plan.clone(), plan.verdicts(UnmanagedPolicy::Note), jiff::Timestamp::UNIX_EPOCH);
        group.throughput(Throughput::Elements(count as u64));
        let mut report = |name: &str, draw: &dyn Fn(&Check) -> String| {
            let id = BenchmarkId::new(name, count);
            group.bench_with_input(id, &check, |bencher, check| bencher.iter(|| black_box(draw(check))));
        };
        for format in [Format::Markdown, Format::Junit, Format::Github, Format::Sarif] {
            report(format.as_str(), &|check| render(check, format));
        }
    }
    group.finish();
}

criterion_group!(benches, load, canonical_form, compare, arrange_all, saved, reports, checks);
criterion_main!(benches);
