use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::mpsc;

use serde_json::{Value, json};

use super::service;
use crate::support::{OddServer, Ran, Service, Stage};

fn lines(ran: &Ran) -> Vec<Value> {
    ran.text().lines().map(|line| serde_json::from_str(line).expect("a document a line")).collect()
}

#[test]
fn a_query_without_times_sees_the_last_ten_minutes_of_the_tenant() {
    let (service, stage) = staged();
    let ran = stage.run("events --format ndjson");
    let events = lines(ran.code(0));
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["city"], "Nowhere");
    // Decoded once, nothing lost.
    assert_eq!(events[0]["future"], json!({"deep": [1, 2.5]}));
    stage.run("events -n shop").code(0).stdout_contains("no security events in shop, last 10 minutes");
    drop(service);
}

#[test]
fn conditions_times_and_both_layouts_select() {
    let (_service, stage) = staged();
    let count = |words: &str| {
        let hits = |layout: &str| {
            let line = format!("events --since 1d --limit 1 --format json --quiet --layout {layout} {words}");
            stage.run(&line).code(0).json()["total_hits"].as_u64().expect("a count")
        };
        let uniform = hits("uniform");
        assert_eq!(uniform, hits("published"), "{words}");
        uniform
    };
    let all = count("");
    assert_eq!(all, 1201);
    assert_eq!(count("-n shop") + count("-n pay"), all);
    let waf = count("--match sec_event_type=waf_sec_event");
    assert!(waf > 0 && waf < all);
    assert_eq!(waf + count("--match sec_event_type!=waf_sec_event"), all);
    let german = count("--match country=~Germ.* --match city!~Berlin");
    assert!(german > 0 && german < all);
    assert_eq!(count("--query {city=\"Nowhere\"}"), 1);
    assert_eq!(count("--query {city=\"Nowhere\"} --match asn=64511"), 1);
    assert_eq!(count("--until -30s --match city=Nowhere"), 1);
}

#[test]
fn the_limit_may_lie_beyond_one_answer_and_the_rest_is_reported() {
    let (service, stage) = staged();
    let ran = stage.run("events --since 1d --limit 700 --format ndjson");
    assert_eq!(lines(ran.code(0).stderr_contains("700 of 1,201 events; every one with --all")).len(), 700);
    assert_eq!(service.requests("POST"), 2);
    let ran = stage.run("events --since 1d --format ndjson --quiet");
    assert_eq!(lines(ran.code(0)).len(), 500);
}

#[test]
fn every_event_comes_once_in_the_order_asked_for() {
    let (_service, stage) = staged();
    let ran = stage.run("events --since 1d --all --oldest-first --format ndjson");
    let times: Vec<String> =
        lines(ran.code(0)).iter().map(|event| event["@timestamp"].as_str().expect("a time").to_owned()).collect();
    assert_eq!(times.len(), 1201);
    assert!(times.is_sorted());
    let document = stage.run("events --since 1d --all --format json").code(0).json();
    assert_eq!(document["kind"], "security_events");
    assert_eq!(document["total_hits"], 1201);
    assert_eq!(document["events"].as_array().map(Vec::len), Some(1201));
}

#[test]
fn counts_are_bars() {
    let (service, stage) = staged();
    let ran = stage.run("events --since 1d --by country,sec_event_type --top 3");
    ran.code(0)
        .stdout_contains("1,201 security events in the tenant, last day")
        .stdout_contains("by country")
        .stdout_contains("by sec_event_type");
    ran.stdout_contains("  United States").stdout_contains("█").stdout_contains("  (other ");
    // One query, whatever is counted.
    assert_eq!(service.requests("POST"), 1);
    let counts = stage.run("events --since 1d --by country,sec_event_type --format json").code(0).json();
    assert_eq!((&counts["total_hits"], &counts["by"][1]["field"]), (&1201.into(), &"sec_event_type".into()));
    let values = lines(stage.run("events --since 1d --by sec_event_type --format ndjson").code(0));
    assert!(values.iter().any(|line| line["value"] == "waf_sec_event" && line["count"].as_u64() > Some(0)));
}

