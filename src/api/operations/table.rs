//! Every row of the reference's section 4 under its tool name, with its method and path in both layouts, its
//! parameters, its body and its retry class. Sources: reference sections 4 and 5, API.md 1.1, 5, 7.1, 8.

use http::Method;

use super::entry::{BodyKind, Operation, OperationEntry, Parameter, ParameterLocation, RetryClass, Route};
use crate::model::displayed;

impl Operation {
    /// The row of this operation.
    pub fn entry(self) -> &'static OperationEntry {
        &TABLE[self as usize]
    }

    /// The name of this operation, as `call` accepts it.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// The operation with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        TABLE.iter().find(|entry| entry.name == name).map(|entry| entry.operation)
    }
}

displayed!(Operation, |operation| "{}", operation.name());

const fn path(name: &'static str, meaning: &'static str) -> Parameter {
    Parameter { name, meaning, part: ParameterLocation::Path, required: true, repeated: false }
}

const fn query(name: &'static str, meaning: &'static str) -> Parameter {
    Parameter { name, meaning, part: ParameterLocation::Query, required: false, repeated: false }
}

const fn repeated(name: &'static str, meaning: &'static str) -> Parameter {
    Parameter { name, meaning, part: ParameterLocation::Query, required: false, repeated: true }
}

const fn in_body(parameter: Parameter) -> Parameter {
    Parameter { part: ParameterLocation::Body, ..parameter }
}

const NAMESPACE: Parameter = path("namespace", "the namespace");
/// The paths of this layout do not contain the namespace; it is accepted so that one call fits both layouts.
const UNUSED_NAMESPACE: Parameter =
    Parameter { required: false, ..path("namespace", "the namespace, which this layout does not need") };
const NAME: Parameter = path("name", "the name of the endpoint");
const SITE: Parameter = path("name", "the name of the site");
const EVENT_ID: Parameter = path("event_id", "the identifier of the event");
const FORMAT: Parameter = query("response_format", "the format in which the object is fetched, by name or number");

const LIST_PARAMETERS: &[Parameter] = &[
    NAMESPACE,
    FORMAT,
    query("label_filter", "a label selector that every item satisfies"),
    repeated("report_fields", "report fields; any value fills metadata and spec"),
    repeated("report_status_fields", "report status fields; any value fills the status"),
];

const DDOS_START: Parameter = query("start_time", "events from this time on, RFC 3339");
const DDOS_END: Parameter = query("end_time", "events up to this time, RFC 3339");
const DDOS_NETWORK: Parameter = query("network_id", "events of this network");
const DDOS_MITIGATION: Parameter = query("mitigation_id", "events of this mitigation");
const DDOS_FILTER: &[Parameter] = &[NAMESPACE, DDOS_START, DDOS_END, DDOS_NETWORK, DDOS_MITIGATION];
const DDOS_FILTER_IN_BODY: &[Parameter] =
    &[NAMESPACE, in_body(DDOS_START), in_body(DDOS_END), in_body(DDOS_NETWORK), in_body(DDOS_MITIGATION)];

const ENDPOINTS: &str = "/api/config/namespaces/{namespace}/endpoints";
const ENDPOINT: &str = "/api/config/namespaces/{namespace}/endpoints/{name}";
const EVENTS: &str = "/api/config/namespaces/{namespace}/events";
const EVENT: &str = "/api/config/namespaces/{namespace}/events/{event_id}";
const VERSIONS: &str = "/api/config/namespaces/{namespace}/upgradable_sw_versions";
const STATUS: &str = "/api/config/namespaces/{namespace}/upgrade_status/{name}";
const PUBLISHED_SECURITY: &str = "/api/data/namespaces/{namespace}/app_security/events";
const PUBLISHED_SCROLL: &str = "/api/data/namespaces/{namespace}/app_security/events/scroll";
const PUBLISHED_DDOS: &str = "/api/infraprotect/namespaces/{namespace}/infraprotect/events";
const PUBLISHED_DDOS_EVENT: &str = "/api/infraprotect/namespaces/{namespace}/infraprotect/event/{event_id}";
const PUBLISHED_VERSIONS: &str = "/api/maurice/upgradable_sw_versions";
const PUBLISHED_STATUS: &str = "/api/maurice/namespaces/{namespace}/sites/{name}/upgrade_status";

const MESH: &str = "Endpoint (service mesh)";
const SECURITY: &str = "Security event";
const DDOS: &str = "DDoS event";

const QUERY_BODY: &str =
    "query, start_time, end_time, limit, scroll, sort, sort_by, aggs; or scroll_id to continue a scroll";
const EDIT_BODY: &str = "name, description, end_time, event_attachments";
const REPLACE_BODY: &str = "metadata, spec, resource_version";

const OS_VERSION: Parameter = query("current_os_version", "the operating system version of the site");
const SW_VERSION: Parameter = query("current_sw_version", "the software version of the site");
const SCROLL_ID: Parameter = in_body(query("scroll_id", "where the last batch ended"));

