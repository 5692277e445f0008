//! A bare load generator: hyper connections that send one prepared request after the other.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// One request of the load.
pub struct Shot {
    /// The method.
    pub method: http::Method,
    /// Path and query.
    pub path: String,
    /// The body, which may be empty.
    pub body: Bytes,
}

/// Sends every shot over `connections`; the time it took. An answer beyond 299 is an error.
pub async fn fire(
    address: &str,
    token: &str,
    connections: usize,
    shots: Vec<Shot>,
) -> Result<Duration, Box<dyn Error + Send + Sync>> {
    let shots = Arc::new(shots);
    let next = Arc::new(AtomicUsize::new(0));
    let begin = Instant::now();
    let mut tasks = Vec::new();
    for _ in 0..connections {
        let (shots, next) = (Arc::clone(&shots), Arc::clone(&next));
        let (address, authorization) = (address.to_owned(), format!("APIToken {token}"));
        tasks.push(tokio::spawn(async move {
            let stream = TcpStream::connect(&address).await?;
            stream.set_nodelay(true)?;
            let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
            let driver = tokio::spawn(connection);
            while let Some(shot) = shots.get(next.fetch_add(1, Ordering::Relaxed)) {
                let request = http::Request::builder()
                    .method(&shot.method)
                    .uri(&shot.path)
                    .header("host", &address)
                    .header("authorization", &authorization)
                    .header("content-type", "application/json")
                    .body(Full::new(shot.body.clone()))?;
                let answer = sender.send_request(request).await?;
                let status = answer.status();
                answer.into_body().collect().await?;
                if !status.is_success() {
                    return Err(format!("{} {} answered {status}", shot.method, shot.path).into());
                }
            }
            driver.abort();
            Ok::<(), Box<dyn Error + Send + Sync>>(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    Ok(begin.elapsed())
}
