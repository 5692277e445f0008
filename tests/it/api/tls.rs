//! Trust and identity over TLS on the loopback.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use trueup::api::{BaseUrl, Certainty, ClientSettings, Failure, Identity, Reader, ResponseFormat, Timing, TlsTrust};
use trueup::model::Layout;

use super::cart;

const AUTHORITY: &[u8] = include_bytes!("../../cases/tls/authority.pem");
const SERVER: &[u8] = include_bytes!("../../cases/tls/server.pem");
const CLIENT: &[u8] = include_bytes!("../../cases/tls/client.pem");

/// Serves one connection after the other with a certificate and its key.
pub fn serve_as(certificate: Vec<u8>) -> SocketAddr {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let chain = CertificateDer::pem_slice_iter(&certificate).collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_slice(&certificate).unwrap();
    listen(config.with_no_client_auth().with_single_cert(chain, key).unwrap())
}

/// The same, which asks each client for its certificate.
pub fn serve() -> SocketAddr {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(AUTHORITY).unwrap()).unwrap();
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build().unwrap();
    let chain = CertificateDer::pem_slice_iter(SERVER).collect::<Result<Vec<_>, _>>().unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(clients)
        .with_single_cert(chain, PrivateKeyDer::from_pem_slice(SERVER).unwrap())
        .unwrap();
    listen(config)
}

fn listen(config: ServerConfig) -> SocketAddr {
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut tls = rustls::Stream::new(&mut connection, &mut stream);
            let mut buffer = [0; 4096];
            if tls.read(&mut buffer).is_ok_and(|read| read > 0) {
                let _ = tls.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
                tls.conn.send_close_notify();
            }
            let _ = tls.flush();
            // What is not read of a request would take an alert along.
            let _ = stream.shutdown(Shutdown::Write);
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        }
    });
    address
}

fn reader(address: SocketAddr, trust: TlsTrust) -> Reader {
    let base_url = BaseUrl::parse(&format!("https://{address}")).unwrap();
    let mut settings = ClientSettings::new(base_url, Layout::Uniform, None, Timing::noted(|_| {}));
    settings.trust = trust;
    Reader::new(settings).unwrap()
}

fn identity() -> Identity {
    Identity::Pem { certificate: CLIENT.to_vec(), key: CLIENT.to_vec() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pkcs12_file_is_an_identity_without_a_key_on_the_disk() {
    for file in [&include_bytes!("../../cases/tls/modern.p12")[..], include_bytes!("../../cases/tls/legacy.p12")] {
        let identity = Identity::Pkcs12 { file: file.to_vec(), password: "trüup test".to_owned() };
        let reader = reader(serve(), TlsTrust { authorities: Some(AUTHORITY.to_vec()), identity: Some(identity) });
        reader.get(&cart(), ResponseFormat::Default).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_own_authority_and_a_client_certificate_stand_in_for_the_system_and_the_token() {
    let reader = reader(serve(), TlsTrust { authorities: Some(AUTHORITY.to_vec()), identity: Some(identity()) });
    reader.get(&cart(), ResponseFormat::Default).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_of_an_unknown_authority_gets_nothing() {
    let stranger = TlsTrust { authorities: Some(CLIENT.to_vec()), identity: None };
    let error = reader(serve(), stranger).get(&cart(), ResponseFormat::Default).await.unwrap_err();
    assert!(matches!(error.failure, Failure::Tls(_)), "{error:?}");
    assert_eq!(error.certainty(), Certainty::NotSent);
    assert!(error.to_string().contains("--ca-cert"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_a_certificate_is_turned_away() {
    let nobody = TlsTrust { authorities: Some(AUTHORITY.to_vec()), identity: None };
    let error = reader(serve(), nobody).get(&cart(), ResponseFormat::Default).await.unwrap_err();
    let is_refusal = matches!(error.failure, Failure::Cut(_) | Failure::ClientCertificate(_) | Failure::Tls(_));
    assert!(is_refusal, "{error:?}");
}
