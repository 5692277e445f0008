//! A service that cannot be reached, or that refuses the token everywhere, is one error: there is nothing to report.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};

use crate::api::tls::{serve, serve_as};
use crate::support::{CLOSED, Ran, Service, Stage, TOKEN, definition};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/tls");

fn stage(base_url: &str) -> Stage {
    Stage::new()
        .env("TRUEUP_BASE_URL", base_url)
        .env("TRUEUP_TOKEN", "a-token-of-enough-characters")
        .file("trueup.yaml", "stack: unreachable\nnamespaces: [shop, pay]\n")
        .file("a.yaml", &definition("shop/cart", 80))
}

/// Answers every connection with these bytes.
fn answering(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let _ = client.read(&mut [0; 4096]);
            let _ = client.write_all(answer);
        }
    });
    address
}

/// One error, with its indented lines, and no report.
#[track_caller]
fn is_one_error(ran: &Ran, reason: &str) {
    ran.code(5).stdout("").stderr_contains(reason);
    for word in ["os error", "rustls", "certificate:", "InvalidContentType", "DnsName", "endpoints", "in sync"] {
        ran.does_not_say(word);
    }
    // A long wait is shown.
    let errors: Vec<&str> = ran.errors().lines().filter(|line| !line.starts_with("reading ")).collect();
    assert_eq!(errors.iter().filter(|line| line.starts_with("error: ")).count(), 1, "{errors:#?}");
    assert!(errors.iter().all(|line| line.starts_with("error: ") || line.starts_with("  ")), "{errors:#?}");
}

#[test]
fn every_way_in_which_a_service_is_not_there_is_one_error_without_the_words_of_a_library() {
    let service = Service::start();
    let plain = service.url().replace("http://", "https://");
    let faulty = format!("--ca-cert {CASES}/faulty-authority.pem");
    let tls = |certificate: &[u8]| format!("https://{}", serve_as(certificate.to_vec()));
    let expired = tls(include_bytes!("../../cases/tls/expired.pem"));
    let other_host = tls(include_bytes!("../../cases/tls/other-host.pem"));
    let own = tls(include_bytes!("../../cases/tls/server.pem"));
    for (url, options, reason) in [
        (format!("http://{CLOSED}"), "", "no connection: Connection refused; is the base URL right?"),
        ("https://no-such-host.invalid".to_owned(), "", "the host name `no-such-host.invalid` cannot be resolved"),
        (own.clone(), "", "of an authority that the system does not trust; name it with --ca-cert"),
        (own, &*faulty, "of an authority that neither the system nor the file of --ca-cert has"),
        (expired, &faulty, "the certificate of the service expired on 2020-02-01"),
        (other_host, &faulty, "the certificate of the service is not for `127.0.0.1`"),
        (plain, "", "the answer is not TLS; is the port one of plain HTTP?"),
        (
            format!("http://{}", answering(b"\x15\x03\x03\x00\x02\x02\x0a")),
            "",
            "the answer is not HTTP; is it the port of",
        ),
    ] {
        let stage = stage(&url);
        is_one_error(&stage.run(&format!("plan . {options}")), &format!("error: could not read {url}: "));
        let ran = stage.run(&format!("drift . {options}"));
        is_one_error(&ran, reason);
        ran.stderr_contains("\n  nothing is concluded about `pay` and `shop`\n");
        stage.write("trueup.yaml", "stack: unreachable\nnamespaces: [pay, shop]\nkinds: [healthcheck]\n");
        let ran = stage.run(&format!("plan . {options}"));
        ran.code(5).stderr_contains("\n  nothing is concluded about `pay` and `shop`\n");
    }
}

#[test]
fn what_is_wrong_with_tls_says_what_to_do_about_that() {
    let expired = format!("https://{}", serve_as(include_bytes!("../../cases/tls/expired.pem").to_vec()));
    let asking = format!("https://{}", serve());
    let authority = format!("--ca-cert {CASES}/authority.pem");
    let stranger = format!("{authority} --client-cert {CASES}/expired.pem --client-key {CASES}/expired.pem");
    for (url, options, reason) in [
        (&asking, "", "of an authority that the system does not trust; name it with --ca-cert"),
        (&expired, &*format!("--ca-cert {CASES}/faulty-authority.pem"), "expired on 2020-02-01"),
        (&asking, &authority, "the service asks for a client certificate; name one with --client-cert or --client-p12"),
        (&asking, &stranger, "the service does not accept the client certificate"),
    ] {
        let stage = stage(url);
        is_one_error(&stage.run(&format!("plan . {options}")), reason);
        let report = stage.run(&format!("doctor {options} --format json")).code(1).json();
        let checks = report["checks"].as_array().expect("checks");
        let failed: Vec<_> = checks.iter().filter(|check| check["status"] == "failed").collect();
        assert_eq!(failed.len(), 1, "{report}");
        assert!(failed[0]["message"].as_str().is_some_and(|message| message.ends_with(reason)), "{report}");
        // The reason says it; another one would mislead.
        assert!(failed[0].get("fix").is_none_or(|fix| fix == &serde_json::json!([])), "{report}");
    }
}

