//! A server that does what a script says, byte for byte, and keeps what it was sent.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What happens to a request.
#[derive(Clone)]
pub enum Reply {
    /// These bytes; the connection stays open.
    Bytes(Vec<u8>),
    /// These bytes, then the end of the connection.
    Last(Vec<u8>),
    /// These bytes, then nothing for ever.
    Stall(Vec<u8>),
    /// These bytes, then the second ones again and again.
    Endless(Vec<u8>, Vec<u8>),
    /// The same with a pause before each of the second ones.
    Slow(Vec<u8>, Vec<u8>, Duration),
}

/// A request as it came.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Method, path and query.
    pub line: String,
    /// Names in lower case, in the order of arrival.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

/// The running server; it stops when it is dropped.
pub struct Server {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<Mutex<usize>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// An answer with a JSON body.
pub fn json(status: u16, body: &str) -> Reply {
    answer(status, &[("content-type", "application/json")], body)
}

/// An answer with these headers and this body.
pub fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Reply {
    let mut text = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    Reply::Bytes(format!("{text}\r\n{body}").into_bytes())
}

impl Server {
    /// Answers the requests in order with `script`; the last reply serves for all further ones.
    pub async fn start(script: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(Mutex::new(0));
        let (all, count) = (Arc::clone(&seen), Arc::clone(&connections));
        let script = Arc::new(script);
        let task = tokio::spawn(async move {
            let mut running = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                *count.lock().unwrap() += 1;
                running.spawn(serve(stream, Arc::clone(&script), Arc::clone(&all)));
            }
        });
        Self { address, seen, connections, task }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

async fn serve(mut stream: TcpStream, script: Arc<Vec<Reply>>, all: Arc<Mutex<Vec<Seen>>>) {
    while let Some(seen) = request(&mut stream).await {
        let index = {
            let mut all = all.lock().unwrap();
            all.push(seen);
            all.len() - 1
        };
        match script[index.min(script.len() - 1)].clone() {
            Reply::Bytes(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            Reply::Last(bytes) => {
                let _ = stream.write_all(&bytes).await;
                let _ = stream.shutdown().await;
                return;
            }
            Reply::Stall(bytes) => {
                let _ = stream.write_all(&bytes).await;
                std::future::pending::<()>().await;
            }
            Reply::Endless(head, piece) => {
                let _ = stream.write_all(&head).await;
                while stream.write_all(&piece).await.is_ok() {}
                return;
            }
            Reply::Slow(head, piece, pause) => {
                let _ = stream.write_all(&head).await;
                while stream.write_all(&piece).await.is_ok() {
                    tokio::time::sleep(pause).await;
                }
                return;
            }
        }
    }
}

async fn request(stream: &mut TcpStream) -> Option<Seen> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let line = lines.next()?.trim_end_matches(" HTTP/1.1").to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let mut seen = Seen { line, headers, body: String::new() };
    if let Some(length) = seen.header("content-length") {
        let mut body = vec![0; length.parse().unwrap()];
        stream.read_exact(&mut body).await.ok()?;
        seen.body = String::from_utf8(body).unwrap();
    }
    Some(seen)
}
