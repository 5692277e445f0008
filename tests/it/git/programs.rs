//! git runs nothing that a repository, its configuration or the environment names. Each program that
//! could be named is a canary that leaves a file with everything it was given.

use std::path::{Path, PathBuf};

use crate::support::{Service, Stage, TOKEN, commit, definition, git, git_in, program};

/// A program beside the working directory that leaves a file when it runs.
struct Canary {
    program: PathBuf,
    traces: PathBuf,
}

impl Canary {
    fn new(stage: &Stage) -> Self {
        let directory = stage.path("..").canonicalize().expect("a directory").join("canary");
        std::fs::create_dir_all(directory.join("traces")).expect("a directory");
        let (file, traces) = (directory.join("run"), directory.join("traces"));
        let text = format!("#!/bin/sh\n(echo \"$0 $*\"; env) > {}/$$\ncat 2>/dev/null\n", traces.display());
        program(&file, &text);
        Self { program: file, traces }
    }

    fn name(&self) -> &str {
        self.program.to_str().expect("a plain path")
    }

    /// What was run.
    fn traces(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.traces).expect("a directory");
        entries.map(|entry| std::fs::read_to_string(entry.expect("a file").path()).expect("a text")).collect()
    }

    #[track_caller]
    fn assert_never_run(&self, when: &str) {
        let traces = self.traces();
        assert!(traces.is_empty(), "{when}: {}", traces.join("\n"));
    }
}

/// A repository with a stack in `stack`, a branch that deletes a definition, and a main that moved on.
fn repository(service: &Service) -> Stage {
    let stage = Stage::new()
        .at(service)
        .file("stack/trueup.yaml", "stack: shop\nnamespaces: [shop]\n")
        .file("stack/cart.yaml", &definition("shop/cart", 8080))
        .file("stack/search.yaml", &definition("shop/search", 80))
        .file("stack/pay.yaml", &definition("shop/pay", 81))
        .file("stack/legacy.yaml", &definition("shop/legacy", 1))
        .file(".gitattributes", "* diff=x filter=x merge=x text ident\n")
        .committed()
        .applied("stack");
    git(&stage, "checkout -qb branch");
    stage.edit("stack/search.yaml", "port: 80", "port: 8081");
    stage.remove("stack/legacy.yaml");
    commit(&stage, "branch");
    git(&stage, "checkout -q main");
    stage.edit("stack/cart.yaml", "port: 8080", "port: 8443");
    commit(&stage, "main");
    stage.run("apply stack --yes --quiet").code(0);
    git(&stage, "checkout -q branch");
    stage
}

/// Every command that asks git something; what they print holds no token.
#[track_caller]
fn run_everything(stage: &Stage, canary: &Canary, what: &str) {
    stage.run("snapshot stack -o live.snapshot").code(0);
    for line in [
        "plan stack",
        "plan stack --base main",
        "plan stack --base main --format json -o plan.json",
        "plan stack --live live.snapshot",
        "plan stack --base main --live live.snapshot",
        "drift stack",
        "drift stack --live live.snapshot",
        "rehearse stack --base main",
        "apply stack --base main --yes --quiet",
    ] {
        let ran = stage.run(line);
        canary.assert_never_run(&format!("{what}: {line}"));
        // Whatever it says of the history, it says it.
        ran.stderr_ignored().does_not_say(TOKEN);
    }
    std::fs::remove_file(stage.path("live.snapshot")).expect("a snapshot");
    std::fs::remove_file(stage.path("plan.json")).ok();
}