#[test]
fn a_proxy_that_is_not_there_or_opens_no_tunnel_is_named_with_the_variables_that_choose_it() {
    for (address, reason) in [
        (CLOSED.parse().expect("an address"), "Connection refused"),
        (
            answering(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n"),
            "the proxy refused to open a tunnel to the service",
        ),
        (answering(b"HTTP/1.1 407 Who are you\r\ncontent-length: 0\r\n\r\n"), "the proxy asks for a login"),
    ] {
        let proxy = format!("http://{address}");
        let stage = stage("https://mesh.example.net").env("HTTPS_PROXY", &proxy);
        let ran = stage.run("plan .");
        is_one_error(&ran, &format!("{reason} (through the proxy {proxy}); check HTTPS_PROXY, ALL_PROXY and NO_PROXY"));
    }
}

#[test]
fn a_token_that_is_refused_everywhere_is_one_error_in_every_command_that_reads() {
    let service = Service::start();
    for (status, reason) in [(401, "check the API token"), (403, "the token's user lacks a role for this")] {
        service.misbehave(&format!("rules: [{{operation: endpoint-list, status: {{code: {status}}}}}]"));
        let stage = stage(&service.url()).env("TRUEUP_TOKEN", TOKEN);
        for command in [
            "plan .",
            "plan . -o plan.json",
            "drift .",
            "apply .",
            "apply . --yes",
            "get shop pay",
            "pull -o new --namespace shop --namespace pay",
            "pull --drift .",
            "snapshot . -o live.json",
            "rehearse .",
            "move --from other",
            "move --from other -o plan.json",
        ] {
            let ran = stage.run(command);
            is_one_error(&ran, reason);
            assert_eq!(ran.errors().matches(reason).count(), 1, "{command}: {}", ran.errors());
            // A move reads of `pay` what the new stack does not define there.
            let names = if command.starts_with("move") { &["shop"][..] } else { &["pay", "shop"] };
            let named = names.iter().all(|name| ran.errors().contains(&format!("`{name}`")));
            assert!(
                named || command.starts_with("snapshot") || command.starts_with("rehearse"),
                "{command}: {}",
                ran.errors()
            );
        }
        stage.run("doctor").code(1).stdout_contains(&format!(" {status} "));
    }
}

#[test]
fn a_document_says_that_nothing_could_be_read_and_a_file_beside_the_error_is_written() {
    let stage = stage(&format!("http://{CLOSED}"));
    let plan = stage.run("plan . --format json");
    let reason = "no connection: Connection refused; is the base URL right?";
    assert_eq!(plan.code(5).json()["plan"]["scope"]["shop"]["read"]["unknown"]["reason"], reason);
    assert_eq!(stage.run("drift . --format json").code(5).json()["verdict"], "unknown");
    for format in ["junit", "sarif", "markdown", "html", "github", "prometheus"] {
        let ran = stage.run(&format!("drift . --format {format}"));
        ran.code(5).stdout_contains(if format == "prometheus" { "verdict=\"unknown\"} 1" } else { reason });
    }
    let apply = stage.run("apply . --yes --format json");
    apply.code(5).stderr_ignored();
    assert_eq!(apply.json()["refusal"]["unknown"][0]["reason"], reason);
    let ran = stage.run("drift . --write junit=../drift.xml --write json=../drift.json");
    is_one_error(&ran, reason);
    assert!(stage.read("../drift.xml").contains("errors=\"2\""));
    assert!(stage.read("../drift.json").contains("\"verdict\": \"unknown\""));
}

#[test]
fn many_namespaces_of_one_cause_are_listed_up_to_a_bound() {
    let names: Vec<String> = (1..=36).map(|at| format!("n{at}")).collect();
    let stage = stage(&format!("http://{CLOSED}"));
    stage.write("trueup.yaml", &format!("stack: unreachable\nnamespaces: [shop, {}]\n", names.join(", ")));
    let ran = stage.run("plan .");
    is_one_error(&ran, "`n2` and 25 more\n");
}

#[test]
fn one_cause_over_many_stacks_is_reported_once_with_a_list() {
    let service = Service::start();
    service.misbehave("rules: [{operation: endpoint-list, status: {code: 401}}]");
    let stage = Stage::new().at(&service);
    for at in 10..40 {
        stage.write(&format!("s{at}/trueup.yaml"), &format!("stack: s{at}\nnamespaces: [n{at}, m{at}]\n"));
        stage.write(&format!("s{at}/a.yaml"), &definition(&format!("n{at}/cart"), 80));
    }
    let list = "s10, s11, s12, s13, s14, s15, s16, s17, s18, s19, s20, s21 and 18 more";
    for (command, format) in
        [("plan", "text"), ("plan", "markdown"), ("drift", "text"), ("drift", "markdown"), ("drift", "html")]
    {
        let ran = stage.run(&format!("{command} -R . --format {format}"));
        ran.code(5);
        assert_eq!(ran.text().matches("401 Unauthorized").count(), 1, "{}", ran.text());
        assert!(ran.text().contains("s21") && ran.text().contains("18 more"), "{}", ran.text());
        assert!(ran.text().lines().count() < 8 || format == "html", "{}", ran.text());
    }
    stage.run("drift -R .").code(5).stdout_contains(&format!("\n  {list}\n"));
    let apply = stage.run("apply -R . --yes");
    apply.code(5).stderr_contains("nothing was sent").stdout_contains("30 stacks: 30 unknown");
    assert_eq!(apply.text().matches("401 Unauthorized").count(), 1, "{}", apply.text());
    let checks = stage.run("drift -R . --format json").code(5).json();
    assert_eq!(checks["checks"].as_array().map(Vec::len), Some(30));
    assert_eq!(checks["checks"][7]["verdict"], "unknown");
    // So is every other cause.
    let stage = stage.env("TRUEUP_TOKEN", "");
    for command in ["plan -R .", "apply -R . --yes", "snapshot -R . -o live"] {
        let ran = stage.run(command);
        ran.code(1).stderr_contains(&format!("error: {list}: there is no API token\n"));
        assert_eq!(ran.errors().matches("error: ").count(), 1, "{}", ran.errors());
        assert!(ran.text().matches("there is no API token").count() < 2, "{}", ran.text());
    }
}
