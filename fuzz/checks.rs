//! What must hold for any bytes, one function for each fuzz target. The integration tests run the same
//! functions over the seeds and over every input that ever found a fault.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use trueup::api::events::{EventQuery, Match};
use trueup::journal::{self, JournalError};
use trueup::load::format::{self, Canonical};
use trueup::load::{self, RenderOptions, SourceFile, SourceMap};
use trueup::model::{DocumentError, Json, ListRead, Live, Namespace, Object, Selector};
use trueup::plan::{self, Allowances, Ignore, Plan, RollbackInput, SavedError};
use trueup::run::{ChangeProgress, RunRecord, RunStatus};
use trueup::sandbox::EventLanguage;

/// A file of definitions: everything that is wrong with it is reported without anything that a terminal
/// would act upon, both readers take it alike, `fmt` changes nothing that it means, and what is loaded has its place and loads again from what it says.
pub fn loader(bytes: &[u8]) {
    let file = |path: &str, bytes: &[u8]| vec![SourceFile { path: path.to_owned(), bytes: bytes.to_vec() }];
    let variables = BTreeMap::from([("n".to_owned(), "x".to_owned())]);
    let options = load::LoadOptions { variables, threads: Some(1), ..load::LoadOptions::default() };
    let read = |bytes: &[u8]| load::sources(file("a.yaml", bytes), &options);
    // A comment that looks like a variable lets the careful reader read what the fast one takes. It would hide a mark.
    if !bytes.starts_with(b"\xef\xbb\xbf") {
        assert_eq!(objects(read(bytes)), objects(read(&[b"# ${n}\n", bytes].concat())));
    }
    formatted(bytes, &|bytes| objects(read(bytes)));
    let loaded = match read(bytes) {
        Ok(loaded) => loaded,
        Err(wrong) => {
            assert!(wrong.errors() > 0, "{}", wrong.summary());
            let drawn = wrong.render(&RenderOptions::default());
            assert!(!drawn.chars().any(|c| c.is_control() && c != '\n'), "{drawn:?}");
            return;
        }
    };
    let places = SourceMap::new(&loaded);
    for (key, definition) in &loaded.desired.definitions {
        assert_eq!(*key, definition.endpoint.key);
        assert!(places.place(key, None).is_some(), "{key} stands nowhere");
        let said = serde_json::to_string(&definition.endpoint).expect("JSON");
        // What escaped a variable in YAML would be one here, and of a secret there is a digest.
        if !said.contains("${") && !said.contains("\"sealed\"") {
            let again = load::sources(file("b.json", said.as_bytes()), &options);
            let again = again.unwrap_or_else(|wrong| panic!("{}\n{said}", wrong.render(&RenderOptions::default())));
            assert_eq!(again.desired.definitions[key].endpoint, definition.endpoint);
        }
    }
}

/// The objects of a file with the numbers of their documents, or what is wrong.
type Objects = Result<Vec<(usize, Object)>, Vec<String>>;

fn objects(read: Result<load::Loaded, load::Diagnostics>) -> Objects {
    match read {
        Ok(loaded) => Ok(loaded.desired.definitions.into_values().map(|one| (one.document, one.endpoint)).collect()),
        Err(wrong) => Err(wrong.list.into_iter().map(|problem| problem.message).collect()),
    }
}

/// What `fmt` makes of a file means the same, and it makes no more of that.
fn formatted(bytes: &[u8], read: &dyn Fn(&[u8]) -> Objects) {
    let Ok(Canonical::Changed(text)) = format::text(&"a.yaml".into(), bytes.to_vec()) else { return };
    let (before, after) = (read(bytes), read(text.as_bytes()));
    assert_eq!(before.is_ok(), after.is_ok(), "{before:?}\n{after:?}\n{text}");
    if before.is_ok() {
        assert_eq!(before, after, "{text}");
    }
    let again = format::text(&"a.yaml".into(), text.clone().into_bytes());
    assert!(matches!(again, Ok(Canonical::Same)), "{again:?}\n{text}");
}

/// A label selector: its normal form is the same selector.
pub fn selector(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(written) = Selector::parse(text) else { return };
    let normal = Selector::parse(&written.to_string()).expect("the normal form is a selector");
    assert_eq!(normal, written, "{text:?}");
    for key in ["a", "b"] {
        for value in [None, Some(""), Some("x"), Some("y")] {
            let labels: trueup::model::StringMap =
                value.map(|value| (key.to_owned(), value.to_owned())).into_iter().collect();
            let meets = |selector: &Selector| selector.matches(|key| labels.get(key));
            assert_eq!(meets(&written), meets(&normal), "{text:?} on {labels:?}");
        }
    }
}

