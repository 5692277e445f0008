//! Schemathesis, a fuzzer of HTTP interfaces, makes requests from the vendor's published schemas and
//! checks what the sandbox answers: no failure of the server, the promised content type, and a body of
//! the published schema. Where the fuzzer or the schemas are not at hand, the test says so and passes;
//! `.ci/run` installs the fuzzer.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};
use trueup::sandbox::Tenant;

use crate::sandbox::schema::{FILES, document, not_tested};
use crate::support::{Service, TOKEN};

/// The version that `.ci/run` installs, so that the same requests are made everywhere.
const VERSION: &str = "4.32.5";

/// The checks that are made. Of the others, `status_code_conformance` is left out because the vendor
/// publishes no 400, the commonest answer to a wrong request (API.md 2.1); `negative_data_rejection`
/// because the service drops unknown fields and reads numbers in texts (API.md 1.5, 10b);
/// `positive_data_acceptance` because the rules of values (names, selectors, time ranges) are not in
/// the schemas; `unsupported_method` because the gateway answers 404 and 501 where HTTP has 405;
/// `ignored_auth` because the schemas declare no authentication. The token has tests of its own.
const CHECKS: &str = "not_a_server_error,content_type_conformance,response_schema_conformance";

/// The fuzzer: where `.ci/run` puts it, or where a variable says.
fn fuzzer() -> Option<PathBuf> {
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/schemathesis/bin/schemathesis");
    let path = std::env::var_os("TRUEUP_SCHEMATHESIS").map_or(usual, PathBuf::from);
    let version = Command::new(&path).arg("--version").output();
    let text = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    if text.contains(VERSION) {
        return Some(path);
    }
    not_tested(&format!("no Schemathesis {VERSION} at {} (`.ci/run` installs it)", path.display()));
    None
}

/// What is put for a parameter of a path, so that the objects of [`service`] are met.
fn values(method: &str, parameter: &str) -> Value {
    match (method, parameter) {
        (_, "namespace") => json!(["shop", "system"]),
        (_, "event_id") => json!(["open-one", "absent"]),
        // What is deleted is not asked for again.
        ("delete", _) => json!(["gone", "absent"]),
        _ => json!(["ep-a", "ce01"]),
    }
}

/// The specification with what proto3 JSON adds to every answer: any property may be null; and with
/// parameters that meet something. A name with a dot in it, which only the vendor's generator writes,
/// loses what is before the dot.
fn prepared(mut document: Value) -> Value {
    let schemas = document["components"]["schemas"].as_object_mut().expect("schemas");
    schemas.values_mut().for_each(allow_null);
    let mut paths = Map::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        let joined = paths.entry(path.replace("{metadata.", "{")).or_insert_with(|| json!({}));
        for (method, operation) in methods.as_object().expect("methods").iter().filter(|(_, one)| one.is_object()) {
            let mut operation = operation.clone();
            let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
            for parameter in parameters.into_iter().flatten() {
                let name = parameter["name"].as_str().unwrap_or_default().replace("metadata.", "");
                if parameter["in"] == "path" {
                    parameter["schema"] = json!({"type": "string", "enum": values(method, &name)});
                }
                parameter["name"] = name.into();
            }
            joined[method] = operation;
        }
    }
    document["paths"] = paths.into();
    document
}

fn allow_null(schema: &mut Value) {
    if let Some(items) = schema.get_mut("items") {
        allow_null(items);
    }
    for property in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        allow_null(property);
        *property = json!({"nullable": true, "allOf": [property]});
    }
}

fn service() -> Service {
    let service = Service::with(|options| {
        let tenant = Tenant::read(include_str!("query/tenant.yaml"), options.clock.now()).expect("a tenant");
        options.tenant_file = Some(tenant);
    });
    for name in ["ep-a", "gone"] {
        let metadata = json!({"name": name, "namespace": "shop"});
        service.create(&json!({"metadata": metadata, "spec": {"ip": "10.0.0.1", "port": 80}}));
    }
    service
}

#[test]
fn no_request_of_the_fuzzer_gets_an_answer_that_the_vendor_does_not_publish() {
    let Some(documents) = FILES.iter().map(|file| Some((*file, document(file)?))).collect::<Option<Vec<_>>>() else {
        return;
    };
    let Some(fuzzer) = fuzzer() else { return };
    let service = service();
    let directory = tempfile::tempdir().expect("a directory");
    let mut requests = 0;
    for (file, document) in documents {
        let path = directory.path().join(file);
        std::fs::write(&path, prepared(document).to_string()).expect("written");
        let output = Command::new(&fuzzer)
            .arg("run")
            .arg(&path)
            .args(["--url", &service.url(), "--header", &format!("Authorization: APIToken {TOKEN}")])
            .args(["--checks", CHECKS, "--phases", "examples,coverage,fuzzing", "--max-examples", "25"])
            .args(["--generation-deterministic", "--workers", "1"])
            .args(["--max-failures", "20", "--request-timeout", "10"])
            .args(["--suppress-health-check", "all", "--warnings", "off", "--no-color"])
            .current_dir(directory.path())
            .env("NO_PROXY", "127.0.0.1")
            .stdin(Stdio::null())
            .output()
            .expect("the fuzzer starts");
        let message =
            format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{file}: {message}");
        let now = service.log().len();
        assert!(now > requests + 50, "{file}: too few requests\n{message}");
        requests = now;
    }
    // Each of these was done at least once, and nothing failed.
    let log = service.log();
    for operation in ["endpoint-list", "endpoint-get", "endpoint-delete", "security-event-query", "ddos-event-edit"] {
        assert!(log.iter().any(|one| one.operation == operation && one.status == Some(200)), "{operation}");
    }
    assert!(log.iter().all(|one| one.status.is_some_and(|status| status < 500)), "{log:?}");
}
