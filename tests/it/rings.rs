//! No two files import each other, directly or in a ring. An import of a name that a module re-exports
//! counts as an import of the file that declares the name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use regex::Regex;

/// The rings that still exist; remove an entry with its ring.
const REMAINING: &[&[&str]] = &[
    &["api/live.rs", "api/metadata.rs"],
    &["apply/tests/fake.rs", "apply/tests/mod.rs"],
    &["git.rs", "git/find.rs", "git/process.rs", "git/view.rs"],
    &[
        "model/endpoint.rs",
        "model/rules.rs",
        "model/selector.rs",
        "model/shape/endpoint.rs",
        "model/wire/mod.rs",
        "model/wire/place.rs",
        "model/wire/problems.rs",
        "model/wire/snat_pool.rs",
        "model/wire/spec.rs",
        "model/wire/target.rs",
    ],
    &[
        "report/text/attribution.rs",
        "report/text/difference.rs",
        "report/text/mod.rs",
        "report/text/notes.rs",
        "report/text/plan.rs",
        "report/text/refusal.rs",
        "report/text/settings.rs",
    ],
];

type Module = Vec<String>;

/// The files of a crate by module, with the paths that each imports and re-exports.
#[derive(Default)]
struct Crate {
    files: BTreeMap<Module, String>,
    imports: BTreeMap<Module, Vec<Module>>,
    exports: BTreeMap<Module, Vec<Module>>,
}

impl Crate {
    fn add(&mut self, path: &str, text: &str) {
        let name = path.trim_end_matches(".rs").trim_end_matches("/mod");
        let module: Module = if name == "lib" { Module::new() } else { name.split('/').map(Into::into).collect() };
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let code = code.join("\n");
        let uses = Regex::new(r"\b(pub(?:\([a-z ]+\))? )?use ([^;]+);").expect("a pattern");
        for found in uses.captures_iter(&code) {
            let list = if found.get(1).is_some() { &mut self.exports } else { &mut self.imports };
            let tree: String = found[2].chars().filter(|c| !c.is_whitespace()).collect();
            list.entry(module.clone())
                .or_default()
                .extend(paths(&tree).iter().filter_map(|path| absolute(&module, path)));
        }
        let inline = Regex::new(r"\b(?:crate|super|self)(?:::\w+)+").expect("a pattern");
        let rest = uses.replace_all(&code, "");
        let inline = inline.find_iter(&rest).filter_map(|path| absolute(&module, path.as_str()));
        self.imports.entry(module.clone()).or_default().extend(inline);
        self.files.insert(module, path.to_owned());
    }

    /// The module of the file that declares `path`.
    fn declaring(&self, path: &[String]) -> Option<&Module> {
        let (module, rest) =
            (0..=path.len()).rev().find_map(|end| Some((self.files.get_key_value(&path[..end])?.0, &path[end..])))?;
        let Some((name, below)) = rest.split_first() else { return Some(module) };
        let export = self.exports.get(module).into_iter().flatten().find(|export| export.last() == Some(name));
        match export {
            Some(export) if **export != *path => self.declaring(&[export, below].concat()),
            _ => Some(module),
        }
    }

    /// The sets of files that reach each other.
    fn rings(&self) -> BTreeSet<BTreeSet<&str>> {
        let edges = |module: &Module| self.imports[module].iter().filter_map(|path| self.declaring(path));
        let edges: BTreeMap<&Module, BTreeSet<&Module>> = self.files.keys().map(|m| (m, edges(m).collect())).collect();
        let reached = |from: &Module| {
            let (mut seen, mut open) = (BTreeSet::new(), Vec::from_iter(&edges[from]));
            while let Some(module) = open.pop() {
                if seen.insert(*module) {
                    open.extend(&edges[*module]);
                }
            }
            seen
        };
        let reached: BTreeMap<&Module, BTreeSet<&Module>> = self.files.keys().map(|m| (m, reached(m))).collect();
        let ring = |module: &&Module| -> BTreeSet<&str> {
            let mutual = reached[*module].iter().filter(|other| reached[**other].contains(*module));
            mutual.map(|module| self.files[*module].as_str()).collect()
        };
        self.files.keys().map(|module| ring(&module)).filter(|ring| ring.len() > 1).collect()
    }
}

/// The paths of a `use` tree, such as `a::{b, c::d}`.
fn paths(tree: &str) -> Vec<String> {
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for letter in tree.chars() {
        match letter {
            ',' if depth == 0 => parts.push(String::new()),
            _ => {
                depth += i32::from(letter == '{') - i32::from(letter == '}');
                parts.last_mut().expect("one part").push(letter);
            }
        }
    }
    let whole = |part: String| match part.split_once('{') {
        Some((head, rest)) => {
            paths(rest.strip_suffix('}').unwrap_or(rest)).into_iter().map(|path| format!("{head}{path}")).collect()
        }
        None => vec![part],
    };
    parts.into_iter().filter(|part| !part.is_empty()).flat_map(whole).collect()
}

fn absolute(module: &Module, path: &str) -> Option<Module> {
    let mut parts: Vec<String> = path.split("::").map(Into::into).collect();
    let mut base = module.clone();
    match parts.remove(0).as_str() {
        "crate" => base.clear(),
        "self" => {}
        "super" => {
            base.pop();
            while parts.first().is_some_and(|part| part == "super") {
                base.pop();
                parts.remove(0);
            }
        }
        child => base.push(child.to_owned()),
    }
    parts.retain(|part| part != "self");
    Some([base, parts].concat())
}

#[test]
fn no_files_import_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Crate::default();
    for entry in walkdir::WalkDir::new(&root) {
        let entry = entry.expect("src is readable");
        let path = entry.path().strip_prefix(&root).expect("below src").to_string_lossy().into_owned();
        if path.ends_with(".rs") && path != "main.rs" {
            all.add(&path, &std::fs::read_to_string(entry.path()).expect("a source is readable"));
        }
    }
    let known = |ring: &BTreeSet<&str>| REMAINING.iter().any(|known| ring.iter().all(|file| known.contains(file)));
    let rings: Vec<_> = all.rings().into_iter().filter(|ring| !known(ring)).collect();
    assert!(rings.is_empty(), "rings of imports: {rings:#?}");
}

#[test]
fn a_ring_is_found_through_a_re_export() {
    let mut all = Crate::default();
    all.add("lib.rs", "mod a;\nmod b;");
    all.add("a/mod.rs", "mod one;\npub use one::One;\npub use two::Two;");
    all.add("a/one.rs", "use crate::b::{self, B};\n// use super::Two;");
    all.add("a/two.rs", "use super::One;");
    all.add("b.rs", "fn b() -> super::a::One {}");
    assert_eq!(all.rings(), BTreeSet::from([BTreeSet::from(["a/one.rs", "b.rs"])]));
}
