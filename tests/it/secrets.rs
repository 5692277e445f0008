//! A token is planted wherever one may come from and wherever a service may repeat it; it is found
//! nowhere that the program writes.

use serde_json::json;
use trueup::sandbox::RequiredToken;
use walkdir::WalkDir;

use crate::support::{Service, Stage, definition};

const PLANTED: &str = "planted-5ecre7-9d1f-0c44-token";

/// Answers that repeat the token, one for each way in which an answer is read.
const ECHOES: &str = r#"
rules:
  - {operation: endpoint-create, name: refused, status: {code: 400, body: '{"code":3,"message":"planted-5ecre7-9d1f-0c44-token is no field","details":[]}'}}
  - {operation: endpoint-create, name: broken, for: 1, status: {code: 500, body: 'trace: authorization=APIToken planted-5ecre7-9d1f-0c44-token'}}
  - {operation: endpoint-replace, for: 1, status: {code: 503, body: '<html>planted-5ecre7-9d1f-0c44-token</html>'}}
  - {operation: endpoint-get, name: echoed, status: {code: 200, body: '{"metadata":{"name":"planted-5ecre7-9d1f-0c44-token"}}'}}
"#;

fn stage(service: &Service) -> Stage {
    Stage::new()
        .env("TRUEUP_BASE_URL", &service.url())
        .env("USER", "someone")
        .file("trueup.yaml", "stack: secrets\nnamespaces: [shop]\n")
        .file("shop/cart.yaml", &definition("shop/cart", 80))
        .file("shop/echoed.yaml", &definition("shop/echoed", 80))
}

/// Runs commands of every kind, with and without an echo, and looks at everything that they said.
fn everywhere(stage: &Stage, service: &Service, more: &str) {
    let run = |line: &str| {
        let ran = stage.run(&format!("{line} {more}"));
        ran.stderr_ignored().does_not_say(PLANTED);
    };
    run("apply . --yes --verbose");
    service.misbehave(ECHOES);
    stage.edit("shop/cart.yaml", "port: 80", "port: 81");
    stage.edit("shop/echoed.yaml", "port: 80", "port: 81");
    stage.write("shop/refused.yaml", &definition("shop/refused", 80));
    stage.write("shop/broken.yaml", &definition("shop/broken", 80));
    run("plan . -o plan.json --verbose");
    run("plan . --format json");
    run("apply plan.json --yes --verbose");
    run("apply . --yes --format json");
    run("apply . --yes --format ndjson --log json --write json=evidence.json --write prometheus=metrics.prom");
    run("show evidence.json");
    run("show evidence.json --format json");
    run("apply --resume last --yes --verbose");
    run("history");
    run("show last --format json");
    run("rollback last --yes --verbose");
    run("plan . --format sarif --log json");
    run("drift . --verbose");
    run("drift . --format json");
    run("pull -n shop -o pulled --verbose");
    run("snapshot . --referrers -o live.json --verbose");
    run("rehearse . --faults rough --verbose");
    service.misbehave(
        "rules: [{operation: endpoint-list, status: {code: 401, body: 'who is planted-5ecre7-9d1f-0c44-token?'}}]",
    );
    run("plan . --verbose");
    service.misbehave("rules: [{operation: endpoint-list, status: {code: 200, body: '{\"items\":[{\"name\":\"planted-5ecre7-9d1f-0c44-token\"}]}'}}]");
    run("plan . --verbose");
    run("pull -n shop -o pulled --verbose");
    // An object that holds it: nothing is read from such a list.
    service.misbehave("rules: []");
    service.create(&json!({
        "metadata": {"name": "held", "namespace": "shop", "description": format!("it is {PLANTED}")},
        "spec": {"ip": "10.0.0.1"}
    }));
    run("plan . --verbose");
    run("apply . --yes --verbose");
    run("pull -n shop -o pulled --verbose");
    run("snapshot . -o held.json --verbose");
    run("rehearse . --verbose");
}

/// Every file of the stage, but those that the test itself wrote the token to.
fn nowhere_in_files(stage: &Stage, known: &[&str]) {
    let root = stage.path("..");
    let mut seen = 0;
    for entry in WalkDir::new(&root) {
        let entry = entry.expect("an entry");
        if !entry.file_type().is_file() || known.iter().any(|known| entry.path().ends_with(known)) {
            continue;
        }
        let bytes = std::fs::read(entry.path()).expect("the file");
        let found = bytes.windows(PLANTED.len()).any(|window| window == PLANTED.as_bytes());
        assert!(!found, "{} holds the token", entry.path().display());
        seen += 1;
    }
    assert!(seen > 5, "journals and plans were looked at");
}

fn service() -> Service {
    Service::with(|options| options.token = RequiredToken::new(PLANTED)).with_token(PLANTED)
}

#[test]
fn a_token_of_the_environment_is_found_nowhere() {
    for name in ["TRUEUP_TOKEN", "F5XC_API_TOKEN"] {
        let service = service();
        let stage = stage(&service).env(name, PLANTED);
        everywhere(&stage, &service, "");
        nowhere_in_files(&stage, &[]);
    }
}

#[test]
fn a_token_of_a_file_or_a_named_variable_is_found_nowhere() {
    let service = service();
    let stage = stage(&service).file("secret", &format!("{PLANTED}\n"));
    everywhere(&stage, &service, "--token-file secret");
    nowhere_in_files(&stage, &["secret"]);
    let service = self::service();
    let named = "stack: secrets\nnamespaces: [shop]\ntoken_variable: TRUEUP_TOKEN_SHOP\n";
    let stage = self::stage(&service)
        .env("TRUEUP_TOKEN_SHOP", PLANTED)
        .env("TRUEUP_TOKEN_SHOP_URL", &service.url())
        .file("trueup.yaml", named);
    everywhere(&stage, &service, "");
    nowhere_in_files(&stage, &[]);
}

#[test]
fn a_token_is_in_no_panic_and_no_debug_text() {
    use trueup::api::{BaseUrl, ClientSettings, Secret, Timing};
    let secret = Secret::new(PLANTED).expect("a token");
    let base_url = BaseUrl::parse("http://127.0.0.1:1").expect("a URL");
    let settings =
        ClientSettings::new(base_url, trueup::model::Layout::Uniform, Some(secret.clone()), Timing::noted(|_| {}));
    let panic = || panic!("{settings:?} {secret:?} {:?}", RequiredToken::new(PLANTED));
    let output = std::panic::catch_unwind(std::panic::AssertUnwindSafe(panic)).expect_err("it panics");
    let output = output.downcast_ref::<String>().expect("a text");
    assert!(!output.contains(PLANTED), "{output}");
}
