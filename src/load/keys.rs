//! The keys of a file's definitions without the rest of them: what a file of another time or place
//! defines, whatever the settings were that it was loaded with.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::model::{Key, Name, Namespace};

/// What names a definition.
#[derive(Deserialize)]
struct DefinitionHead {
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    metadata: Option<Metadata>,
    #[serde(default, rename = "$remove")]
    remove: Option<IgnoredAny>,
    #[serde(default, rename = "<<")]
    merged: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    namespace: Option<String>,
}

/// What a document names.
enum Named {
    /// Nothing: it is no definition.
    Nothing,
    Key(Key),
    /// A namespace and a name with variables.
    Pattern(String, String),
    /// What a merged mapping or a wrong name says.
    Unknown,
}

impl DefinitionHead {
    fn named(self) -> Named {
        if self.remove.is_some() || self.kind.as_deref().is_some_and(|kind| kind != "endpoint") {
            return Named::Nothing;
        }
        match self.metadata {
            Some(Metadata { name: Some(name), namespace: Some(namespace) }) => {
                match (Namespace::parse(&namespace), Name::parse(&name)) {
                    (Ok(namespace), Ok(name)) => Named::Key(Key::endpoint(namespace, name)),
                    _ if name.contains("${") || namespace.contains("${") => Named::Pattern(namespace, name),
                    _ => Named::Unknown,
                }
            }
            Some(_) => Named::Unknown,
            None if self.merged.is_some() => Named::Unknown,
            None => Named::Nothing,
        }
    }
}

/// What the documents of a file name; nothing where the file cannot be read.
fn heads(path: &str, bytes: &[u8]) -> Option<impl Iterator<Item = Named>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let heads: Vec<Option<DefinitionHead>> = if path.ends_with(".json") {
        vec![serde_json::from_str(text).ok()?]
    } else {
        let documents = serde_yaml::Deserializer::from_str(text);
        // The iterator repeats a syntax error for ever; the collection ends at the first.
        documents.map(|document| Option::<DefinitionHead>::deserialize(document).ok()).collect::<Option<_>>()?
    };
    Some(heads.into_iter().flatten().map(DefinitionHead::named))
}

/// The keys that a file defines; nothing where the text alone does not show it, because it cannot be read,
/// or a name comes from a variable or a merged mapping.
#[must_use]
pub fn keys(path: &str, bytes: &[u8]) -> Option<BTreeSet<Key>> {
    let known = heads(path, bytes)?.filter_map(|named| match named {
        Named::Nothing => None,
        Named::Key(key) => Some(Some(key)),
        Named::Pattern(..) | Named::Unknown => Some(None),
    });
    known.collect()
}

/// Whether a file defines a key; nothing where its text alone does not show it.
#[must_use]
pub fn defines(path: &str, bytes: &[u8], key: &Key) -> Option<bool> {
    let has = |word: &str| memchr::memmem::find(bytes, word.as_bytes()).is_some();
    // A name can be written with escapes or variables.
    if !has(key.name.as_str()) && !has("\\") && !has("${") {
        return Some(false);
    }
    let mut answer = Some(false);
    for named in heads(path, bytes)? {
        match named {
            Named::Key(named) if named == *key => return Some(true),
            Named::Nothing | Named::Key(_) => {}
            Named::Pattern(namespace, name) => {
                if can_become(&namespace, key.namespace.as_str()) && can_become(&name, key.name.as_str()) {
                    answer = None;
                }
            }
            Named::Unknown => answer = None,
        }
    }
    answer
}

/// Whether a text with variables can become `text`, whatever their values are.
fn can_become(pattern: &str, text: &str) -> bool {
    let Some((before, mut rest)) = pattern.split_once("${") else { return pattern == text };
    let Some(mut text) = text.strip_prefix(before) else { return false };
    loop {
        let Some((_, after)) = rest.split_once('}') else { return true };
        match after.split_once("${") {
            None => return text.ends_with(after),
            Some((between, next)) => match text.find(between) {
                Some(at) => (text, rest) = (&text[at + between.len()..], next),
                None => return false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &str, text: &str) -> Option<Vec<String>> {
        keys(path, text.as_bytes()).map(|keys| keys.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn the_keys_of_every_way_of_writing_are_found() {
        let block = "metadata:\n  name: cart # the cart\n  namespace: 'shop'\nspec:\n  port: ${port}\n";
        let flow = "{metadata: {namespace: shop, name: pay}, spec: {}}\n";
        assert_eq!(
            names("a.yaml", &format!("{block}---\n{flow}---\n")),
            Some(vec!["shop/cart".into(), "shop/pay".into()])
        );
        assert_eq!(
            names("a.json", r#"{"metadata":{"name":"c\u0061rt","namespace":"shop"}}"#),
            Some(vec!["shop/cart".into()])
        );
        assert_eq!(names("a.yaml", "kind: tenant\nmetadata: {name: cart, namespace: shop}\n"), Some(vec![]));
        assert_eq!(names("a.yaml", "stack: shop\n"), Some(vec![]));
        assert_eq!(names("a.yaml", "$remove: true\nmetadata: {name: cart, namespace: shop}\n"), Some(vec![]));
        assert_eq!(names("a.yaml", ""), Some(vec![]));
    }

    #[test]
    fn what_the_text_alone_does_not_show_is_unknown() {
        for text in [
            "metadata: {name: '${name}', namespace: shop}\n",
            "metadata: {<<: *base, namespace: shop}\n",
            "<<: {metadata: {name: cart, namespace: shop}}\n",
            "metadata: {name: cart}\n",
            "metadata: [\n",
            "[]\n",
        ] {
            assert_eq!(names("a.yaml", text), None, "{text}");
        }
        assert_eq!(keys("a.yaml", b"\xff"), None);
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let below = vec![format!("*a{}", level - 1); 10].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{below}]\n"));
        }
        assert_eq!(names("a.yaml", &format!("{bomb}metadata: {{name: *a11, namespace: shop}}\n")), None);
        assert_eq!(names("a.yaml", &"- ".repeat(100_000)), None);
    }

    #[test]
    fn a_file_without_the_name_is_not_parsed() {
        let key = Key::parse("shop/cart").expect("a key");
        assert_eq!(defines("a.yaml", b"metadata: [", &key), Some(false));
        assert_eq!(defines("a.yaml", b"cart: [", &key), None);
        assert_eq!(defines("a.yaml", b"metadata: {name: cart, namespace: pay}", &key), Some(false));
        assert_eq!(defines("a.json", br#"{"metadata":{"name":"c\u0061rt","namespace":"shop"}}"#, &key), Some(true));
    }
}