#[test]
fn a_stack_that_looks_like_a_bare_repository_runs_nothing() {
    let service = Service::start();
    let stage = repository(&service);
    let canary = Canary::new(&stage);
    // A whole bare repository, whose configuration and attributes name programs, as plain files.
    let bare = stage.path("../bare");
    let from = stage.path("").canonicalize().expect("a path");
    git_in(&from, &["clone", "-q", "--bare", ".", bare.to_str().expect("a plain path")]);
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = {c}\n\tpager = {c}\n\
         \tsshCommand = {c}\n\thooksPath = {c}\n[diff \"x\"]\n\ttextconv = {c}\n\tcommand = {c}\n[diff]\n\texternal = {c}\n\
         [filter \"x\"]\n\tclean = {c}\n\tsmudge = {c}\n[alias]\n\tlog = !{c}\n\trev-parse = !{c}\n[log]\n\tshowSignature = true\n\
         [gpg]\n\tprogram = {c}\n",
        c = canary.name()
    );
    for entry in walkdir::WalkDir::new(&bare) {
        let entry = entry.expect("an entry");
        let below = entry.path().strip_prefix(&bare).expect("below");
        if entry.file_type().is_file() && !below.starts_with("hooks") {
            let to = stage.path("stack").join(below);
            std::fs::create_dir_all(to.parent().expect("a directory")).expect("directories");
            std::fs::copy(entry.path(), &to).expect("a copy");
        }
    }
    stage.write("stack/config", &config);
    stage.write("stack/info/attributes", "* diff=x filter=x\n");
    for directory in ["objects", "refs"] {
        stage.write(&format!("stack/{directory}/keep"), "");
    }
    commit(&stage, "bare");
    for line in ["plan stack --base main", "plan stack"] {
        let ran = stage.run(line);
        canary.assert_never_run(line);
        // The commit that removed the file is that of the real repository, and so is the base.
        ran.stdout_contains(&format!("removed in {}", &git(&stage, "rev-parse HEAD~1")[..7]));
    }
    stage.run("plan stack --base main").stdout_contains("behind base");
    run_everything(&stage, &canary, "a bare repository");
}

