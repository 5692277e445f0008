//! The embedded service over HTTP, by a client that knows nothing of ours.

mod bodies;
mod ddos;
mod directories;
mod endpoints;
mod faults;
mod kill;
mod kinds;
mod limits;
mod proto;
mod query;
pub mod schema;
mod seeds;
mod service;
mod tables;
mod upgrades;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;
use reqwest::{Client, Method};
use serde_json::{Value, json};
use trueup::model::Clock;
use trueup::sandbox::{self, RequiredToken, Running, SandboxOptions, Storage};

const TOKEN: &str = "correct-horse";

/// A time that moves only when the test moves it.
#[derive(Clone)]
struct Time(Arc<AtomicI64>);

impl Time {
    fn new() -> Self {
        Self(Arc::new(AtomicI64::new(1_764_663_926)))
    }

    fn clock(&self) -> Clock {
        let seconds = Arc::clone(&self.0);
        Clock::new(move || Timestamp::new(seconds.load(Ordering::Relaxed), 599_586_464).unwrap())
    }

    fn pass(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

/// A sandbox with a client.
struct Bench {
    running: Running,
    client: Client,
    time: Time,
}

/// Status and body of an answer.
struct Answer {
    status: u16,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }
}

fn options(storage: Storage, time: &Time) -> SandboxOptions {
    let mut options = SandboxOptions::new(storage, RequiredToken::new(TOKEN), time.clock());
    options.tenant = "acme-abcdefgh".into();
    options
}

/// A client that knows nothing of ours and trusts nobody.
pub fn client() -> Client {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    Client::builder().tls_backend_preconfigured(tls).no_proxy().build().unwrap()
}

impl Bench {
    async fn start() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut SandboxOptions)) -> Self {
        let time = Time::new();
        let mut options = options(Storage::Memory, &time);
        change(&mut options);
        let running = sandbox::start(options).await.unwrap();
        Self { running, client: client(), time }
    }

    /// A request whose body need not be what a tree of JSON can hold.
    async fn send_text(&self, method: &str, path: &str, body: &str) -> Answer {
        let url = format!("{}{path}", self.running.base_url());
        let request = self.client.request(method.parse().unwrap(), url);
        let request = request.header("Authorization", format!("APIToken {TOKEN}"));
        let response = request.header("Content-Type", "application/json").body(body.to_owned()).send().await.unwrap();
        let status = response.status().as_u16();
        Answer { status, text: response.text().await.unwrap() }
    }

    async fn try_send(&self, method: &str, path: &str, body: Option<&Value>) -> reqwest::Result<Answer> {
        let method: Method = method.parse().unwrap();
        let url = format!("{}{path}", self.running.base_url());
        let mut request = self.client.request(method, url).header("Authorization", format!("APIToken {TOKEN}"));
        if let Some(body) = body {
            request = request.header("Content-Type", "application/json").body(body.to_string());
        }
        let response = request.send().await?;
        let status = response.status().as_u16();
        Ok(Answer { status, text: response.text().await? })
    }

    async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.try_send(method, path, body).await.unwrap()
    }

    async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None).await
    }

    async fn create(&self, body: &Value) -> Answer {
        self.send("POST", SHOP, Some(body)).await
    }

    /// Creates `shop/NAME` with an address, which must work.
    async fn has(&self, name: &str) {
        let answer = self.create(&endpoint(name)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }

    async fn version(&self, name: &str) -> String {
        let got = self.get(&format!("{SHOP}/{name}")).await.json();
        got["resource_version"].as_str().unwrap().to_owned()
    }
}

const SHOP: &str = "/api/config/namespaces/shop/endpoints";

fn endpoint(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "shop"}, "spec": {"ip": "10.1.2.3", "port": 8080}})
}
