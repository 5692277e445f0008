//! Completion in shells: what the scripts ask of the program, and bash with the script itself.

use std::process::{Command, Stdio};

use crate::support::{Stage, definition};

fn staged() -> Stage {
    Stage::new()
        .file("trueup.yaml", "stack: s\nnamespaces: [shop, pay, empty]\nenvironments: {prod: {}, stage: {}}\n")
        .file("a.yaml", &definition("shop/cart", 80))
        .file("b.yaml", &definition("shop/search", 80))
        .file("c.yaml", &definition("pay/card", 80))
}

/// What the program answers to the script of `shell` for this line, whose last word is being typed.
fn completed(stage: &Stage, shell: &str, line: &str) -> Vec<String> {
    let words: Vec<&str> = ["--", "trueup"].into_iter().chain(line.split(' ')).collect();
    let index = (words.len() - 2).to_string();
    let variables = [("TRUEUP_COMPLETE", shell), ("_CLAP_COMPLETE_INDEX", &index), ("_CLAP_IFS", "\n")];
    let output = stage.command(&words).envs(variables).stdin(Stdio::null()).output().expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    // fish and zsh have the help beside a word.
    let word = |line: &str| line.split(['\t', ':']).next().unwrap_or_default().to_owned();
    text.lines().map(word).collect()
}

#[test]
fn words_of_the_stack_are_completed_in_every_shell() {
    let stage = staged();
    stage.run("apply . --sandbox --yes --quiet").code(0);
    let run = stage.run("history --json").json()["runs"][0]["run"].as_str().expect("a run").to_owned();
    for shell in ["bash", "fish", "zsh"] {
        for (line, expected) in [
            ("get s", vec!["shop/"]),
            ("get shop/", vec!["shop/cart", "shop/search"]),
            ("plan --only pay/", vec!["pay/card"]),
            ("plan -n ", vec!["empty", "pay", "shop"]),
            ("rollback la", vec!["last"]),
            ("show 2", vec![run.as_str()]),
            ("apply --resume 2", vec![run.as_str()]),
            ("plan --env ", vec!["prod", "stage"]),
            ("apply --allow m", vec!["mass-change"]),
            ("explain pay/", vec!["pay/card"]),
            ("get --columns lab", vec!["labels"]),
            ("get --format y", vec!["yaml"]),
            ("call svc-api-ddos-event-l", vec!["svc-api-ddos-event-list"]),
            ("rehea", vec!["rehearse"]),
        ] {
            assert_eq!(completed(&stage, shell, line), expected, "{shell}: {line}");
        }
        assert!(completed(&stage, shell, "show ").contains(&"a.yaml".to_owned()), "{shell}");
        assert!(!completed(&stage, shell, "explain --").contains(&"--token-file".to_owned()), "{shell}");
    }
}

#[test]
fn what_cannot_be_read_is_not_offered_and_is_no_error() {
    let stage = Stage::new().file("trueup.yaml", "stack: [\n").file("a.yaml", "metadata: [\n");
    for line in ["get s", "plan -n ", "plan --env ", "rollback 2"] {
        assert_eq!(completed(&stage, "fish", line), Vec::<String>::new(), "{line}");
    }
}

/// Names that would run, expand or be options where a shell inserts them.
const HOSTILE: [&str; 14] = [
    "prod$(touch${IFS}PWNED)",
    "prod`touch${IFS}PWNED`",
    "prod;touch${IFS}PWNED",
    "prod&touch${IFS}PWNED",
    "prod|touch${IFS}PWNED",
    "prod>PWNED",
    "prod$HOME",
    "prod{a,b}",
    "prod*",
    "prod'x",
    "prod\"x",
    "prod!x",
    "=prod",
    "--base-url=x",
];

#[cfg(unix)]
#[test]
fn a_name_that_a_shell_would_run_is_not_offered_in_any_position() {
    use serde_json::json;

    let environments: serde_json::Map<_, _> = HOSTILE.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    let stage = staged().file("trueup.yaml", &json!({"stack": "s", "environments": environments}).to_string());
    for name in HOSTILE {
        stage.write(&format!("{name}/{name}.yaml"), "x\n");
        stage.write(&format!("../state/trueup/runs/{name}.jsonl"), "x\n");
        stage.write(&format!("files/{name}"), "x\n");
    }
    stage.write("prod.yaml", "x\n");
    stage.write("files/prod", "x\n");
    let mut offered = 0;
    for shell in ["bash", "fish", "zsh"] {
        for line in [
            "plan --env ",
            "plan ",
            "plan p",
            "plan files/",
            "apply --resume ",
            "history --unlock ",
            "rollback ",
            "show ",
            "show p",
            "show files/",
            "plan --config ",
            "plan --live ",
            "plan --token-file files/",
            "stacks ",
            "init ",
            "get --env p",
            "apply --write ",
            "sandbox --file ",
            "rehearse ",
            "validate ",
            "fmt ",
            "drift --drift-state ",
            "plan -o ",
        ] {
            for word in completed(&stage, shell, line) {
                let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./@,+=".contains(c));
                let is_own = word.starts_with("--") && !HOSTILE.iter().any(|name| word.starts_with(name));
                assert!(is_plain && (is_own || !word.starts_with('-')), "{shell}: {line}: {word}");
                offered += 1;
            }
        }
        assert!(completed(&stage, shell, "plan files/").contains(&"files/prod".to_owned()), "{shell}");
    }
    assert!(offered > 100, "{offered}");
}

#[test]
fn the_script_of_bash_completes_in_bash() {
    let pool =
        "kind: origin_pool\nmetadata: {name: web, namespace: shop}\nspec: {origin_servers: [], port: 80, no_tls: {}}\n";
    let stage = staged().file("pool.yaml", pool);
    let script = stage.run("completions bash").code(0).text().to_owned();
    assert_eq!(script.matches("-F _trueup trueup").count(), 2, "{script}");
    stage.write("script.bash", &script);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_trueup")).parent().expect("its directory");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").expect("a search path"));
    // As bash splits what is typed, and the part of it that the answer takes the place of.
    for (words, part, expected) in [
        ("get shop/c", "shop/c", "shop/cart\n"),
        ("get origin_pool : shop/w", "shop/w", "shop/web\n"),
        ("plan files --only origin_pool :", "", "shop/\n"),
        ("apply files --allow recreat", "recreat", "recreate=\n"),
        ("get --format = jso", "jso", "json\n"),
    ] {
        let typed = format!(
            "source ./script.bash
            COMP_WORDS=(trueup {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); COMP_TYPE=9
            _trueup trueup '{part}' before; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let output = Command::new("bash")
            .args(["-c", &typed])
            .current_dir(stage.path("."))
            .env_clear()
            .env("PATH", &path)
            .output()
            .expect("bash");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{words}: {output:?}");
    }
}
