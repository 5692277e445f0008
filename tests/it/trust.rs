//! A pull request, a saved plan and a journal are written by others: none of them chooses where the
//! token goes, which configuration is in force, or how strict it is.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};

use crate::api::tls;
use crate::support::{CLOSED, Ran, Service, Stage, TOKEN, definition};

/// A stack in `stack` whose `trueup.yaml` says more, and one definition.
fn stack(more: &str) -> Stage {
    Stage::new()
        .file("stack/trueup.yaml", &format!("stack: s\nnamespaces: [shop]\n{more}"))
        .file("stack/cart.yaml", &definition("shop/cart", 80))
}

/// Every command that asks a service, from the directory of the stack.
const COMMANDS: [&str; 9] = [
    "plan stack",
    "apply stack --yes",
    "drift stack",
    "snapshot stack -o live.json",
    "rehearse stack",
    "pull -n shop -o pulled --config stack/trueup.yaml",
    "events -n shop --config stack/trueup.yaml",
    "ddos list -n system --config stack/trueup.yaml",
    "call svc-api-servicemesh-endpoint-list --param namespace=shop --config stack/trueup.yaml",
];

/// Names and values of environment variables.
type Variables<'a> = &'a [(&'a str, &'a str)];

#[test]
fn a_hostile_configuration_gets_no_token_whatever_the_environment_holds() {
    let (ours, theirs) = (Service::start(), Service::start());
    let (our_url, their_url) = (ours.url(), theirs.url());
    let (ours_text, theirs_text) = (our_url.as_str(), their_url.as_str());
    let environments: [(&str, Variables<'_>, &str); 7] = [
        ("", &[("TRUEUP_BASE_URL", ours_text), ("TRUEUP_TOKEN", TOKEN)], "`TRUEUP_BASE_URL` is"),
        ("", &[("F5XC_API_URL", ours_text), ("F5XC_API_TOKEN", TOKEN)], "`F5XC_API_URL` is"),
        ("", &[("VOLT_API_URL", ours_text), ("TRUEUP_TOKEN", TOKEN)], "`VOLT_API_URL` is"),
        ("", &[("TRUEUP_TOKEN", TOKEN), ("TRUEUP_TOKEN_URL", ours_text)], "binds the token of `TRUEUP_TOKEN`"),
        ("", &[("TRUEUP_TOKEN", TOKEN), ("CI", "true")], "TRUEUP_BASE_URL="),
        (
            "token_variable: TRUEUP_TOKEN_B\n",
            &[("TRUEUP_TOKEN_B", TOKEN), ("TRUEUP_TOKEN_B_URL", ours_text)],
            "binds the token of `TRUEUP_TOKEN_B`",
        ),
        (
            "token_variable: TRUEUP_TOKEN_B\n",
            &[("TRUEUP_TOKEN_B", TOKEN), ("TRUEUP_TOKEN", TOKEN)],
            "`TRUEUP_TOKEN_B_URL` is not set",
        ),
    ];
    for (more, environment, expected) in environments {
        let stage = environment
            .iter()
            .fold(stack(&format!("base_url: {theirs_text}\n{more}")), |stage, (name, value)| stage.env(name, value));
        for command in COMMANDS {
            stage.run(command).code(1).stderr_contains(expected);
        }
    }
    assert_eq!((theirs.log().len(), ours.log().len()), (0, 0), "nothing was sent to either");
}

#[test]
fn a_pipeline_sends_the_token_where_something_outside_names_the_service() {
    let service = Service::start();
    let (url, in_ci) = (service.url(), |stage: Stage| stage.env("CI", "true").env("TRUEUP_TOKEN", TOKEN));
    let configured = || stack(&format!("base_url: {url}\n"));
    in_ci(configured()).env("TRUEUP_BASE_URL", &url).run("plan stack").code(0);
    in_ci(configured()).env("TRUEUP_TOKEN_URL", &format!("{url}/api/")).run("plan stack").code(0);
    in_ci(configured()).run(&format!("plan stack --base-url {url}")).code(0);
    in_ci(configured()).env("CI", "false").run("plan stack").code(0);
    let stage = in_ci(configured()).file("secret", TOKEN);
    stage.run("plan stack --token-file secret").code(1).stderr_contains("gets no token in a pipeline");
    stage.write("../policy.yaml", &format!("base_urls: [\"{url}\"]\n"));
    stage.run("plan stack --token-file secret --policy ../policy.yaml").code(0);
    // Without a token nothing is leaked, and nothing is asked.
    stack("").run("plan stack --sandbox").code(0);
}

#[test]
fn a_token_variable_that_is_not_set_is_an_error_and_no_other_token_is_taken() {
    let service = Service::start();
    let stage = stack("token_variable: TRUEUP_TOKEN_SHOP\n").at(&service);
    stage.run("plan stack").code(1).stderr_contains("`token_variable` names `TRUEUP_TOKEN_SHOP`, which is not set");
    assert_eq!(service.log().len(), 0);
}

#[test]
fn a_saved_plan_never_chooses_its_configuration() {
    let service = Service::start();
    let stage = Stage::new()
        .at(&service)
        .file("my stack/trueup.yaml", "stack: s\nnamespaces: [shop]\nrate_limit: 500\n")
        .file("my stack/a/cart.yaml", &definition("shop/cart", 80))
        .file("my stack/b/card.yaml", &definition("shop/card", 80));
    for paths in [vec!["my stack"], vec!["my stack/a", "my stack/b"]] {
        let words = ["plan"].into_iter().chain(paths).chain(["-o", "plan.json"]);
        let planned = stage.run_words(&words.collect::<Vec<_>>());
        planned
            .code(0)
            .stdout_contains("Apply exactly this:  trueup apply plan.json --config 'my stack/trueup.yaml' --digest ");
        let refused = stage.run("apply plan.json --yes");
        refused.code(6).stderr_contains("the plan is of stack `s`, and the settings name no stack");
        refused.stderr_contains("--config 'my stack/trueup.yaml'");
        assert_eq!(service.requests("POST"), 0);
    }
    // A configuration of another stack or service is refused too.
    stage.write("other/trueup.yaml", "stack: other\nnamespaces: [shop]\n");
    stage
        .run("apply plan.json --yes --config other/trueup.yaml")
        .code(6)
        .stderr_contains("the settings name stack `other`");
    // A flag decides before any configuration, and a configuration that is used already is not proposed.
    let refused = stage.run_words(&["apply", "plan.json", "--config", "my stack/trueup.yaml", "--stack", "other"]);
    refused.code(6).stderr_contains("`--stack` names that one").does_not_say("--config");
    stage.edit("my stack/trueup.yaml", "stack: s\n", "stack: t\n");
    let refused = stage.run_words(&["apply", "plan.json", "--config", "my stack/trueup.yaml"]);
    refused.code(6).stderr_contains("name its configuration with --config DIR/trueup.yaml, or its stack with --stack");
    stage.edit("my stack/trueup.yaml", "stack: t\n", "stack: s\n");
    assert_eq!(service.requests("POST"), 0);
    let with = |words: &[&str]| {
        let words: Vec<&str> = words.iter().copied().chain(["--config", "my stack/trueup.yaml"]).collect();
        stage.run_words(&words)
    };
    with(&["apply", "plan.json", "--yes", "--quiet"])
        .code(0)
        .stdout_contains("undo with: trueup rollback ")
        .stdout_contains("--config 'my stack/trueup.yaml'");
    stage
        .run("rollback last --yes")
        .code(1)
        .stderr_contains("there is no run without a stack")
        .stderr_contains("runs of stack `s`");
    with(&["rollback", "last", "--yes", "--quiet", "--allow", "empty-namespace"]).code(0);
    // The stack by its name alone is enough where nothing else of the configuration is needed.
    with(&["plan", "my stack", "-o", "plan.json"]).code(0);
    stage.run("apply plan.json --yes --quiet --stack s").code(0);
}

#[test]
fn a_stack_that_is_no_name_is_a_usage_error() {
    let stage = stack("");
    for name in ["", "a b", "S"] {
        stage.run_words(&["plan", "stack", "--sandbox", "--stack", name]).code(64).stderr_contains("`--stack` is");
    }
    stack("")
        .env("TRUEUP_STACK", "a b")
        .run("plan stack --sandbox")
        .code(64)
        .stderr_contains("`TRUEUP_STACK` is `a b`");
}

#[test]
fn a_variable_or_an_environment_that_nothing_defines_is_an_error_that_names_it() {
    let stage = stack("variables: {region: eu}\nenvironments: {prod: {variables: {zone: a}}}\n")
        .file("stack/card.yaml", &definition("shop/card-${tier}", 80))
        .file("bare/cart.yaml", &definition("shop/cart", 80));
    let describe = |line: &str, part: &str| {
        stage.run(line).code(1).stderr_contains(part);
    };
    describe("validate stack --var tier=web --var nosuch=x", "`--var nosuch` names a variable that nothing uses");
    describe("validate stack --var tier=web --var regoin=x", "did you mean `region`?");
    describe("validate bare --var nosuch=x", "`--var nosuch` names a variable that nothing uses");
    describe("validate stack --var tier=web --env prd", "did you mean `prod`?");
    describe("validate bare --env prod", "there is no environment `prod`");
    describe("plan stack --sandbox --var tier=web --var nosuch=x", "`--var nosuch`");
    // What is defined somewhere is good: used, declared, or of another environment.
    stage
        .run("validate stack --var tier=web --var region=us --var zone=b")
        .code(0)
        .stdout_contains("Valid")
        .stderr_contains("nothing uses the variable `zone`");
}

#[test]
fn a_variable_of_the_settings_that_nothing_uses_is_noted_where_it_is_set() {
    let settings = "stack: s\nvariables: {port: 80}\nenvironments:\n  prod:\n    variables: {prot: 443}\n  dev:\n    \
                    variables: {zone: b}\n    overlay: dev\n";
    let stage = Stage::new()
        .file("trueup.yaml", settings)
        .file("cart.yaml", "metadata: {name: cart, namespace: shop}\nspec:\n  ip: 10.0.0.7\n  port: ${port}\n")
        .file("dev/cart.yaml", "metadata:\n  name: cart\n  namespace: shop\n  description: in ${zone}\n");
    stage
        .run("validate . --env prod")
        .code(0)
        .stderr_contains("note: nothing uses the variable `prot`\n--> trueup.yaml:5:17")
        .stderr_contains("did you mean `port`?")
        // It may be meant for a secret.
        .does_not_say("443");
    let line = "note  trueup.yaml:5: nothing uses the variable `prot`";
    stage.run("plan . --env prod --sandbox").code(0).stdout_contains(line);
    // What the overlay of another environment uses is used.
    stage.write("trueup.yaml", &settings.replace("{port: 80}", "{port: 80, zone: a}").replace("prot", "port"));
    for line in ["validate .", "validate . --env prod", "validate . --env dev"] {
        stage.run(line).code(0).stderr("");
    }
}

#[test]
fn a_variable_whose_value_the_overlay_of_one_environment_replaces_is_given_for_all() {
    let stage = Stage::new()
        .file("trueup.yaml", "stack: s\nenvironments: {dev: {overlay: dev}, prod: {}}\n")
        .file("cart.yaml", "metadata: {name: cart, namespace: shop}\nspec:\n  ip: 10.0.0.7\n  port: ${port}\n")
        .file("dev/cart.yaml", "metadata: {name: cart, namespace: shop}\nspec: {port: 1}\n");
    for environment in ["prod", "dev"] {
        stage.run(&format!("validate . --var port=2 --env {environment}")).code(0);
    }
    // So is one that only the overlay of another environment uses, or a lower overlay of the same one.
    stage.write("cart.yaml", "metadata: {name: cart, namespace: shop}\nspec:\n  ip: 10.0.0.7\n");
    stage.write("dev/cart.yaml", "metadata: {name: cart, namespace: shop}\nspec:\n  port: ${port}\n");
    stage.run("validate . --var port=2 --env all").code(0);
    stage.write("trueup.yaml", "stack: s\ndefaults: {overlay: dev}\nenvironments: {dev: {overlay: own}}\n");
    stage.write("own/cart.yaml", "metadata: {name: cart, namespace: shop}\nspec: {port: 1}\n");
    stage.run("validate . --var port=2 --env dev").code(0);
    stage
        .run("validate . --var part=2 --env dev")
        .code(1)
        .stderr_contains("`--var part` names a variable that nothing uses");
}

/// A repository whose branch loosens the rules of `main`.
fn loosened(service: &Service, base: &str, head: &str) -> Stage {
    let names: Vec<String> = (0..12).map(|n| format!("e{n}")).collect();
    let mut stage = Stage::new().at(service).file("trueup.yaml", base);
    for name in &names {
        stage = stage.file(&format!("shop/{name}.yaml"), &definition(&format!("shop/{name}"), 80));
    }
    let git = |line: &str| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.net", "-c", "commit.gpgsign=false"];
        let done =
            std::process::Command::new("git").args(identity).args(line.split(' ')).current_dir(stage.path("")).status();
        assert!(done.expect("git starts").success());
    };
    git("init -q -b main");
    git("add -A");
    git("commit -qm first");
    stage.run("apply . --yes --quiet").code(0);
    git("checkout -q -b change");
    stage.write("trueup.yaml", head);
    for name in names {
        stage.edit(&format!("shop/{name}.yaml"), "port: 80", "port: 81");
    }
    git("commit -qam second");
    stage
}

