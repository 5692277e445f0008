//! A bare load generator: hyper connections that send one prepared request after the other, and a journal of its own
//! that is as long as the program's and reaches the disk in as many flushes.

use std::error::Error;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

type Failure = Box<dyn Error + Send + Sync>;

/// One request of the load.
pub struct Shot {
    /// The method.
    pub method: http::Method,
    /// Path and query.
    pub path: String,
    /// The body, which may be empty.
    pub body: Bytes,
    /// What its journal says of it, which may be nothing.
    pub record: Bytes,
}

/// Where the generator keeps its journal.
pub struct Journal {
    /// A new file.
    pub path: PathBuf,
    /// Records that one flush brings to the disk.
    pub together: usize,
}

/// Sends every shot over `connections`; the time it took until the last answer is here and the journal on disk. An
/// answer beyond 299 is an error.
pub async fn fire(
    address: &str,
    token: &str,
    connections: usize,
    shots: Vec<Shot>,
    journal: Journal,
) -> Result<Duration, Failure> {
    let shots = Arc::new(shots);
    let next = Arc::new(AtomicUsize::new(0));
    let begin = Instant::now();
    let (records, received) = mpsc::channel::<Bytes>();
    let writer = std::thread::spawn(move || write(journal, received));
    let mut tasks = Vec::new();
    for _ in 0..connections {
        let (shots, next, records) = (Arc::clone(&shots), Arc::clone(&next), records.clone());
        let (address, authorization) = (address.to_owned(), format!("APIToken {token}"));
        tasks.push(tokio::spawn(async move {
            let stream = TcpStream::connect(&address).await?;
            stream.set_nodelay(true)?;
            let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
            let driver = tokio::spawn(connection);
            while let Some(shot) = shots.get(next.fetch_add(1, Ordering::Relaxed)) {
                if !shot.record.is_empty() {
                    records.send(shot.record.clone())?;
                }
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
            Ok::<(), Failure>(())
        }));
    }
    drop(records);
    for task in tasks {
        task.await??;
    }
    writer.join().map_err(|_| "the journal's thread panicked")??;
    Ok(begin.elapsed())
}

/// Writes records until no more come. Nobody waits for a flush, which the program does: it is the bare cost.
fn write(journal: Journal, records: mpsc::Receiver<Bytes>) -> std::io::Result<()> {
    let mut file = File::create_new(journal.path)?;
    let (mut lines, mut count) = (Vec::new(), 0);
    for record in records {
        lines.extend_from_slice(&record);
        count += 1;
        if count == journal.together {
            file.write_all(&lines)?;
            file.sync_data()?;
            lines.clear();
            count = 0;
        }
    }
    file.write_all(&lines)?;
    file.sync_data()
}
