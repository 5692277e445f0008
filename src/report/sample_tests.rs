//! Plans for the tests of reports: as many changes as asked for, and texts that would break out of
//! every format if they could.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::model::{Field, Json, Key, Layout, Name, Namespace, Object, RelatedObject, Scope, SourceLocation};
use crate::plan::{
    Action, Attribution, BeforeImage, BlockReason, BlockedChange, Cause, Change, Commit, FieldChange, GuardHit,
    GuardName, Note, Plan, PlanOrigin, PlanSource, ScopeRead, ScopeState, ServiceId,
};

/// Texts that try every way out that we know.
pub(super) const HOSTILE: [&str; 8] = [
    "```\n</details>\n# broken\n~~~~\n<script>alert(1)</script>",
    "| a | b |\n|---|---|\n| \\| `x` |",
    "[click](javascript:alert(1)) ![x](https://evil.example/x.png) <https://evil.example>",
    "@octocat please merge #12 GH-7 fixes acme/shop#3 https://evil.example www.evil.example",
    "\u{1b}[31mred\u{1b}[0m \u{202e}desrever\u{202c} \u{200b}zero\u{0}",
    "<!-- --> <img src=x onerror=alert(1)> &lt;b&gt; </script> ]]> --> $`x`$ $$y$$",
    "`` ` ``` ```` `````\n````````````\n\t```\n   ```",
    "::error file=x::boo\n%0A::set-output\" ' \\ \\\"",
];

fn key(namespace: &str, name: &str) -> Key {
    let odd = "the sample's names are not empty";
    Key::endpoint(Namespace::from_service(namespace).expect(odd), Name::from_service(name).expect(odd))
}

fn endpoint(key: &Key, number: usize, description: &str) -> Object {
    let text = json!({
        "metadata": {"name": key.name, "namespace": key.namespace, "description": description,
            "labels": {"tier": if number.is_multiple_of(2) { "web" } else { "db" }},
            "annotations": {"team": "till", "trueup/stack": "shop-prod"}},
        "spec": {"ip": format!("10.{}.{}.7", number / 250 % 250, number % 250), "port": 8000 + number % 999},
    });
    serde_json::from_value(text).expect("the sample's endpoints are valid")
}

fn before(endpoint: Object) -> BeforeImage {
    BeforeImage {
        uid: format!("uid-{}", endpoint.key.name),
        resource_version: None,
        endpoint,
        creator: Some("kim@example.net".to_owned()),
        modified: Some("2026-11-19T14:02:11Z".to_owned()),
        secrets: Vec::new(),
    }
}

fn field(field: Field, before: Json, after: Json, cause: Cause, place: SourceLocation) -> FieldChange {
    FieldChange { place: Some(place), ..FieldChange::new(field, before, after, cause) }
}

