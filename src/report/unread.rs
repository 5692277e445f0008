//! The namespaces that could not be read, by cause: a wrong token or a closed port is one message, not one for each
//! namespace.

use crate::model::Namespace;

/// Names that one message lists.
const MOST_NAMES: usize = 12;

/// The namespaces that could not be read for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unread<'a> {
    pub(super) names: Vec<&'a str>,
    pub(super) reason: &'a str,
}

/// Those of each reason, in the order in which the reasons first occur.
pub(super) fn by_reason<'a>(unknown: impl Iterator<Item = (&'a Namespace, &'a str)>) -> Vec<Unread<'a>> {
    let mut groups: Vec<Unread<'a>> = Vec::new();
    for (namespace, reason) in unknown {
        match groups.iter_mut().find(|group| group.reason == reason) {
            Some(group) => group.names.push(namespace.as_str()),
            None => groups.push(Unread { names: vec![namespace.as_str()], reason }),
        }
    }
    groups
}

/// A message for each reason.
#[must_use]
pub fn messages<'a>(unknown: impl Iterator<Item = (&'a Namespace, &'a str)>) -> Vec<String> {
    let message = |unread: &Unread<'_>| {
        format!("could not read {}: {}", unread.listed(|name| format!("`{name}`")), unread.reason)
    };
    by_reason(unknown).iter().map(message).collect()
}

impl Unread<'_> {
    /// The names, each drawn by `name`: "a, b and c".
    pub(super) fn listed(&self, name: impl Fn(&str) -> String) -> String {
        let mut parts: Vec<String> = self.names.iter().take(MOST_NAMES).map(|one| name(one)).collect();
        let more = self.names.len() - parts.len();
        let last = if more > 0 { format!("{more} more") } else { parts.pop().unwrap_or_default() };
        if parts.is_empty() { last } else { format!("{} and {last}", parts.join(", ")) }
    }

    /// The pronoun of the names.
    pub(super) fn them(&self) -> &'static str {
        if self.names.len() == 1 { "it" } else { "them" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_given_once_with_all_its_namespaces() {
        let names: Vec<Namespace> =
            (0..15).map(|at| Namespace::parse(&format!("n{at}")).expect("a namespace")).collect();
        let unknown = names.iter().enumerate().map(|(at, name)| (name, if at == 1 { "429" } else { "401" }));
        let groups = by_reason(unknown);
        assert_eq!(
            groups.iter().map(|group| (group.reason, group.names.len())).collect::<Vec<_>>(),
            [("401", 14), ("429", 1)]
        );
        assert!(
            groups[0].listed(str::to_owned).ends_with("n11, n12 and 2 more"),
            "{}",
            groups[0].listed(str::to_owned)
        );
        assert_eq!(groups[1].listed(|name| format!("`{name}`")), "`n1`");
        let two = Unread { names: vec!["a", "b"], reason: "" };
        assert_eq!((two.listed(str::to_owned).as_str(), two.them()), ("a and b", "them"));
    }
}