const STRICT: &str = "stack: s\nnamespaces: [shop]\n";
const LOOSE: &str = "stack: s\nnamespaces: [shop, other]\nguards: {percent: 100}\ngates: {upgrade: off}\n\
                     ignore: [{object: 'shop/e0', field: spec.port}]\n";

#[test]
fn a_pull_request_cannot_loosen_its_own_rules() {
    let service = Service::start();
    let stage = loosened(&service, STRICT, LOOSE);
    // Without a base the configuration is the working tree's.
    stage.run("plan . --detailed-exitcode").stdout_contains("11 to replace");
    let plan = |more: &str| stage.run(&format!("plan . --base main {more}"));
    let text = plan("-o plan.json");
    text.stdout_contains("12 to replace").stdout_contains("loosened  guards.percent  30 -> 100");
    text.stdout_contains("in force: 30, the stricter").stdout_contains("loosened  gates.upgrade   warn -> off");
    text.stdout_contains("loosened  ignore")
        .stdout_contains("changed   namespaces")
        .stdout_contains("the plan would delete or replace 12 of 12");
    let before = |ran: &Ran, what: &str, then: &str| {
        let text = ran.text();
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("`{part}` is not in {text}"));
        assert!(at(what) < at(then), "{text}");
    };
    before(&text, "guards.percent", "e0");
    before(&plan("--format json"), "guards.percent", "\"changes\"");
    before(&plan("--format markdown"), "guards.percent", "shop/e0");
    before(&plan("--format html"), "guards.percent", "shop/e0");
    for format in ["github", "sarif"] {
        plan(&format!("--format {format}"))
            .stdout_contains("loosened")
            .stdout_contains("guards.percent")
            .stdout_contains("in force: 30");
    }
    // The apply and the saved plan obey the same.
    stage.run("apply . --base main --yes").code(6).stderr_contains("the plan would delete or replace 12 of 12");
    stage.run("apply plan.json --yes").code(6).stderr_contains("the plan would delete or replace 12 of 12");
    // What cannot be counted is not few.
    service.misbehave("rules: [{operation: endpoint-list, status: {code: 403}}]");
    stage
        .run("apply plan.json --yes --allow mass-change")
        .code(5)
        .stderr_contains("could not read `shop` to count its");
    service.misbehave("rules: []");
    assert_eq!(service.requests("PUT"), 0);
    let applied = stage.run("apply . --base main --yes --allow mass-change");
    applied.stderr_ignored().code(0).stdout_contains("loosened  guards.percent  30 -> 100");
    assert_eq!(service.get("shop/e0")["spec"]["port"], 81);
}

