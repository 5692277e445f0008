//! The ids by which a request is found in the logs of both sides: an `x-request-id` for each request, and the trace of
//! the caller (W3C Trace Context), in which each request is a span.

use std::sync::Mutex;

use crate::model::share::locked;

/// The trace of a caller: the text of a `traceparent`, with its `tracestate`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceParent {
    trace: String,
    flags: String,
    state: Option<String>,
}

/// The length of a `tracestate` that every participant has to forward.
const LONGEST_STATE: usize = 512;

impl TraceParent {
    /// The trace of a text such as `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`; `None` if it is not
    /// valid. Parts that a later version appends are left out.
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = |part: &str, length: usize| {
            part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_id = |part: &str, length: usize| is_hex(part, length) && part.bytes().any(|byte| byte != b'0');
        let parts: Vec<&str> = text.split('-').collect();
        let [version, trace, parent, flags, rest @ ..] = parts.as_slice() else { return None };
        let is_known = is_hex(version, 2) && *version != "ff" && (*version != "00" || rest.is_empty());
        let fits = is_known && is_id(trace, 32) && is_id(parent, 16) && is_hex(flags, 2);
        fits.then(|| Self { trace: (*trace).to_owned(), flags: (*flags).to_owned(), state: None })
    }

    /// This trace with a `tracestate`, which is forwarded unchanged. A text that is too long, or not a list of
    /// `key=value` in visible characters, is ignored.
    #[must_use]
    pub fn with_state(self, state: &str) -> Self {
        let is_member =
            |member: &str| member.split_once('=').is_some_and(|(key, value)| !key.is_empty() && !value.is_empty());
        let is_visible = state.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        let fits = state.len() <= LONGEST_STATE && is_visible && state.split(',').all(is_member);
        Self { state: fits.then(|| state.to_owned()), ..self }
    }
}

/// Makes the ids of all requests of a command.
pub struct RequestIds {
    parent: Option<TraceParent>,
    random: Mutex<fastrand::Rng>,
}

impl RequestIds {
    /// Ids generated from `seed`, in the trace of `parent`.
    pub fn new(seed: u64, parent: Option<TraceParent>) -> Self {
        Self { parent, random: Mutex::new(fastrand::Rng::with_seed(seed)) }
    }

    /// The id of a request: a random UUID.
    pub fn request_id(&self) -> String {
        uuid::Builder::from_random_bytes(locked(&self.random).u128(..).to_be_bytes()).into_uuid().to_string()
    }

    /// The `traceparent` of a request, with a new span; `None` without a trace of the caller.
    pub(super) fn span(&self) -> Option<String> {
        let TraceParent { trace, flags, .. } = self.parent.as_ref()?;
        let span = locked(&self.random).u64(1..);
        Some(format!("00-{trace}-{span:016x}-{flags}"))
    }

    /// The `tracestate` of a request; `None` if the caller gave none.
    pub(super) fn state(&self) -> Option<&str> {
        self.parent.as_ref()?.state.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    #[test]
    fn a_trace_is_passed_on_with_a_span_for_each_request() {
        let parent = TraceParent::parse(&format!("00-{TRACE}-00f067aa0ba902b7-01")).expect("a trace");
        let ids = RequestIds::new(7, Some(parent));
        let spans: BTreeSet<String> = (0..100).filter_map(|_| ids.span()).collect();
        assert_eq!(spans.len(), 100);
        for span in &spans {
            assert!(TraceParent::parse(span).is_some(), "{span}");
            assert!(span.starts_with(&format!("00-{TRACE}-")) && span.ends_with("-01"), "{span}");
        }
        assert_eq!(RequestIds::new(7, None).span(), None);
    }

    #[test]
    fn the_state_of_a_trace_is_passed_on_as_it_is_or_not_at_all() {
        let state = |text: &str| {
            let parent = TraceParent::parse(&format!("00-{TRACE}-00f067aa0ba902b7-01")).expect("a trace");
            RequestIds::new(7, Some(parent.with_state(text))).state().map(str::to_owned)
        };
        let given = "congo=t61rcWkgMzE,rojo@x=00f067aa0ba902b7";
        assert_eq!(state(given).as_deref(), Some(given));
        for wrong in ["", "congo", "=x", "a=1,", "a=1\r\nx: y", "a=\u{e4}", &format!("a={}", "x".repeat(600))] {
            assert_eq!(state(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_no_trace_is_not_passed_on() {
        let parent = "00f067aa0ba902b7";
        assert!(TraceParent::parse(&format!("01-{TRACE}-{parent}-01-more")).is_some(), "a later version");
        for wrong in [
            String::new(),
            format!("00-{TRACE}-{parent}"),
            format!("00-{TRACE}-{parent}-01-more"),
            format!("ff-{TRACE}-{parent}-01"),
            format!("00-{}-{parent}-01", "0".repeat(32)),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
            format!("00-{}-{parent}-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-{parent}-1\r\nx: y"),
            format!("00-{TRACE} -{parent}-01"),
        ] {
            assert_eq!(TraceParent::parse(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn request_ids_are_unique() {
        let ids = RequestIds::new(1, None);
        let made: BTreeSet<String> = (0..1000).map(|_| ids.request_id()).collect();
        assert_eq!(made.len(), 1000);
        assert!(made.iter().all(|id| uuid::Uuid::parse_str(id).is_ok()));
    }
}
