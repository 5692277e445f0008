//! Directories of definitions and what is reported about them: `tests/cases/load/NAME/input` is loaded,
//! and what comes out must be `expected.txt`. `TRUEUP_BLESS=1` writes it anew. The settings of a case are
//! stored as `settings.yaml`, so that no case is a stack of this repository: deletes of the examples'
//! stacks would be blocked because a broken stack may define the object.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use trueup::load::{self, Diagnostic, Diagnostics, LoadOptions, Loaded, RenderOptions, SourceMap};

fn cases() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/load");
    let entries = std::fs::read_dir(root).expect("the cases are readable");
    let mut cases: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    cases.sort();
    cases
}

/// The input of a case, with its settings in their place.
fn input(case: &Path) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a directory");
    let input = case.join("input");
    for entry in walkdir::WalkDir::new(&input) {
        let entry = entry.expect("the case is readable");
        let path = entry.path().strip_prefix(&input).expect("a path of the input");
        let path = if path == "settings.yaml" { "trueup.yaml".as_ref() } else { path };
        if entry.file_type().is_file() {
            write(root.path(), path, std::fs::read(entry.path()).expect("a file of the case"));
        }
    }
    root
}

/// `options.txt` contains `environment NAME` and `var NAME=VALUE` lines.
fn options(case: &Path) -> LoadOptions {
    let mut options = LoadOptions::default();
    for line in std::fs::read_to_string(case.join("options.txt")).unwrap_or_default().lines() {
        match line.split_once(' ').expect("a word and its value") {
            ("environment", name) => options.environment = Some(name.to_owned()),
            ("var", variable) => {
                let (name, value) = variable.split_once('=').expect("name=value");
                options.variables.insert(name.to_owned(), value.to_owned());
            }
            (other, _) => panic!("{other} is not an option of a case"),
        }
    }
    options
}

fn rendered(result: Result<Loaded, Diagnostics>) -> String {
    match result {
        Err(diagnostics) => format!("{}\n{}\n", diagnostics.render(&RenderOptions::default()), diagnostics.summary()),
        Ok(loaded) => {
            let mut text = String::new();
            let places = SourceMap::new(&loaded);
            for (key, definition) in &loaded.desired.definitions {
                let place = places.place(key, None).expect("a definition has a place");
                let json = serde_json::to_string(&definition.endpoint).expect("an endpoint is JSON");
                writeln!(text, "{key} {place} {json}").expect("a string takes text");
            }
            for note in &loaded.notes {
                writeln!(text, "{}", note.render(&RenderOptions::default(), "")).expect("a string takes text");
            }
            text
        }
    }
}

