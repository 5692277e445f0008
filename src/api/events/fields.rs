//! The names of the fields of security events, from two lists: fields by which the service can count, and fields that
//! were seen in events. The service does not report a wrong name, so a name in neither list deserves a warning.

use std::sync::LazyLock;

/// Fields by which the service can count (API.md 7.2).
pub static COUNTED_FIELDS: LazyLock<Vec<&str>> = LazyLock::new(|| include_str!("counted_fields.txt").lines().collect());

/// Fields that were seen in events (API.md 7.3); nested ones may contain any others.
static KNOWN_FIELDS: LazyLock<Vec<&str>> = LazyLock::new(|| include_str!("known_fields.txt").lines().collect());

/// The known names that are most similar to an unknown field, nearest first; `None` if the field is known. The service
/// answers an unknown field without hits and without an error (API.md 7.1).
pub fn doubt(field: &str) -> Option<Vec<&'static str>> {
    let root = field.split('.').next().unwrap_or(field);
    if KNOWN_FIELDS.contains(&root) {
        return None;
    }
    let mut near: Vec<(f64, &'static str)> = KNOWN_FIELDS
        .iter()
        .map(|known| (strsim::jaro_winkler(root, known), *known))
        .filter(|(near, _)| *near > 0.75)
        .collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
    Some(near.into_iter().take(3).map(|(_, known)| known).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_would_find_nothing_is_doubted() {
        assert_eq!(doubt("vh_name"), None);
        assert_eq!(doubt("signatures.id"), None);
        assert_eq!(doubt("vhname").expect("unknown")[0], "vh_name");
        assert_eq!(doubt("contry").expect("unknown")[0], "country");
        assert_eq!(doubt("zzzz"), Some(Vec::new()));
    }
}