#[test]
fn a_field_that_the_service_does_not_count_is_an_error_before_the_query() {
    let (service, stage) = staged();
    let ran = stage.run("events --since 1d --by as_org");
    ran.code(64)
        .stderr_contains("the service does not count events by `as_org`")
        .stderr_contains("another one: `--all --format ndjson`,");
    assert_eq!(service.requests("POST"), 0);
    let listed = stage.run("events --since 1d --all --format ndjson");
    assert!(lines(listed.code(0)).iter().any(|event| event["as_org"] == "Bay Broadband"));
    stage.run("events --since 1d --by rsp_code").code(0).stdout_contains("by rsp_code");
    stage.run("events --since 1d --by country --all").code(64).stderr_contains("--all");
}

#[test]
fn a_terminal_without_utf_8_gets_ascii() {
    let (_service, stage) = staged();
    let stage = stage.env("LC_ALL", "C");
    let ran = stage.run("events --since 1d --by sec_event_type");
    assert!(ran.code(0).text().is_ascii(), "{}", ran.text());
    ran.stdout_contains("###");
}

#[test]
fn a_field_that_finds_nothing_is_doubted_with_the_nearest_names() {
    let (_service, stage) = staged();
    let ran = stage.run("events --match vhname=x --query {contry=\"Germany\"} --format ndjson");
    ran.code(0).stderr_contains("`vhname` is not a known field").stderr_contains("did you mean `vh_name`");
    ran.stderr_contains("`contry` is not a known field").stderr_contains("`country`");
    stage.run("events --match signatures.id=1 --format ndjson").code(0);
    let ran = stage.run("events --match country==Germany --format ndjson");
    ran.code(0).stderr_contains("the value for `country` begins with `=`: without it, write `country=Germany`");
    for operator in ["=", "!=", "=~", "!~"] {
        let ran = stage.run_words(&["events", "--match", &format!("country {operator} Germany"), "--format", "ndjson"]);
        ran.code(0).stderr_contains(&format!("begins with ` `: without it, write `country{operator}Germany`"));
    }
}

#[test]
fn what_is_wrong_with_a_question_is_reported() {
    let (service, stage) = staged();
    stage.run("events --since 1h --until 2h").code(64).stderr_contains("the time range is backwards");
    stage
        .run("events --since soon")
        .code(64)
        .stderr_contains("`--since soon` is not a valid time")
        .stderr_contains("seconds since 1970");
    stage.run("events --match country").code(64).stderr_contains("write FIELD=VALUE");
    stage.run("events --namespace UPPER").code(64).stderr_contains("`UPPER`");
    stage.run("events --all --limit 3").code(64).stderr_contains("--limit");
    stage.run("events --fields time,,city").code(64).stderr_contains("--fields");
    assert_eq!(service.requests("POST"), 0);
    stage
        .run("events --query {city=}")
        .code(1)
        .stderr_contains("400 Bad Request")
        .stderr_contains("malformed query at position 7");
    stage
        .run("events --help")
        .code(0)
        .stdout_contains("medium risk")
        .stdout_contains("side\neffect")
        .stdout_contains("sent once");
}

#[test]
fn a_query_is_sent_once_whatever_comes_back() {
    let (service, stage) = staged();
    for fault in ["status: {code: 503}", "status: {code: 429, retry_after: 0}", "cut: after", "garbage: {}"] {
        service.misbehave(&format!("rules: [{{operation: security-event-query, {fault}}}]"));
        let before = service.requests("POST");
        stage.run("events --since 1d").code(1).stderr_contains("cannot query security events of `system`");
        assert_eq!(service.requests("POST"), before + 1, "{fault}");
    }
}

#[test]
fn a_scroll_that_breaks_says_how_much_came() {
    let (service, stage) = staged();
    let expired = r#"{"code": 5, "details": [], "message": "the scroll id has expired"}"#;
    service.misbehave(&format!(
        "rules: [{{operation: security-event-query, after: 2, status: {{code: 404, body: '{expired}'}}}}]"
    ));
    let ran = stage.run("events --since 1d --all --format ndjson");
    let printed = lines(ran.code(5));
    assert_eq!((printed.len(), &printed[1000]["kind"]), (1001, &json!("error")));
    ran.stderr_contains("the scroll id has expired")
        .stderr_contains("1,000 of 1,201 events had been read")
        .stderr_contains("start it again");
    service.misbehave(&format!(
        "rules: [{{operation: security-event-query, after: 2, status: {{code: 404, body: '{expired}'}}}}]"
    ));
    let whole = stage.run("events --since 1d --all --format json");
    whole.code(5).stderr_ignored();
    let document = whole.json();
    assert_eq!(document["events"].as_array().map(Vec::len), Some(1000));
    assert_eq!(document["error"]["exit_code"], 5);
}