/// Settings of git that name a program, as a person would set them.
fn program_settings(canary: &Canary) -> Vec<(String, String)> {
    let keys = [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.askPass",
        "core.sshCommand",
        "core.gitProxy",
        "core.alternateRefsCommand",
        "core.hooksPath",
        "diff.external",
        "diff.x.command",
        "diff.x.textconv",
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
        "merge.x.driver",
        "gpg.program",
        "gpg.openpgp.program",
        "gpg.ssh.program",
        "gpg.x509.program",
        "gpg.ssh.defaultKeyCommand",
        "credential.helper",
        "credential.https://example.net.helper",
        "pager.log",
        "pager.rev-list",
        "pager.diff-tree",
        "pager.ls-tree",
        "remote.origin.uploadpack",
        "remote.origin.receivepack",
        "remote.origin.vcs",
        "uploadpack.packObjectsHook",
        "sequence.editor",
        "interactive.diffFilter",
        "mergetool.x.cmd",
        "difftool.x.cmd",
        "web.browser",
        "trailer.x.command",
        "trailer.x.cmd",
        "tar.x.command",
        "gc.recentObjectsHook",
        "notes.rewriteRef",
        "submodule.x.update",
        "guitool.x.cmd",
        "man.x.cmd",
        "browser.x.cmd",
        "core.notesRef",
    ];
    let mut settings: Vec<(String, String)> =
        keys.iter().map(|key| ((*key).to_owned(), canary.name().to_owned())).collect();
    for command in ["log", "rev-parse", "rev-list", "ls-tree", "cat-file", "diff-tree", "merge-base", "config", "show"]
    {
        settings.push((format!("alias.{command}"), format!("!{}", canary.name())));
    }
    for (key, value) in [
        ("filter.x.required", "true"),
        ("log.showSignature", "true"),
        ("log.mailmap", "true"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("protocol.ext.allow", "always"),
        ("core.repositoryFormatVersion", "1"),
    ] {
        settings.push((key.to_owned(), value.to_owned()));
    }
    settings.push(("remote.origin.url".to_owned(), format!("ext::{} %S", canary.name())));
    settings
}

#[test]
fn no_program_that_the_configuration_of_the_repository_names_is_run() {
    let service = Service::start();
    let stage = repository(&service);
    let canary = Canary::new(&stage);
    // A commit with a signature, which `log.showSignature` would have checked.
    let tree = git(&stage, "rev-parse HEAD^{tree}");
    let parent = git(&stage, "rev-parse HEAD");
    let signed = format!(
        "tree {tree}\nparent {parent}\nauthor t <t@example.net> 1 +0000\ncommitter t <t@example.net> 1 +0000\n\
         gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nsigned\n"
    );
    stage.write("../signed", &signed);
    let id = git(&stage, "hash-object -t commit -w ../signed");
    git(&stage, &format!("reset -q --soft {id}"));
    for (key, value) in program_settings(&canary) {
        git_in(&stage.path(""), &["config", "--file", ".git/config", &key, &value]);
    }
    let hooks = stage.path(".git/hooks");
    std::fs::create_dir_all(&hooks).expect("a directory");
    for hook in ["post-checkout", "fsmonitor-watchman", "pre-commit", "post-index-change", "reference-transaction"] {
        std::fs::copy(&canary.program, hooks.join(hook)).expect("a hook");
    }
    std::fs::create_dir_all(stage.path(".git/info")).expect("a directory");
    stage.write(".git/info/attributes", "* diff=x filter=x merge=x\n");
    run_everything(&stage, &canary, "the configuration of the repository");
}

#[test]
fn whatever_a_setting_of_the_repository_says_git_answers_the_same() {
    let service = Service::start();
    let stage = repository(&service);
    let canary = Canary::new(&stage);
    let describe = |stage: &Stage| {
        let ran = stage.run("plan stack --base main --format json");
        ran.code(0).does_not_say(TOKEN);
        let json = ran.json();
        (json["digest"].clone(), json["changes"].clone(), json["plan"]["changes"].clone())
    };
    let before = describe(&stage);
    // Every setting that this version of git knows is a program. How objects are kept is none.
    let names = git(&stage, "help --config-for-completion");
    let mut text = std::fs::read_to_string(stage.path(".git/config")).expect("a configuration");
    let mut count = 0;
    for name in names.lines().filter(|name| !name.to_lowercase().starts_with("extensions")) {
        let (section, key) = name.split_once('.').unwrap_or((name, "x"));
        let (sub, key) = key.rsplit_once('.').map_or((None, key), |(sub, key)| (Some(sub), key));
        let key = if key.is_empty() || key.contains(['*', '<']) { "log" } else { key };
        let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        if !plain(section) || !plain(key) || key.eq_ignore_ascii_case("repositoryFormatVersion") {
            continue;
        }
        count += 1;
        match sub {
            Some(_) => text.push_str(&format!("[{section} \"x\"]\n\t{key} = \"{}\"\n", canary.name())),
            None => text.push_str(&format!("[{section}]\n\t{key} = \"{}\"\n", canary.name())),
        }
    }
    assert!(count > 300, "{count} settings");
    let alias = format!("[alias]\n\trev-parse = \"!{c}\"\n[include]\n\tpath = /proc/self/environ\n", c = canary.name());
    text.push_str(&alias);
    stage.write(".git/config", &text);
    let after = describe(&stage);
    canary.assert_never_run("every setting");
    assert_eq!(before, after);
}

#[test]
fn a_missing_object_is_not_fetched_by_a_program_of_the_repository() {
    let service = Service::start();
    let stage = repository(&service);
    let canary = Canary::new(&stage);
    let object = git(&stage, "rev-parse main:stack/cart.yaml");
    for (key, value) in program_settings(&canary) {
        git_in(&stage.path(""), &["config", "--file", ".git/config", &key, &value]);
    }
    std::fs::remove_file(stage.path(&format!(".git/objects/{}/{}", &object[..2], &object[2..]))).expect("loose");
    for url in
        [format!("ext::{} %S", canary.name()), stage.path("").display().to_string(), "ssh://example.net/x".to_owned()]
    {
        git_in(&stage.path(""), &["config", "--file", ".git/config", "remote.origin.url", &url]);
        stage
            .run("plan stack --base main")
            .code(1)
            .stderr_contains("stack/cart.yaml")
            .stderr_contains("nothing was sent");
        canary.assert_never_run(&url);
    }
}

#[test]
fn no_variable_of_the_environment_chooses_what_git_runs_or_reads() {
    let service = Service::start();
    let stage = repository(&service);
    let canary = Canary::new(&stage);
    let bare = stage.path("../other");
    git_in(&stage.path(".."), &["init", "-q", "--bare", bare.to_str().expect("a plain path")]);
    let trace = stage.path("../trace").display().to_string();
    let home = stage.path("..").canonicalize().expect("a path");
    let global =
        format!("[core]\n\tpager = {c}\n[alias]\n\trev-parse = !{c}\n[diff]\n\texternal = {c}\n", c = canary.name());
    std::fs::write(home.join(".gitconfig"), global).expect("a file");
    let mut stage = stage;
    for name in [
        "GIT_EXTERNAL_DIFF",
        "GIT_PAGER",
        "PAGER",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_PROXY_COMMAND",
        "GIT_EDITOR",
        "EDITOR",
        "GIT_ASKPASS",
        "SSH_ASKPASS",
        "GIT_EXEC_PATH",
        "GIT_TEMPLATE_DIR",
        "LD_PRELOAD_IS_NOT_SET",
    ] {
        stage = stage.env(name, canary.name());
    }
    for (name, value) in [
        ("GIT_DIR", bare.to_str().expect("a plain path")),
        ("GIT_WORK_TREE", "/"),
        ("GIT_COMMON_DIR", bare.to_str().expect("a plain path")),
        ("GIT_OBJECT_DIRECTORY", "/nowhere"),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", "/nowhere"),
        ("GIT_NAMESPACE", "other"),
        ("GIT_CEILING_DIRECTORIES", "/"),
        ("GIT_TRACE", trace.as_str()),
        ("GIT_TRACE2", trace.as_str()),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "alias.rev-parse"),
        ("GIT_CONFIG_VALUE_0", "!false"),
        ("GIT_CONFIG_PARAMETERS", "'alias.rev-parse'='!false'"),
        ("GIT_REPLACE_REF_BASE", "refs/heads/"),
        ("GIT_DEFAULT_HASH", "sha256"),
    ] {
        stage = stage.env(name, value);
    }
    let ran = stage.run("plan stack --base main");
    canary.assert_never_run("the environment");
    ran.code(0).stdout_contains("behind base").stdout_contains("removed in");
    assert!(!stage.path("../trace").exists(), "git traced where the environment said");
}