#[test]
fn a_policy_from_outside_can_only_tighten() {
    let service = Service::start();
    let stage = loosened(&service, STRICT, LOOSE);
    stage.write("../policy.yaml", "guards: {percent: 20}\nignore: []\nnamespaces: [shop, other]\nallow: [protected]\n");
    let path = stage.path("../policy.yaml").display().to_string();
    let stage = stage.env("TRUEUP_POLICY", &path);
    let plan = stage.run("plan .");
    plan.code(0)
        .stdout_contains("limited  guards.percent  100")
        .stdout_contains("in force: 20, the policy's limit")
        .stdout_contains("12 to replace")
        .does_not_say("base ->");
    stage.run("apply . --yes").code(6).stderr_contains("allowed 20 %");
    stage.run("apply . --yes --allow mass-change").code(6).stderr_contains("the policy forbids `--allow mass-change`");
    stage.write("../policy.yaml", "namespaces: [shop]\n");
    stage
        .run("plan .")
        .code(6)
        .stderr_contains("the policy forbids changes in the namespace `other`; it allows `shop`");
    stage.write("../policy.yaml", "stacks: [mine]\n");
    stage.run("plan .").code(6).stderr_contains("the policy forbids the stack `s`; it allows `mine`");
    stage.write("../policy.yaml", "base_urls: [\"https://acme.example.net\"]\n");
    stage.run("plan .").code(6).stderr_contains("the policy forbids the service http://127.0.0.1:");
    assert_eq!(service.requests("PUT"), 0);
}