#[test]
fn no_field_of_an_event_has_force_on_a_terminal() {
    let (_service, stage) = staged();
    for words in ["", "--format json", "--format ndjson", "--fields country,city,time"] {
        let ran = stage.run(&format!("events {words}"));
        let text = ran.code(0).text();
        assert!(text.contains("Nowhere") || words.is_empty(), "{text}");
        assert!(!text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{text:?}");
    }
    let event = &lines(stage.run("events --format ndjson").code(0))[0];
    assert_eq!(event["country"], "\u{202e}Land\u{1b}[31m");
    stage.run("events --by country").code(0).stdout_contains(r"\u{202e}Land\u{1b}[31m");
    stage.run("events --fields country,time").code(0).stdout_contains("COUNTRY").stdout_contains("TIME (UTC)");
}

#[test]
fn a_closed_stdout_ends_quietly() {
    let (service, stage) = staged();
    let mut child = stage
        .command(&["events", "--since", "1d", "--all", "--format", "ndjson"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdout = child.stdout.take().expect("a pipe");
    stdout.read_exact(&mut [0; 64]).expect("a beginning");
    drop(stdout);
    let ended = child.wait_with_output().expect("an end");
    assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()), (Some(0), ""));
    assert!(service.requests("POST") <= 3, "it goes on for nobody");
}

fn staged() -> (Service, Stage) {
    let service = service();
    let stage = Stage::new().at(&service);
    (service, stage)
}

/// A stage at a service that answers a query with `first` and a scroll with nothing more.
fn answered(first: Value) -> Stage {
    ended(first, "")
}

/// The same with the id that comes with nothing more.
fn ended(first: Value, id: &'static str) -> Stage {
    let server = OddServer::start(move |_, body| match String::from_utf8_lossy(body).contains("scroll_id") {
        true => (200, json!({"events": [], "scroll_id": id}).to_string().into()),
        false => (200, first.to_string().into()),
    });
    Stage::new().env("TRUEUP_BASE_URL", &server.url()).env("TRUEUP_TOKEN", "token-of-an-odd-service")
}

#[test]
fn a_list_that_ends_early_is_not_reported_as_whole() {
    let stage = answered(json!({"events": ["{}", "{}"], "total_hits": "1200", "scroll_id": "s"}));
    for most in ["--all", "--limit 700", "--limit 100", ""] {
        let ran = stage.run(&format!("events {most} --format ndjson"));
        ran.code(5).stderr_contains("the service ended the list after 2 of 1,200 events");
        let printed = lines(&ran);
        assert_eq!((printed.len(), &printed[2]["kind"]), (3, &json!("error")));
    }
    let ran = stage.run("events --all --format json");
    assert!(ran.code(5).stderr_contains("the answer is not whole").json()["error"].is_object());
    let ran = answered(json!({"events": [], "total_hits": "120"})).run("events --limit 100 --format json");
    assert!(ran.code(5).stderr_contains("after 0 of 120 events").json()["error"].is_object());
}

#[test]
fn a_count_below_the_events_beside_it_is_not_reported() {
    for total in ["0", "1"] {
        let stage = answered(json!({"events": ["{}", "{}"], "total_hits": total}));
        let ran = stage.run("events");
        assert!(ran.code(0).text().starts_with("security events in the tenant, "), "{}", ran.text());
        assert_eq!(stage.run("events --all --format json").code(0).json()["total_hits"], Value::Null);
    }
}

#[test]
fn an_empty_batch_is_the_end_whatever_its_id_says() {
    for id in ["s", "another"] {
        let stage = ended(json!({"events": ["{}", "{}"], "total_hits": "2", "scroll_id": "s"}), id);
        assert_eq!(lines(stage.run("events --all --format ndjson").code(0)).len(), 2);
        let nothing = ended(json!({"events": [], "total_hits": "0", "scroll_id": "s"}), id);
        nothing.run("events --all").code(0).stdout_contains("no security events");
        let early = ended(json!({"events": ["{}"], "total_hits": "1200", "scroll_id": "s"}), id);
        early.run("events --all --format ndjson").code(5).stderr_contains("ended the list after 1 of 1,200 events");
    }
}

#[test]
fn a_full_batch_without_a_count_and_an_id_is_not_reported_as_whole() {
    let full = |count: usize, id: &str| answered(json!({"events": vec!["{}"; count], "scroll_id": id}));
    for line in ["events --all --format ndjson", "events --limit 700 --format ndjson"] {
        let ran = full(500, "").run(line);
        ran.code(5).stderr_contains("does not say whether there are more").stderr_contains("500 events had been read");
        assert_eq!(lines(full(499, "").run(line).code(0)).len(), 499);
        assert_eq!(lines(full(500, "s").run(line).code(0)).len(), 500);
    }
    assert_eq!(lines(full(500, "").run("events --format ndjson").code(0)).len(), 500);
}

#[test]
fn a_scroll_that_leads_back_ends_and_is_not_reported_as_whole() {
    // Batches 0, 1, 2, 0, 1, ... for ever.
    let server = OddServer::start(move |_, body| {
        let id = serde_json::from_slice::<Value>(body).expect("JSON")["scroll_id"].as_str().map_or(0, str::len);
        let events = [0, 1].map(|at| json!({"batch": id % 3, "event": at}).to_string());
        let answer = json!({"events": events, "total_hits": "1200", "scroll_id": "s".repeat(id + 1)});
        (200, answer.to_string().into())
    });
    let stage = Stage::new().env("TRUEUP_BASE_URL", &server.url()).env("TRUEUP_TOKEN", "token-of-an-odd-service");
    for line in ["events --limit 700 --format ndjson", "events --all --format ndjson"] {
        let ran = stage.run(line);
        ran.code(5).stderr_contains("the service sent the same batch of events again").stderr_contains("6 of 1,200");
        assert_eq!(lines(&ran).len(), 7);
    }
}

/// A pager takes longer for the first screen than a service keeps a connection without a request.
#[test]
fn a_connection_that_ended_while_the_reader_paused_is_not_used_again() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (pause, paused) = mpsc::channel();
    let (end, ended) = mpsc::channel();
    std::thread::spawn(move || {
        // More than a pipe takes at once.
        let full = vec![json!({"path": "x".repeat(1000)}).to_string(); 500];
        for answer in [json!({"events": full, "total_hits": "501", "scroll_id": "s"}), json!({"events": ["{}"]})] {
            let (mut connection, _) = listener.accept().expect("a connection");
            let (mut request, mut length) = (BufReader::new(&connection), 0);
            for line in request.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {
                length = line
                    .to_lowercase()
                    .strip_prefix("content-length: ")
                    .map_or(length, |n| n.parse().expect("a number"));
            }
            request.read_exact(&mut vec![0; length]).expect("a body");
            let body = answer.to_string();
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
            connection.write_all(&[head, body].concat().into_bytes()).expect("an answer");
            // The last one stays open.
            if paused.recv().is_err() {
                return;
            }
            drop(connection);
            end.send(()).expect("it is waited for");
        }
    });
    let stage = Stage::new().env("TRUEUP_BASE_URL", &url).env("TRUEUP_TOKEN", "token-of-an-odd-service");
    let mut command = stage.command(&["events", "--all", "--format", "ndjson"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut read = child.stdout.take().expect("piped");
    read.read_exact(&mut [0]).expect("the first event");
    pause.send(()).expect("it answers");
    ended.recv().expect("the connection ended");
    let mut text = String::new();
    read.read_to_string(&mut text).expect("UTF-8");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(
        (output.status.code(), text.lines().count()),
        (Some(0), 501),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn an_answer_without_counts_is_not_an_answer_of_nothing() {
    let counted = json!({"by_0": {"field_aggregation": {"buckets": [{"key": "DE", "count": "7"}]}}});
    answered(json!({"events": ["{}"], "aggs": counted}))
        .run("events --by country")
        .code(1)
        .stderr_contains("its answer has no `total_hits`");
    answered(json!({"events": ["{}"], "total_hits": "500", "aggs": null}))
        .run("events --by country")
        .code(1)
        .stderr_contains("the service did not count the events by `country`");
    answered(json!({"events": [], "total_hits": "0"}))
        .run("events --by country")
        .code(0)
        .stdout_contains("no security events");
}