/// An event query: the service's reader ends on any text, and what the client writes for a condition
/// is read back by it as that condition.
pub fn event_query(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(query) = EventLanguage::parse(text) {
        let _ = query.accepts(&serde_json::json!({"vh_name": "shop", "a": {"b": ["x", 1, true, null]}}));
    }
    let Ok(condition) = text.parse::<Match>() else { return };
    let asked = EventQuery { matches: vec![condition.clone()], ..EventQuery::new(namespace()) };
    match EventLanguage::parse(&asked.query()) {
        Ok(read) => {
            assert_eq!(read.names(), [condition.field.as_str()], "{}", asked.query());
            let event =
                Value::Object([(condition.field.clone(), condition.value.clone().into())].into_iter().collect());
            match condition.operator.as_str() {
                "=" => assert!(read.accepts(&event), "{}", asked.query()),
                "!=" => assert!(!read.accepts(&event), "{}", asked.query()),
                _ => {}
            }
        }
        Err(malformed) => {
            assert!(condition.operator.as_str().contains('~'), "{}: {malformed}", asked.query());
        }
    }
}

/// A saved plan: a file that is taken writes itself back, and one with a wrong digest never is.
pub fn plan_file(bytes: &[u8]) {
    let plan = match Plan::from_file(bytes) {
        Ok(plan) => plan,
        // A mutated plan never has its digest: put it right, to get behind the check.
        Err(SavedError::Document(DocumentError::Altered { .. })) => {
            let Ok(file) = serde_json::from_slice::<Json>(bytes) else { return };
            let Ok(mut plan) = serde_json::from_value::<Plan>(file["plan"].clone()) else { return };
            plan.guard();
            match Plan::from_file(plan.to_file().as_bytes()) {
                Ok(plan) => plan,
                Err(SavedError::Unsound { .. }) => return,
                Err(error) => panic!("a plan with its own digest and guards is refused: {error}"),
            }
        }
        Err(_) => return,
    };
    let written = plan.to_file();
    assert!(Plan::is_file(written.as_bytes()));
    let again = Plan::from_file(written.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(again.to_file(), written);
    assert_eq!(again.digest(), plan.digest());
}

/// A journal: whatever is read has a result for each change, and a file cut anywhere is the same run.
pub fn journal(bytes: &[u8]) {
    let path = Path::new("run.jsonl");
    let Ok(record) = journal::parse(path, bytes) else { return };
    settled(&record);
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
    let is_torn = lines > 1 + record.entries.len() + usize::from(record.closing.is_some());
    let first = bytes.len().saturating_sub(200);
    for end in (first..bytes.len()).step_by(7) {
        match journal::parse(path, &bytes[..end]) {
            Ok(cut) => assert!(cut.entries.len() <= record.entries.len()),
            Err(JournalError::NoHeader { .. }) => {}
            // What a kill left at the end may begin with a good line, which a second cut lays bare.
            Err(JournalError::Damaged { .. }) if is_torn => {}
            Err(error) => panic!("cut at {end}: {error}"),
        }
    }
}

fn settled(record: &RunRecord) {
    let progress = record.progress();
    assert_eq!(progress.len(), record.header.plan.changes.len());
    let in_doubt = progress.iter().filter(|(_, progress)| matches!(progress, ChangeProgress::InDoubt(..))).count();
    assert_eq!(matches!(record.ending(), RunStatus::InDoubt { count } if count == in_doubt), in_doubt > 0);
    let mut written: Vec<_> = record.writes().into_iter().map(|intent| &intent.key).collect();
    let all = written.len();
    written.sort();
    written.dedup();
    assert_eq!(written.len(), all, "an endpoint is undone twice");
    let undo = plan::rollback(RollbackInput {
        undone: &record.undone(),
        live: &Live::default(),
        definitions: &[],
        only: &|_| true,
        ignore: &Ignore::default(),
        allow: &Allowances::default(),
    });
    assert!(undo.changes.is_empty(), "changes are planned from a read that is unknown");
}

/// The answer to a list: either whole and all of the namespace, or unknown.
pub fn list(bytes: &[u8]) {
    let scope = trueup::model::Scope::endpoints(namespace());
    let ListRead::Complete { items } = trueup::api::read_list(&scope, bytes) else { return };
    for (key, item) in &items {
        assert_eq!(key.namespace, scope.namespace);
        assert_eq!(item.key(), key);
    }
    // A lone surrogate in a field that nobody reads is good grammar, which a value cannot hold.
    let Ok(answer) = serde_json::from_slice::<Json>(bytes) else { return };
    let errors = answer.get("errors").and_then(Json::as_array).map_or(0, Vec::len);
    assert_eq!(errors, 0, "a list with errors is called complete");
    let listed = answer.get("items").and_then(Json::as_array).map_or(0, Vec::len);
    assert!(items.len() <= listed);
}

fn namespace() -> Namespace {
    Namespace::parse("shop").expect("a name")
}
