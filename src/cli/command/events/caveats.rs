//! Field names that the service would silently answer with no hits.

use crate::api::events::{self, Match};
use crate::cli::Context;
use crate::cli::args::query::EventsArgs;
use crate::report::{Role, safe};

/// Warns of every field in the question that is not known.
pub fn warn(arguments: &EventsArgs, context: &Context) {
    let matched = arguments.matches.iter().filter_map(|text| text.parse::<Match>().ok()).map(|one| one.field);
    let queried = arguments.query.iter().flat_map(|text| fields(text));
    let mut asked: Vec<String> = matched.chain(queried).collect();
    let matched = asked.len();
    asked.extend(arguments.fields.iter().cloned());
    for (at, field) in asked.iter().enumerate() {
        let Some(near) = events::doubt(field).filter(|_| !asked[..at].contains(field)) else { continue };
        let near = near.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let near = if near.is_empty() { String::new() } else { format!("; did you mean {near}?") };
        let then = if at < matched { "with no hits and no error" } else { "without a value" };
        let sign = context.output.message_view().palette.paint(Role::Careful, "warning");
        context.output.notice(&format!(
            "{sign}: `{}` is not a known field of security events: the service answers such a field {then}{near}",
            safe::line(field)
        ));
    }
}

/// The field names in a query of the service's own language: the names before an operator,
/// outside of quotes.
fn fields(query: &str) -> Vec<String> {
    let (mut names, mut name, mut quoted, mut escaped) = (Vec::new(), String::new(), false, false);
    for character in query.chars() {
        if quoted {
            quoted = escaped || character != '"';
            escaped = !escaped && character == '\\';
            continue;
        }
        match character {
            '"' => quoted = true,
            '=' | '!' if !name.is_empty() => names.push(std::mem::take(&mut name)),
            character if character.is_alphanumeric() || "_-.@".contains(character) => name.push(character),
            ' ' | '\t' => {}
            _ => name.clear(),
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_query_stand_in_front_of_operators_outside_of_quotes() {
        let query = r#"{vh_name="a, city=\"x\"", country =~ "b|c=d",signatures.id!~"2.*", }"#;
        assert_eq!(fields(query), ["vh_name", "country", "signatures.id"]);
        assert!(fields("{}").is_empty() && fields("").is_empty());
    }
}