/// A plan of `count` changes: one in ten a delete, two in ten creates, three in ten one equal edit, the
/// others each its own.
pub(super) fn plan(count: usize, hostile: bool) -> Plan {
    let namespaces = ["shop", "pay", "stage"];
    let mut changes: Vec<Change> = (0..count).map(|number| change(number, namespaces[number % 3], hostile)).collect();
    changes.sort_by(|a, b| (a.action.kind().phase(), &a.key).cmp(&(b.action.kind().phase(), &b.key)));
    let scope = namespaces.into_iter().map(|name| {
        let read = ScopeRead::Complete { live: count, owned: count, removable: count };
        let scope = ScopeState { read, definitions: count, in_sync: 9, pruned: true, selected: true };
        (Scope::from(&key(name, "x")), scope)
    });
    let mut plan = Plan {
        service: ServiceId { base_url: "https://acme.example.net".to_owned(), layout: Layout::Uniform },
        stack: Some(if hostile { "a --> <b>|`x`".to_owned() } else { "shop-prod".to_owned() }),
        scope: scope.collect::<BTreeMap<_, _>>(),
        changes,
        blocked: vec![BlockedChange::new(key("shop", "guarded"), BlockReason::Protected, None)],
        guards: vec![GuardHit {
            name: GuardName::MassChange,
            namespace: Some(key("shop", "x").namespace),
            kinds: BTreeSet::new(),
            count: 18,
            of: 40,
            allowed_percent: Some(30),
        }],
        notes: vec![Note::Unmanaged { key: key("shop", "handmade") }],
        source: PlanSource {
            origin: PlanOrigin::Directory("endpoints".to_owned()),
            requests: 3,
            ..PlanSource::default()
        },
        ..Plan::default()
    };
    if hostile {
        let by = vec![RelatedObject {
            kind: HOSTILE[1].into(),
            namespace: HOSTILE[2].into(),
            name: HOSTILE[3].into(),
            uid: String::new(),
        }];
        plan.blocked.push(BlockedChange::new(key("shop", HOSTILE[1]), BlockReason::Referred { by }, None));
        plan.blocked.push(BlockedChange::new(
            key("pay", "x"),
            BlockReason::ForeignStack { stack: HOSTILE[0].into() },
            None,
        ));
        plan.notes.push(Note::Loaded { text: HOSTILE[0].to_owned() });
        plan.scope.insert(
            Scope::from(&key(HOSTILE[1], "x")),
            ScopeState {
                read: ScopeRead::Unknown { reason: HOSTILE[3].to_owned() },
                definitions: 1,
                in_sync: 0,
                pruned: false,
                selected: true,
            },
        );
    }
    plan
}

fn change(number: usize, namespace: &str, hostile: bool) -> Change {
    let text = if hostile { HOSTILE[number % HOSTILE.len()] } else { "the till" };
    let name = if hostile && number.is_multiple_of(7) { format!("{text}-{number}") } else { format!("ep-{number}") };
    let key = key(namespace, &name);
    let old = endpoint(&key, number, text);
    let place = |line| SourceLocation {
        file: if hostile { format!("endpoints/{text}.yaml") } else { format!("endpoints/{namespace}/{name}.yaml") },
        line,
        column: 3,
    };
    let mut change = match number % 10 {
        1 => Change::new(key.clone(), Action::Delete { before: before(old), referrers: Vec::new() }),
        2 | 3 => Change::new(key.clone(), Action::Create { wanted: old }),
        4..=6 => {
            let fields = vec![field(Field::of_unit("port"), json!(8080), json!(8443), Cause::Pending, place(8))];
            Change::new(key.clone(), Action::Replace { fields, adopts: false, before: before(old) })
        }
        _ => {
            let fields = vec![
                field(Field::Description, json!("old"), json!(format!("{text}\n{number}")), Cause::Pending, place(4)),
                field(Field::Label(text.to_owned()), json!(text), Json::Null, Cause::Drift, place(5)),
                field(
                    Field::of_unit("target"),
                    json!({"ip": "10.9.9.9"}),
                    json!({"ip": format!("10.0.0.{}", number % 250)}),
                    Cause::Drift,
                    place(7),
                ),
            ];
            Change::new(key.clone(), Action::Replace { fields, adopts: false, before: before(old) })
        }
    };
    change.place = Some(place(1));
    if matches!(change.action, Action::Create { .. } | Action::Delete { .. }) {
        change.cause = Some(Cause::Pending);
    }
    if number % 10 == 1 {
        change.removed_in =
            Some(Commit { id: "3f2c9ab0d1e2f3a4b5c6d7e8f90123456789abcd".to_owned(), date: "2026-11-18".to_owned() });
    }
    change
}

/// The plan with a base: every third field is pending on base, every seventh behind it.
pub(super) fn attributed(mut plan: Plan) -> Plan {
    plan.source.base = Some("origin/main".to_owned());
    for (number, change) in plan.changes.iter_mut().enumerate() {
        let side = match number {
            number if number % 7 == 6 => Attribution::BehindBase,
            number if number % 3 == 2 => Attribution::PendingOnBase,
            _ => Attribution::ThisChange,
        };
        match &mut change.action {
            Action::Replace { fields, .. } => fields.iter_mut().for_each(|field| field.attribution = Some(side)),
            _ => change.attribution = Some(side),
        }
    }
    plan
}
