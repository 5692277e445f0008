//! How long and how much: every answer ends.

use std::collections::BTreeSet;
use std::time::Duration;

use trueup::api::{self, Failure, ListFields, RequestLimits, ResponseFormat};
use trueup::model::{Namespace, Scope};

use super::server::{Reply, json};
use super::{Bench, cart, shop};

/// Only for what never answers whole: a busy machine may need more time than that for an answer.
fn short(bounds: &mut RequestLimits) {
    bounds.idle = Duration::from_millis(80);
    bounds.total = Duration::from_millis(200);
}

fn small(bounds: &mut RequestLimits) {
    bounds.body = 100_000;
}

async fn failure(reply: Reply, limits: fn(&mut RequestLimits)) -> (Failure, usize) {
    let bench = Bench::with(vec![reply], |settings| limits(&mut settings.bounds)).await;
    let error = bench.reader().list(&Scope::endpoints(shop()), ListFields::Spec).await.unwrap_err();
    (error.failure, bench.server.seen().len())
}

#[tokio::test]
async fn a_silent_service_is_given_up_and_asked_again_a_few_times() {
    let (failure, sent) = failure(Reply::Stall(Vec::new()), short).await;
    assert_eq!(failure, Failure::TimedOut(Duration::from_millis(80)));
    assert_eq!(sent, 4);
}

fn forty_lists() -> impl Iterator<Item = Scope> {
    (0..40).map(|number| Scope::endpoints(Namespace::parse(&format!("n{number}")).unwrap()))
}

#[tokio::test]
async fn a_silent_service_is_not_asked_for_every_list() {
    // Each of these lists takes all of its repeats.
    for (concurrency, asked) in [(5, 5), (1, 4)] {
        let bench = Bench::with(vec![Reply::Stall(Vec::new())], |settings| {
            short(&mut settings.bounds);
            settings.concurrency = concurrency;
        })
        .await;
        let live = api::fetch(bench.reader(), forty_lists()).await;
        let reasons: BTreeSet<&str> = live.lists.values().filter_map(|read| read.known().err()).collect();
        assert_eq!((live.unknown().count(), reasons), (40, BTreeSet::from(["no answer within 0.08 seconds"])));
        assert_eq!(bench.server.seen().len(), asked * 4, "{concurrency}");
    }
}

