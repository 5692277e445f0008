//! Headers, repeats, redaction: what is sent, how often, and what is reported of the answer.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use trueup::api::events::EventQuery;
use trueup::api::{
    self, AttemptHistory, Certainty, Failure, Operation, Request, ResponseFormat, WriteDeparture, ddos, events,
};
use trueup::kind::KindName;
use trueup::model::{Layout, ListRead, Namespace, ReferredDelete, Scope};

use super::server::{Reply, answer, json as reply};
use super::{Bench, OneTry as _, TOKEN, cart, departure, send_delete, shop, written};

#[tokio::test]
async fn headers_are_those_of_the_reference() {
    let created = r#"{"metadata":{"name":"cart","namespace":"shop"},"system_metadata":{"uid":"u"},"spec":{}}"#;
    let bench = Bench::start(vec![reply(200, "{}"), reply(200, created), reply(200, "{}")]).await;
    bench.reader().get(&cart(), ResponseFormat::Default).await.unwrap();
    bench.writer.create(&cart(), &written(&json!({"metadata": {"name": "cart"}}))).await.unwrap();
    bench.writer.replace(&cart(), &written(&json!({"spec": {}}))).await.unwrap();
    bench.writer.delete(&cart(), ReferredDelete::Refused).await.unwrap();
    let seen = bench.server.seen();
    let lines: Vec<&str> = seen.iter().map(|seen| seen.line.as_str()).collect();
    assert_eq!(
        lines,
        [
            "GET /api/config/namespaces/shop/endpoints/cart",
            "POST /api/config/namespaces/shop/endpoints",
            "PUT /api/config/namespaces/shop/endpoints/cart",
            "DELETE /api/config/namespaces/shop/endpoints/cart",
        ]
    );
    for seen in &seen {
        assert_eq!(seen.header("authorization"), Some(format!("APIToken {TOKEN}").as_str()), "{seen:?}");
        assert_eq!(seen.header("accept"), Some("application/json"));
    }
    let types: Vec<Option<&str>> = seen.iter().map(|seen| seen.header("content-type")).collect();
    let typed = Some("application/json");
    assert_eq!(types, [typed, typed, typed, None]);
    assert_eq!(seen[3].header("content-length"), None);
    assert_eq!(seen[1].body, r#"{"metadata":{"name":"cart"}}"#);
}

#[tokio::test]
async fn a_published_delete_refuses_what_is_referred_to() {
    let bench = Bench::with(vec![reply(200, "{}")], |settings| settings.layout = Layout::Published).await;
    bench.writer.delete(&cart(), ReferredDelete::Refused).await.unwrap();
    let seen = bench.server.seen().remove(0);
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.body, r#"{"fail_if_referred":true,"name":"cart","namespace":"shop"}"#);
}

#[tokio::test]
async fn a_published_delete_that_was_allowed_does_not_ask_for_a_refusal() {
    let bench = Bench::with(vec![reply(200, "{}")], |settings| settings.layout = Layout::Published).await;
    bench.writer.delete(&cart(), ReferredDelete::Allowed).await.unwrap();
    assert_eq!(bench.server.seen().remove(0).body, r#"{"fail_if_referred":false,"name":"cart","namespace":"shop"}"#);
}

#[tokio::test]
async fn a_read_waits_out_a_refusal_for_as_long_as_it_asks() {
    let busy = answer(429, &[("retry-after", "7")], "{}");
    let bench = Bench::start(vec![busy, reply(503, "{}"), reply(200, "{}")]).await;
    bench.reader().get(&cart(), ResponseFormat::Default).await.unwrap();
    assert_eq!(bench.server.seen().len(), 3);
    assert_eq!(bench.reader().requests()[&Operation::ObjectGet], 3);
    let waits = bench.waits();
    assert!(waits[0] > Duration::from_secs(6) && waits[0] <= Duration::from_secs(7), "{waits:?}");
}

#[tokio::test]
async fn a_write_of_unknown_effect_is_sent_once() {
    for (script, expected) in [
        (reply(503, "{}"), Certainty::Unknown),
        (reply(500, "{}"), Certainty::Unknown),
        (Reply::Last(Vec::new()), Certainty::Unknown),
        (reply(200, "not json"), Certainty::Unknown),
        (reply(200, r#"{"code":13,"message":"internal"}"#), Certainty::Unknown),
        (reply(200, r#"{"metadata":{"name":"other","namespace":"shop"}}"#), Certainty::Unknown),
        (reply(202, "{}"), Certainty::Unknown),
        (reply(204, ""), Certainty::Unknown),
        (reply(206, "{}"), Certainty::Unknown),
        (reply(409, r#"{"code":6,"message":"exists","details":[]}"#), Certainty::Refused),
    ] {
        let bench = Bench::start(vec![script]).await;
        let error = bench.writer.replace(&cart(), &written(&json!({}))).await.unwrap_err();
        assert_eq!(error.certainty(), expected, "{error}");
        assert_eq!(bench.server.seen().len(), 1, "{error}");
    }
}

#[tokio::test]
async fn a_refusal_for_pace_ends_the_turn_of_a_write_and_another_is_allowed_a_bounded_number_of_times() {
    let bench = Bench::start(vec![answer(429, &[("retry-after", "1")], r#"{"code":8,"message":"quota"}"#)]).await;
    let mut tried = AttemptHistory::default();
    for times in 1..=7 {
        let turn = bench.writer.turn(1).await;
        let failure = send_delete(turn, departure(&mut tried)).await.unwrap_err();
        assert_eq!(failure.error.certainty(), Certainty::Refused);
        assert_eq!(bench.server.seen().len(), times, "nobody sends it again for the caller");
        // Everybody waits for the service, so that the next turn is the wait.
        assert_eq!(failure.again, (times < 7).then_some(Duration::ZERO));
        assert!(failure.error.to_string().contains("quota"), "{}", failure.error);
    }
    assert!(bench.waits()[0] >= Duration::from_millis(900), "{:?}", bench.waits());
}

#[tokio::test]
async fn a_write_that_is_not_cleared_when_its_connection_is_open_is_not_sent() {
    let bench = Bench::start(vec![reply(200, "{}")]).await;
    let asked = std::sync::atomic::AtomicU32::new(0);
    let clearance = || {
        asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        false
    };
    let mut tried = AttemptHistory::default();
    let departure = WriteDeparture { request_id: "id", clearance: &clearance, tried: &mut tried };
    let failure = send_delete(bench.writer.turn(0).await, departure).await.unwrap_err();
    assert_eq!((failure.error.failure, failure.again), (Failure::NotCleared, None));
    assert_eq!((bench.server.seen().len(), asked.into_inner()), (0, 1));
    assert!(bench.reader().requests().is_empty());
    // The connection is kept for the next request.
    bench.reader().get(&cart(), ResponseFormat::Default).await.unwrap();
    assert_eq!((bench.server.seen().len(), bench.server.connections()), (1, 1));
}

#[tokio::test]
async fn the_event_query_is_sent_once() {
    for script in [reply(503, "{}"), answer(429, &[("retry-after", "1")], "{}"), Reply::Last(Vec::new())] {
        let bench = Bench::start(vec![script]).await;
        events::query(bench.reader(), &EventQuery::new(shop())).await.unwrap_err();
        assert_eq!(bench.server.seen().len(), 1);
        events::scroll(bench.reader(), &shop(), "s").await.unwrap_err();
        assert_eq!(bench.server.seen().len(), 2);
    }
}

#[tokio::test]
async fn no_connection_means_that_nothing_was_sent() {
    let bench = Bench::start(vec![reply(200, "{}")]).await;
    let (address, writer) = (bench.server.address, bench.writer.clone());
    drop(bench);
    // The port is free once the server's task has ended.
    while tokio::net::TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    let mut tried = AttemptHistory::default();
    for times in 1..=4 {
        let turn = writer.turn(0).await;
        let failure = send_delete(turn, departure(&mut tried)).await.unwrap_err();
        let error = failure.error;
        assert_eq!(error.certainty(), Certainty::NotSent, "{error}");
        assert!(matches!(error.failure, Failure::Connect(_)), "{error:?}");
        assert_eq!(failure.again.is_some(), times < 4);
    }
    assert_eq!(writer.reader().requests()[&Operation::ObjectDelete], 4);
}

#[tokio::test]
async fn an_echoed_token_is_reported_nowhere() {
    let said = Arc::new(Mutex::new(String::new()));
    let noted = Arc::clone(&said);
    let echo = json!({"code": 16, "message": format!("bad token {TOKEN}"), "details": [{"value": TOKEN}]}).to_string();
    let object = json!({"items": [{"name": "a", "description": TOKEN}]}).to_string();
    let moved = format!("https://login.example.net/{TOKEN}");
    let event =
        json!({"events": [json!({"h": format!("APIToken {TOKEN}")}).to_string()], "total_hits": "1"}).to_string();
    let script = vec![
        reply(401, &echo),
        reply(200, &object),
        answer(302, &[("location", &moved)], ""),
        answer(400, &[("content-type", "text/plain")], TOKEN),
        reply(200, &event.replace('/', "\\/")),
    ];
    let bench = Bench::with(script, |settings| {
        settings.listener = Some(Arc::new(move |exchange| noted.lock().unwrap().push_str(&format!("{exchange:?}\n"))));
    })
    .await;
    let mut output = String::new();
    for _ in 0..4 {
        let error = bench.reader().list(&Scope::endpoints(shop()), api::ListFields::Spec).await.unwrap_err();
        output.push_str(&format!("{error} {error:?}\n"));
    }
    let page = events::query(bench.reader(), &EventQuery::new(shop())).await.unwrap();
    assert_eq!(page.events[0].field("h").as_deref(), Some("APIToken [token]"));
    output.push_str(&format!("{page:?} {:?} {:?}", bench.writer, bench.reader()));
    output.push_str(&said.lock().unwrap());
    assert!(output.contains("bad token [token] ([token])"), "{output}");
    assert!(output.contains("login.example.net"), "{output}");
    assert!(!output.contains("s3cret"), "{output}");
    assert!(!output.contains("value="), "{output}");
    assert_eq!(bench.server.seen().len(), 5);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Bench::start(vec![reply(200, r#"{"items":[],"errors":[]}"#)]).await;
    for status in [301, 302, 303, 307, 308] {
        let target = format!("http://{}/api/x", other.server.address);
        let bench = Bench::start(vec![answer(status, &[("location", &target)], "")]).await;
        let error = bench.reader().get(&cart(), ResponseFormat::Default).await.unwrap_err();
        assert!(matches!(error.failure, Failure::Redirected { .. }), "{error:?}");
        let error = bench.writer.replace(&cart(), &written(&json!({}))).await.unwrap_err();
        let is_result = matches!(status, 302 | 303);
        assert_eq!(error.certainty(), if is_result { Certainty::Unknown } else { Certainty::Refused });
    }
    assert!(other.server.seen().is_empty());
}

#[tokio::test]
async fn nothing_is_concluded_from_an_odd_list() {
    let html = answer(200, &[("content-type", "text/html")], "<html>");
    let partial = reply(200, r#"{"items":[],"errors":[{"code":"EPARTIAL","message":"shard 3 did not answer"}]}"#);
    let truncated = Reply::Last(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"items\":[]".to_vec());
    for (script, sent, expected) in [
        (html, 1, "HTML page"),
        (partial, 1, "EPARTIAL: shard 3 did not answer"),
        (truncated, 4, "the connection was cut"),
        (reply(403, r#"{"code":7,"message":"no"}"#), 1, "403 Forbidden: no"),
        (reply(404, r#"{"code":5,"message":"no such"}"#), 1, "404 Not Found: no such"),
        (reply(200, "{\"items\":["), 1, "cannot be read"),
        (reply(200, ""), 1, "cannot be read"),
    ] {
        let bench = Bench::start(vec![script]).await;
        let live = api::fetch(bench.reader(), [Scope::endpoints(shop())]).await;
        let ListRead::Unknown { reason } = &live.lists[&Scope::endpoints(shop())] else {
            panic!("complete: {expected}")
        };
        assert!(reason.contains(expected), "{reason}");
        assert_eq!(live.requests, sent, "{reason}");
    }
}

#[tokio::test]
async fn only_a_404_about_the_object_reads_as_nothing() {
    let absent = reply(404, r#"{"code":5,"message":"no endpoint shop/cart","details":[]}"#);
    let wrong = reply(404, r#"{"code":5,"message":"API Group could not be determined for Method: GET"}"#);
    let bench = Bench::start(vec![absent.clone(), wrong, absent]).await;
    assert!(matches!(api::fetch_object(bench.reader(), &cart()).await, Ok(api::CurrentState::Absent)));
    let error = api::fetch_object(bench.reader(), &cart()).await.unwrap_err();
    assert!(error.to_string().contains("the base URL or the path layout is probably wrong"), "{error}");
    assert_eq!(api::referrers(bench.reader(), &cart()).await.unwrap(), []);
}

#[tokio::test]
async fn a_kind_is_not_offered_only_where_no_other_namespace_shows_it() {
    let absent = reply(404, r#"{"code":5,"message":"resource is not found","details":[]}"#);
    let of = |namespace: &str| Scope {
        namespace: Namespace::parse(namespace).unwrap(),
        kind: KindName::find("app_setting").unwrap(),
    };
    let shown =
        json!({"items": [{"namespace": "shop", "name": "h", "get_spec": {"app_type_settings": []}}]}).to_string();
    for (items, is_unknown) in [(shown.as_str(), true), (r#"{"items": []}"#, false)] {
        let bench = Bench::with(vec![reply(200, items), absent.clone()], |settings| settings.concurrency = 1).await;
        let live = api::fetch(bench.reader(), [of("shop"), of("pay"), of("system")]).await;
        assert!(matches!(live.lists[&of("shop")], ListRead::Complete { .. }), "{:?}", live.lists);
        assert_eq!(matches!(&live.lists[&of("pay")], ListRead::Unknown { .. }), is_unknown, "{items}");
        // The service takes none there.
        assert!(matches!(live.lists[&of("system")], ListRead::NotOffered), "{items}");
    }
}

#[tokio::test]
async fn a_404_for_the_referrers_of_an_object_that_is_shown_is_not_nobody() {
    let absent = reply(404, r#"{"code":5,"message":"resource is not found","details":[]}"#);
    let shown = r#"{"metadata": {"name": "cart", "namespace": "shop"}, "spec": {"ip": "10.0.0.1", "port": 80}}"#;
    let bench = Bench::start(vec![absent, reply(200, shown)]).await;
    let error = api::referrers(bench.reader(), &cart()).await.unwrap_err();
    assert!(error.to_string().contains("404 to who refers to an object that it shows"), "{error}");
    assert!(!error.is_absent());
}

#[tokio::test]
async fn connections_are_used_again() {
    let bench = Bench::start(vec![reply(200, "{}")]).await;
    for _ in 0..20 {
        bench.reader().get(&cart(), ResponseFormat::Default).await.unwrap();
    }
    assert_eq!(bench.server.connections(), 1);
}

#[tokio::test]
async fn a_connection_that_the_service_ended_is_not_used_again() {
    let Reply::Bytes(whole) = reply(200, "{}") else { panic!("bytes") };
    let bench = Bench::start(vec![Reply::Last(whole)]).await;
    for _ in 0..3 {
        bench.reader().get(&cart(), ResponseFormat::Default).await.unwrap();
    }
    assert_eq!(bench.server.connections(), 3);
}

#[tokio::test]
async fn a_body_that_was_not_read_to_its_end_ends_its_connection() {
    let head = b"HTTP/1.1 403 X\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    let endless = Reply::Endless(head, b"1\r\nx\r\n".repeat(1_000));
    let bench = Bench::start(vec![endless, reply(200, "{}")]).await;
    bench.reader().get(&cart(), ResponseFormat::Default).await.unwrap_err();
    bench.reader().get(&cart(), ResponseFormat::Default).await.unwrap();
    assert_eq!(bench.server.connections(), 2);
}

#[tokio::test]
async fn a_ddos_event_that_moved_is_not_edited() {
    let event = |name: &str| json!({"event": {"id": "e1", "name": name, "end_time": null}}).to_string();
    let bench = Bench::start(vec![reply(200, &event("a")), reply(200, &event("b")), reply(200, &event("b"))]).await;
    let shown = ddos::show(bench.reader(), &shop(), "e1").await.unwrap();
    let edit = ddos::DdosEdit { name: Some("c".to_owned()), ..ddos::DdosEdit::default() };
    let error = ddos::edit(&bench.writer, &shop(), &shown, &edit).await.unwrap_err();
    let ddos::DdosEditError::Moved { now, .. } = error else { panic!("{error}") };
    assert_eq!(bench.server.seen().len(), 2);
    ddos::edit(&bench.writer, &shop(), &now, &edit).await.unwrap();
    let lines: Vec<String> = bench.server.seen().into_iter().map(|seen| seen.line).collect();
    assert_eq!(lines[3], "PUT /api/config/namespaces/shop/events/e1");
}

#[tokio::test]
async fn any_operation_is_called_by_its_name() {
    let bench = Bench::start(vec![reply(200, r#"{"ok":true}"#)]).await;
    let parameters = [("namespace".to_owned(), "system".to_owned()), ("name".to_owned(), "ce01".to_owned())];
    let request = Request::build(
        Operation::from_name("svc-api-cemanagement-upgrade-statu-get").unwrap(),
        Layout::Uniform,
        &parameters,
        None,
    )
    .unwrap();
    let (answer, whole) = bench.reader().ask(request.into_read().unwrap()).await.unwrap();
    whole.expect("a whole answer");
    assert_eq!(answer.body.as_ref(), br#"{"ok":true}"#);
    assert_eq!(bench.server.seen()[0].line, "GET /api/config/namespaces/system/upgrade_status/ce01");
    let parameters = [("namespace".to_owned(), "shop".to_owned()), ("name".to_owned(), "cart".to_owned())];
    let request = Request::build(
        Operation::from_name("svc-api-servicemesh-endpoint-delete").unwrap(),
        Layout::Uniform,
        &parameters,
        None,
    )
    .unwrap();
    let request = request.into_read().unwrap_err();
    bench.writer.call(&request).await.unwrap();
}