const fn route(method: Method, path: &'static str, parameters: &'static [Parameter], body: BodyKind) -> Route {
    Route { method, path, parameters, body }
}

/// A security event query: the two operations of the reference differ only in their names.
const fn security_events(operation: Operation, name: &'static str, description: &'static str) -> OperationEntry {
    OperationEntry {
        operation,
        name,
        area: SECURITY,
        description,
        verb: "query",
        subject: "security events of `{namespace}`",
        uniform: route(Method::POST, EVENTS, &[NAMESPACE], BodyKind::Given(QUERY_BODY)),
        published: route(Method::POST, PUBLISHED_SECURITY, &[NAMESPACE], BodyKind::Given(QUERY_BODY)),
        repeat: RetryClass::Once,
    }
}

/// The table in the order of [`Operation`]: the twelve operations of the reference, then ours.
pub static TABLE: [OperationEntry; 13] = [
    OperationEntry {
        operation: Operation::ObjectCreate,
        name: "svc-api-servicemesh-endpoint-create",
        area: MESH,
        description: "Create an endpoint; returns the created object",
        verb: "create",
        subject: "endpoint `{namespace}/{name}`",
        uniform: route(Method::POST, ENDPOINTS, &[NAMESPACE], BodyKind::Given("the endpoint: metadata and spec")),
        published: route(Method::POST, ENDPOINTS, &[NAMESPACE], BodyKind::Given("the endpoint: metadata and spec")),
        repeat: RetryClass::Write,
    },
    OperationEntry {
        operation: Operation::ObjectGet,
        name: "svc-api-servicemesh-endpoint-get",
        area: MESH,
        description: "Read an endpoint",
        verb: "read",
        subject: "endpoint `{namespace}/{name}`",
        uniform: route(Method::GET, ENDPOINT, &[NAMESPACE, NAME, FORMAT], BodyKind::None),
        published: route(Method::GET, ENDPOINT, &[NAMESPACE, NAME, FORMAT], BodyKind::None),
        repeat: RetryClass::Read,
    },
    OperationEntry {
        operation: Operation::ObjectList,
        name: "svc-api-servicemesh-endpoint-list",
        area: MESH,
        description: "List the endpoints of a namespace",
        verb: "list",
        subject: "endpoints of `{namespace}`",
        uniform: route(Method::GET, ENDPOINTS, LIST_PARAMETERS, BodyKind::None),
        published: route(Method::GET, ENDPOINTS, LIST_PARAMETERS, BodyKind::None),
        repeat: RetryClass::Read,
    },
    OperationEntry {
        operation: Operation::ObjectReplace,
        name: "svc-api-servicemesh-endpoint-update",
        area: MESH,
        description: "Replace an endpoint: overwrites its spec with the spec provided",
        verb: "replace",
        subject: "endpoint `{namespace}/{name}`",
        uniform: route(Method::PUT, ENDPOINT, &[NAMESPACE, NAME], BodyKind::Given(REPLACE_BODY)),
        published: route(Method::PUT, ENDPOINT, &[NAMESPACE, NAME], BodyKind::Given(REPLACE_BODY)),
        repeat: RetryClass::Write,
    },
    OperationEntry {
        operation: Operation::ObjectDelete,
        name: "svc-api-servicemesh-endpoint-delete",
        area: MESH,
        description: "Delete an endpoint",
        verb: "delete",
        subject: "endpoint `{namespace}/{name}`",
        uniform: route(Method::DELETE, ENDPOINT, &[NAMESPACE, NAME], BodyKind::Bare),
        published: route(Method::DELETE, ENDPOINT, &[NAMESPACE, NAME], BodyKind::Referred),
        repeat: RetryClass::Write,
    },
    security_events(Operation::SecurityEvents, "svc-api-waf-event-create", "Security Events Query"),
    security_events(Operation::VirtualEvents, "svc-api-virtual-event-create", "Security Events Query (virtual area)"),
    OperationEntry {
        operation: Operation::DdosList,
        name: "svc-api-ddos-event-create",
        area: DDOS,
        description: "List of events",
        verb: "list",
        subject: "DDoS events of `{namespace}`",
        uniform: route(Method::GET, EVENTS, DDOS_FILTER, BodyKind::None),
        published: route(
            Method::POST,
            PUBLISHED_DDOS,
            DDOS_FILTER_IN_BODY,
            BodyKind::Parameters("start_time, end_time, network_id, mitigation_id"),
        ),
        repeat: RetryClass::Read,
    },
    OperationEntry {
        operation: Operation::DdosShow,
        name: "svc-api-ddos-event-list",
        area: DDOS,
        description: "Event details",
        verb: "read",
        subject: "DDoS event `{event_id}` of `{namespace}`",
        uniform: route(Method::GET, EVENT, &[NAMESPACE, EVENT_ID], BodyKind::None),
        published: route(Method::GET, PUBLISHED_DDOS_EVENT, &[NAMESPACE, EVENT_ID], BodyKind::None),
        repeat: RetryClass::Read,
    },
    OperationEntry {
        operation: Operation::DdosEdit,
        name: "svc-api-ddos-event-update",
        area: DDOS,
        description: "Edit event",
        verb: "edit",
        subject: "DDoS event `{event_id}` of `{namespace}`",
        uniform: route(Method::PUT, EVENT, &[NAMESPACE, EVENT_ID], BodyKind::Given(EDIT_BODY)),
        published: route(Method::PUT, PUBLISHED_DDOS_EVENT, &[NAMESPACE, EVENT_ID], BodyKind::Given(EDIT_BODY)),
        repeat: RetryClass::Write,
    },
    OperationEntry {
        operation: Operation::UpgradableVersions,
        name: "svc-api-cemanagement-upgradable-sw-version-list",
        area: "Upgradable software version",
        description: "List the software versions that a site can be upgraded to",
        verb: "list",
        subject: "upgradable software versions",
        uniform: route(Method::GET, VERSIONS, &[NAMESPACE, OS_VERSION, SW_VERSION], BodyKind::None),
        published: route(Method::GET, PUBLISHED_VERSIONS, &[UNUSED_NAMESPACE, OS_VERSION, SW_VERSION], BodyKind::None),
        repeat: RetryClass::Read,
    },
    OperationEntry {
        operation: Operation::UpgradeStatus,
        name: "svc-api-cemanagement-upgrade-statu-get",
        area: "Upgrade status",
        description: "Read the upgrade status of a site",
        verb: "read",
        subject: "upgrade status of site `{namespace}/{name}`",
        uniform: route(Method::GET, STATUS, &[NAMESPACE, SITE], BodyKind::None),
        published: route(Method::GET, PUBLISHED_STATUS, &[NAMESPACE, SITE], BodyKind::None),
        repeat: RetryClass::Read,
    },
    OperationEntry {
        operation: Operation::SecurityEventsScroll,
        name: "security-event-scroll",
        area: SECURITY,
        description: "Fetch the next batch of a scrolled security event query",
        verb: "scroll",
        subject: "security events of `{namespace}`",
        uniform: route(Method::POST, EVENTS, &[NAMESPACE, SCROLL_ID], BodyKind::Parameters("scroll_id")),
        published: route(Method::POST, PUBLISHED_SCROLL, &[NAMESPACE, SCROLL_ID], BodyKind::Parameters("scroll_id")),
        repeat: RetryClass::Once,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Layout;

    #[test]
    fn every_operation_finds_its_own_row() {
        for (index, entry) in TABLE.iter().enumerate() {
            assert_eq!(entry.operation as usize, index, "{}", entry.name);
            assert_eq!(Operation::from_name(entry.name), Some(entry.operation));
        }
    }

    #[test]
    fn the_reference_has_twelve_names() {
        let names: Vec<&str> = TABLE.iter().filter(|entry| entry.in_reference()).map(|entry| entry.name).collect();
        assert_eq!(
            names,
            [
                "svc-api-servicemesh-endpoint-create",
                "svc-api-servicemesh-endpoint-get",
                "svc-api-servicemesh-endpoint-list",
                "svc-api-servicemesh-endpoint-update",
                "svc-api-servicemesh-endpoint-delete",
                "svc-api-waf-event-create",
                "svc-api-virtual-event-create",
                "svc-api-ddos-event-create",
                "svc-api-ddos-event-list",
                "svc-api-ddos-event-update",
                "svc-api-cemanagement-upgradable-sw-version-list",
                "svc-api-cemanagement-upgrade-statu-get",
            ]
        );
    }

    #[test]
    fn every_hole_of_a_path_is_a_required_path_parameter_and_the_other_way_round() {
        for entry in &TABLE {
            for layout in Layout::ALL {
                let route = entry.route(layout);
                for parameter in route.parameters {
                    let hole = route.path.contains(&format!("{{{}}}", parameter.name));
                    // A layout may take a name for which it has no hole, if it is optional.
                    let is_part = parameter.part == ParameterLocation::Path && parameter.required;
                    assert_eq!(hole, is_part, "{} {}", entry.name, parameter.name);
                }
                let holes = route.path.matches('{').count();
                let is_part = |p: &&Parameter| p.part == ParameterLocation::Path && p.required;
                let parameters = route.parameters.iter().filter(is_part).count();
                assert_eq!(holes, parameters, "{}", entry.name);
            }
        }
    }

    #[test]
    fn what_changes_something_is_never_low_risk_nor_a_get() {
        for entry in &TABLE {
            for layout in Layout::ALL {
                if entry.changes() {
                    assert_ne!(entry.risk(), "low", "{}", entry.name);
                    assert_ne!(entry.route(layout).method, Method::GET, "{}", entry.name);
                    assert_eq!(entry.repeat, RetryClass::Write, "{}", entry.name);
                }
            }
        }
    }
}
