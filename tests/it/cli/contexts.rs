//! `context`: which service and token a call uses, and that a context loosens nothing.

use crate::support::{Service, Stage, TOKEN, definition};

/// A stage whose only token is that of the context `acme`, for this service.
fn staged(service: &Service) -> Stage {
    let stage = Stage::new()
        .env("TRUEUP_TOKEN_ACME", TOKEN)
        .file("trueup.yaml", "stack: s\nnamespaces: [shop]\n")
        .file("cart.yaml", &definition("shop/cart", 80));
    stage
        .run(&format!("context add acme --url {}/api --token-variable TRUEUP_TOKEN_ACME", service.url()))
        .code(0)
        .stderr_contains("Added and in use: acme, http://127.0.0.1:");
    stage
}

#[test]
fn the_current_context_names_the_service_and_its_token() {
    let service = Service::start();
    let stage = staged(&service);
    stage.run("apply . --yes --quiet").code(0);
    assert!(service.has("shop/cart"));
    stage.run("doctor").code(0).stdout_contains("named by the context `acme`").does_not_say(TOKEN);
    stage.run("doctor").code(0).stdout_contains("from TRUEUP_TOKEN_ACME of the context `acme`, bound to this URL");
    stage.run("context use --none").code(0).stderr("No context is in use.\n");
    stage.run("plan .").code(1).stderr_contains("no service is named");
    stage.run("get shop --context acme --quiet").code(0).stdout_contains("shop/cart");
    stage.run("context use acme").code(0).stderr_contains("In use: acme");
    let chosen = staged(&service).env("TRUEUP_CONTEXT", "acme");
    chosen.run("context use --none").code(0).stderr("No context is in use.\n");
    chosen.run("get shop").code(0).stdout_contains("shop/cart");
}

#[test]
fn a_context_must_agree_with_everything_else_that_names_the_service() {
    let service = Service::start();
    let stage = staged(&service);
    stage.write("trueup.yaml", "stack: s\nbase_url: https://elsewhere.example.net\nnamespaces: [shop]\n");
    let ran = stage.run("plan .");
    ran.code(1).stderr_contains("the context `acme` is http://127.0.0.1:").stderr_contains("elsewhere.example.net");
    assert_eq!(service.log().len(), 0);
    stage.write("trueup.yaml", "stack: s\nnamespaces: [shop]\n");
    let stage = stage.env("TRUEUP_BASE_URL", "https://elsewhere.example.net");
    stage.run("plan .").code(1).stderr_contains("the context `acme` is");
    // A flag names the service of a call, and the context with its token is left out.
    let line = "plan . --base-url http://127.0.0.1:9";
    stage.run(line).code(1).stderr_contains("there is no API token");
    stage.run(&format!("{line} --context acme")).code(64).stderr_contains("give one of them");
    stage.run("plan . --sandbox").code(0).stdout_contains("http://sandbox.localhost");
}

#[test]
fn a_context_pins_the_service_in_a_pipeline_and_its_binding_holds() {
    let service = Service::start();
    let stage = staged(&service).env("CI", "true");
    stage.run("plan .").code(0).stdout_contains("+ create");
    let stage = staged(&service).env("CI", "true").env("TRUEUP_TOKEN_ACME_URL", "https://elsewhere.example.net");
    stage
        .run("plan .")
        .code(1)
        .stderr_contains("binds the token of `TRUEUP_TOKEN_ACME` to https://elsewhere.example.net");
}

#[test]
fn the_stack_of_a_context_is_that_of_a_directory_that_names_none() {
    let service = Service::start();
    let (stage, url) = (staged(&service), service.url());
    stage
        .run(&format!("context add named --url {url} --stack other --token-variable TRUEUP_TOKEN_ACME"))
        .code(0)
        .stderr_contains("trueup context use named");
    stage.run("plan . --context named").code(1).stderr_contains("is for the stack `other`, and trueup.yaml names `s`");
    stage.run("plan . --context named --stack s").code(0).stdout_contains("stack s");
    stage.write("trueup.yaml", "namespaces: [shop]\n");
    stage.run("plan . --context named").code(0).stdout_contains("stack other");
}

#[test]
fn contexts_are_listed_added_and_removed_and_contain_no_secret() {
    let service = Service::start();
    let stage = staged(&service).file("token", TOKEN);
    stage
        .run("context add beta --url https://beta.example.net --token-file token")
        .code(0)
        .stderr_contains("Added: beta");
    let list = stage.run("context");
    list.code(0).stdout_contains("*  acme  http://127.0.0.1:").stdout_contains("https://beta.example.net  -");
    let listed = stage.run("context list --json").code(0).json();
    assert_eq!((&listed["kind"], &listed["contexts"][1]["name"]), (&"contexts".into(), &"beta".into()));
    assert_eq!(listed["contexts"][0]["current"], true);
    let text = stage.read("../.config/trueup/contexts.yaml");
    assert!(text.contains("base_url: https://beta.example.net") && !text.contains(TOKEN), "{text}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode =
            std::fs::metadata(stage.path("../.config/trueup/contexts.yaml")).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    stage.run("context add beta --url https://x.example.net").code(6).stderr_contains("exists already");
    stage.run("context add gamma").code(64).stderr_contains("--url");
    stage.run("context add gamma --url http://x.example.net").code(1).stderr_contains("use https");
    stage
        .run("context add gamma --url https://x.example.net --token-variable AWS_SECRET")
        .code(1)
        .stderr_contains("does not begin with `TRUEUP_TOKEN`");
    stage.run("context add -x --url https://x.example.net").code(64).stderr_contains("unexpected argument");
    stage.run("context use bet").code(1).stderr_contains("did you mean `beta`?");
    stage.run("plan . --context bet").code(1).stderr_contains("there is no context `bet`");
    stage.run("context remove acme").code(0).stderr_contains("Removed: acme");
    stage.run("plan .").code(1).stderr_contains("no service is named");
    stage.run("context remove acme").code(1).stderr_contains("there is no context `acme`");
}

#[cfg(unix)]
#[test]
fn a_file_that_others_can_change_is_not_used() {
    use std::os::unix::fs::PermissionsExt as _;
    let service = Service::start();
    let stage = staged(&service);
    std::fs::set_permissions(stage.path("../.config/trueup"), std::fs::Permissions::from_mode(0o777)).expect("a mode");
    stage.run("plan .").code(1).stderr_contains("/trueup`");
    assert_eq!(service.log().len(), 0);
    // What needs no service does not ask for it.
    stage.run("validate .").code(0).stdout_contains("Valid");
}

#[cfg(unix)]
#[test]
fn a_configuration_directory_without_contexts_is_nobodys_concern() {
    use std::os::unix::fs::PermissionsExt as _;
    let stage = Stage::new().file("a.yaml", &definition("shop/cart", 80)).file("../.config/other/x", "");
    std::fs::set_permissions(stage.path("../.config"), std::fs::Permissions::from_mode(0o777)).expect("a mode");
    stage.run("plan . --base-url http://127.0.0.1:9").code(1).stderr_contains("there is no API token");
    stage.run("context add acme --url https://acme.example.net").code(1).stderr_contains("/.config`");
}
