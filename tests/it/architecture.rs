//! Arrows between modules go one way: every `crate::` path in a module must lead to one that the
//! module may see, and no files import each other in a ring. `docs/architecture.md` describes the same.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// What each module may use; `cli` sees all.
const ARROWS: &[(&str, &[&str])] = &[
    ("kind", &[]),
    ("model", &["kind"]),
    ("file", &[]),
    ("load", &["model", "kind", "file"]),
    ("transport", &[]),
    ("api", &["model", "kind", "transport"]),
    ("diff", &["model"]),
    ("sandbox", &["model", "kind", "file"]),
    ("plan", &["model", "kind", "diff"]),
    ("git", &["file"]),
    ("terraform", &["model", "kind"]),
    ("run", &["model", "plan"]),
    ("drift", &["model", "plan"]),
    ("apply", &["model", "kind", "diff", "plan", "run", "api"]),
    ("state", &["model", "transport", "file"]),
    ("journal", &["model", "plan", "run", "file", "state"]),
    ("gate", &["model", "plan", "api"]),
    ("report", &["model", "kind", "load", "api", "diff", "plan", "run", "drift"]),
];

fn sources(directory: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(directory).expect("src is readable").filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// The modules that a text names after `crate::`, comments aside.
fn named(text: &str) -> BTreeSet<String> {
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            found.extend(group_heads(group));
        } else {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            found.insert(rest[..end].to_owned());
        }
    }
    found
}

/// The first names in `{a::b, c::{d, e}}`, from behind its opening brace.
fn group_heads(group: &str) -> Vec<String> {
    let (mut depth, mut heads, mut head) = (0, Vec::new(), String::new());
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => heads.push(std::mem::take(&mut head)),
            _ if depth == 0 => head.push(c),
            _ => {}
        }
    }
    heads.push(head);
    heads.iter().map(|head| head.trim().split("::").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn no_module_uses_one_that_it_may_not_see() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let modules: BTreeSet<&str> = ARROWS.iter().map(|(module, _)| *module).chain(["cli"]).collect();
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut wrong = Vec::new();
    for file in files {
        let path = file.strip_prefix(&root).expect("below src").to_string_lossy().into_owned();
        let module = path.split(['/', '.']).next().unwrap_or_default();
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == module) else { continue };
        for used in named(&std::fs::read_to_string(&file).expect("a source is readable")) {
            if used != module && modules.contains(used.as_str()) && !allowed.contains(&used.as_str()) {
                wrong.push(format!("{path} uses {used}"));
            }
        }
    }
    assert!(wrong.is_empty(), "wrong arrows:\n{}", wrong.join("\n"));
}

#[test]
fn a_wrong_arrow_would_be_seen() {
    let text = "use crate::{api, model::Key};\n// crate::cli\nfn f() { crate::report::text(); }";
    let found: Vec<String> = named(text).into_iter().collect();
    assert_eq!(found, ["api", "model", "report"]);
}

/// Files that may open, read and write files by themselves, each with the reason.
const FILE_ACCESS: &[(&str, &str)] = &[
    ("git/", "the view of a repository is a directory of its own, which git reads"),
    ("file/", "the module that does it for all others"),
];

#[test]
fn only_the_file_module_opens_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut wrong = Vec::new();
    for file in files {
        let path = file.strip_prefix(&root).expect("below src").to_string_lossy().replace('\\', "/");
        if path.ends_with("tests.rs") || FILE_ACCESS.iter().any(|(allowed, _)| path.starts_with(allowed)) {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("a source is readable");
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for word in [
            "fs::read",
            "fs::write",
            "File::open",
            "File::create",
            "OpenOptions",
            "fs::create_dir",
            "fs::copy",
            ".canonicalize()",
        ] {
            if code.contains(word) {
                wrong.push(format!("{path}: {word}"));
            }
        }
    }
    assert!(wrong.is_empty(), "use crate::file:\n{}", wrong.join("\n"));
}

/// A release build of clap knows every id: only a debug build says which ones a command lacks.
#[test]
fn nothing_asks_clap_what_only_a_debug_build_answers() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let asks = |file: &PathBuf| std::fs::read_to_string(file).expect("a source is readable").contains("contains_id");
    let wrong: Vec<_> = files.iter().filter(|file| asks(file)).collect();
    assert!(wrong.is_empty(), "ask the command instead: {wrong:?}");
}

/// The path of a module: `["plan", "build"]` for `plan/build.rs`, `["plan"]` for `plan/mod.rs`.
type ModulePath = Vec<String>;

