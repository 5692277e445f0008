//! The spec of an endpoint by unit.

use serde::{Serialize, Serializer};
use serde_json::Value as Json;

use super::{EndpointSpec, WireSnatPool, WireSpec, WireWhere};
use crate::kind::KindName;
use crate::model::shape::write_unit;
use crate::model::{Protocol, SnatPool, Target, Where};

/// The value of a unit. It compares as a value and serialises as the wire writes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EndpointUnit<'e> {
    /// The target, which has no default.
    Target(&'e Target),
    /// The protocol.
    Protocol(Protocol),
    /// A number, 0 by default.
    Number(u16),
    /// The source NAT pool.
    SnatPool(&'e SnatPool),
    /// The place.
    Where(Option<&'e Where>),
}

impl EndpointUnit<'_> {
    /// Whether this is the service's default, so that leaving it out means the same.
    pub fn is_default(&self) -> bool {
        match *self {
            EndpointUnit::Target(_) => false,
            EndpointUnit::Protocol(protocol) => protocol == Protocol::default(),
            EndpointUnit::Number(number) => number == 0,
            EndpointUnit::SnatPool(pool) => *pool == SnatPool::None,
            EndpointUnit::Where(place) => place.is_none(),
        }
    }

    /// Whether this live value is as `wanted` wants it: what `wanted` leaves to the service is the service's to fill.
    pub fn is_as(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            (EndpointUnit::Target(live), EndpointUnit::Target(wanted)) => {
                live == wanted || live.seen_as(wanted) == **wanted
            }
            (EndpointUnit::Where(Some(live)), EndpointUnit::Where(Some(wanted))) => {
                live == wanted || live.seen_as(wanted) == **wanted
            }
            (live, wanted) => live == wanted,
        }
    }

    /// Whether the service filled something of this live value that `wanted` leaves to it; references aside.
    pub fn has_more(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            (EndpointUnit::Target(live), EndpointUnit::Target(wanted)) => live.seen_as(wanted) != **live,
            _ => false,
        }
    }

    /// Whether `is` is true of a way in which a definition could have written this live value: the service fills parts of a
    /// reference and of a target.
    pub fn any_spelling(&self, is: impl Fn(EndpointUnit<'_>) -> bool) -> bool {
        match *self {
            EndpointUnit::Target(target) => target.spellings().any(|target| is(EndpointUnit::Target(&target))),
            EndpointUnit::Where(Some(place)) => place.spellings().any(|place| is(EndpointUnit::Where(Some(&place)))),
            other => is(other),
        }
    }
}

impl Serialize for EndpointUnit<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            EndpointUnit::Target(target) => WireSpec::of_target(target).serialize(serializer),
            EndpointUnit::Protocol(protocol) => protocol.as_str().serialize(serializer),
            EndpointUnit::Number(number) => number.serialize(serializer),
            EndpointUnit::SnatPool(pool) => WireSnatPool::from(pool).serialize(serializer),
            EndpointUnit::Where(place) => place.map(WireWhere::from).serialize(serializer),
        }
    }
}

impl EndpointSpec {
    /// The value of a unit; nothing where an endpoint has no such unit.
    pub fn unit(&self, name: &str) -> Option<EndpointUnit<'_>> {
        Some(match name {
            "target" => EndpointUnit::Target(&self.target),
            "protocol" => EndpointUnit::Protocol(self.protocol),
            "port" => EndpointUnit::Number(self.port),
            "health_check_port" => EndpointUnit::Number(self.health_check_port),
            "snat_pool" => EndpointUnit::SnatPool(&self.snat_pool),
            "where" => EndpointUnit::Where(self.place.as_ref()),
            _ => return None,
        })
    }

    /// Sets a unit to a value as the wire writes it; `null` sets the default.
    ///
    /// # Errors
    /// What is wrong with the value.
    pub(in crate::model) fn assign(&mut self, name: &str, value: &Json) -> Result<(), String> {
        // Read beside any target, because a spec needs one.
        let mut object = serde_json::to_value(WireSpec::of_target(&self.target)).unwrap_or_default();
        if let Json::Object(spec) = &mut object {
            write_unit(KindName::ENDPOINT.message(), spec, name, value);
        }
        let wire: WireSpec = serde_json::from_value(object).map_err(|error| error.to_string())?;
        let mut problems = Vec::new();
        let Some(read) = wire.spec(&mut problems) else {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            return Err(lines.join("; "));
        };
        match name {
            "target" => self.target = read.target,
            "protocol" => self.protocol = read.protocol,
            "port" => self.port = read.port,
            "health_check_port" => self.health_check_port = read.health_check_port,
            "snat_pool" => self.snat_pool = read.snat_pool,
            "where" => self.place = read.place,
            _ => return Err(format!("`{name}` is not a field of an endpoint")),
        }
        Ok(())
    }
}
