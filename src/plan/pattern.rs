//! Patterns of filters, consents and settings: globs for `namespace/name`, and the namespaces that they can match in. A
//! glob is a regular language, so its automaton answers both questions about namespaces, independent of how the glob is
//! written: `{shop/a,pay/b}`, `pay[/]b` and `p{ay/}b` all can match `pay/b`.

use std::collections::BTreeSet;

use globset::{Glob, GlobMatcher};
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::{start, syntax};
use regex_automata::{Anchored, MatchKind};

use crate::kind::{self, KindName};
use crate::model::{Key, Namespace, glob};

/// The most states that are visited to find a name that a glob does not match.
const MOST_STATES: usize = 64;

/// A pattern that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("`{pattern}` is not a valid pattern: {reason}")]
pub struct PatternError {
    /// The text.
    pub pattern: String,
    /// Why.
    pub reason: String,
}

fn pattern(text: &str) -> Result<GlobMatcher, PatternError> {
    let error = |error: globset::Error| PatternError { pattern: text.to_owned(), reason: error.kind().to_string() };
    Ok(glob(text).map_err(error)?.compile_matcher())
}

/// A glob for `namespace/name`, optionally after a glob for the kind and `:`. `*` and `?` also match `/`.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    /// The text as it was given.
    pub(super) text: String,
    kind: Option<GlobMatcher>,
    glob: GlobMatcher,
    /// The only `namespace/name` that it matches, for speed: many such patterns are compared with many keys.
    literal: Option<String>,
    pub(super) reach: Reach,
}

impl Pattern {
    /// The pattern of a call, where an unknown kind is an error because it could not match.
    ///
    /// # Errors
    /// The text is not a glob, or names an unknown kind.
    pub(super) fn of_call(text: &str) -> Result<Self, PatternError> {
        match kind::unknown_in(text) {
            Some(kind) => Err(PatternError { pattern: text.to_owned(), reason: format!("there is no kind `{kind}`") }),
            None => Self::new(text),
        }
    }

    /// # Errors
    /// The text is not a glob.
    pub(super) fn new(text: &str) -> Result<Self, PatternError> {
        let (kind, rest) = match text.split_once(':') {
            Some((kind, rest)) => (Some(pattern(kind)?), rest),
            None => (None, text),
        };
        let glob = pattern(rest)?;
        let literal = (!rest.contains(['*', '?', '[', ']', '{', '}', '\\'])).then(|| rest.to_owned());
        Ok(Self { literal, text: text.to_owned(), kind, reach: Reach::of(glob.glob()), glob })
    }

    pub(super) fn is_of(&self, kind: KindName) -> bool {
        self.kind.as_ref().is_none_or(|glob| glob.is_match(kind.as_str()))
    }

    pub(super) fn matches(&self, key: &Key) -> bool {
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        self.is_of(key.kind)
            && match &self.literal {
                Some(text) => text.strip_prefix(namespace).and_then(|rest| rest.strip_prefix('/')) == Some(name),
                None => self.glob.is_match(format!("{namespace}/{name}")),
            }
    }
}

/// The automaton of a glob; `None` where it could not be built, and nothing can be proven.
#[derive(Debug, Clone)]
pub(super) struct Reach(Option<DFA>);

impl Reach {
    pub(super) fn of(glob: &Glob) -> Self {
        // Names in the service may contain bytes that are not UTF-8.
        let built = DFA::builder()
            .configure(DFA::config().match_kind(MatchKind::All))
            .syntax(syntax::Config::new().utf8(false).dot_matches_new_line(true))
            .thompson(thompson::Config::new().utf8(false))
            .build(glob.regex());
        Self(built.ok())
    }

    /// Whether the glob may match a key of this namespace: true unless the opposite is proven.
    pub(super) fn may_match_in(&self, namespace: &Namespace) -> bool {
        let Some(dfa) = &self.0 else { return true };
        let mut cache = dfa.create_cache();
        after(dfa, &mut cache, namespace).is_none_or(|state| !state.is_dead())
    }