/// The features of each crate, as cargo builds it with these kinds of dependencies.
fn features(kinds: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.args(["tree", "--locked", "--offline", "--prefix", "none", "--format", "{p} {f}", "--edges", kinds]);
    let tree = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo");
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let mut features = BTreeMap::<String, BTreeSet<String>>::new();
    for line in String::from_utf8_lossy(&tree.stdout).lines() {
        let line = line.trim_end_matches(" (*)");
        let (name, rest) = line.split_once(' ').expect("a crate and its version");
        let (version, of) = rest.split_once(' ').unwrap_or((rest, ""));
        features.entry(format!("{name} {version}")).or_default().extend(of.split(',').map(str::to_owned));
    }
    features
}

#[test]
fn the_tests_change_no_feature_of_a_crate_that_decides_what_is_read_or_written() {
    // They do not: a table that iterates, classes in patterns that the program has none of, calls, ways to show a diff.
    const HARMLESS: [&str; 6] = ["hashbrown", "regex", "regex-automata", "regex-syntax", "rustix", "similar"];
    let (released, tested) = (features("normal"), features("normal,dev"));
    assert!(released.len() > 100, "{released:?}");
    let others = released.iter().filter(|(name, of)| tested.get(*name) != Some(*of)).map(|(name, _)| name);
    let others: Vec<_> =
        others.filter(|name| !HARMLESS.contains(&name.split(' ').next().unwrap_or_default())).collect();
    assert!(others.is_empty(), "{others:?}");
}

fn module_path(file: &Path) -> ModulePath {
    let path = file.with_extension("").to_string_lossy().into_owned();
    let names = path.split(['/', '\\']).map(str::to_owned);
    names.filter(|name| name != "mod" && name != "lib").collect()
}

/// The paths of one `use`, its groups taken apart.
fn use_paths(tree: &str) -> Vec<String> {
    let Some((head, group)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap_or_default().trim().to_owned()];
    };
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in group.chars() {
        match c {
            '}' if depth == 0 => break,
            ',' if depth == 0 => parts.push(String::new()),
            _ => {
                depth += i32::from(c == '{') - i32::from(c == '}');
                parts.last_mut().expect("never empty").push(c);
            }
        }
    }
    let parts = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    parts.flat_map(use_paths).map(|path| format!("{}{path}", head.trim())).collect()
}

/// What a file imports, as paths from the root of the crate, and whether it exports it again. Imports of its
/// tests are left out.
fn imports(module: &[String], text: &str) -> Vec<(bool, ModulePath)> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: String = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    for statement in code.split(';').filter_map(|part| part.rsplit_once("use ")) {
        let is_public = statement.0.lines().next_back().is_some_and(|line| line.trim_start().starts_with("pub"));
        for path in use_paths(statement.1) {
            found.push((is_public, absolute(module, &path)));
        }
    }
    // Paths that are written where they are used.
    static INLINE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\b((?:crate|super)(?:::(?:super|[a-z_0-9]+))*::\w+)").expect("a pattern"));
    let bodies = code.split(';').filter(|part| part.rsplit_once("use ").is_none());
    for body in bodies {
        found.extend(INLINE.captures_iter(body).map(|path| (false, absolute(module, &path[1]))));
    }
    found
}

/// A path from the root of the crate.
fn absolute(module: &[String], path: &str) -> ModulePath {
    let mut steps: Vec<&str> = path.split("::").map(str::trim).collect();
    let mut base = match steps[0] {
        "crate" => Vec::new(),
        _ => module.to_vec(),
    };
    while matches!(steps.first(), Some(&("crate" | "super" | "self"))) {
        if steps.remove(0) == "super" {
            base.pop();
        }
    }
    base.extend(steps.into_iter().map(str::to_owned));
    base
}

/// The file that a path leads to: through what a module exports again, to the one that defines the item.
fn defining<'m>(modules: &'m BTreeMap<ModulePath, Vec<(bool, ModulePath)>>, path: &[String]) -> Option<&'m ModulePath> {
    let known = (1..=path.len()).rev().find_map(|end| modules.get_key_value(&path[..end]))?;
    let (module, imports) = known;
    let exported = path.get(module.len()).and_then(|item| {
        imports.iter().find(|(is_public, from)| *is_public && from.last() == Some(item) && from != module)
    });
    match exported {
        Some((_, from)) if from.as_slice() != path => defining(modules, from),
        _ => Some(module),
    }
}