#[test]
fn a_policy_that_cannot_be_read_is_an_error_and_never_passed_over() {
    let service = Service::start();
    let stage = stack("").at(&service);
    stage
        .run("plan stack --policy ../nosuch.yaml")
        .code(1)
        .stderr_contains("cannot read the policy: cannot read `../nosuch.yaml`");
    for (text, expected) in [
        ("", "the policy is empty"),
        ("gaurds: {percent: 10}\n", "did you mean `guards`?"),
        ("namespaces:\n", "`namespaces` has no value"),
        ("prune: some\n", "unknown value `some` for `prune`"),
        ("allow: [mass-chnge]\n", "did you mean `mass-change`?"),
        ("base_urls: [nowhere]\n", "an item of `base_urls` is not a valid address of a service"),
        ("guards: {percent: 10}\n---\nprune: all\n", "a second document"),
    ] {
        stage.write("../policy.yaml", text);
        stage.run("plan stack --policy ../policy.yaml").code(1).stderr_contains(expected);
    }
    let named = stack("").at(&service).env("TRUEUP_POLICY", "/nosuch/policy.yaml");
    named.run("plan stack").code(1).stderr_contains("cannot read the policy: cannot read `/nosuch/policy.yaml`");
    named.run("plan stack --policy other.yaml").code(64).stderr_contains("name two policies");
    // What a pipeline could not fill in is not the wish for no policy.
    stage.write("../policy.yaml", "prune: none\n");
    let empty = stack("").at(&service).env("TRUEUP_POLICY", "");
    for line in ["plan stack", "plan stack --policy ../policy.yaml"] {
        empty.run(line).code(1).stderr_contains("`TRUEUP_POLICY` is set, and it is empty");
    }
    assert_eq!(service.log().len(), 0);
    // What a pull request can change limits nothing.
    stage.write("stack/policy.yml.txt", "prune: none\n");
    stage
        .run("plan stack --policy stack/policy.yml.txt")
        .code(1)
        .stderr_contains("is in the repository that it limits");
    // Nor does a submodule, whose commit it chooses. What a pipeline cloned into it is another repository.
    stage.write(".git/HEAD", "");
    stage.write("limits/policy.yaml", "prune: none\n");
    stage.write("limits/.git", "gitdir: ../.git/modules/limits\n");
    let line = "plan stack --policy limits/policy.yaml";
    stage.run(line).code(1).stderr_contains("is in the repository that it limits");
    stage.remove("limits/.git");
    stage.write("limits/.git/HEAD", "");
    stage.run(line).code(0).stdout_contains("in force: none");
}

