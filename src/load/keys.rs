//! Finds which objects the files of another time or place define, from their texts alone, independent of the settings
//! that they were loaded with. Each file is parsed at most once, and only to look for a name that may be in it.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use serde::de::IgnoredAny;

use super::definition::REMOVE;
use super::item::{Item, Value, ValueOrigin, resolve};
use super::stack_files::StackFiles;
use super::text::{Language, SourceText};
use super::tree::{Documents, TextStyle};
use crate::file::{self, limit};
use crate::kind::KindName;
use crate::model::{Key, Name, Namespace};

/// The object that a document names.
enum Named {
    /// None: the document is not a definition.
    Nothing,
    /// The object that an overlay removes.
    Removed,
    Key(Key),
    /// A namespace and a name that are not exact, because of a variable or an unknown kind.
    Pattern {
        kind: Option<KindName>,
        namespace: String,
        name: String,
    },
    /// Unknown: its names come from a merge key or are not valid.
    Unknown,
}

impl Named {
    fn of(root: &Item<'_>) -> Self {
        match &root.value {
            Value::Map(_) => {}
            Value::Text(..) => return Named::Nothing,
            Value::List(_) | Value::Refused => return Named::Unknown,
        }
        if root.get(REMOVE).and_then(Item::text).is_some_and(|text| ["true", "True", "TRUE"].contains(&text)) {
            return Named::Removed;
        }
        let Some(metadata) = root.get("metadata") else { return Named::Nothing };
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
        let key = |kind| match (Namespace::parse(&namespace), Name::of_kind(kind, &name)) {
            (Ok(namespace), Ok(name)) => Some(Key { kind, namespace, name }),
            _ => None,
        };
        match kind.map(key) {
            Some(Some(key)) => Named::Key(key),
            Some(None) if !name.contains("${") && !namespace.contains("${") => Named::Unknown,
            _ => Named::Pattern { kind, namespace, name },
        }
    }
}

/// The objects that the documents of a file name; `None` where any part of it cannot be read.
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

/// The objects that a file names.
#[derive(Debug, Default)]
struct NamedKeys {
    keys: BTreeSet<Key>,
    /// By the name where it contains no variable, else by the empty text.
    patterns: BTreeMap<String, Vec<(Option<KindName>, String, String)>>,
    /// The file may name any object.
    is_unknown: bool,
    /// The file has documents other than definitions.
    has_others: bool,
}

impl NamedKeys {
    fn of(path: &str, bytes: &[u8]) -> Self {
        let mut found = Self::default();
        for named in named(path, bytes).unwrap_or_else(|| vec![Named::Unknown]) {
            match named {
                Named::Key(key) => _ = found.keys.insert(key),
                Named::Pattern { kind, namespace, name } => {
                    let place = if name.contains("${") { String::new() } else { name.clone() };
                    found.patterns.entry(place).or_default().push((kind, namespace, name));
                }
                Named::Nothing => found.has_others = true,
                Named::Removed => {}
                Named::Unknown => found.is_unknown = true,
            }
        }
        found
    }

    /// The names of all objects that it names; `None` where they are not all known.
    fn names(&self) -> Option<impl Iterator<Item = &str>> {
        let is_known = !self.is_unknown && !self.patterns.contains_key("");
        let keys = self.keys.iter().map(|key| key.name.as_str());
        is_known.then(|| keys.chain(self.patterns.keys().map(String::as_str)))
    }

    /// Whether the file defines a key; `None` where its text alone does not show it.
    fn defines(&self, key: &Key) -> Option<bool> {
        let can_be = |(kind, namespace, name): &(Option<KindName>, String, String)| {
            let is_kind = kind.is_none_or(|kind| kind == key.kind);
            is_kind && can_become(namespace, key.namespace.as_str()) && can_become(name, key.name.as_str())
        };
        let mut patterns = [key.name.as_str(), ""].into_iter().filter_map(|name| self.patterns.get(name)).flatten();
        if self.keys.contains(key) {
            return Some(true);
        }
        if self.is_unknown || patterns.any(can_be) { None } else { Some(false) }
    }
}

/// Keys to search for in texts.
pub struct WantedKeys<'k> {
    by_name: HashMap<&'k str, Vec<&'k Key>>,
}

impl<'k> WantedKeys<'k> {
    /// Searches for these keys.
    pub fn new(keys: impl IntoIterator<Item = &'k Key>) -> Self {
        let mut by_name: HashMap<&str, Vec<&Key>> = HashMap::new();
        keys.into_iter().for_each(|key| by_name.entry(key.name.as_str()).or_default().push(key));
        Self { by_name }
    }

