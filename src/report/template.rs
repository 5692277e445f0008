//! A template with named places: what is put in is never looked at again, so untrusted text cannot name one.

/// `template` with each `{{name}}` replaced by the text that `part` has for the name.
pub(super) fn fill(template: &str, mut part: impl FnMut(&str) -> String) -> String {
    let mut text = String::with_capacity(template.len() + 256);
    let mut rest = template;
    while let Some((before, (name, after))) =
        rest.split_once("{{").and_then(|(before, after)| Some((before, after.split_once("}}")?)))
    {
        text.push_str(before);
        text.push_str(&part(name));
        rest = after;
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_is_not_a_template() {
        assert_eq!(fill("{{a}} and {{b}}, {{", |name| format!("<{{{{{name}}}}}>")), "<{{a}}> and <{{b}}>, {{");
    }
}