#[test]
fn a_misspelled_variable_is_not_silently_without_effect() {
    let service = Service::start();
    // On Windows the last two are the variable itself.
    let wrong = [
        "TRUEUP_POLCY",
        "TRUEUP_POLICIY",
        "TRUEUP_POLICY_FILE",
        "TRUEUP_POLICIES",
        "TRUEUP_POLICY_PATH",
        "TRUEUPPOLICY",
        "TRUEUP_policy",
        "trueup_policy",
    ];
    for name in wrong.into_iter().take(if cfg!(windows) { 6 } else { 8 }) {
        let misspelled = stack("").at(&service).env(name, "policy.yaml");
        misspelled.run("apply stack --yes").code(1).stderr_contains("did you mean `TRUEUP_POLICY`?");
    }
    let stage = stack("").at(&service).env("TRUEUP_EVN", "prod");
    let warned = stage.run("plan stack");
    warned.code(0).stderr_contains("warning: `TRUEUP_EVN` is not a variable of trueup; did you mean `TRUEUP_ENV`?");
    for name in ["TRUEUP_READ_TOKEN", "TRUEUP_RELEASES", "TRUEUP_PAGES", "TRUEUP_SARIF", "TRUEUP_TOKEN_POLICY"] {
        stack("").at(&service).env(name, "x").run("plan stack").code(0);
    }
    // What is set as well was not meant.
    let both = stack("").at(&service).env("TRUEUP_STACK", "limits").env("TRUEUP_STACKS", "a b");
    both.run("plan stack").code(0);
}

