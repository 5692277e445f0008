//! The state in a bucket, through the program and against a real server: every runner has an empty disk, and all of them
//! have the same runs, the same lock and the same drift state.

use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::{BucketServer, OddServer, Ran, SECRET, Service, Stage, definition};

/// A stack of two endpoints whose state is in the bucket.
fn stage(service: &Service, bucket: &BucketServer) -> Stage {
    let stage = Stage::stack(service, "shop")
        .file("a.yaml", &definition("shop/a", 80))
        .file("b.yaml", &definition("shop/b", 80));
    bucket.variables().into_iter().fold(stage, |stage, (name, value)| stage.env(name, &value))
}

/// Runs a command on a runner that has nothing but the checkout.
fn on_a_new_runner(stage: &Stage, line: &str) -> Ran {
    let state = stage.path("../state");
    assert!(!state.exists(), "nothing is on the disk of the runner before `{line}`");
    let ran = stage.run(line);
    assert!(!state.exists(), "`trueup {line}` left something on the disk of its runner");
    ran
}

#[test]
fn any_runner_resumes_lists_and_rolls_back_a_run() {
    let Some(bucket) = BucketServer::start() else { return };
    let service = Service::start();
    let stage = stage(&service, &bucket);
    on_a_new_runner(&stage, "doctor .").code(0).stdout_contains("ok    state        s3://state/team, 0 runs");
    service.misbehave("rules: [{operation: endpoint-create, name: b, status: {code: 403}}]");
    on_a_new_runner(&stage, "apply . --yes --quiet").code(7);
    service.misbehave("rules: []");
    on_a_new_runner(&stage, "history").code(0).stdout_contains("1 of 2");
    on_a_new_runner(&stage, "apply --resume last --yes").code(0).stderr_ignored();
    assert!(service.has("shop/a") && service.has("shop/b"));
    stage.edit("a.yaml", "port: 80", "port: 81");
    on_a_new_runner(&stage, "apply . --yes --quiet").code(0);
    let history = on_a_new_runner(&stage, "history --format json").json();
    assert_eq!(history["runs"].as_array().map(Vec::len), Some(3));
    on_a_new_runner(&stage, "show last").code(0).stdout_contains("shop/a");
    on_a_new_runner(&stage, "rollback last --yes --quiet").code(0);
    assert_eq!(service.get("shop/a")["spec"]["port"], 80);
}

#[test]
fn old_runs_are_removed_from_the_bucket_and_open_ones_stay() {
    let Some(bucket) = BucketServer::start() else { return };
    let service = Service::start();
    let stage = stage(&service, &bucket);
    for port in 81..84 {
        stage.write("a.yaml", &definition("shop/a", port));
        on_a_new_runner(&stage, "apply . --yes --quiet --format json").code(0);
    }
    let removals = bucket.requests("POST");
    let history = on_a_new_runner(&stage, "history --keep 1 --format json");
    history.stderr_contains("2 runs");
    assert_eq!(bucket.requests("POST") - removals, 1, "one request removes many runs");
    assert_eq!(history.json()["runs"].as_array().map(Vec::len), Some(1));
    assert_eq!(bucket.names("runs").len(), 1, "{:?}", bucket.names("runs"));
}

#[test]
fn a_delete_by_hand_is_drift_on_any_runner_and_since_when_is_known() {
    let Some(bucket) = BucketServer::start() else { return };
    let service = Service::start();
    let stage = stage(&service, &bucket);
    on_a_new_runner(&stage, "apply . --yes --quiet").code(0);
    service.delete("shop/b");
    on_a_new_runner(&stage, "drift .").code(3).stdout_contains("shop/b");
    let second = on_a_new_runner(&stage, "drift .");
    second.code(3).stdout_contains("seen in 2 checks");
    assert_eq!(bucket.names("drift").len(), 1);
    // What a filter leaves out would be taken for fixed.
    on_a_new_runner(&stage, "drift . --only shop/a").code(0);
    on_a_new_runner(&stage, "drift .").code(3).stdout_contains("seen in 3 checks");
}

