//! What a field of a definition means, from the table that the JSON Schema is made of.

use crate::model::{FieldEntry, FieldStatus, REFERENCE_PARTS, REFERENCE_TABLE};

/// The field that `asked` names, told with what stands below it; else the names that come near.
///
/// # Errors
/// No field has that name, or several end in it: the paths that may be meant, best first.
pub fn explain(asked: &str) -> Result<String, Vec<String>> {
    let paths = paths();
    let wanted = snake_case(asked.trim().trim_matches('.'));
    if wanted.is_empty() || wanted == "endpoint" {
        return Ok(overview());
    }
    if let Some(path) = paths.iter().find(|path| **path == wanted) {
        return Ok(render_field(path, &paths));
    }
    let ends: Vec<&String> = paths.iter().filter(|path| path.ends_with(&format!(".{wanted}"))).collect();
    // The shortest of several is the one that people mean, unless others are as short.
    let steps = |path: &str| path.matches('.').count();
    let least = ends.iter().map(|path| steps(path)).min().unwrap_or(0);
    match ends.iter().filter(|path| steps(path) == least).collect::<Vec<_>>().as_slice() {
        [one] => return Ok(render_field(one, &paths)),
        [] => {}
        _ => return Err(ends.into_iter().cloned().collect()),
    }
    let mut near: Vec<(usize, &String)> = paths
        .iter()
        .map(|path| {
            let last = path.rsplit('.').next().unwrap_or_default();
            (strsim::damerau_levenshtein(last, &wanted).min(strsim::damerau_levenshtein(path, &wanted)), path)
        })
        .filter(|(distance, _)| *distance <= 3)
        .collect();
    near.sort();
    Err(near.into_iter().take(4).map(|(_, path)| path.clone()).collect())
}

/// Every path, parts of references included.
fn paths() -> Vec<String> {
    REFERENCE_TABLE
        .iter()
        .flat_map(|entry| {
            let parts = if entry.is_list_of_references() { REFERENCE_PARTS } else { &[] };
            let parts = parts.iter().map(|part| format!("{}.{}", entry.path, part.path));
            std::iter::once(entry.path.to_owned()).chain(parts)
        })
        .collect()
}

fn overview() -> String {
    let mut text = String::from("A definition is one endpoint: `metadata` and `spec`.\n\n");
    for entry in REFERENCE_TABLE {
        let steps = entry.path.matches('.').count();
        let name = entry.path.rsplit('.').next().unwrap_or_default();
        let line = format!("{}{name}", "  ".repeat(steps + 1));
        text.push_str(&format!("{line:<36}{}\n", entry.kind));
    }
    text.push_str("\nMore of one:  trueup explain spec.where.site\n");
    text
}

fn render_field(path: &str, paths: &[String]) -> String {
    let Some(entry) = FieldEntry::at(path) else { return String::new() };
    let mut text = format!("{path}\n");
    for line in wrapped(entry.meaning, 84) {
        text.push_str(&format!("  {line}\n"));
    }
    text.push('\n');
    let mut row = |name: &str, value: &str| {
        if !value.is_empty() {
            for (at, line) in wrapped(value, 74).into_iter().enumerate() {
                text.push_str(&format!("  {:<9} {line}\n", if at == 0 { name } else { "" }));
            }
        }
    };
    row("type", entry.kind);
    row("allowed", &entry.rule.words());
    row("default", if entry.default.is_empty() { "none" } else { entry.default });
    if entry.age == FieldStatus::Deprecated {
        row("status", "deprecated by the vendor; still read, sent and compared");
    }
    row("source", entry.source);
    let below: Vec<&String> = paths
        .iter()
        .filter(|other| other.strip_prefix(path).is_some_and(|rest| rest.starts_with('.') && !rest[1..].contains('.')))
        .collect();
    if !below.is_empty() {
        text.push_str("\n  below it\n");
        for path in below {
            let kind = FieldEntry::at(path).map_or("", |entry| entry.kind);
            let name = path.rsplit('.').next().unwrap_or_default();
            text.push_str(&format!("    {name:<24} {kind}\n"));
        }
    }
    text
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn snake_case(text: &str) -> String {
    let mut snake = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_path_by_its_end_and_in_both_spellings() {
        for asked in ["spec.dns_name_advanced.refresh_interval", "refresh_interval", "refreshInterval"] {
            let text = explain(asked).expect("a field");
            assert!(text.starts_with("spec.dns_name_advanced.refresh_interval\n"), "{text}");
            assert!(text.contains("allowed   10 to 604800\n"), "{text}");
        }
        assert!(explain("name").expect("the shortest").starts_with("metadata.name\n"));
    }

    #[test]
    fn a_group_shows_what_stands_below_it() {
        let text = explain("spec.where").expect("a field");
        assert!(text.contains("at most one of site, virtual_site, virtual_network"), "{text}");
        assert!(text.contains("    virtual_network "), "{text}");
    }

    #[test]
    fn a_misspelt_field_gets_the_names_that_come_near() {
        assert_eq!(explain("protocl"), Err(vec!["spec.protocol".to_owned()]));
        let several = explain("network_type").expect_err("two have it");
        assert_eq!(several, ["spec.where.site.network_type", "spec.where.virtual_site.network_type"]);
        assert_eq!(explain("zzzzzzzz"), Err(Vec::new()));
    }

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        for path in paths() {
            let text = explain(&path).expect("its own path");
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        }
    }
}
