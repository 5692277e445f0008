//! What a field of a definition means, from the shape that the JSON Schema is made of.

use crate::model::shape::{ENDPOINT, FieldStatus, NodeKind, ShapeNode, snake};

/// The field that `asked` names with the fields below it; else similar names.
///
/// # Errors
/// No field has that name, or several end in it: the paths that may be meant, best first.
pub fn explain(asked: &str) -> Result<String, Vec<String>> {
    let paths: Vec<String> = ENDPOINT.below().into_iter().map(|(path, _)| path).collect();
    let keys: Vec<String> = asked.trim().trim_matches('.').split('.').map(snake).collect();
    let wanted = keys.join(".");
    if wanted.is_empty() || wanted == "endpoint" {
        return Ok(overview());
    }
    if let Some(path) = paths.iter().find(|path| **path == wanted) {
        return Ok(render_field(path));
    }
    let ends: Vec<&String> = paths.iter().filter(|path| path.ends_with(&format!(".{wanted}"))).collect();
    // The shortest of several is the one that people mean, unless others are as short.
    let steps = |path: &str| path.matches('.').count();
    let least = ends.iter().map(|path| steps(path)).min().unwrap_or(0);
    match ends.iter().filter(|path| steps(path) == least).collect::<Vec<_>>().as_slice() {
        [one] => return Ok(render_field(one)),
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

fn overview() -> String {
    let mut text = String::from("A definition is one endpoint: `metadata` and `spec`.\n\n");
    list(&ENDPOINT, "  ", &mut text);
    text.push_str("\nMore of one:  trueup explain spec.where.site\n");
    text
}

/// The keys below a node, a line each; the parts of a reference are the same everywhere.
fn list(node: &ShapeNode, indent: &str, text: &mut String) {
    for child in node.children {
        let line = format!("{indent}{}", child.key);
        text.push_str(&format!("{line:<36}{}\n", child.kind.words()));
        if child.kind != NodeKind::References {
            list(child, &format!("{indent}  "), text);
        }
    }
}

fn render_field(path: &str) -> String {
    let Some(node) = ENDPOINT.at(path) else { return String::new() };
    let mut text = format!("{path}\n");
    for line in wrapped(node.meaning, 84) {
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
    row("type", node.kind.words());
    row("allowed", &node.rule.words());
    row("default", if node.default.is_empty() { "none" } else { node.default });
    if node.status == FieldStatus::Deprecated {
        row("status", "deprecated by the vendor; still read, sent and compared");
    }
    row("source", node.source);
    if !node.children.is_empty() {
        text.push_str("\n  below it\n");
        for child in node.children {
            text.push_str(&format!("    {:<24} {}\n", child.key, child.kind.words()));
        }
    }
    text
}

/// A text in lines of at most `width` columns, broken between words.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
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
    fn a_group_lists_the_fields_below_it() {
        let text = explain("spec.where").expect("a field");
        assert!(text.contains("at most one of site, virtual_site, virtual_network"), "{text}");
        assert!(text.contains("    virtual_network "), "{text}");
    }

    #[test]
    fn a_misspelt_field_gets_similar_names() {
        assert_eq!(explain("protocl"), Err(vec!["spec.protocol".to_owned()]));
        let several = explain("network_type").expect_err("two have it");
        assert_eq!(several, ["spec.where.site.network_type", "spec.where.virtual_site.network_type"]);
        assert_eq!(explain("zzzzzzzz"), Err(Vec::new()));
    }

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        for (path, _) in ENDPOINT.below() {
            let text = explain(&path).expect("its own path");
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        }
    }
}
