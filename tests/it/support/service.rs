//! A service that a test through the binary talks to, and what somebody else does to its objects.

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use trueup::model::Clock;
use trueup::sandbox::{self, LogEntry, RequiredToken, Running, SandboxOptions, Storage};

use super::other_kind;

/// The token of every service of these tests.
pub const TOKEN: &str = "stage-token-f00d";

/// An address at which nothing listens: a port that the system gives away could be another test's a moment later.
pub const CLOSED: &str = "127.0.0.1:9";

/// A service in this process that stops when it is dropped.
pub struct Service {
    runtime: Runtime,
    running: Option<Running>,
    client: reqwest::Client,
    token: String,
}

impl Service {
    /// An empty tenant in memory.
    pub fn start() -> Self {
        Self::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut SandboxOptions)) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let mut options = SandboxOptions::new(Storage::Memory, RequiredToken::new(TOKEN), Clock::new(Timestamp::now));
        change(&mut options);
        let running = runtime.block_on(sandbox::start(options)).expect("a sandbox");
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let client = reqwest::Client::builder().tls_backend_preconfigured(tls).no_proxy().build().expect("a client");
        Self { runtime, running: Some(running), client, token: TOKEN.to_owned() }
    }

    /// The same where the service was started with another token.
    pub fn with_token(mut self, token: &str) -> Self {
        token.clone_into(&mut self.token);
        self
    }

    fn running(&self) -> &Running {
        self.running.as_ref().expect("it runs until it is dropped")
    }

    pub fn url(&self) -> String {
        self.running().base_url()
    }

    /// Sends a request as somebody else would, and gives status and body.
    pub fn send(&self, method: &str, path: &str, body: Option<&str>) -> (u16, String) {
        let url = format!("{}{path}", self.url());
        let mut request = self
            .client
            .request(method.parse().expect("a method"), url)
            .header("Authorization", format!("APIToken {}", self.token));
        if let Some(body) = body {
            request = request.header("Content-Type", "application/json").body(body.to_owned());
        }
        self.runtime.block_on(async {
            let response = request.send().await.expect("an answer");
            (response.status().as_u16(), response.text().await.expect("a body"))
        })
    }

    /// The live object.
    #[track_caller]
    pub fn get(&self, key: &str) -> Value {
        let (status, body) = self.send("GET", &path(key), None);
        assert_eq!(status, 200, "{key}: {body}");
        serde_json::from_str(&body).expect("JSON")
    }

    /// Whether the object is there.
    pub fn has(&self, key: &str) -> bool {
        self.send("GET", &path(key), None).0 == 200
    }

    /// Creates an object as somebody else would.
    #[track_caller]
    pub fn create(&self, body: &Value) {
        let namespace = body["metadata"]["namespace"].as_str().expect("a namespace");
        let path = format!("/api/config/namespaces/{namespace}/{}", other_kind::plural());
        let (status, answer) = self.send("POST", &path, Some(&other_kind::object(body.clone()).to_string()));
        assert_eq!(status, 200, "{answer}");
    }

    /// Changes a live object by hand.
    #[track_caller]
    pub fn change(&self, key: &str, change: impl FnOnce(&mut Value)) {
        let mut object = self.get(key);
        change(&mut object);
        let (status, answer) = self.send("PUT", &path(key), Some(&object.to_string()));
        assert_eq!(status, 200, "{answer}");
    }

    /// Deletes a live object by hand.
    #[track_caller]
    pub fn delete(&self, key: &str) {
        let (status, answer) = self.send("DELETE", &path(key), None);
        assert_eq!(status, 200, "{answer}");
    }

    /// Misbehaves from now on by a scenario, as YAML.
    #[track_caller]
    pub fn misbehave(&self, scenario: &str) {
        let (status, answer) = self.send("PUT", "/sandbox/faults", Some(&other_kind::scenario(scenario)));
        assert_eq!(status, 200, "{answer}");
    }

    /// Lets the calls of a rule wait for [`Service::release`], so that what happens meanwhile is up to the test.
    #[track_caller]
    pub fn hold(&self, rule: &str) {
        self.misbehave(&format!("rules: [{{{rule}, delay: {{milliseconds: 600000}}}}]"));
    }

    /// Answers what waits, and misbehaves no more.
    #[track_caller]
    pub fn release(&self) {
        self.misbehave("rules: []");
    }

    /// Puts objects there that no request could make.
    #[track_caller]
    pub fn plant(&self, seeds: &Value) {
        let (status, answer) = self.send("PUT", "/sandbox/endpoints", Some(&seeds.to_string()));
        assert_eq!(status, 200, "{answer}");
    }

    /// Makes an object refer to the endpoint `key`, which has another uid then.
    #[track_caller]
    pub fn refer_to(&self, key: &str) {
        let live = self.get(key);
        let by = json!([{"kind": "cluster", "namespace": "shop", "name": "x", "tenant": "t", "uid": "u"}]);
        self.delete(key);
        self.plant(&json!([{"metadata": live["metadata"], "spec": live["spec"], "referring_objects": by}]));
    }

    /// Every request so far.
    pub fn log(&self) -> Vec<LogEntry> {
        self.running().log()
    }

    /// How many requests with this method were answered.
    pub fn requests(&self, method: &str) -> usize {
        self.running().log().iter().filter(|entry| entry.method == method).count()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            self.runtime.block_on(running.stop());
        }
    }
}

fn path(key: &str) -> String {
    let (namespace, name) = key.split_once('/').expect("namespace/name");
    format!("/api/config/namespaces/{namespace}/{}/{name}", other_kind::plural())
}
