//! Every request that the program sends agrees with the vendor's published schemas, in both path
//! layouts: commands run against a service, a recorder between them keeps what was sent.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use trueup::sandbox::Tenant;

use crate::sandbox::schema::{FILES, Facts, Operation, Published};
use crate::support::{Service, Stage, TOKEN};

/// One request as it was sent.
#[derive(Debug, Clone)]
pub struct Sent {
    pub method: String,
    pub path: String,
    query: String,
    pub body: Option<Value>,
}

/// Hands every request on to a service, and keeps it.
pub struct Recorder {
    pub url: String,
    sent: Arc<Mutex<Vec<Sent>>>,
}

impl Recorder {
    pub fn before(service: &Service) -> Self {
        Self::hooked(service, |_| {})
    }

    /// The same; `hook` runs before each request is handed on.
    pub fn hooked(service: &Service, hook: impl Fn(&Sent) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let to = service.url().trim_start_matches("http://").to_owned();
        let sent = Arc::new(Mutex::new(Vec::new()));
        let (kept, hook) = (Arc::clone(&sent), Arc::new(hook));
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (to, kept, hook) = (to.clone(), Arc::clone(&kept), Arc::clone(&hook));
                std::thread::spawn(move || hand_on(client, &to, &kept, &*hook));
            }
        });
        Self { url, sent }
    }

    /// What was sent since the last call.
    pub fn take(&self) -> Vec<Sent> {
        std::mem::take(&mut *self.sent.lock().expect("nobody panics with it"))
    }
}

