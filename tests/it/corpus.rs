//! The fuzz targets' checks over their seeds, and over every input that ever found a fault.

#[path = "../../fuzz/checks.rs"]
mod checks;

use std::path::Path;

fn seeds(target: &str, check: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let mut seen = 0;
    for entry in std::fs::read_dir(directory).expect("the seeds") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("a seed");
        check(&bytes);
        // What a cut or a flipped bit makes of it must not break anything either.
        for at in (0..bytes.len()).step_by(bytes.len() / 40 + 1) {
            check(&bytes[..at]);
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            check(&flipped);
        }
        seen += 1;
    }
    assert!(seen > 0, "no seeds for {target}");
}

#[test]
fn any_file_of_definitions_is_refused_or_loads_again() {
    seeds("loader", checks::loader);
}

#[test]
fn any_selector_has_a_normal_form_of_the_same_meaning() {
    seeds("selector", checks::selector);
}

#[test]
fn any_condition_is_read_back_as_it_was_written() {
    seeds("event_query", checks::event_query);
}

#[test]
fn any_plan_file_is_refused_or_writes_itself_back() {
    seeds("plan_file", checks::plan_file);
}

#[test]
fn any_journal_is_refused_or_settles_every_change() {
    seeds("journal", checks::journal);
}

#[test]
fn any_list_is_unknown_or_whole() {
    seeds("list", checks::list);
}