    /// The keys that a file defines (`true`), and those that it may define as far as its text shows (`false`).
    pub fn defined_in(&self, path: &str, bytes: &[u8]) -> BTreeMap<&'k Key, bool> {
        let is_open = is_open(bytes);
        let written: BTreeSet<&str> = words(bytes).filter(|word| self.by_name.contains_key(word)).collect();
        if written.is_empty() && !is_open {
            return BTreeMap::new();
        }
        let named = NamedKeys::of(path, bytes);
        let suspects: Vec<&'k Key> = match named.names() {
            Some(names) => names.filter_map(|name| self.by_name.get(name)).flatten().copied().collect(),
            None if is_open => self.by_name.values().flatten().copied().collect(),
            None => written.iter().filter_map(|name| self.by_name.get(name)).flatten().copied().collect(),
        };
        let answer = |key: &'k Key| match named.defines(key) {
            Some(false) => None,
            known => Some((key, known.is_some())),
        };
        suspects.into_iter().filter_map(answer).collect()
    }
}

/// The objects that the files of a directory may define, for many queries.
#[derive(Debug)]
pub struct DirectoryKeys {
    /// Each file with its text, if it can be read, and the objects that it names, computed on demand.
    files: Vec<(String, Option<Vec<u8>>, OnceCell<NamedKeys>)>,
}

impl DirectoryKeys {
    /// Reads the files of a stack below a directory.
    pub fn read(directory: &Path, files: &StackFiles) -> Self {
        let file = |path: Arc<str>| {
            // A file that cannot be read, such as through a broken link, may define anything.
            let bytes = file::read(&directory.join(&*path), limit::DEFINITIONS).ok();
            (path.to_string(), bytes, OnceCell::new())
        };
        Self { files: files.loaded(directory).into_iter().map(file).collect() }
    }

    /// Whether a file may define the key: it does, or it cannot be read, or only a load can decide it.
    pub fn may_define(&self, key: &Key) -> bool {
        self.any(key, false)
    }

    /// The same for a stack that does not load: a document that is not a definition may be meant as one, with a mistake
    /// in its first keys, and an encrypted file may be one too.
    pub fn may_be_meant_to_define(&self, key: &Key) -> bool {
        self.any(key, true)
    }

    fn any(&self, key: &Key, is_broken: bool) -> bool {
        self.files.iter().any(|(path, bytes, named)| {
            let Some(bytes) = bytes else { return true };
            let named = || named.get_or_init(|| NamedKeys::of(path, bytes));
            let may_name = may_name(bytes, key) || is_broken && is_opaque(bytes);
            may_name && (is_broken && named().has_others || named().defines(key) != Some(false))
        })
    }

    /// Whether a readable file may contain the name of the key, for example in a reference to its object.
    pub fn may_name(&self, key: &Key) -> bool {
        self.files.iter().any(|(_, bytes, _)| bytes.as_ref().is_some_and(|bytes| may_name(bytes, key)))
    }
}

/// A file that cannot be parsed, and may define any object that it mentions.
#[derive(Debug)]
pub struct UnparsedFile {
    /// Its path.
    pub path: Arc<str>,
    words: BTreeSet<String>,
}

impl UnparsedFile {
    /// The words of a file.
    pub fn new(path: Arc<str>, bytes: &[u8]) -> Self {
        Self { path, words: words(bytes).map(str::to_owned).collect() }
    }

    /// Whether it contains the name and the namespace of a key.
    pub fn mentions(&self, key: &Key) -> bool {
        [key.name.as_str(), key.namespace.as_str()].into_iter().all(|part| self.words.contains(part))
    }
}

/// Whether a text may contain the name of a key.
fn may_name(text: &[u8], key: &Key) -> bool {
    is_open(text) || memchr::memmem::find(text, key.name.as_str().as_bytes()).is_some()
}

/// Whether names in a text may be written with escapes, variables or, as in UTF-16, zero bytes.
fn is_open(text: &[u8]) -> bool {
    memchr::memchr2(b'\\', 0, text).is_some() || memchr::memmem::find(text, b"${").is_some()
}

/// Whether the content of a file is elsewhere (Git LFS) or encrypted, so that its names cannot be read.
fn is_opaque(text: &[u8]) -> bool {
    let is_sealed = || memchr::memmem::find(text, b"ENC[AES256_GCM,").is_some();
    text.starts_with(b"version https://git-lfs") || std::str::from_utf8(text).is_err() || is_sealed()
}

/// The parts of a text that can be whole names.
fn words(text: &[u8]) -> impl Iterator<Item = &str> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let words = text.split(move |byte| !is_part(byte)).filter(|word| !word.is_empty());
    words.filter_map(|word| std::str::from_utf8(word).ok())
}

/// Whether a file defines any object, by its text alone.
pub fn is_definitions(path: &str, bytes: &[u8]) -> bool {
    let is_definition = |named: &Named| matches!(named, Named::Key(_) | Named::Pattern { .. });
    named(path, bytes).is_some_and(|named| named.iter().any(is_definition))
}

/// Whether a file has another document beside the definition of a key, such as another definition or a removal; `None`
/// where its text alone does not show it.
pub fn has_others(path: &str, bytes: &[u8], key: &Key) -> Option<bool> {
    let is_other = |named: &Named| match named {
        Named::Key(named) => named != key,
        Named::Removed | Named::Pattern { .. } => true,
        Named::Nothing | Named::Unknown => false,
    };
    let named = named(path, bytes)?;
    match named.len() > 1 || named.iter().any(is_other) {
        false if named.iter().any(|named| matches!(named, Named::Unknown)) => None,
        has => Some(has),
    }
}