/// One request on a connection, which is closed after its answer.
fn hand_on(mut client: TcpStream, to: &str, kept: &Mutex<Vec<Sent>>, hook: &dyn Fn(&Sent)) {
    let mut bytes = Vec::new();
    let mut piece = [0; 16_384];
    let (head, length) = loop {
        let read = client.read(&mut piece).unwrap_or(0);
        if read == 0 {
            return;
        }
        bytes.extend_from_slice(&piece[..read]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        assert!(!head.to_lowercase().contains("transfer-encoding"), "{head}");
        let length =
            head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
        break (head, end + 4 + length.unwrap_or(0));
    };
    while bytes.len() < length {
        let read = client.read(&mut piece).unwrap_or(0);
        assert!(read > 0, "the body is cut");
        bytes.extend_from_slice(&piece[..read]);
    }
    let (first, _) = head.split_once("\r\n").expect("headers");
    let mut words = first.split(' ');
    let (method, target) = (words.next().expect("a method"), words.next().expect("a path"));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let body = &bytes[head.len() + 4..];
    let sent = Sent {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        body: (!body.is_empty()).then(|| serde_json::from_slice(body).expect("a body is JSON")),
    };
    hook(&sent);
    kept.lock().expect("nobody panics with it").push(sent);
    let mut service = TcpStream::connect(to).expect("the service is there");
    let rest = &bytes[first.len()..];
    let sent =
        service.write_all(format!("{first}\r\nConnection: close").as_bytes()).and_then(|()| service.write_all(rest));
    sent.expect("the service reads");
    let mut answer = Vec::new();
    service.read_to_end(&mut answer).expect("the service answers");
    let _ = client.write_all(&answer);
}

/// The operations of the vendor, by file.
struct Vendor {
    files: Vec<(Published, Vec<Operation>)>,
}

impl Vendor {
    fn read() -> Self {
        let read = |file: &&str| (Published::of_requests(file), Facts::read(file).operations);
        Self { files: FILES.iter().map(read).collect() }
    }

    /// What is wrong with a request; one that no operation of the vendor is, is wrong.
    fn problems(&self, sent: &Sent) -> Vec<String> {
        let message = format!("{} {}?{}", sent.method, sent.path, sent.query);
        let of_file = |(schemas, operations): &(Published, Vec<Operation>)| {
            let operation =
                operations.iter().find(|one| one.method == sent.method && matches(&one.path, &sent.path))?;
            let mut problems = Vec::new();
            for pair in sent.query.split('&').filter(|pair| !pair.is_empty()) {
                let name = pair.split('=').next().unwrap_or_default();
                if !operation.parameters.iter().any(|known| known == name) {
                    problems.push(format!("{message}: unknown parameter {name}"));
                }
            }
            match (&operation.body, &sent.body) {
                (Some(schema), Some(body)) => {
                    problems
                        .extend(schemas.problems(schema, body).iter().map(|problem| format!("{message}: {problem}")));
                }
                (None, Some(_)) => problems.push(format!("{message}: a body where none belongs")),
                (Some(_), None) => problems.push(format!("{message}: no body")),
                (None, None) => {}
            }
            Some(problems)
        };
        self.files.iter().find_map(of_file).unwrap_or_else(|| vec![format!("{message}: no operation of the vendor")])
    }
}

fn matches(template: &str, path: &str) -> bool {
    let (parts, others): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
    parts.len() == others.len()
        && parts.iter().zip(&others).all(|(part, other)| part.starts_with('{') && !other.is_empty() || part == other)
}

/// A request of the uniform layout as the vendor publishes it: the body is the same, only the path and
/// what the reference moves into the query differ (`docs/interface.md`).
fn published(sent: &Sent) -> Sent {
    let mut sent = sent.clone();
    let parts: Vec<&str> = sent.path.split('/').skip(4).collect();
    let path = match (sent.method.as_str(), parts.as_slice()) {
        ("POST", [namespace, "events"]) if sent.body.as_ref().is_some_and(|body| body.get("scroll_id").is_some()) => {
            format!("/api/data/namespaces/{namespace}/app_security/events/scroll")
        }
        ("POST", [namespace, "events"]) => format!("/api/data/namespaces/{namespace}/app_security/events"),
        ("GET", [namespace, "events"]) => {
            let pairs = std::mem::take(&mut sent.query);
            let pairs = pairs.split('&').filter_map(|pair| pair.split_once('='));
            let decoded = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
            sent.body = Some(pairs.map(|(name, value)| (name.to_owned(), json!(decoded(value)))).collect());
            sent.method = "POST".to_owned();
            format!("/api/infraprotect/namespaces/{namespace}/infraprotect/events")
        }
        (_, [namespace, "events", id]) => format!("/api/infraprotect/namespaces/{namespace}/infraprotect/event/{id}"),
        (_, [_, "upgradable_sw_versions"]) => "/api/maurice/upgradable_sw_versions".to_owned(),
        (_, [namespace, "upgrade_status", site]) => {
            format!("/api/maurice/namespaces/{namespace}/sites/{site}/upgrade_status")
        }
        ("DELETE", [_, "endpoints", _]) => {
            assert_eq!(sent.body, None, "the reference sends no body with a delete");
            sent.body = Some(json!({}));
            sent.path.clone()
        }
        _ => sent.path.clone(),
    };
    sent.path = path;
    sent
}

#[test]
fn every_request_agrees_with_the_published_schemas_in_both_layouts() {
    let vendor = Vendor::read();
    for layout in ["uniform", "published"] {
        let service = Service::with(|options| {
            let tenant = Tenant::read(include_str!("query/tenant.yaml"), options.clock.now()).expect("a tenant");
            options.tenant_file = Some(tenant);
        });
        let recorder = Recorder::before(&service);
        let stage = Stage::example("02-every-group")
            .env("TRUEUP_BASE_URL", &recorder.url)
            .env("TRUEUP_TOKEN", TOKEN)
            .file("strict.yaml", "metadata: {name: strict, namespace: groups}\nspec: {dns_name_advanced: {name: a.example.net, strict_ttl: {}}}\n");
        let run = |line: &str| {
            let ran = stage.run(&format!("{line} --quiet --layout {layout}"));
            ran.stderr_ignored();
            ran.code(0);
        };
        run("apply . --yes");
        // A replace of what has no place and no pool, of each group's option, and of labels.
        stage.edit("the-rest.yaml", "port: 53", "port: 54");
        stage.edit("the-rest.yaml", "tier: platform", "tier: edge");
        stage.edit("places.yaml", "      enable_internet_vip: {}\n", "");
        stage.edit("source-nat.yaml", "        - 203.0.113.64/27\n", "");
        stage.edit("targets.yaml", "refresh_interval: 300", "refresh_interval: 60");
        stage.edit("targets.yaml", "service_name: ledger.finance", "service_selector: {expressions: [app=ledger]}");
        run("apply . --yes");
        stage.remove("strict.yaml");
        run("apply . --yes");
        run("drift .");
        run("pull -n groups --kind endpoint -o pulled");
        run("events --since 1d --limit 700 --format ndjson");
        run("events --since 1d --by country,sec_event_type");
        run("ddos list --since 30d");
        run("ddos show open-one");
        run("ddos edit open-one --name net_3 --end now --yes");
        run("upgrades versions --current-os 9.2026.10 --current-sw crt-20251002-0027");
        run("upgrades status ce01");

        let sent = recorder.take();
        let problems: Vec<String> = sent
            .iter()
            .flat_map(|sent| vendor.problems(&if layout == "uniform" { published(sent) } else { sent.clone() }))
            .collect();
        assert!(problems.is_empty(), "{layout}: {}", problems.join("\n"));
        let count = |method: &str, part: &str| {
            sent.iter().filter(|sent| sent.method == method && sent.path.contains(part)).count()
        };
        assert!(count("POST", "/endpoints") > 12 && count("PUT", "/endpoints/") >= 5, "{layout}: {sent:#?}");
        assert!(count("DELETE", "/endpoints/") == 1 && count("GET", "/endpoints") > 5, "{layout}: {sent:#?}");
        assert!(count("POST", "events") >= 3 && count("PUT", "event") == 1, "{layout}: {sent:#?}");
        assert!(count("GET", "upgrad") >= 2, "{layout}: {sent:#?}");
    }
}

#[test]
fn a_null_and_an_unknown_key_would_be_found() {
    let vendor = Vendor::read();
    let put = |spec: Value| Sent {
        method: "PUT".to_owned(),
        path: "/api/config/namespaces/shop/endpoints/cart".to_owned(),
        query: String::new(),
        body: Some(json!({"metadata": {"name": "cart"}, "spec": spec, "resource_version": "7"})),
    };
    assert_eq!(vendor.problems(&put(json!({"ip": "10.0.0.1", "port": 80}))), [] as [String; 0]);
    for wrong in [json!({"where": null}), json!({"snat_pool": {"no_snat_pol": {}}}), json!({"port": "80"}), Value::Null]
    {
        assert_eq!(vendor.problems(&put(wrong.clone())).len(), 1, "{wrong}");
    }
}
