//! The query parameters of a request, as the service's gateway reads them: `report_fields`, `reportFields` and
//! `report_fields[]` are the same name.

/// The parameters in their order, each name in snake case.
pub fn parameters(query: Option<&str>) -> impl Iterator<Item = (String, String)> {
    let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    pairs.map(|(key, value)| (name(&key), value.into_owned()))
}

/// The value of the last parameter with this name; empty if there is none.
pub fn parameter(query: Option<&str>, wanted: &str) -> String {
    parameters(query).filter(|(name, _)| name == wanted).last().map(|(_, value)| value).unwrap_or_default()
}

fn name(key: &str) -> String {
    let mut name = String::with_capacity(key.len() + 4);
    for letter in key.strip_suffix("[]").unwrap_or(key).chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spellings_of_a_name_are_one_name() {
        let query = Some("reportFields=a+b&report_fields%5B%5D=c&report_fields[]&responseFormat=5&x=%2F");
        let read: Vec<_> = parameters(query).collect();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            read,
            [
                pair("report_fields", "a b"),
                pair("report_fields", "c"),
                pair("report_fields", ""),
                pair("response_format", "5"),
                pair("x", "/"),
            ]
        );
        assert_eq!((parameter(query, "x"), parameter(None, "x")), ("/".to_owned(), String::new()));
    }
}
