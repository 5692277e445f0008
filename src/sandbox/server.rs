//! The accept loop. It is our own, on top of hyper, because a fault may close a connection, which ready-made servers do
//! not allow: each request has a [`Disconnect`] that ends its connection at once.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tower::Service as _;

/// How long requests in flight may take after a stop was requested.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// The pause after a failed accept, which usually means too many open files.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// Ends the connection of a request, without an answer.
#[derive(Clone, Debug, Default)]
pub struct Disconnect(Arc<Notify>);

impl Disconnect {
    /// Disconnects, and never returns: the connection's task is dropped together with the caller.
    pub async fn now(&self) -> Infallible {
        self.0.notify_one();
        std::future::pending().await
    }
}

/// Answers connections of `listener` until `stop` becomes true or its sender is dropped, then lets the requests in
/// flight finish. A connection that sends no complete header within `header_timeout` is closed.
pub async fn serve(listener: TcpListener, router: Router, stop: watch::Receiver<bool>, header_timeout: Duration) {
    let mut connections = JoinSet::new();
    let stopped = stopped(stop.clone());
    tokio::pin!(stopped);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(answer(stream, router.clone(), stop.clone(), header_timeout));
                }
                Err(_) => tokio::time::sleep(ACCEPT_AGAIN).await,
            },
            Some(_) = connections.join_next() => {}
            () = stopped.as_mut() => break,
        }
    }
    drop(listener);
    let finished = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(LAST_ANSWERS, finished).await.is_err() {
        connections.shutdown().await;
    }
}

async fn stopped(mut stop: watch::Receiver<bool>) {
    // A dropped sender means the same as true.
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn answer(stream: TcpStream, router: Router, stop: watch::Receiver<bool>, header_timeout: Duration) {
    // Without this a small answer may wait for the client's delayed acknowledgement.
    let _ = stream.set_nodelay(true);
    let disconnect = Disconnect::default();
    let handle = disconnect.clone();
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(handle.clone());
        let mut router = router.clone();
        async move { router.call(request).await as Result<Response<Body>, Infallible> }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(header_timeout);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        // However the connection ended, the client noticed it.
        _ = connection.as_mut() => return,
        () = disconnect.0.notified() => return,
        () = stopped(stop) => connection.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        _ = connection => {}
        () = disconnect.0.notified() => {}
    }
}
