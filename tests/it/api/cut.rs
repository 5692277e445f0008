//! An answer that ends early, wherever that is, is never taken for a whole one, and never sends a write twice.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use trueup::api::ddos::{self, DdosFilter};
use trueup::api::events::{self, EventQuery};
use trueup::api::{self, Certainty, upgrades};
use trueup::model::{ListRead, Scope};

use super::server::Reply;
use super::{Bench, OneTry as _, cart, shop, written};

const LIST: &str =
    r#"{"items":[{"namespace":"shop","name":"cart","uid":"u","get_spec":{"ip":"10.0.0.7"}}],"errors":[]}"#;
const CREATED: &str = r#"{"metadata":{"name":"cart","namespace":"shop"},"system_metadata":{"uid":"u"},"spec":{}}"#;

/// How long the body is, as the answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length,
    Chunks,
    /// Until the connection ends.
    Close,
}

const FRAMINGS: [Framing; 3] = [Framing::Length, Framing::Chunks, Framing::Close];

/// An answer with this body.
fn answer(framing: Framing, is_packed: bool, body: &str) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(body.as_bytes()).unwrap();
    let body = if is_packed { packed.finish().unwrap() } else { body.as_bytes().to_vec() };
    let mut answer = b"HTTP/1.1 200 OK\r\n".to_vec();
    if is_packed {
        answer.extend(b"content-encoding: gzip\r\n");
    }
    match framing {
        Framing::Length => answer.extend(format!("content-length: {}\r\n\r\n", body.len()).bytes()),
        Framing::Chunks => answer.extend(b"transfer-encoding: chunked\r\n\r\n"),
        Framing::Close => answer.extend(b"\r\n"),
    }
    if framing == Framing::Chunks {
        for chunk in body.chunks(40) {
            answer.extend(format!("{:x}\r\n", chunk.len()).bytes());
            answer.extend(chunk);
            answer.extend(b"\r\n");
        }
        answer.extend(b"0\r\n\r\n");
    } else {
        answer.extend(body);
    }
    answer
}

#[tokio::test]
async fn a_list_that_is_cut_off_anywhere_is_unknown() {
    for (framing, is_packed) in FRAMINGS.into_iter().flat_map(|framing| [(framing, false), (framing, true)]) {
        let whole = answer(framing, is_packed, LIST);
        for end in 0..=whole.len() {
            let bench = Bench::start(vec![Reply::Last(whole[..end].to_vec())]).await;
            let live = api::fetch(bench.reader(), [Scope::endpoints(shop())]).await;
            match &live.lists[&Scope::endpoints(shop())] {
                ListRead::Complete { items } => {
                    assert_eq!((end, items.len()), (whole.len(), 1), "{framing:?} {is_packed}");
                }
                read => assert!(end < whole.len(), "{framing:?} {is_packed}: {read:?}"),
            }
        }
    }
}