#[test]
fn a_proxy_of_the_environment_learns_where_to_connect_and_nothing_else() {
    let (proxy, service) = (TcpListener::bind("127.0.0.1:0").expect("a port"), tls::serve());
    let address = proxy.local_addr().expect("an address");
    let seen = std::thread::spawn(move || {
        let (mut client, _) = proxy.accept().expect("a client");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            client.read_exact(&mut byte).expect("a head");
            head.extend(byte);
        }
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").expect("an answer");
        let service = TcpStream::connect(service).expect("the service");
        let (mut from_client, mut to_service) =
            (client.try_clone().expect("a copy"), service.try_clone().expect("a copy"));
        let up = std::thread::spawn(move || {
            let _ = std::io::copy(&mut from_client, &mut to_service);
            // The service waits for more until it is told that there is none.
            let _ = to_service.shutdown(Shutdown::Write);
        });
        // Either side may end it first.
        let _ = std::io::copy(&mut &service, &mut client);
        let _ = client.shutdown(Shutdown::Both);
        let _ = service.shutdown(Shutdown::Both);
        let _ = up.join();
        String::from_utf8(head).expect("text")
    });
    let authority = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/tls/authority.pem");
    let stage = stack("base_url: https://mesh.example.net\n")
        .env("TRUEUP_BASE_URL", "https://mesh.example.net")
        .env("TRUEUP_TOKEN", "a-token-of-enough-characters")
        .env("HTTPS_PROXY", &format!("http://somebody:hunter2@{address}"));
    // The certificate is one of `localhost`, so TLS through the tunnel refuses it before the request is sent.
    stage
        .run(&format!("plan stack --ca-cert {authority}"))
        .code(5)
        .stderr_contains("the certificate of the service is not for `mesh.example.net`");
    let head = seen.join().expect("the proxy");
    assert!(head.starts_with("CONNECT mesh.example.net:443 HTTP/1.1\r\n"), "{head}");
    assert!(head.to_lowercase().contains("proxy-authorization: basic c29tzwjvzhk6ahvudgvymg==\r\n"), "{head}");
    assert!(!head.contains("a-token-of-enough-characters"), "{head}");
}