#[test]
fn a_git_inside_of_the_checkout_is_not_run() {
    let service = Service::start();
    let stage = repository(&service);
    let canary = Canary::new(&stage);
    for place in ["git", "stack/git", "bin/git"] {
        let path = stage.path(place);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
        std::fs::copy(&canary.program, path).expect("a copy");
    }
    let inside = stage.path("bin").display().to_string();
    let real = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned());
    for path in [format!(".:{real}"), format!(":{real}"), format!("bin:stack:{real}"), format!("{inside}:{real}")] {
        let ran = stage.command(&["plan", "stack", "--base", "main"]).env("PATH", &path).output().expect("a plan");
        canary.assert_never_run(&path);
        assert!(ran.status.success(), "{path}: {}", String::from_utf8_lossy(&ran.stderr));
    }
    let ran = stage
        .command(&["plan", "stack", "--base", "main"])
        .env("PATH", format!(".:{inside}"))
        .output()
        .expect("a plan");
    canary.assert_never_run("nothing else");
    assert_eq!(ran.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("the `git` program cannot be run"));
}

#[test]
fn only_one_module_starts_a_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for entry in walkdir::WalkDir::new(&root) {
        let entry = entry.expect("an entry");
        if entry.path().extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(entry.path()).expect("a text");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let below = entry.path().strip_prefix(&root).expect("below").display().to_string();
            if (code.contains("process::Command") || code.contains("process::{") && code.contains("Command::new("))
                && !below.ends_with("tests.rs")
            {
                found.push(below);
            }
        }
    }
    assert_eq!(found, ["git/process.rs"]);
}