#[tokio::test]
async fn nothing_is_concluded_from_an_answer_that_is_not_whole_or_of_another_kind() {
    let whole = r#"{"events":[],"sw_versions":[],"upgrade_status":{},"event":{"id":"e1"},"total_hits":"0"}"#;
    let bodies = [
        whole.replace(r#""total_hits""#, r#""errors":[{"code":"EPARTIAL","message":"half of it"}],"total_hits""#),
        whole.replace(r#""total_hits""#, r#""code":13,"message":"internal","total_hits""#),
        r#"{"events":null,"sw_versions":null,"upgrade_status":[],"event":null}"#.to_owned(),
        r#"{"events":{},"sw_versions":{},"upgrade_status":{"sw_upgrade_progress":[]},"event":[]}"#.to_owned(),
        r#"{"events":"","sw_versions":"","upgrade_status":{"another_upgrade":{"status":"IN_PROGRESS"}}}"#.to_owned(),
        "[[]]".to_owned(),
        "[null]".to_owned(),
        " [[], null, null, null]".to_owned(),
    ];
    for (body, is_whole) in bodies.into_iter().map(|body| (body, false)).chain([(whole.to_owned(), true)]) {
        let bench = Bench::start(vec![super::server::json(200, &body)]).await;
        let (reader, shop) = (bench.reader(), shop());
        let reads = [
            events::query(reader, &EventQuery::new(shop.clone())).await.is_ok(),
            ddos::list(reader, &shop, &DdosFilter::default()).await.is_ok(),
            ddos::show(reader, &shop, "e1").await.is_ok(),
            upgrades::versions(reader, &shop, None, None).await.is_ok(),
            upgrades::status(reader, &shop, "ce01").await.is_ok(),
        ];
        assert_eq!(reads, [is_whole; 5], "{body}");
        let live = api::fetch(reader, [Scope::endpoints(shop.clone())]).await;
        assert!(matches!(live.lists[&Scope::endpoints(shop)], ListRead::Unknown { .. }), "{body}");
    }
}

#[tokio::test]
async fn a_packed_list_with_something_behind_it_is_unknown() {
    let read_as = async |encoding: &str, body: &[u8]| {
        let mut answer = format!("HTTP/1.1 200 OK\r\ncontent-encoding: {encoding}\r\n").into_bytes();
        answer.extend(format!("content-length: {}\r\n\r\n", body.len()).bytes());
        answer.extend(body);
        let bench = Bench::start(vec![Reply::Last(answer)]).await;
        let live = api::fetch(bench.reader(), [Scope::endpoints(shop())]).await;
        matches!(&live.lists[&Scope::endpoints(shop())], ListRead::Complete { items } if items.len() == 1)
    };
    let read = async |body: &[u8]| read_as("gzip", body).await;
    let pack = |text: &str| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap()
    };
    // Several members are one text.
    let (begin, end) = LIST.split_at(30);
    assert!(read(&[pack(begin), pack(end)].concat()).await);
    let whole = pack(LIST);
    assert!(read(&whole).await && read_as("GZip", &whole).await && read_as("x-gzip", &whole).await);
    for more in [&b"x"[..], b"garbage", &[0; 8], &pack("x"), &pack("x")[..5], &pack("")[..19]] {
        assert!(!read(&[&whole, more].concat()).await, "{more:?}");
    }
    for byte in whole.len() - 8..whole.len() {
        let mut altered = whole.clone();
        altered[byte] ^= 1;
        assert!(!read(&altered).await, "the checksum or the length, at {byte}");
    }
}

#[tokio::test]
async fn a_write_whose_answer_is_cut_off_anywhere_is_in_doubt_and_was_sent_once() {
    for framing in FRAMINGS {
        let whole = answer(framing, false, CREATED);
        for end in 0..=whole.len() {
            let bench = Bench::start(vec![Reply::Last(whole[..end].to_vec())]).await;
            let created = bench.writer.create(&cart(), &written(&json!({"metadata": {"name": "cart"}}))).await;
            match created {
                Ok(()) => assert_eq!(end, whole.len(), "{framing:?}"),
                Err(error) => assert_eq!((error.certainty(), end < whole.len()), (Certainty::Unknown, true), "{error}"),
            }
            assert_eq!(bench.server.seen().len(), 1, "{framing:?} {end}");
        }
    }
}

#[tokio::test]
async fn a_write_on_a_kept_connection_that_ends_is_sent_once() {
    // The service ends the connection with the write, and not a byte of an answer.
    let list = Reply::Bytes(answer(Framing::Length, false, LIST));
    let bench = Bench::start(vec![list.clone(), Reply::Last(Vec::new()), list]).await;
    api::fetch(bench.reader(), [Scope::endpoints(shop())]).await;
    let error = bench.writer.create(&cart(), &written(&json!({}))).await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::Unknown, "{error}");
    assert_eq!((bench.server.seen().len(), bench.server.connections()), (2, 1));
    api::fetch(bench.reader(), [Scope::endpoints(shop())]).await;
    assert_eq!((bench.server.seen().len(), bench.server.connections()), (3, 2));
}