#[test]
fn a_proxy_that_gives_no_tunnel_is_named_without_its_credentials() {
    let proxy = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = proxy.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut client in proxy.incoming().flatten() {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if client.read_exact(&mut byte).is_err() {
                    return;
                }
                head.extend(byte);
            }
            let answer = "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
            let _ = client.write_all(answer.as_bytes());
        }
    });
    for (url, host, reason) in [
        // A password that should have been escaped.
        (format!("http://somebody:hun@ter2@{address}"), format!("http://{address}"), "the proxy asks for a login"),
        (format!("socks5://somebody:hunter2@{CLOSED}"), format!("socks5://{CLOSED}"), "unsupported scheme socks5"),
    ] {
        let stage = stack("base_url: https://mesh.example.net\n")
            .env("TRUEUP_BASE_URL", "https://mesh.example.net")
            .env("TRUEUP_TOKEN", "a-token-of-enough-characters")
            .env("HTTPS_PROXY", &url);
        let ran = stage.run("plan stack");
        ran.code(5).stderr_contains(reason).stderr_contains(&format!("(through the proxy {host})"));
        ran.does_not_say("hunter2");
        ran.does_not_say("ter2");
    }
}

#[test]
fn a_proxy_that_cannot_be_used_is_an_error_before_anything_is_sent() {
    let stage = stack("")
        .env("TRUEUP_BASE_URL", "https://mesh.example.net")
        .env("TRUEUP_TOKEN", "a-token-of-enough-characters")
        .env("HTTPS_PROXY", "http://somebody:hunter2@");
    for command in COMMANDS {
        let ran = stage.run(command);
        ran.code(1).stderr_contains("the value of `HTTPS_PROXY` is not a proxy");
        ran.does_not_say("hunter2");
    }
    let bucket = stage.run("history --stack s --state s3://bucket/state");
    bucket.code(1).stderr_contains("the value of `HTTPS_PROXY` is not a proxy");
    #[cfg(unix)]
    for (name, says) in [
        ("HTTPS_PROXY", "the value of `HTTPS_PROXY` is not a proxy"),
        ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL is not a valid URL"),
    ] {
        use std::os::unix::ffi::OsStrExt as _;
        let mut history = stage.command(&["history", "--stack", "s", "--state", "s3://bucket/state"]);
        let no_text = std::ffi::OsStr::from_bytes(b"http://127.0.0.1:1/\xff");
        let output = history.env("HTTPS_PROXY", "").env(name, no_text).output().expect("it ends");
        let stderr = String::from_utf8(output.stderr).expect("text");
        assert!(output.status.code() == Some(1) && stderr.contains(says), "{name}: {stderr}");
    }
    // A service on this machine is reached without a proxy.
    stage.env("TRUEUP_BASE_URL", "").run("plan stack --sandbox").code(0).stderr("");
}

#[test]
fn an_exception_from_the_proxy_that_no_host_matches_is_reported_where_the_proxy_is_used() {
    let with = |exceptions| {
        stack("")
            .env("TRUEUP_BASE_URL", "https://mesh.example.net")
            .env("TRUEUP_TOKEN", "a-token-of-enough-characters")
            .env("HTTPS_PROXY", &format!("http://{CLOSED}"))
            .env("NO_PROXY", exceptions)
            .run("plan stack")
    };
    with("*.example.net,localhost")
        .code(5)
        .stderr_contains("warning: `NO_PROXY` has `*.example.net`, which no host matches")
        .stderr_contains("https://mesh.example.net is reached through the proxy");
    let clear = with(".example.org");
    clear.code(5).stderr_contains("through the proxy").does_not_say("warning");
}

#[test]
fn a_token_in_settings_is_refused_and_not_shown() {
    let ran = stack("token: s3cr3t-of-the-tenant\n").run("validate stack");
    ran.code(1).stderr_contains("unknown field `token`").stderr_contains("put the token in TRUEUP_TOKEN");
    ran.does_not_say("s3cr3t");
}
