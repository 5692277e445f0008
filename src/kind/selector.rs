//! Label selectors: parsed, brought to a normal form, and matched against labels. This is the only parser
//! of selectors for definitions and for `--selector`.

use std::collections::BTreeSet;
use std::fmt;

use super::label;

/// A label selector in normal form: sorted requirements without duplicates. It matches where all of them match; without
/// requirements, it matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector(BTreeSet<Requirement>);

/// Why a text is not a label selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} at character {at}")]
pub struct SelectorError {
    /// What was expected.
    pub message: &'static str,
    /// The position of the fault in characters, from 1.
    pub at: usize,
}

/// One requirement of a selector.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Requirement {
    key: String,
    test: RequirementTest,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum RequirementTest {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    Absent,
}

impl Selector {
    /// Parses a selector, which must have a requirement.
    ///
    /// # Errors
    /// The expected text and its position.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut reader = Reader { text, at: 0 };
        let mut requirements = BTreeSet::new();
        loop {
            requirements.insert(reader.requirement()?);
            reader.blanks();
            if reader.rest().is_empty() {
                return Ok(Self(requirements));
            }
            if !reader.take(",") {
                return Err(reader.error("expected `,` or the end"));
            }
        }
    }

    /// Whether it has no requirement.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether labels meet every requirement.
    pub fn matches<'l>(&self, labels: impl Fn(&str) -> Option<&'l String>) -> bool {
        self.0.iter().all(|requirement| requirement.matches(labels(&requirement.key)))
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requirements: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&requirements.join(","))
    }
}

impl Requirement {
    /// Whether the value of its key meets it. As with Kubernetes, `!=` and `notin` match where the key is absent.
    fn matches(&self, value: Option<&String>) -> bool {
        match &self.test {
            RequirementTest::In(values) => value.is_some_and(|value| values.contains(value)),
            RequirementTest::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            RequirementTest::Exists => value.is_some(),
            RequirementTest::Absent => value.is_none(),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |values: &BTreeSet<String>| values.iter().cloned().collect::<Vec<_>>().join(",");
        match &self.test {
            RequirementTest::In(values) if values.len() == 1 => write!(f, "{}={}", self.key, list(values)),
            RequirementTest::NotIn(values) if values.len() == 1 => write!(f, "{}!={}", self.key, list(values)),
            RequirementTest::In(values) => write!(f, "{} in ({})", self.key, list(values)),
            RequirementTest::NotIn(values) => write!(f, "{} notin ({})", self.key, list(values)),
            RequirementTest::Exists => write!(f, "{}", self.key),
            RequirementTest::Absent => write!(f, "!{}", self.key),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, token: &str) -> bool {
        self.blanks();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn error(&self, message: &'static str) -> SelectorError {
        SelectorError { message, at: self.text[..self.at].chars().count() + 1 }
    }

    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/')))
            .unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn label(
        &mut self,
        fault: fn(&str) -> Option<&'static str>,
        wanted: &'static str,
    ) -> Result<String, SelectorError> {
        self.blanks();
        let start = self.at;
        let word = self.word();
        if fault(word).is_some() {
            self.at = start;
            return Err(self.error(wanted));
        }
        Ok(word.to_owned())
    }

    fn key(&mut self) -> Result<String, SelectorError> {
        self.label(label::key_fault, "expected a label key")
    }

    fn value(&mut self) -> Result<String, SelectorError> {
        self.label(label::value_fault, "expected a label value")
    }

    fn values(&mut self) -> Result<BTreeSet<String>, SelectorError> {
        if !self.take("(") {
            return Err(self.error("expected `(`"));
        }
        let mut values = BTreeSet::new();
        loop {
            values.insert(self.value()?);
            if self.take(")") {
                return Ok(values);
            }
            if !self.take(",") {
                return Err(self.error("expected `,` or `)`"));
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, SelectorError> {
        if self.take("!") {
            return Ok(Requirement { key: self.key()?, test: RequirementTest::Absent });
        }
        let key = self.key()?;
        let one = |value: String| BTreeSet::from([value]);
        let test = if self.take("!=") {
            RequirementTest::NotIn(one(self.value()?))
        } else if self.take("==") || self.take("=") {
            RequirementTest::In(one(self.value()?))
        } else {
            let before = self.at;
            match self.word() {
                "in" => RequirementTest::In(self.values()?),
                "notin" => RequirementTest::NotIn(self.values()?),
                "" => RequirementTest::Exists,
                _ => {
                    self.at = before;
                    return Err(self.error("expected an operator, `,` or the end"));
                }
            }
        };
        Ok(Requirement { key, test })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::form;
    use super::*;

    fn matches(selector: &str, labels: &[(&str, &str)]) -> bool {
        let labels: BTreeMap<String, String> = labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Selector::parse(selector).expect("a selector").matches(|key| labels.get(key))
    }

    #[test]
    fn the_normal_form_is_sorted_and_a_one_value_in_is_an_equals() {
        let canonical = |text: &str| Selector::parse(text).expect("a selector").to_string();
        let same = ["b in (y, x),a in (1)", " a=1 , b in (x,y)", "a==1,b in (x,y,x)", "a = 1,b in(x,y),a=1"];
        for text in same {
            assert_eq!(canonical(text), "a=1,b in (x,y)", "{text}");
        }
        assert_eq!(canonical("t notin (a)"), "t!=a");
        // That of a live object can still be compared.
        assert_eq!(form::canonical("k8s_label_selector", "not a selector"), None);
    }

    #[test]
    fn a_selector_reads_as_in_kubernetes() {
        let web = [("tier", "web"), ("acme.com/x", "")];
        assert!(matches("tier=web", &web));
        assert!(matches("tier in (db, web),!zone", &web));
        assert!(matches(" tier = web , tier in ( db , web ) , ! zone ", &web));
        assert!(matches("zone!=a", &web));
        assert!(matches("zone notin (a,b)", &web));
        assert!(matches("acme.com/x", &web));
        assert!(matches("acme.com/x=", &web));
        assert!(!matches("!tier", &web));
        assert!(!matches("tier!=web", &web));
        assert!(!matches("in", &web));
    }

    #[test]
    fn a_fault_is_reported_with_its_character() {
        let fault = |text| Selector::parse(text).expect_err("a fault").to_string();
        assert_eq!(fault(""), "expected a label key at character 1");
        assert_eq!(fault("a in x"), "expected `(` at character 6");
        assert_eq!(fault("a in (x"), "expected `,` or `)` at character 8");
        assert_eq!(fault("a=1 b=2"), "expected `,` or the end at character 5");
        assert_eq!(fault("a b"), "expected an operator, `,` or the end at character 3");
        assert_eq!(fault("a=-x"), "expected a label value at character 3");
        assert_eq!(fault("a,"), "expected a label key at character 3");
    }
}