#[test]
fn no_files_import_each_other_in_a_ring() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut modules = BTreeMap::new();
    for file in files {
        let module = module_path(file.strip_prefix(&root).expect("below src"));
        let text = std::fs::read_to_string(&file).expect("a source is readable");
        let is_test = module.iter().any(|name| name.ends_with("tests"));
        if !is_test && !module.is_empty() {
            let imports = imports(&module, &text);
            modules.insert(module, imports);
        }
    }
    // A module with modules below it is their face: they may use what it defines.
    let is_face =
        |module: &ModulePath| modules.keys().any(|other| other.len() > module.len() && other.starts_with(module));
    let uses: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> = modules
        .iter()
        .filter(|(module, _)| !is_face(module))
        .map(|(module, imports)| {
            let used = imports.iter().filter_map(|(_, path)| defining(&modules, path));
            (module, used.filter(|used| *used != module && !is_face(used)).collect())
        })
        .collect();
    let mut rings = BTreeSet::new();
    for start in uses.keys() {
        let (mut seen, mut next) = (BTreeSet::new(), vec![*start]);
        while let Some(module) = next.pop() {
            for used in uses.get(module).into_iter().flatten() {
                if seen.insert(*used) {
                    next.push(used);
                }
            }
        }
        if seen.contains(*start) {
            rings.insert(start.join("/"));
        }
    }
    assert!(rings.is_empty(), "these files import each other in rings: {rings:?}");
}

#[test]
fn a_use_is_taken_apart() {
    let text = "use super::{a, b::{self, C}};\npub use crate::x::Y as Z;\n// use crate::no;\nfn f(z: super::v::W) {}";
    let found: Vec<(bool, String)> = imports(&["m".to_owned(), "n".to_owned()], text)
        .into_iter()
        .map(|(public, path)| (public, path.join("::")))
        .collect();
    let expected = [(false, "m::a"), (false, "m::b::self"), (false, "m::b::C"), (true, "x::Y"), (false, "m::v::W")];
    assert_eq!(found, expected.map(|(public, path)| (public, path.to_owned())));
}

/// Names that other objects, other answers and plain code have, too.
const COMMON_NAMES: [&str; 11] =
    ["ip", "kind", "name", "namespace", "port", "protocol", "ref", "refs", "site", "tenant", "uid"];

/// The names of the fields of an endpoint at every level, as its description has them.
fn fields_of_an_endpoint() -> BTreeSet<&'static str> {
    let kind = trueup::kind::find(trueup::kind::ENDPOINT).expect("a kind");
    let messages = kind.messages();
    let fields = messages.iter().flat_map(|(_, message)| message.fields.iter().map(|field| field.name));
    fields.filter(|name| !COMMON_NAMES.contains(name)).collect()
}

#[test]
fn a_field_of_an_endpoint_is_named_where_endpoints_are_described_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let names = fields_of_an_endpoint();
    assert!(names.contains("snat_pool") && names.contains("refresh_interval"), "{names:?}");
    // A text that is such a name, or a field of a struct.
    let named = Regex::new(r#""([a-z0-9_]+)"|\.([a-z0-9_]+)\b(?:[^(]|$)"#).expect("a pattern");
    let mut found = Vec::new();
    for file in files {
        let path = file.strip_prefix(&root).expect("below src").to_string_lossy().replace('\\', "/");
        if path.contains("test") {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("a source");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (at, line) in code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let mut parts = named.captures_iter(line).filter_map(|part| part.get(1).or_else(|| part.get(2)));
            if let Some(name) = parts.find(|part| names.contains(part.as_str())) {
                found.push(format!("{path}:{}: {}", at + 1, name.as_str()));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn every_file_has_a_name_that_windows_takes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_built = |entry: &walkdir::DirEntry| {
        entry.depth() == 1 && ["target", ".git"].iter().any(|name| entry.file_name() == *name)
    };
    let is_wrong = |name: &str| {
        let stem = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
        let is_device = ["con", "prn", "aux", "nul"].contains(&&*stem)
            || (stem.len() == 4
                && (stem.starts_with("com") || stem.starts_with("lpt"))
                && stem.ends_with(|c: char| c.is_ascii_digit()));
        is_device || name.ends_with(['.', ' ']) || name.contains(['\\', ':', '*', '?', '"', '<', '>', '|'])
    };
    let files = walkdir::WalkDir::new(root).into_iter().filter_entry(|entry| !is_built(entry));
    let names = files.map(|entry| entry.expect("a file").file_name().to_string_lossy().into_owned());
    assert_eq!(names.filter(|name| is_wrong(name)).collect::<Vec<_>>(), [""; 0]);
}