#[test]
fn another_directory_keeps_the_same_and_the_drift_state_as_well() {
    let service = Service::start();
    let stage =
        Stage::stack(&service, "shop").file("a.yaml", &definition("shop/a", 80)).env("TRUEUP_STATE", "../volume");
    stage.run("apply . --yes --quiet").code(0);
    service.delete("shop/a");
    stage.run("drift .").code(3);
    stage.run("drift .").code(3).stdout_contains("seen in 2 checks");
    assert!(!stage.path("../state").exists());
    // A flag is nearer than the variable.
    let here = stage.run("history --state ../mine --format json").json();
    assert_eq!(here["runs"].as_array().map(Vec::len), Some(0));
}

#[test]
fn of_four_runners_one_applies_and_the_others_are_refused() {
    let Some(bucket) = BucketServer::start() else { return };
    let service = Service::start();
    let stage = stage(&service, &bucket);
    for number in 0..12 {
        stage.write(&format!("more-{number}.yaml"), &definition(&format!("shop/more-{number}"), 80));
    }
    // One waits for the service until the others have ended.
    service.hold("operation: endpoint-create");
    let apply = ["apply", ".", "--yes", "--quiet", "--concurrency", "1"];
    let mut runners: Vec<Child> = (0..4)
        .map(|_| stage.command(&apply).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn())
        .collect::<Result<_, _>>()
        .expect("they start");
    while runners.iter_mut().filter_map(|runner| runner.try_wait().expect("a child")).count() < 3 {
        std::thread::sleep(Duration::from_millis(20));
    }
    service.release();
    let (mut applied, mut refused) = (0, 0);
    for runner in runners {
        let output = runner.wait_with_output().expect("it ends");
        let message = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => applied += 1,
            Some(6) => {
                assert!(message.contains("another apply of stack `shop` is running: run `"), "{message}");
                assert!(message.contains("trueup history --unlock "), "{message}");
                refused += 1;
            }
            code => panic!("{code:?}: {message}"),
        }
    }
    assert_eq!((applied, refused), (1, 3));
    assert_eq!(service.requests("POST"), 14, "each create was sent once");
}

