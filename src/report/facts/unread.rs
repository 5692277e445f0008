//! The lists that could not be read, by cause: a wrong token or a closed port is one message, not one for each
//! namespace and kind.

use crate::model::grouped;
use crate::plan::Plan;
use crate::report::line::{Line, foreign, quoted};

/// The maximum number of names in one message.
const MOST_NAMES: usize = 12;

/// The lists that could not be read for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread<'a> {
    /// Their names: `namespace` for endpoints, `kind:namespace` for others; only namespaces if nothing could be read.
    pub names: Vec<String>,
    /// Why.
    pub reason: &'a str,
}

/// The lists by reason, in the order in which the reasons first occur.
pub fn by_reason<'a>(unknown: impl Iterator<Item = (impl ToString, &'a str)>) -> Vec<Unread<'a>> {
    let groups = grouped(unknown.map(|(list, reason)| (reason, list.to_string())));
    groups.into_iter().map(|(reason, names)| Unread { names, reason }).collect()
}

/// The lists, if nothing could be read from the service, for one reason. `None` for a snapshot, which is not the
/// service.
pub fn whole(plan: &Plan) -> Option<Unread<'_>> {
    let is_empty = plan.changes.is_empty() && plan.blocked.is_empty() && plan.read_scope().namespaces == 0;
    match by_reason(plan.unknown()).as_slice() {
        [one] if is_empty && plan.source.snapshot.is_none() => {
            let mut names: Vec<String> = plan.unknown().map(|(scope, _)| scope.namespace.to_string()).collect();
            names.dedup();
            Some(Unread { names, ..one.clone() })
        }
        _ => None,
    }
}

/// A message for each reason, unescaped.
pub fn messages<'a>(unknown: impl Iterator<Item = (impl ToString, &'a str)>) -> Vec<String> {
    by_reason(unknown).iter().map(|unread| unread.line().unescaped()).collect()
}

impl<'a> Unread<'a> {
    /// What could not be read, and why.
    pub fn line(&self) -> Line<'a> {
        line!["could not read ", self.names(), ": ", foreign(self.reason)]
    }

    /// The same for a service from which nothing could be read.
    pub fn of_service(&self, base_url: &str) -> String {
        format!("could not read {base_url}: {}", self.reason)
    }

    /// The consequence, in words.
    pub fn consequence(&self) -> String {
        line!["nothing is concluded about ", self.names()].unescaped()
    }

    fn names(&self) -> Line<'a> {
        let mut parts: Vec<Line<'a>> =
            self.names.iter().take(MOST_NAMES).map(|name| line![quoted(name.clone())]).collect();
        let more = self.names.len() - parts.len();
        let last = if more > 0 { line![more, " more"] } else { parts.pop().unwrap_or_default() };
        if parts.is_empty() { last } else { line![Line::joined(parts, ", "), " and ", last] }
    }

    /// The pronoun of the names.
    pub fn them(&self) -> &'static str {
        if self.names.len() == 1 { "it" } else { "them" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Namespace;

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
        assert!(groups[0].line().unescaped().contains("`n11`, `n12` and 2 more: 401"), "{:?}", groups[0].line());
        assert_eq!(groups[1].line().unescaped(), "could not read `n1`: 429");
        let two = Unread { names: vec!["a".to_owned(), "b".to_owned()], reason: "" };
        assert_eq!((two.line().unescaped().as_str(), two.them()), ("could not read `a` and `b`: ", "them"));
    }
}
