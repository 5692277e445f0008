//! The memory of concurrent answers over HTTP, whatever the service says of their sizes.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::client::capacity_with;
use super::{BaseUrl, ClientSettings, Reader, RequestLimits, Timing, fetch};
use crate::model::{Layout, ListRead, Live, Namespace, Scope};

const MIB: usize = 1024 * 1024;
/// Requests at the same time, each for a namespace.
const ANSWERS: usize = 24;
/// Bytes of each answer.
const SIZE: usize = 2 * MIB;

/// How an answer arrives.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// With its true length.
    Length,
    /// In chunks, without a length.
    Chunks,
    /// With a length of which the last byte never arrives.
    Lie,
    /// With more bytes than any answer may have.
    TooLarge,
}

impl Form {
    fn of(path: &str) -> Self {
        let number: usize =
            path.bytes().filter(u8::is_ascii_digit).fold(0, |n, digit| n * 10 + usize::from(digit - b'0'));
        [Self::Length, Self::Chunks, Self::Lie, Self::TooLarge][number % 4]
    }

    async fn answer(self, stream: &mut TcpStream) -> std::io::Result<()> {
        let mut body = br#"{"errors":[],"items":[]"#.to_vec();
        body.resize(SIZE - 1, b' ');
        body.push(b'}');
        let (head, end) = match self {
            Self::Length => (format!("content-length: {SIZE}"), SIZE),
            Self::Chunks => ("transfer-encoding: chunked".to_owned(), SIZE),
            Self::Lie => (format!("content-length: {SIZE}"), SIZE - 1),
            Self::TooLarge => ("transfer-encoding: chunked".to_owned(), usize::MAX),
        };
        stream.write_all(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n").as_bytes()).await?;
        let chunked = matches!(self, Self::Chunks | Self::TooLarge);
        let mut sent = 0;
        while sent < end {
            let piece = &body[sent % SIZE..(sent % SIZE + 64 * 1024).min(end).min(SIZE)];
            if chunked {
                stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
            }
            stream.write_all(piece).await?;
            if chunked {
                stream.write_all(b"\r\n").await?;
            }
            sent += piece.len();
        }
        if chunked {
            stream.write_all(b"0\r\n\r\n").await?;
        }
        stream.shutdown().await
    }
}

/// Answers requests, the first ones only when as many as may be sent together have arrived.
async fn serve(listener: TcpListener) {
    let together = Arc::new(Barrier::new(ANSWERS));
    let mut connections = JoinSet::new();
    let mut accepted = 0;
    while let Ok((mut stream, _)) = listener.accept().await {
        accepted += 1;
        let together = (accepted <= ANSWERS).then(|| Arc::clone(&together));
        connections.spawn(async move {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await?);
            }
            if let Some(together) = together {
                together.wait().await;
            }
            let head = String::from_utf8_lossy(&head);
            let path = head.split(['?', ' ']).nth(1).unwrap_or_default();
            Form::of(path).answer(&mut stream).await
        });
    }
}

/// Reads a namespace of each form again and again with this memory; gives the most that was used too.
async fn read(memory: usize) -> (Live, usize) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base_url = BaseUrl::parse(&format!("http://{}", listener.local_addr().expect("an address"))).expect("a URL");
    let serving = tokio::spawn(serve(listener));
    let mut settings = ClientSettings::new(base_url, Layout::Uniform, None, Timing::noted(|_| {}));
    settings.concurrency = ANSWERS;
    settings.bounds = RequestLimits { memory, body: 2 * SIZE, ..RequestLimits::default() };
    let reader = Reader::new(settings).expect("a client");
    let scopes = (0..ANSWERS).map(|n| Scope::endpoints(Namespace::parse(&format!("n{n}")).expect("a name")));
    // Only a test that fails waits so long.
    let live = tokio::time::timeout(Duration::from_mins(1), fetch(&reader, scopes)).await;
    serving.abort();
    let (used, most) = reader.client.shared.budget.usage();
    assert_eq!(used, 0, "every answer gives its memory back");
    (live.expect("the run ends"), most)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_arrive_together_stay_within_the_memory_and_all_end() {
    let memory = 12 * MIB;
    let (live, most) = read(memory).await;
    // The oldest answer may pass over the memory by what it takes itself: a buffer that was doubled.
    assert!(most <= memory + 4 * SIZE, "{most} bytes");
    assert!(most > memory / 2, "{most} bytes: the answers did not arrive together");
    assert_eq!(live.lists.len(), ANSWERS);
    for (scope, read) in &live.lists {
        let form = Form::of(scope.namespace.as_str());
        match (form, read) {
            (Form::Length | Form::Chunks, ListRead::Complete { .. }) => {}
            (Form::Lie | Form::TooLarge, ListRead::Unknown { .. }) => {}
            (form, read) => panic!("{form:?}: {read:?}"),
        }
    }
}

#[test]
fn a_buffer_takes_no_more_than_was_asked_for() {
    let mut whole = BytesMut::new();
    for more in [1_000, 1, 7_000, 8_192, 16_384, 100, 65_536, 300_000, 1, 1_000_000] {
        let asked = capacity_with(&whole, more);
        whole.extend_from_slice(&vec![b' '; more]);
        assert!(whole.capacity() <= asked, "{} bytes for {}, {asked} were asked for", whole.capacity(), whole.len());
    }
}
