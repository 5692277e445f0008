//! The client certificate as the console hands it out, through the program.

use crate::api::tls::serve;
use crate::support::Stage;

/// The password of `tests/cases/tls/modern.p12` and `legacy.p12`.
const PASSWORD: &str = "trüup test";

fn stage() -> Stage {
    Stage::new()
        .env("TRUEUP_BASE_URL", &format!("https://{}", serve()))
        .file("trueup.yaml", "stack: identity\nnamespaces: [shop]\n")
}

fn line(file: &str, more: &str) -> String {
    let cases = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/tls");
    format!(
        "call svc-api-servicemesh-endpoint-get --param namespace=shop --param name=cart \
         --ca-cert {cases}/authority.pem --client-p12 {cases}/{file} {more}"
    )
}

#[test]
fn a_pkcs12_file_with_its_password_is_enough() {
    let stage = stage();
    stage.write("password", &format!("{PASSWORD}\n"));
    for file in ["modern.p12", "legacy.p12"] {
        stage.run(&line(file, "--client-p12-password-file password")).code(0).stdout("{}\n");
    }
    for variable in ["TRUEUP_P12_PASSWORD", "VES_P12_PASSWORD"] {
        let stage = self::stage().env(variable, PASSWORD);
        stage.run(&line("modern.p12", "--verbose")).code(0).stderr_ignored().does_not_say(PASSWORD);
    }
}

#[test]
fn a_pkcs12_file_that_cannot_be_read_says_why_and_nothing_is_sent() {
    let stage = stage();
    stage
        .run(&line("modern.p12", ""))
        .code(1)
        .stderr_contains("there is no password for")
        .stderr_contains("TRUEUP_P12_PASSWORD");
    stage.write("password", "another");
    let wrong = stage.run(&line("legacy.p12", "--client-p12-password-file password"));
    wrong.code(1).stderr_contains("the password of the file of --client-p12 is wrong").does_not_say("another");
    stage
        .run(&line("server.pem", "--client-p12-password-file password"))
        .code(1)
        .stderr_contains("--client-cert and --client-key");
    stage.run(&line("absent.p12", "--client-p12-password-file password")).code(1).stderr_contains("absent.p12");
    stage.run(&line("modern.p12", "--client-cert a --client-key b")).code(64).stderr_contains("cannot be used with");
    stage.run("plan --client-p12-password-file password").code(64).stderr_contains("--client-p12");
}
