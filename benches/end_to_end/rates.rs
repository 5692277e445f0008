//! Requests a second of an apply against those of a bare generator that sends the same kinds of
//! requests with the same bodies to the same service.

use std::error::Error;
use std::path::Path;
use std::process::Command;

use http::Method;

use crate::generator::{self, Shot};
use crate::measure::{self, Usage};
use crate::world;

/// What an apply took.
#[derive(Debug, Clone, Copy)]
pub struct Applied {
    /// The process whole: load, list, compare, apply, look again.
    pub whole: Usage,
    /// Seconds from the first write to the end of the second look, as the program tells them.
    pub seconds: f64,
    /// Seconds of them that the second look took.
    pub look: f64,
    /// Requests that were sent in them.
    pub requests: f64,
}

/// Runs an apply that answers with JSON.
pub fn apply(command: &mut Command, answer: &Path) -> Result<Applied, Box<dyn Error>> {
    let whole = measure::run_into(command.args(["--format", "json"]), std::fs::File::create(answer)?)?;
    let told: serde_json::Value = serde_json::from_slice(&std::fs::read(answer)?)?;
    let number = |name: &str| told["outcome"][name].as_f64().ok_or_else(|| format!("the outcome tells no {name}"));
    let seconds = |name: &str| number(name).map(|milliseconds| milliseconds / 1000.0);
    Ok(Applied {
        whole,
        seconds: seconds("milliseconds")?,
        look: seconds("look_milliseconds")?,
        requests: number("requests")?,
    })
}

/// A bare client of the service.
pub struct Bare<'a> {
    /// Host and port.
    pub address: &'a str,
    /// Endpoints.
    pub count: usize,
    /// Over which they are spread.
    pub namespaces: usize,
    /// Requests at the same time.
    pub concurrency: usize,
}

impl Bare<'_> {
    /// Requests a second of creates, of replaces (a GET and a PUT each) and of deletes (two GETs and a
    /// DELETE each).
    pub fn rates(&self) -> Result<[f64; 3], Box<dyn Error>> {
        let at = |at: usize| {
            let namespace = format!("bare-{}", world::namespace(at % self.namespaces));
            (format!("/api/config/namespaces/{namespace}/endpoints"), format!("bare-{at:06}"))
        };
        let body = |at: usize, port: u16| world::body(at, self.namespaces, &format!("bare-{at:06}"), port);
        let (mut creates, mut replaces) = (Vec::new(), Vec::new());
        // A DELETE is shot long after the GETs of its endpoint, which may be on another connection.
        let (mut looks, mut deletes) = (Vec::new(), Vec::new());
        for number in 0..self.count {
            let (path, name) = at(number);
            let one = format!("{path}/{name}");
            let shot =
                |method: Method, path: &str, body: String| Shot { method, path: path.to_owned(), body: body.into() };
            creates.push(shot(Method::POST, &path, body(number, 8443)?));
            replaces.push(shot(Method::GET, &one, String::new()));
            replaces.push(shot(Method::PUT, &one, body(number, 9443)?));
            looks.push(shot(Method::GET, &one, String::new()));
            let referrers = format!("{one}?response_format=GET_RSP_FORMAT_REFERRING_OBJECTS");
            looks.push(shot(Method::GET, &referrers, String::new()));
            deletes.push(shot(Method::DELETE, &one, String::new()));
        }
        looks.append(&mut deletes);
        Ok([self.rate(creates)?, self.rate(replaces)?, self.rate(looks)?])
    }

    fn rate(&self, shots: Vec<Shot>) -> Result<f64, Box<dyn Error>> {
        let count = shots.len() as f64;
        let fired = generator::fire(self.address, world::TOKEN, self.concurrency, shots);
        let took = crate::runtime()?.block_on(fired).map_err(|error| error.to_string())?;
        Ok(count / took.as_secs_f64())
    }
}