#[test]
fn a_runner_that_died_keeps_nobody_from_going_on() {
    let Some(bucket) = BucketServer::start() else { return };
    let service = Service::start();
    let stage = stage(&service, &bucket);
    service.hold("operation: endpoint-create, name: b");
    let mut runner = stage
        .command(&["apply", ".", "--yes", "--quiet"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    while !service.has("shop/a") {
        assert!(runner.try_wait().expect("a child").is_none(), "the apply does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    runner.kill().expect("it runs");
    runner.wait().expect("it ends");
    service.misbehave("rules: []");
    let run = on_a_new_runner(&stage, "history --format json").json()["runs"][0]["run"].clone();
    let run = run.as_str().expect("a run");
    on_a_new_runner(&stage, "history --unlock 2026-01-01T00-00-00-000-shop-0000")
        .code(1)
        .stderr_contains("no lock in `s3://state/team` is held by run");
    on_a_new_runner(&stage, &format!("history --unlock {run}"))
        .code(0)
        .stderr_contains(&format!("released the lock of stack `shop`, held by run `{run}`"));
    on_a_new_runner(&stage, "apply --resume last --yes --quiet").code(0);
    assert!(service.has("shop/b"));
}

#[test]
fn a_stack_that_waits_for_its_lock_does_not_stop_the_others_of_its_wave() {
    let Some(bucket) = BucketServer::start() else { return };
    let service = Service::start();
    let stage =
        bucket.variables().into_iter().fold(Stage::new().at(&service), |stage, (name, value)| stage.env(name, &value));
    for name in ["a", "b"] {
        stage.write(&format!("{name}/trueup.yaml"), &format!("stack: {name}\nnamespaces: [{name}]\n"));
        stage.write(&format!("{name}/x.yaml"), &definition(&format!("{name}/x"), 80));
    }
    service.hold("operation: endpoint-create, namespace: a");
    let mut holder = stage
        .command(&["apply", "a", "--yes", "--quiet"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    while bucket.names("locks").is_empty() {
        assert!(holder.try_wait().expect("a child").is_none(), "the apply does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    let ran = stage.run("apply a b --yes --waves 2");
    holder.kill().expect("it runs");
    holder.wait().expect("it ends");
    ran.code(7).stdout_contains("2 stacks: 1 applied, 1 not applied");
    let at = |words: &str| ran.errors().find(words).unwrap_or_else(|| panic!("`{words}` is not in {}", ran.errors()));
    assert!(at("b: applied 1 of 1") < at("another apply of stack `a` is running"), "{}", ran.errors());
}

#[test]
fn what_is_wrong_with_a_bucket_is_said_before_anything_is_sent_and_without_the_secret() {
    let Some(bucket) = BucketServer::start() else { return };
    let service = Service::start();
    let stage = stage(&service, &bucket);
    for (state, code, words) in [
        ("s3://absent-bucket/team", 1, "there is no such bucket"),
        ("s3://user:bucket-secret-5b1e77d0@state/team", 64, "the URL contains a password"),
        ("s3://state/team?X-Amz-Signature=bucket-secret-5b1e77d0", 64, "the URL contains a query"),
        ("https://state.example/team", 64, "`https://` is not supported"),
    ] {
        let ran = stage.run_words(&["apply", ".", "--yes", "--state", state]);
        ran.code(code).stderr_contains(words).does_not_say(SECRET);
    }
    let wrong = stage.env("AWS_SECRET_ACCESS_KEY", "another-secret-77aa11");
    wrong.run("apply . --yes").code(1).stderr_contains("SignatureDoesNotMatch").does_not_say("another-secret");
    wrong.run("doctor .").code(1).stdout_contains("failed  state").does_not_say("another-secret");
    let none = wrong.env("AWS_ENDPOINT_URL", "http://127.0.0.1:9");
    for (line, is_to_send) in [("history", false), ("apply . --yes", true), ("rollback last --yes", true)] {
        let ran = none.run(line);
        ran.code(1).stderr_contains("cannot list `s3://state/team/runs`").does_not_say("another-secret");
        ran.stderr_contains("(at http://127.0.0.1:9)")
            .stderr_contains("check the address (`--state` or `TRUEUP_STATE`)");
        assert_eq!(ran.errors().contains("nothing was sent"), is_to_send, "{}", ran.errors());
    }
    assert_eq!(service.requests("POST"), 0);
}

#[test]
fn a_run_of_100_changes_costs_few_requests_to_the_bucket() {
    let Some(bucket) = BucketServer::start() else { return };
    let service = Service::start();
    let stage = stage(&service, &bucket);
    for number in 0..98 {
        stage.write(&format!("more-{number}.yaml"), &definition(&format!("shop/more-{number}"), 80));
    }
    let outcome: Value = on_a_new_runner(&stage, "apply . --yes --quiet --format json").json();
    assert_eq!(outcome["outcome"]["steps"].as_array().map(Vec::len), Some(100), "{outcome}");
    let (writes, reads) = (bucket.requests("PUT"), bucket.requests("GET"));
    println!("a run of 100 changes: {writes} writes and {reads} reads of the bucket");
    assert!(writes < 60 && reads < 15, "{writes} writes, {reads} reads");
    assert_eq!(bucket.names("runs").len(), 1, "what has ended is one object");
}

#[test]
fn an_answer_that_is_not_a_list_is_not_an_empty_one() {
    let cut = "<ListBucketResult><IsTruncated>true</IsTruncated><CommonPrefixes><Prefix>team/runs/x/</Prefix></CommonPrefixes></ListBucketResult>";
    for (list, reason) in [
        ("<html><body>Sign in</body></html>", "the answer is not a `ListBucketResult`"),
        ("{}", "the answer is not a `ListBucketResult`"),
        (cut, "the list is not whole"),
    ] {
        let bucket = OddServer::start(move |line, _| match line.contains("list-type=2") {
            true => (200, list.into()),
            false => (404, b"<Error><Code>NoSuchKey</Code></Error>".to_vec()),
        });
        let stage = bucket.variables().into_iter().fold(Stage::new(), |stage, (name, value)| stage.env(name, &value));
        stage.run("history").code(1).stderr_contains("cannot list `s3://state/team/runs`").stderr_contains(reason);
    }
}

#[test]
fn the_object_of_a_folder_is_not_a_run() {
    let list = "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>team/runs/</Key><Size>0</Size>\
                <LastModified>2026-07-01T00:00:00.000Z</LastModified><ETag>\"1\"</ETag></Contents></ListBucketResult>";
    let bucket = OddServer::start(move |line, _| match line.contains("list-type=2") && !line.contains("runs%2Fruns") {
        true => (200, list.into()),
        false => (404, b"<Error><Code>NoSuchKey</Code></Error>".to_vec()),
    });
    let stage = bucket.variables().into_iter().fold(Stage::new(), |stage, (name, value)| stage.env(name, &value));
    let shown: Value = stage.run("history --format json").json();
    assert_eq!((&shown["runs"], &shown["unreadable"]), (&Value::Array(Vec::new()), &Value::Array(Vec::new())));
}

#[test]
fn a_list_that_is_forbidden_says_which_permissions_are_needed() {
    let service = Service::start();
    let denied = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>";
    let bucket = OddServer::start(|_, _| (403, denied.into()));
    let stage = Stage::stack(&service, "shop").file("a.yaml", &definition("shop/a", 80));
    let stage = bucket.variables().into_iter().fold(stage, |stage, (name, value)| stage.env(name, &value));
    for line in ["history", "apply . --yes"] {
        let ran = stage.run(line);
        ran.code(1)
            .stderr_contains("cannot list `s3://state/team/runs`: permission denied: AccessDenied: Access Denied");
        ran.stderr_contains("lists the permissions that trueup needs");
    }
    assert_eq!(service.requests("POST"), 0);
}

/// Azure keeps it where an account has a hierarchical namespace.
#[test]
fn a_folder_that_a_removed_run_leaves_is_not_a_run() {
    const RUN: &str = "2026-11-22T05-00-00-000-shop-0001";
    let bucket = OddServer::start(|line, _| {
        let list = |inner: &str| (200, format!("<ListBucketResult>{inner}</ListBucketResult>").into_bytes());
        match line {
            _ if !line.contains("list-type") => (404, b"<Error><Code>NoSuchKey</Code></Error>".to_vec()),
            _ if line.contains(RUN) => list(""),
            _ => list(&format!("<CommonPrefixes><Prefix>team/runs/{RUN}/</Prefix></CommonPrefixes>")),
        }
    });
    let stage = bucket.variables().into_iter().fold(Stage::new(), |stage, (name, value)| stage.env(name, &value));
    let ran = stage.run("history");
    ran.code(0).stdout("No runs are kept.\n").stderr_contains("Runs are looked for in s3://state/team");
}

#[test]
fn the_address_of_an_object_store_without_a_scheme_is_refused() {
    for (state, name) in [
        ("s3://b/team", "AWS_ENDPOINT_URL"),
        ("s3://b/team", "AWS_ENDPOINT"),
        ("s3://b/team", "AWS_ENDPOINT_URL_S3"),
        ("gs://b/team", "GOOGLE_BASE_URL"),
    ] {
        for value in ["minio:9000", "minio", "http://"] {
            let stage = Stage::new().env(name, value);
            let ran = stage.run(&format!("history --state {state}"));
            ran.code(1).stderr_contains(&format!("{name} is not a valid URL"));
        }
    }
}

#[test]
fn a_credential_with_a_line_break_is_refused_by_its_name() {
    let bucket = OddServer::start(|_, _| (200, b"<ListBucketResult/>".to_vec()));
    let stage = || bucket.variables().into_iter().fold(Stage::new(), |stage, (name, value)| stage.env(name, &value));
    for name in ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_REGION"] {
        let ran = stage().env(name, "a-part-of-it\n").run("history");
        ran.code(1).stderr_contains(&format!("{name} has a space, a line break")).does_not_say("a-part-of-it");
    }
    let ran = stage().env("AWS_REGION", "us-east-1 ").run("history");
    ran.code(1).stderr_contains("AWS_REGION has a space");
    let ran = stage().env("AWS_METADATA_ENDPOINT", "http://a/b c").run("history");
    ran.code(1).stderr_contains("AWS_METADATA_ENDPOINT is not a valid URL");
    stage()
        .env("AWS_UNKNOWN_KEY", "-----BEGIN\n")
        .run("history")
        .code(0)
        .stderr_contains("Runs are looked for in s3://state/team");
}

#[test]
fn what_a_google_credential_contains_is_in_no_message() {
    const PLANTED: &str = "\"a-part-of-it\"";
    for (name, value) in [
        ("GOOGLE_APPLICATION_CREDENTIALS", "../key.json"),
        ("GOOGLE_SERVICE_ACCOUNT", "../key.json"),
        ("GOOGLE_SERVICE_ACCOUNT_KEY", &format!("{PLANTED}\n")),
    ] {
        let stage = Stage::new().file("../key.json", PLANTED).env(name, value);
        let ran = stage.run("history --state gs://b/team");
        ran.code(1).stderr_contains("check the variables GOOGLE_").does_not_say("a-part-of-it");
    }
}

#[test]
fn a_file_of_a_credential_that_is_not_there_is_named() {
    let stage = Stage::new().env("GOOGLE_APPLICATION_CREDENTIALS", "../none.json");
    let ran = stage.run("history --state gs://b/team");
    ran.code(1).stderr_contains("../none.json: ").stderr_contains("check the variables GOOGLE_");
}

/// A stage whose state is in Azure, with an identity service that answers so.
fn with_identity_service(answer: impl FnMut(&str, &[u8]) -> (u16, Vec<u8>) + Send + 'static) -> (Stage, String) {
    let url = OddServer::start(answer).url();
    let stage = Stage::new().env("TRUEUP_STATE", "az://box@acct/pre").env("AZURE_ENDPOINT", &url);
    (stage.env("AZURE_ALLOW_HTTP", "true"), url)
}

#[test]
fn a_credential_that_an_identity_service_repeats_is_in_no_message() {
    let secret = ("AZURE_CLIENT_SECRET", "a secret+of/one-part");
    let missing = Stage::new().env("TRUEUP_STATE", "az://box@acct/pre").env("AZURE_FEDERATED_TOKEN_FILE", "../none");
    missing
        .run("history")
        .code(1)
        .stderr_contains("AZURE_FEDERATED_TOKEN_FILE names a file that cannot be read: ../none: No such file")
        .stderr_contains("check the variables AZURE_");
    for (name, value) in [secret, ("AZURE_FEDERATED_TOKEN_FILE", "../token")] {
        let (stage, url) = with_identity_service(|_, body| (400, [b"got ", body].concat()));
        let stage = stage.file("../token", "of/one-part\n").env("AZURE_AUTHORITY_HOST", &url).env(name, value);
        let ran = stage.env("AZURE_CLIENT_ID", "c").env("AZURE_TENANT_ID", "t").run("history");
        ran.code(1).stderr_contains("got ").does_not_say("one-part");
    }
    let (stage, url) =
        with_identity_service(|_, _| (401, b"{\"error_description\":\"the keys are expired\"}".to_vec()));
    let stage = stage.env("AZURE_AUTHORITY_HOST", &url).env("AZURE_CLIENT_SECRET", "a-secret-of-it");
    let ran = stage.env("AZURE_CLIENT_ID", "c").env("AZURE_TENANT_ID", "t").run("history");
    ran.code(1)
        .stderr_contains("the credentials are not accepted: ")
        .stderr_contains("the keys are expired")
        .stderr_contains("check the variables that give the credentials");
}

#[test]
fn a_token_that_no_header_can_contain_is_an_error_and_no_bug() {
    // Not only where the document begins at once.
    let token =
        br#" {"access_token":"a\nb","expires_in":3600,"expires_on":"9999999999","token_type":"B","resource":"x"}"#;
    let (stage, url) = with_identity_service(|_, _| (200, token.to_vec()));
    let ran = stage.env("AZURE_MSI_ENDPOINT", &format!("{url}/msi")).run("history");
    ran.code(1).stderr_contains("the credentials that it gives contain a line break");
    // A file with a token that is sent as it is.
    let bucket = OddServer::start(|_, _| (200, b"<ListBucketResult/>".to_vec()));
    let variables = bucket.variables().into_iter().filter(|(name, _)| !name.contains("ACCESS"));
    let stage = variables.fold(Stage::new(), |stage, (name, value)| stage.env(name, &value)).file("token", "a\n");
    let token = stage.path("token").display().to_string();
    let stage = stage
        .env("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://localhost:9/token")
        .env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", &token);
    stage
        .run("history")
        .code(1)
        .stderr_contains("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE names a file with a line break");
}

#[test]
fn the_address_that_is_used_says_whether_plain_http_is() {
    let bucket = OddServer::start(|_, _| (200, b"<ListBucketResult/>".to_vec()));
    let stage = bucket.variables().into_iter().fold(Stage::new(), |stage, (name, value)| stage.env(name, &value));
    let stage = stage.env("AWS_ENDPOINT_URL_S3", "http://192.0.2.1");
    stage.run("history").code(1).stderr_contains("URL scheme is not allowed");
    let stage = stage.env("AWS_ENDPOINT_URL", "https://s3.example.net").env("AWS_ENDPOINT_URL_S3", &bucket.url());
    stage.run("history").code(0).stderr_contains("Runs are looked for in s3://state/team");
    let stage = stage.env("AWS_ENDPOINT_URL_S3", "https://s3.example.net");
    let ran = stage.env("HTTPS_PROXY", "http://user:a-part-of-it@127.0.0.1:9").run("history");
    ran.code(1).stderr_contains("(through the proxy http://127.0.0.1:9)").stderr_contains("check HTTPS_PROXY");
    ran.does_not_say("a-part-of-it");
}

#[cfg(unix)]
#[test]
fn a_bucket_that_does_not_answer_holds_no_command_that_is_interrupted() {
    let service = Service::start();
    let bucket = OddServer::start(|_, _| {
        loop {
            std::thread::park();
        }
    });
    let stage = Stage::stack(&service, "shop").file("a.yaml", &definition("shop/a", 80));
    let stage = bucket.variables().into_iter().fold(stage, |stage, (name, value)| stage.env(name, &value));
    for line in ["apply .", "apply --resume last --yes", "rollback last --yes", "drift .", "doctor ."] {
        let mut terminal = crate::terminal::Terminal::run(&stage, line);
        terminal.wait_for("waiting for the state in s3://state/team").interrupt();
        let (code, screen) = terminal.end();
        assert_eq!(code, 130, "{line}: {screen}");
    }
    assert_eq!(service.requests("POST"), 0);
}