    /// Whether the glob is proven to match every key of this namespace.
    pub(super) fn matches_all_of(&self, namespace: &Namespace) -> bool {
        let Some(dfa) = &self.0 else { return false };
        let mut cache = dfa.create_cache();
        after(dfa, &mut cache, namespace).is_some_and(|state| is_universal(dfa, &mut cache, state))
    }
}

/// The state after `namespace/`.
fn after(dfa: &DFA, cache: &mut Cache, namespace: &Namespace) -> Option<LazyStateID> {
    let mut state = dfa.start_state(cache, &start::Config::new().anchored(Anchored::Yes)).ok()?;
    for byte in namespace.as_str().bytes().chain([b'/']) {
        state = dfa.next_state(cache, state, byte).ok()?;
        if state.is_quit() {
            return None;
        }
    }
    Some(state)
}

/// Whether every continuation of at least one byte is a match.
fn is_universal(dfa: &DFA, cache: &mut Cache, state: LazyStateID) -> bool {
    let mut seen: BTreeSet<LazyStateID> = BTreeSet::new();
    let mut left = vec![state];
    while let Some(state) = left.pop() {
        for byte in 0..=u8::MAX {
            let Ok(next) = dfa.next_state(cache, state, byte) else { return false };
            if seen.len() > MOST_STATES {
                return false;
            }
            if seen.insert(next) {
                match dfa.next_eoi_state(cache, next) {
                    Ok(end) if end.is_match() => left.push(next),
                    _ => return false,
                }
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(glob: &str) -> Reach {
        Reach::of(&super::glob(glob).expect("a glob"))
    }

    fn namespace(name: &str) -> Namespace {
        Namespace::parse(name).expect("a namespace")
    }

    #[test]
    fn a_namespace_is_out_of_reach_only_where_no_key_of_it_can_match() {
        let reached = |glob: &str| -> Vec<&'static str> {
            ["shop", "pay", "payments"].into_iter().filter(|name| reach(glob).may_match_in(&namespace(name))).collect()
        };
        for (glob, wanted) in [
            ("shop/*", vec!["shop"]),
            ("{shop/a,pay/b}", vec!["shop", "pay"]),
            ("pay[/]b", vec!["pay"]),
            ("p{ay/}b", vec!["pay"]),
            ("pay*", vec!["pay", "payments"]),
            ("*/cart", vec!["shop", "pay", "payments"]),
            ("**", vec!["shop", "pay", "payments"]),
            ("?hop/x", vec!["shop"]),
            ("sh\\op/x", vec!["shop"]),
            ("cart", vec![]),
        ] {
            let found: Vec<&str> = reached(glob);
            assert_eq!(found, wanted, "{glob}");
        }
    }

    #[test]
    fn a_text_without_a_wildcard_matches_what_its_glob_matches() {
        let keys = ["shop/a", "shop/ab", "sho/pa", "origin_pool:shop/a"].map(|key| Key::parse(key).expect("a key"));
        for text in ["shop/a", "shop", "a", "/a", "shop/", "shop//a", "shop/a/", "", "origin_pool:shop/a", "o*:shop/a"]
        {
            let pattern = Pattern::new(text).expect("a pattern");
            assert!(pattern.literal.is_some(), "{text}");
            let glob = Pattern { literal: None, ..pattern.clone() };
            for key in &keys {
                assert_eq!(pattern.matches(key), glob.matches(key), "{text}: {key}");
            }
        }
        assert!(Pattern::new("shop/a?").expect("a pattern").literal.is_none());
    }

    #[test]
    fn a_glob_matches_all_of_a_namespace_only_where_that_is_proven() {
        for (glob, all) in [
            ("pay/*", true),
            ("pay/**", true),
            ("*", true),
            ("p*", true),
            ("{shop/a,pay/*}", true),
            ("pay/?*", true),
            ("pay/a*", false),
            ("pay/?", false),
            ("shop/*", false),
            ("payments/*", false),
        ] {
            assert_eq!(reach(glob).matches_all_of(&namespace("pay")), all, "{glob}");
        }
    }
}