#[test]
fn every_case_reports_what_is_expected() {
    let mut wrong = Vec::new();
    for case in cases() {
        let (input, mut options) = (input(&case), options(&case));
        let is = rendered(load::directory(input.path(), &options));
        options.threads = Some(1);
        assert_eq!(is, rendered(load::directory(input.path(), &options)), "threads matter in {}", case.display());
        let expected = case.join("expected.txt");
        if std::env::var_os("TRUEUP_BLESS").is_some() {
            std::fs::write(&expected, &is).expect("the case is writable");
        }
        if std::fs::read_to_string(&expected).unwrap_or_default() != is {
            wrong.push(format!("--- {}\n{is}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn write(root: &Path, path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().expect("a file has a directory")).expect("a directory");
    std::fs::write(path, text).expect("a file");
}

const GOOD: &str = "metadata: {name: a, namespace: shop}\nspec: {ip: 10.0.0.1}\n";

fn messages(root: &Path) -> Vec<String> {
    let diagnostics = load::directory(root, &LoadOptions::default()).expect_err("it is refused");
    let describe = |one: &load::Diagnostic| format!("{}: {}", one.file().unwrap_or("-"), one.message);
    diagnostics.list.iter().map(describe).collect()
}

#[test]
fn a_path_below_the_stack_never_narrows_what_is_loaded() {
    let root = tempfile::tempdir().expect("a directory");
    write(root.path(), "trueup.yaml", "stack: s\nnamespaces: [shop]\n");
    write(root.path(), "one/a.yaml", GOOD);
    write(root.path(), "two/b.yaml", GOOD.replace("name: a", "name: b"));
    for path in ["", "one", "two/b.yaml"] {
        let loaded = load::directory(&root.path().join(path), &LoadOptions::default()).expect("it loads");
        assert_eq!(loaded.desired.definitions.len(), 2);
    }
}

#[test]
fn a_file_without_settings_is_the_whole() {
    let root = tempfile::tempdir().expect("a directory");
    write(root.path(), "a.yaml", GOOD);
    write(root.path(), "broken.yaml", "[");
    let loaded = load::directory(&root.path().join("a.yaml"), &LoadOptions::default()).expect("it loads");
    assert_eq!(loaded.desired.definitions.len(), 1);
}

#[test]
fn globs_leave_files_out() {
    let root = tempfile::tempdir().expect("a directory");
    write(root.path(), "trueup.yaml", "files: {include: ['in/**'], exclude: ['**/old/**', '*.json']}\n");
    write(root.path(), "in/a.yaml", GOOD);
    for path in ["in/old/b.yaml", "out.yaml", "in/c.json", "old/x/y.yaml"] {
        write(root.path(), path, "nonsense");
    }
    let loaded = load::directory(root.path(), &LoadOptions::default()).expect("it loads");
    assert_eq!(loaded.desired.files, 1);
}

#[test]
fn a_glob_names_a_directory_with_all_that_is_in_it() {
    let files = |globs: &str| {
        let root = tempfile::tempdir().expect("a directory");
        write(root.path(), "trueup.yaml", format!("files: {{{globs}}}\n"));
        write(root.path(), "shop/a.yaml", GOOD);
        write(root.path(), "shop/deep/b.yaml", GOOD.replace("name: a", "name: b"));
        write(root.path(), "pay/c.yaml", GOOD.replace("name: a", "name: c"));
        let loaded = load::directory(root.path(), &LoadOptions::default());
        loaded.map(|loaded| (loaded.desired.files, loaded.notes.len())).map_err(|wrong| format!("{wrong:?}"))
    };
    for shop in ["shop", "shop/", "./shop", "/shop", "shop/**", "./shop/"] {
        assert_eq!(files(&format!("include: ['{shop}']")), Ok((2, 0)), "{shop}");
        assert_eq!(files(&format!("exclude: ['{shop}']")), Ok((1, 0)), "{shop}");
    }
    for all in [".", "./", "**", "*.yaml"] {
        assert_eq!(files(&format!("include: ['{all}', '**/*.yml']")), Ok((3, 0)), "{all}");
    }
    // Definitions that are not read would be taken for removed ones.
    for wrong in ["shp", "endpoints/pay/**", "shop/x.yaml", "a.yaml", "../**"] {
        let problem = files(&format!("include: [pay, '{wrong}']")).expect_err("a glob of nothing");
        assert!(problem.contains(&format!("the glob `{wrong}` of `files:` matches nothing")), "{problem}");
    }
    assert!(files("include: [pay, shp]").expect_err("no such directory").contains("did you mean `shop`?"));
    // What is left out may be gone.
    for (glob, notes) in [("archive/**", 0), ("shp", 1), ("b.yaml", 1), ("deep", 1), ("**/deep", 0), ("*/old", 0)] {
        let left = if glob == "**/deep" { 2 } else { 3 };
        assert_eq!(files(&format!("exclude: ['{glob}']")), Ok((left, notes)), "{glob}");
    }
}

#[test]
fn a_glob_that_leads_out_offers_no_name_from_outside() {
    let root = tempfile::tempdir().expect("a directory");
    write(root.path(), "neighbour/a.yaml", GOOD);
    write(root.path(), "stack/trueup.yaml", "files: {include: [../neighbor]}\n");
    let wrong = load::directory(&root.path().join("stack"), &LoadOptions::default()).expect_err("a glob of nothing");
    assert!(!format!("{wrong:?}").contains("neighbour"), "{wrong:?}");
}

#[test]
fn a_rule_to_ignore_what_is_not_defined_is_noted() {
    for (object, field, notes) in [
        ("shop/a", "spec.port", 0),
        ("endpoint:shop/a", "spec.port", 0),
        ("shop/crt", "spec.port", 1),
        ("a", "spec.port", 1),
        ("origin_pool:shop/a", "spec.port", 1),
        ("shop/crt*", "spec.port", 0),
        ("origin_pool:shop/*", "spec.dns_name", 1),
        ("origin_pool:shop/*", "spec.port", 0),
        ("origin_*:shop/*", "labels.team", 0),
    ] {
        let root = tempfile::tempdir().expect("a directory");
        write(root.path(), "trueup.yaml", format!("ignore: [{{object: '{object}', field: {field}}}]\n"));
        write(root.path(), "a.yaml", GOOD);
        let loaded = load::directory(root.path(), &LoadOptions::default()).expect("it loads");
        let said: Vec<String> = loaded.notes.iter().map(|note| note.message.clone()).collect();
        assert!(said.len() == notes && said.iter().all(|text| text.contains("has no effect")), "{object}: {said:?}");
    }
}

#[test]
fn a_rule_to_ignore_in_a_namespace_that_the_stack_does_not_have_is_noted() {
    for (object, notes) in [("shp/*", 1), ("origin_pool:shp/*", 1), ("shop/crt*", 0), ("sh*/a", 0), ("*", 0)] {
        let root = tempfile::tempdir().expect("a directory");
        let ignore = format!("ignore: [{{object: '{object}', field: labels.team}}]");
        write(root.path(), "trueup.yaml", format!("namespaces: [shop]\n{ignore}\n"));
        write(root.path(), "a.yaml", GOOD);
        let loaded = load::directory(root.path(), &LoadOptions::default()).expect("it loads");
        let said: Vec<String> = loaded.notes.iter().map(|note| note.message.clone()).collect();
        let expected = "has no effect: the stack has no namespace `shp`";
        assert!(said.len() == notes && said.iter().all(|text| text.ends_with(expected)), "{object}: {said:?}");
    }
}

#[test]
fn what_only_the_files_show_to_be_wrong_in_the_settings_is_at_its_line() {
    let root = tempfile::tempdir().expect("a directory");
    let settings = "namespaces: [shop, shp]\nfiles:\n  exclude:\n  - old\n  - shp\nignore:\n- {object: shop/a, field: spec.port}\n\
                    - {object: shop/crt, field: spec.port}\n- {object: shop/crt, field: labels.team}\n";
    write(root.path(), "trueup.yaml", settings);
    write(root.path(), "shop/a.yaml", GOOD);
    let loaded = load::directory(root.path(), &LoadOptions::default()).expect("it loads");
    let mut lines: Vec<usize> = loaded.notes.iter().map(Diagnostic::line).collect();
    lines.sort_unstable();
    assert_eq!(lines, [5, 8, 9], "{:?}", loaded.notes);
}

#[test]
fn a_second_stack_inside_is_reported() {
    let root = tempfile::tempdir().expect("a directory");
    write(root.path(), "trueup.yaml", "stack: s\n");
    write(root.path(), "in/trueup.yaml", "stack: t\n");
    assert_eq!(messages(root.path()), ["in/trueup.yaml: this stack contains a second trueup.yaml"]);
}

#[cfg(unix)]
#[test]
fn links_that_lead_out_or_in_circles_and_special_files_are_refused() {
    use std::os::unix::fs::symlink;
    let outside = tempfile::tempdir().expect("a directory");
    write(outside.path(), "x.yaml", GOOD);
    let root = tempfile::tempdir().expect("a directory");
    write(root.path(), "in/a.yaml", GOOD);
    symlink(outside.path().join("x.yaml"), root.path().join("file.yaml")).expect("a link");
    symlink(outside.path(), root.path().join("folder")).expect("a link");
    symlink(root.path(), root.path().join("in/loop")).expect("a link");
    symlink("nowhere", root.path().join("dangling.yaml")).expect("a link");
    let socket = root.path().join("socket.yaml");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    assert_eq!(
        messages(root.path()),
        [
            "dangling.yaml: cannot be read: No such file or directory (os error 2)",
            "file.yaml: the symbolic link leads out of the stack's directory",
            "folder: the symbolic link leads out of the stack's directory",
            "in/loop: the symbolic link leads back to a directory above it",
            "socket.yaml: this is not a regular file",
        ]
    );
}

#[test]
fn a_huge_file_is_refused_unread_and_so_are_too_many_documents() {
    let root = tempfile::tempdir().expect("a directory");
    let huge = std::fs::File::create(root.path().join("huge.yaml")).expect("a file");
    huge.set_len(2 * 1024 * 1024 * 1024).expect("a sparse file");
    write(root.path(), "many.yaml", "---\na\n".repeat(100_000));
    write(root.path(), "empty.yaml", "---\n".repeat(100_000));
    // A saved plan is passed over, whatever its size.
    let padding = "x".repeat(17 * 1024 * 1024);
    write(root.path(), "plan.json", format!(r#"{{"kind": "plan", "format_version": 1, "more": "{padding}"}}"#));
    write(root.path(), "large.json", format!(r#"{{"more": "{padding}"}}"#));
    assert_eq!(
        messages(root.path())
            .into_iter()
            .filter(|message| !message.contains("the document is a scalar"))
            .collect::<Vec<_>>(),
        [
            "empty.yaml: the file has more than the allowed 20000 documents",
            "huge.yaml: the file is larger than the allowed 16 MiB",
            "large.json: the file is larger than the allowed 16 MiB",
            "many.yaml: more than 200 problems in this file; the rest is not shown",
        ]
    );
}

#[test]
fn a_stack_in_memory_loads_as_the_directory_does() {
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/load/environment");
    let (input, options) = (input(&case), options(&case));
    let mut files = Vec::new();
    for file in ["trueup.yaml", "endpoints/cart.yaml", "endpoints/half.yaml", "overlays/prod/cart.yaml"] {
        let bytes = std::fs::read(input.path().join(file)).expect("a file of the case");
        files.push(load::SourceFile { path: file.to_owned(), bytes });
    }
    let disk = load::directory(input.path(), &options);
    assert_eq!(rendered(load::sources(files, &options)), rendered(disk));
}

#[test]
fn paths_are_shown_from_the_working_directory_and_colour_only_adds() {
    let root = tempfile::tempdir().expect("a directory");
    write(root.path(), "stack/a.yaml", "metadata: {name: a, namespace: b}\nspec: 1\n");
    let diagnostics = load::directory(&root.path().join("stack"), &LoadOptions::default()).expect_err("it is refused");
    let plain = diagnostics.render(&RenderOptions { directory: Some(root.path()), ..RenderOptions::default() });
    assert!(plain.contains("--> stack/a.yaml:2:7"), "{plain}");
    let coloured =
        diagnostics.render(&RenderOptions { colour: true, directory: Some(root.path()), ..RenderOptions::default() });
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        stripped.push_str(before);
        rest = after.split_once('m').expect("a colour ends").1;
    }
    stripped.push_str(rest);
    assert_eq!(stripped, plain);
    assert_eq!(
        serde_json::to_value(&diagnostics).expect("JSON")["list"][0]["labels"][0],
        serde_json::json!({"file": "a.yaml", "start": {"line": 2, "column": 7}, "end": {"line": 2, "column": 8}, "label": "a mapping is needed here"})
    );
}

#[test]
fn a_line_break_of_an_older_yaml_is_read_the_same_whether_or_not_the_file_needs_the_careful_reader() {
    for old in ['\u{85}', '\u{2028}', '\u{2029}'] {
        for written in
            [format!("'a {old} b'"), format!("\"a {old} b\""), format!("a {old} b"), format!("|-\n    a {old} b")]
        {
            let text = |name: &str| {
                format!(
                    "metadata:\n  name: {name}\n  namespace: shop\n  description: {written}\nspec:\n  ip: 10.0.0.1\n"
                )
            };
            let description = |text: String, variables: &[(&str, &str)]| {
                let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
                let options = LoadOptions { variables: variables.collect(), ..LoadOptions::default() };
                let file = load::SourceFile { path: "a.yaml".to_owned(), bytes: text.into_bytes() };
                let loaded = load::sources(vec![file], &options).expect("a definition");
                loaded.desired.definitions.into_values().next().map(|definition| definition.endpoint.description)
            };
            let careful = description(text("${name}"), &[("name", "a")]);
            assert_eq!(description(text("a"), &[]), careful, "{written:?}");
        }
    }
}