/// The kinds that a file defines, by its text alone; `None` where it cannot be parsed.
pub fn defined_kinds(path: &str, bytes: &[u8]) -> Option<BTreeSet<KindName>> {
    let kind = |named| match named {
        Named::Key(key) => Some(key.kind),
        Named::Pattern { kind, .. } => kind,
        _ => None,
    };
    Some(named(path, bytes)?.into_iter().filter_map(kind).collect())
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
    use crate::kind::{self, Naming};
    use crate::load::Config;
    use crate::model::growth_tests::assert_at_most_linear;

    /// Whether a directory with this file may define a key, and whether it may be meant to.
    fn may_define(path: &str, text: impl AsRef<[u8]>, key: &str) -> [bool; 2] {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join(path), text).expect("a file");
        let keys = DirectoryKeys::read(directory.path(), &StackFiles::new(&Config::default()));
        let key = Key::parse(key).expect("a key");
        [keys.may_define(&key), keys.may_be_meant_to_define(&key)]
    }

    /// The answer for a key.
    fn says(path: &str, text: impl AsRef<[u8]>, key: &str) -> Option<bool> {
        let parsed = Key::parse(key).expect("a key");
        let answer = WantedKeys::new([&parsed]).defined_in(path, text.as_ref()).remove(&parsed);
        // A directory has the same answer for a file in it.
        assert_eq!(may_define(path, text, key)[0], answer.is_some());
        answer.map_or(Some(false), |is_certain| is_certain.then_some(true))
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
    fn a_document_that_is_no_definition_may_be_meant_as_one_where_only_definitions_load() {
        for text in ["stack: cart\n", "metadta: {name: cart, namespace: shop}\nspec: {}\n", "the cart"] {
            assert!(
                WantedKeys::new([&Key::parse("shop/cart").expect("a key")])
                    .defined_in("a.yaml", text.as_bytes())
                    .is_empty()
            );
            assert_eq!(may_define("a.yaml", text, "shop/cart"), [false, true], "{text}");
            assert_eq!(may_define("a.yaml", text, "shop/pay"), [false, false], "{text}");
        }
    }

    #[test]
    fn an_object_of_every_kind_is_found_and_is_none_of_another_kind() {
        for kind in kind::all() {
            let name = if kind.naming == Naming::Host { "cart.example.net" } else { "cart" };
            let text = format!("kind: {}\nmetadata: {{name: {name}, namespace: shop}}\n", kind.name);
            for other in kind::all() {
                let Ok(key) = Key::parse(&format!("{}:shop/{name}", other.name)) else { continue };
                let is_it = WantedKeys::new([&key]).defined_in("a.yaml", text.as_bytes()).remove(&key);
                assert_eq!(is_it, (kind.name == other.name).then_some(true), "{text}{key}");
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
        for to_bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            let text: Vec<u8> = "metadata: {name: cart, namespace: shop}".encode_utf16().flat_map(to_bytes).collect();
            assert_eq!(says("a.yaml", text, "shop/cart"), None);
        }
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
    fn what_is_elsewhere_or_encrypted_may_define_anything_where_only_definitions_load() {
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n";
        let sealed =
            "metadata:\n  name: ENC[AES256_GCM,data:a=,type:str]\n  namespace: ENC[AES256_GCM,data:b=,type:str]\n";
        for text in [pointer.as_bytes(), sealed.as_bytes(), b"\x00GITCRYPT\x00\xff\xfe", b"\xa0\xff"] {
            assert!(may_define("a.yaml", text, "shop/cart")[1], "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn a_file_without_the_name_is_not_parsed() {
        assert_eq!(says("a.yaml", "metadata: [", "shop/cart"), Some(false));
        assert_eq!(says("a.yaml", "metadata: {name: cart, namespace: pay}", "shop/cart"), Some(false));
    }
    #[test]
    fn many_keys_are_found_in_many_texts_in_linear_time() {
        let keys = |count: usize| -> Vec<Key> {
            (0..count).map(|number| Key::parse(&format!("shop-dev/e{number}")).expect("a key")).collect()
        };
        let document = |number: usize, namespace: &str| {
            format!("---\nmetadata: {{name: e{number}, namespace: '{namespace}'}}\nspec: {{port: 80}}\n")
        };
        let all_are_found = |(keys, texts): (Vec<Key>, Vec<String>)| {
            let wanted = WantedKeys::new(&keys);
            let found: usize = texts.iter().map(|text| wanted.defined_in("a.yaml", text.as_bytes()).len()).sum();
            assert_eq!(found, keys.len());
        };
        for namespace in ["shop-dev", "shop-${stage}"] {
            let each = |count: usize| (keys(count), (0..count).map(|at| document(at, namespace)).collect());
            assert_at_most_linear("a file each", 100, each, all_are_found);
            let one = |count: usize| (keys(count), vec![(0..count).map(|at| document(at, namespace)).collect()]);
            assert_at_most_linear("one file", 100, one, all_are_found);
        }
    }
}
