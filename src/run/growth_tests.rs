//! What a rollback costs grows with the number of writes, not with its square.

use std::collections::BTreeMap;

use serde_json::json;

use crate::model::{Field, Key, ListRead, Live, LiveItem, Object, Scope};
use crate::plan::{
    Action, ActionKind, Allowances, BeforeImage, Cause, Change, FieldChange, Ignore, Plan, RollbackInput, rollback,
};
use crate::run::{ChangeResult, ChangeStep, Confirmation, Intent, ObjectBody, RunEntry, RunRecord, WriteRequest};
use crate::tests::comparisons::{assert_no_search_through_all, count};
use crate::tests::world::{self, header, live};

fn endpoint(key: &Key, port: u16) -> Object {
    world::endpoint(key.name.as_str(), port)
}

fn change(key: &Key) -> Change {
    let before = BeforeImage::of(&live(endpoint(key, 80)));
    let port = FieldChange::new(Field::of_unit("port"), json!(80), json!(81), Cause::Pending);
    Change::new(key.clone(), Action::Replace { fields: vec![port], adopts: false, before })
}

/// A run that replaced so many endpoints, and what is live after it.
fn run(count: usize) -> (RunRecord, Live) {
    let keys: Vec<Key> = (0..count).map(|n| Key::parse(&format!("shop/e{n:05}")).expect("a key")).collect();
    let changes: Vec<Change> = keys.iter().map(change).collect();
    let entries = changes.iter().flat_map(|change| {
        let body = ObjectBody::of(&endpoint(&change.key, 81)).expect("JSON");
        let intent = Intent {
            key: change.key.clone(),
            action: ActionKind::Replace,
            attempt: 0,
            request: WriteRequest::Replace { body },
            before: change.action.before().cloned(),
            request_id: None,
        };
        let result = ChangeResult::Done { confirmation: Confirmation::Versioned, by_reading: false, adopted: false };
        let step = ChangeStep::new(change.key.clone(), ActionKind::Replace, result);
        [RunEntry::Intent(intent), RunEntry::Outcome(step)]
    });
    let entries = entries.collect();
    let items = keys.iter().map(|key| (key.clone(), LiveItem::Object(live(endpoint(key, 81))))).collect();
    let namespace = keys[0].namespace.clone();
    let now =
        Live { lists: BTreeMap::from([(Scope::endpoints(namespace), ListRead::Complete { items })]), requests: 1 };
    let plan = Plan { changes, ..Plan::default() };
    (RunRecord { header: header("run-1", plan), entries, closing: None }, now)
}

#[test]
fn neither_a_rollback_nor_the_rest_of_a_run_searches_all_changes_for_each() {
    assert_no_search_through_all("rollback", |writes| {
        let (record, live) = run(writes);
        let undone = record.undone();
        let input = RollbackInput {
            undone: &undone,
            live: &live,
            definitions: &[],
            only: &|_| true,
            ignore: &Ignore::default(),
            allow: &Allowances::default(),
        };
        count(|| assert_eq!(rollback(input).changes.len(), writes))
    });
    assert_no_search_through_all("rest", |writes| {
        let (mut record, _) = run(writes);
        record.entries.truncate(writes);
        count(|| assert_eq!((record.rest().changes.len(), record.left()), (writes / 2, writes / 2)))
    });
}
