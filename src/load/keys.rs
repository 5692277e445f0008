//! Whether a file of another time or place defines an object, by its text alone, whatever the settings were that it was
//! loaded with.

use serde::de::IgnoredAny;

use super::definition::REMOVE;
use super::item::{Item, Value, ValueOrigin, resolve};
use super::text::{Language, SourceText};
use super::tree::{Documents, TextStyle};
use crate::kind::KindName;
use crate::model::{Key, Name, Namespace};

/// What a document names.
enum Named {
    /// Nothing: it is no definition.
    Nothing,
    Key(Key),
    /// A namespace and a name, of which a variable or an unknown kind leaves something open.
    Pattern {
        kind: Option<KindName>,
        namespace: String,
        name: String,
    },
    /// What a merged mapping or a wrong name says.
    Unknown,
}

impl Named {
    fn of(root: &Item<'_>) -> Self {
        if !matches!(root.value, Value::Map(_)) {
            return Named::Unknown;
        }
        let Some(metadata) = root.get("metadata").filter(|_| root.get(REMOVE).is_none()) else {
            return Named::Nothing;
        };
        let own = |item: &Item<'_>| match &item.value {
            _ if item.origin == ValueOrigin::Merged => None,
            Value::Text(_, TextStyle::Plain) if item.span.source.language() == Language::Json => None,
            Value::Text(text, _) => Some(text.clone().into_owned()),
            Value::List(_) | Value::Map(_) | Value::Refused => None,
        };
        let kind = root.get("kind").map_or(Some(KindName::ENDPOINT), |kind| KindName::find(&own(kind)?));
        let [Some(namespace), Some(name)] = ["namespace", "name"].map(|key| own(metadata.get(key)?)) else {
            return Named::Unknown;
        };
        match (kind, Namespace::parse(&namespace), Name::parse(&name)) {
            (Some(kind), Ok(namespace), Ok(name)) => Named::Key(Key { kind, namespace, name }),
            (Some(_), ..) if !name.contains("${") && !namespace.contains("${") => Named::Unknown,
            _ => Named::Pattern { kind, namespace, name },
        }
    }
}

/// What the documents of a file name; nothing where anything in it cannot be read.
fn named(path: &str, bytes: &[u8]) -> Option<Vec<Named>> {
    let source = SourceText::new(&path.into(), bytes.to_vec()).ok()?;
    if source.language() == Language::Json {
        serde_json::from_str::<IgnoredAny>(source.as_str()).ok()?;
    }
    let (mut named, mut problems) = (Vec::new(), Vec::new());
    for tree in Documents::new(&source) {
        let item = resolve(&tree.ok()?, &source, &mut problems);
        if !problems.is_empty() {
            return None;
        }
        named.extend(item.filter(|item| !item.is_null()).map(|item| Named::of(&item)));
    }
    Some(named)
}

/// Whether a file defines a key; nothing where its text alone does not show it.
pub fn defines(path: &str, bytes: &[u8], key: &Key) -> Option<bool> {
    let has = |word: &str| memchr::memmem::find(bytes, word.as_bytes()).is_some();
    // A name can be written with escapes or variables.
    if !has(key.name.as_str()) && !has("\\") && !has("${") {
        return Some(false);
    }
    let mut answer = Some(false);
    for named in named(path, bytes)? {
        match named {
            Named::Key(named) if named == *key => return Some(true),
            Named::Nothing | Named::Key(_) => {}
            Named::Pattern { kind, namespace, name } => {
                let is_kind = kind.is_none_or(|kind| kind == key.kind);
                if is_kind && can_become(&namespace, key.namespace.as_str()) && can_become(&name, key.name.as_str()) {
                    answer = None;
                }
            }
            Named::Unknown => answer = None,
        }
    }
    answer
}

/// Whether a file defines something, by its text alone.
pub fn is_definitions(path: &str, bytes: &[u8]) -> bool {
    let is_definition = |named: &Named| matches!(named, Named::Key(_) | Named::Pattern { .. });
    named(path, bytes).is_some_and(|named| named.iter().any(is_definition))
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
    use crate::kind;

    /// The answer for a key.
    fn says(path: &str, text: impl AsRef<[u8]>, key: &str) -> Option<bool> {
        defines(path, text.as_ref(), &Key::parse(key).expect("a key"))
    }

    #[test]
    fn a_definition_is_found_however_it_is_written() {
        let block = "metadata:\n  name: cart # the cart\n  namespace: 'shop'\nspec:\n  port: ${port}\n";
        let flow = "{metadata: {namespace: shop, name: pay}, spec: {}}\n";
        let both = format!("{block}---\n{flow}---\n");
        assert_eq!(says("a.yaml", &both, "shop/cart"), Some(true));
        assert_eq!(says("a.yaml", &both, "shop/pay"), Some(true));
        assert_eq!(says("a.yaml", &both, "pay/shop"), Some(false));
        let json = r#"{"metadata":{"name":"c\u0061rt","namespace":"shop"}}"#;
        assert_eq!(says("a.json", json, "shop/cart"), Some(true));
        for nothing in ["", "stack: cart\n", "$remove: true\nmetadata: {name: cart, namespace: shop}\n"] {
            assert_eq!(says("a.yaml", nothing, "shop/cart"), Some(false), "{nothing}");
        }
    }

    #[test]
    fn an_object_of_every_kind_is_found_and_is_none_of_another_kind() {
        for kind in kind::all() {
            let text = format!("kind: {}\nmetadata: {{name: cart, namespace: shop}}\n", kind.name);
            for other in kind::all() {
                let key = Key::parse(&format!("{}:shop/cart", other.name)).expect("a key");
                assert_eq!(defines("a.yaml", text.as_bytes(), &key), Some(kind.name == other.name), "{text}{key}");
            }
        }
    }

    #[test]
    fn what_the_text_alone_does_not_show_is_unknown() {
        for text in [
            "metadata: {name: '${name}', namespace: shop}\n",
            "metadata: {<<: *base, namespace: shop, labels: {a: cart}}\n",
            "<<: {metadata: {name: cart, namespace: shop}}\n",
            "<<: {kind: endpoint}\nmetadata: {name: cart, namespace: shop}\n",
            "kind: endpont\nmetadata: {name: cart, namespace: shop}\n",
            "metadata: {name: cart}\n",
            "cart: [\n",
            "[cart]\n",
        ] {
            assert_eq!(says("a.yaml", text, "shop/cart"), None, "{text}");
        }
        assert_eq!(says("a.yaml", b"cart \xff", "shop/cart"), None);
        for text in
            [r#"{"metadata": {"name": true, "namespace": "shop"}}"#, "metadata: {name: 'true', namespace: shop}"]
        {
            assert_eq!(says("a.json", text, "shop/true"), None, "{text}");
        }
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let below = vec![format!("*a{}", level - 1); 10].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{below}]\n"));
        }
        let bomb = format!("{bomb}metadata: {{name: *a11, namespace: shop}} # cart\n");
        assert_eq!(says("a.yaml", &bomb, "shop/cart"), None);
        assert_eq!(says("a.yaml", format!("{}cart", "- ".repeat(100_000)), "shop/cart"), None);
    }

    #[test]
    fn a_file_without_the_name_is_not_parsed() {
        assert_eq!(says("a.yaml", "metadata: [", "shop/cart"), Some(false));
        assert_eq!(says("a.yaml", "metadata: {name: cart, namespace: pay}", "shop/cart"), Some(false));
    }
}