#[tokio::test]
async fn a_service_that_answers_again_is_asked_for_all_further_lists() {
    let mut script = vec![Reply::Stall(Vec::new()); 3 * 4];
    script.push(json(200, r#"{"items": []}"#));
    let bench = Bench::with(script, |settings| {
        // An answer that comes later than that on a busy machine is asked for again.
        settings.bounds.idle = Duration::from_millis(300);
        settings.concurrency = 1;
    })
    .await;
    let live = api::fetch(bench.reader(), forty_lists()).await;
    assert_eq!(live.lists.values().filter(|read| read.known().is_ok()).count(), 37);
}

#[tokio::test]
async fn a_body_that_stops_half_way_is_given_up() {
    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{\"it".to_vec();
    let (failure, _) = failure(Reply::Stall(half), short).await;
    assert!(matches!(failure, Failure::TimedOut(_)), "{failure:?}");
}

#[tokio::test]
async fn an_endless_body_is_cut_at_its_bound() {
    let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    let mut piece = b"1000\r\n".to_vec();
    piece.extend([b' '; 0x1000]);
    piece.extend(b"\r\n");
    let (failure, sent) = failure(Reply::Endless(head, piece), small).await;
    assert_eq!((failure, sent), (Failure::TooLarge(100_000), 1));
}

#[tokio::test]
async fn an_endless_refusal_is_still_a_refusal() {
    let head = b"HTTP/1.1 403 X\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    let mut piece = b"1000\r\n".to_vec();
    piece.extend([b'x'; 0x1000]);
    piece.extend(b"\r\n");
    let (failure, _) = failure(Reply::Endless(head, piece), small).await;
    let Failure::Status(refusal) = failure else { panic!("{failure:?}") };
    assert_eq!(refusal.status, 403);
    assert!(refusal.message.len() < 2_000);
}

#[tokio::test]
async fn an_endless_trickle_ends_with_the_total_time() {
    let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    let bench = Bench::with(vec![Reply::Endless(head, b"1\r\n \r\n".to_vec())], |settings| {
        settings.bounds.total = Duration::from_millis(200);
        settings.bounds.body = usize::MAX;
    })
    .await;
    let error = bench.reader().list(&Scope::endpoints(shop()), ListFields::Spec).await.unwrap_err();
    assert_eq!(error.failure, Failure::TimedOut(Duration::from_millis(200)));
    // What took the whole time once is not asked for again.
    assert_eq!(bench.server.seen().len(), 1);
}

#[tokio::test]
async fn a_list_that_comes_too_slowly_is_given_up_long_before_the_whole_time() {
    let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    let slow = Reply::Slow(head, b"1\r\n \r\n".to_vec(), Duration::from_millis(5));
    let bench = Bench::with(vec![slow], |settings| {
        settings.bounds.window = Duration::from_millis(100);
        settings.bounds.least = 1_000;
    })
    .await;
    let error = bench.reader().list(&Scope::endpoints(shop()), ListFields::Spec).await.unwrap_err();
    assert!(matches!(error.failure, Failure::TooSlow { bytes: 1..1_000, .. }), "{error}");
    assert_eq!(bench.server.seen().len(), 1);
}

#[tokio::test]
async fn a_small_body_that_unpacks_to_a_large_one_is_cut_at_its_bound() {
    let packed = zeros(20_000);
    assert!(packed.len() < 50_000);
    let mut reply =
        format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n", packed.len()).into_bytes();
    reply.extend(packed);
    let (failure, _) = failure(Reply::Bytes(reply), small).await;
    assert_eq!(failure, Failure::TooLarge(100_000));
}

#[tokio::test]
async fn a_packed_body_is_unpacked() {
    // gzip of `{}` in one stored block, with its checksum and length.
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1, 2, 0, 0xfd, 0xff];
    packed.extend(b"{}");
    packed.extend(crc32(b"{}").to_le_bytes());
    packed.extend(2_u32.to_le_bytes());
    let mut reply =
        format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n", packed.len()).into_bytes();
    reply.extend(packed);
    let bench = Bench::start(vec![Reply::Bytes(reply)]).await;
    bench.reader().get(&cart(), ResponseFormat::Default).await.unwrap();
    assert_eq!(bench.server.seen()[0].header("accept-encoding"), Some("gzip"));
}

#[tokio::test]
async fn the_limit_of_requests_spreads_them() {
    let bench = Bench::with(vec![json(200, "{}")], |settings| {
        settings.rate = Some(trueup::api::RateLimit { per_second: 1.0, burst: 2 });
    })
    .await;
    for _ in 0..4 {
        bench.reader().get(&cart(), ResponseFormat::Default).await.unwrap();
    }
    let seconds: Vec<f64> = bench.waits().iter().map(|wait| wait.as_secs_f64().round()).collect();
    assert_eq!(seconds, [1.0, 2.0]);
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

/// The gzip form of a zero byte and `runs` runs of 258 more: a fixed Huffman block in which a run is
/// the length code 285 and the distance code 0.
fn zeros(runs: usize) -> Vec<u8> {
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let (mut byte, mut filled) = (0_u8, 0);
    let mut push = |bits: &str| {
        for bit in bits.bytes() {
            byte |= (bit - b'0') << filled;
            filled += 1;
            if filled == 8 {
                packed.push(std::mem::take(&mut byte));
                filled = 0;
            }
        }
    };
    // Last block, fixed codes; the literal 0.
    push("110");
    push("00110000");
    for _ in 0..runs {
        push("11000101");
        push("00000");
    }
    push("0000000");
    push("0000000");
    packed.extend([0; 8]);
    packed
}
