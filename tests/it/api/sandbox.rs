//! The client and the sandbox are two readings of one interface: here they meet.

use serde_json::json;
use trueup::api::{
    self, BaseUrl, Certainty, ClientSettings, Operation, Request, ResponseFormat, Secret, Timing, Writer,
};
use trueup::model::{Clock, Key, Layout, ListRead, LiveItem, Namespace, ReferredDelete, Scope};
use trueup::sandbox::{self, RequiredToken, Running, SandboxOptions, Storage};

use super::{OneTry as _, TOKEN, cart, shop, written};

async fn meet(layout: Layout) -> (Running, Writer) {
    let clock = Clock::new(|| jiff::Timestamp::new(1_764_663_926, 0).unwrap());
    let running = sandbox::start(SandboxOptions::new(Storage::Memory, RequiredToken::new(TOKEN), clock)).await.unwrap();
    let mut settings =
        ClientSettings::new(BaseUrl::sandbox(), layout, Some(Secret::new(TOKEN).unwrap()), Timing::noted(|_| {}));
    settings.address = Some(running.address());
    (running, Writer::new(settings).unwrap())
}

fn body(key: &Key) -> serde_json::Value {
    json!({
        "metadata": {"name": key.name.as_str(), "namespace": key.namespace.as_str(), "labels": {"tier": "web"}},
        "spec": {"dns_name": "cart.example.net", "port": 443,
                 "where": {"site": {"ref": [{"name": "ce01", "namespace": "system"}]}}}
    })
}

#[tokio::test]
async fn an_endpoint_goes_through_its_life_in_both_layouts() {
    for layout in Layout::ALL {
        let (_running, writer) = meet(layout).await;
        let reader = writer.reader();
        writer.create(&cart(), &written(&body(&cart()))).await.unwrap();
        let again = writer.create(&cart(), &written(&body(&cart()))).await.unwrap_err();
        assert_eq!((again.status(), again.certainty()), (Some(409), Certainty::Refused));

        let namespaces = [shop(), Namespace::parse("pay").unwrap()];
        let live = api::fetch(reader, namespaces.map(Scope::endpoints)).await;
        assert_eq!(live.requests, 2);
        let ListRead::Complete { items } = &live.lists[&Scope::endpoints(shop())] else { panic!("{live:?}") };
        let LiveItem::Object(listed) = &items[&cart()] else { panic!("{items:?}") };
        assert!(listed.resource_version.is_none() && listed.unknown.is_empty());

        let state = api::fetch_object(reader, &cart()).await.unwrap();
        let fresh = state.object().unwrap();
        let object = &fresh.live;
        assert_eq!((&object.endpoint, &object.uid), (&listed.endpoint, &listed.uid));
        assert!(object.resource_version.is_some());

        let mut body = fresh.body(|_| ()).unwrap().tree().clone();
        body["spec"]["port"] = 8443.into();
        writer.replace(&cart(), &written(&body)).await.unwrap();
        let stale = writer.replace(&cart(), &written(&body)).await.unwrap_err();
        assert_eq!(stale.certainty(), Certainty::Refused, "{stale}");

        assert_eq!(api::referrers(reader, &cart()).await.unwrap(), []);
        let (read, failed) = api::check(reader, &Scope::endpoints(shop()), |item| item.key().clone()).await.unwrap();
        assert_eq!((read, failed.len()), ([(cart(), cart())].into(), 0));
        writer.delete(&cart(), ReferredDelete::Refused).await.unwrap();
        assert!(matches!(api::fetch_object(reader, &cart()).await, Ok(api::CurrentState::Absent)));
        assert!(writer.delete(&cart(), ReferredDelete::Refused).await.unwrap_err().is_absent());
    }
}

#[tokio::test]
async fn every_format_is_answered() {
    let (_running, writer) = meet(Layout::Uniform).await;
    writer.create(&cart(), &written(&body(&cart()))).await.unwrap();
    for format in ResponseFormat::ALL {
        let object = writer.reader().get(&cart(), format).await.unwrap();
        assert!(object["resource_version"].is_string(), "{format:?}: {object}");
    }
}

#[tokio::test]
async fn a_wrong_token_is_reported_with_what_to_do() {
    let (running, _) = meet(Layout::Uniform).await;
    let mut settings = ClientSettings::new(
        BaseUrl::sandbox(),
        Layout::Uniform,
        Some(Secret::new("another").unwrap()),
        Timing::noted(|_| {}),
    );
    settings.address = Some(running.address());
    let writer = Writer::new(settings).unwrap();
    let error = writer.reader().get(&cart(), ResponseFormat::Default).await.unwrap_err();
    assert_eq!(error.status(), Some(401));
    assert!(error.to_string().ends_with("; check the API token"), "{error}");
}

#[tokio::test]
async fn the_console_behind_a_wrong_base_url_is_reported() {
    let (running, _) = meet(Layout::Uniform).await;
    let base_url = BaseUrl::parse(&format!("http://{}/console", running.address())).unwrap();
    let secret = Some(Secret::new(TOKEN).unwrap());
    let writer = Writer::new(ClientSettings::new(base_url, Layout::Uniform, secret, Timing::noted(|_| {}))).unwrap();
    let error = api::fetch_object(writer.reader(), &cart()).await.unwrap_err();
    assert!(error.to_string().contains("base URL"), "{error}");
}

#[tokio::test]
async fn an_operation_called_by_name_is_answered() {
    let (_running, writer) = meet(Layout::Uniform).await;
    let parameters = [("namespace".to_owned(), "shop".to_owned())];
    let request = Request::build(
        Operation::from_name("svc-api-servicemesh-endpoint-list").unwrap(),
        Layout::Uniform,
        &parameters,
        None,
    )
    .unwrap();
    let (answer, whole) = writer.reader().ask(request.into_read().unwrap()).await.unwrap();
    whole.expect("a whole answer");
    assert_eq!(answer.json::<serde_json::Value>().unwrap(), json!({"items": [], "errors": []}));
}
