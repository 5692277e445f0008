//! The limits that a plan is held against: the same crates with nothing else around them. Each runs
//! as a process of its own, so that it is measured as the program is.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The least that a definition has to be read into.
#[derive(Deserialize)]
struct Document {
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    namespace: String,
    labels: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct Spec {
    ip: Option<String>,
    dns_name: Option<String>,
    protocol: Option<String>,
    port: Option<u16>,
    #[serde(rename = "where")]
    place: Option<IgnoredAny>,
}

impl Spec {
    /// Whether it points at something.
    fn leads_somewhere(&self) -> bool {
        let has_target = self.ip.is_some() || self.dns_name.is_some() || self.place.is_some();
        has_target && self.protocol.is_some() && self.port.is_some()
    }
}

impl Document {
    fn is_whole(&self) -> bool {
        let Metadata { name, namespace, labels } = &self.metadata;
        !name.is_empty() && !namespace.is_empty() && labels.is_some() && self.spec.leads_somewhere()
    }
}

/// Reads and parses the definitions below a directory on two threads.
pub fn load(directory: &Path) -> Result<usize, Box<dyn Error>> {
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in walkdir::WalkDir::new(directory) {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy();
        if entry.file_type().is_file() && name.ends_with(".yaml") && name != "trueup.yaml" {
            files.push(entry.into_path());
        }
    }
    let half = files.len().div_ceil(2);
    let parse = |files: &[PathBuf]| {
        files
            .iter()
            .filter(|file| {
                let text = std::fs::read_to_string(file).unwrap_or_default();
                serde_yaml::from_str::<Document>(&text).is_ok_and(|document| document.is_whole())
            })
            .count()
    };
    let (first, second) = files.split_at(half);
    let parsed = std::thread::scope(|scope| {
        let other = scope.spawn(|| parse(second));
        parse(first) + other.join().unwrap_or_default()
    });
    if parsed == files.len() { Ok(parsed) } else { Err("a definition does not parse".into()) }
}

/// Fetches a list with specs and parses it typed, borrowed where that helps.
pub async fn list(base_url: &str, token: &str, namespace: &str) -> Result<usize, Box<dyn Error>> {
    #[derive(Deserialize)]
    struct List<'a> {
        #[serde(borrow)]
        items: Vec<Item<'a>>,
    }
    #[derive(Deserialize)]
    struct Item<'a> {
        #[serde(borrow)]
        name: std::borrow::Cow<'a, str>,
        get_spec: Spec,
    }
    let url = format!("{base_url}/api/config/namespaces/{namespace}/endpoints?report_fields=");
    let body = client()?.get(url).header("authorization", format!("APIToken {token}")).send().await?.bytes().await?;
    let list: List<'_> = serde_json::from_slice(&body)?;
    Ok(list.items.iter().filter(|item| !item.name.is_empty() && item.get_spec.leads_somewhere()).count())
}

/// A bare client.
pub fn client() -> Result<reqwest::Client, Box<dyn Error>> {
    Ok(reqwest::Client::builder().tls_backend_preconfigured(tls()?).build()?)
}

fn tls() -> Result<rustls::ClientConfig, rustls::Error> {
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}
