//! One generated event of which each field is made when it is asked for. A client is drawn first and
//! its address, place and program follow from it, so that an address keeps its country; inside the
//! burst most events come from a few machines.

use std::cell::OnceCell;

use super::draw::Draw;
use super::heading::Heading;
use super::piece::{Fragment, Piece};
use super::series::{Host, Series};
use super::vocabulary::{AGENTS, BURST_PLACES, PLACES, Place, REQUESTS};

/// Clients of usual days; a few of them send most of the requests.
const CLIENTS: f64 = 6_000.0;

/// Machines of the burst.
const MACHINES: u64 = 48;

/// What the draws of an event are for.
mod purpose {
    pub const KIND: u64 = 10;
    pub const CLIENT: u64 = 11;
    pub const MACHINE: u64 = 12;
    pub const HOST: u64 = 13;
    pub const SITE: u64 = 14;
    pub const REQUEST: u64 = 15;
    pub const FINDING: u64 = 16;
    pub const BOT: u64 = 17;
    pub const MODE: u64 = 18;
    pub const SHAPE: u64 = 19;
    pub const PORT: u64 = 20;
    pub const SIZE: u64 = 21;
    pub const IDENTITY: u64 = 22;
    pub const SCORE: u64 = 23;
    pub const COUNT: u64 = 24;
    pub const PLACE: u64 = 40;
    pub const AGENT: u64 = 42;
    pub const DIGEST: u64 = 43;
    pub const USER: u64 = 44;
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Firewall,
    BotDefense,
    Api,
    Policy,
    MaliciousUser,
    Reputation,
    NetworkFlood,
    Flood,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Firewall,
        Self::BotDefense,
        Self::Api,
        Self::Policy,
        Self::MaliciousUser,
        Self::Reputation,
        Self::NetworkFlood,
        Self::Flood,
    ];

    /// Weights of the kinds, in the order of the enum.
    pub const USUAL: [u32; 8] = [42, 17, 11, 18, 4, 5, 1, 2];
    pub const BURST: [u32; 8] = [18, 22, 3, 12, 3, 6, 14, 22];

    fn text(self) -> &'static str {
        match self {
            Self::Firewall => "waf_sec_event",
            Self::BotDefense => "bot_defense_sec_event",
            Self::Api => "api_sec_event",
            Self::Policy => "svc_policy_sec_event",
            Self::MaliciousUser => "malicious_user_sec_event",
            Self::Reputation => "ip_reputation_sec_event",
            Self::NetworkFlood => "ddos_sec_event",
            Self::Flood => "dos_sec_event",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Firewall => "WAF",
            Self::BotDefense => "Bot Defense",
            Self::Api => "OpenAPI Validation Failure",
            Self::Policy | Self::Reputation => "L7 Policy Violation",
            Self::MaliciousUser => "Malicious User Mitigation",
            Self::NetworkFlood => "DDoS",
            Self::Flood => "API Rate Limiting",
        }
    }
}

/// An event of a series.
#[derive(Debug)]
pub struct Sketch<'a> {
    series: &'a Series,
    index: u64,
    draw: Draw,
    // What many fields follow from, drawn once.
    kind: OnceCell<Kind>,
    client: OnceCell<u64>,
    place: OnceCell<&'static Place>,
}

impl<'a> Sketch<'a> {
    pub(super) fn new(series: &'a Series, index: u64, draw: Draw) -> Self {
        Self { series, index, draw, kind: OnceCell::new(), client: OnceCell::new(), place: OnceCell::new() }
    }

    /// The namespace that the event belongs to.
    #[must_use]
    pub fn namespace(&self) -> &'a str {
        &self.host().namespace
    }

    /// The value of a field, `None` where this kind of event has no such field.
    #[must_use]
    pub fn field(&self, name: Heading) -> Option<Piece<'a>> {
        let kind = self.kind();
        if let Some(piece) = self.always(name, kind) {
            return Some(piece);
        }
        match kind {
            Kind::MaliciousUser => self.suspicion(name),
            _ => self.request(name, kind).or_else(|| self.special(name, kind)),
        }
    }

    /// What every event has.
    fn always(&self, name: Heading, kind: Kind) -> Option<Piece<'a>> {
        Some(match name {
            Heading::Timestamp | Heading::Time => Piece::Moment(self.series.curve.time(self.index)),
            Heading::Namespace => Piece::Text(&self.host().namespace),
            Heading::Tenant => Piece::Text(&self.series.recipe.tenant),
            Heading::SecEventType => Piece::Text(kind.text()),
            Heading::SecEventName => Piece::Text(kind.title()),
            Heading::VhName => Piece::Text(&self.host().vh_name),
            Heading::App | Heading::AppType => Piece::Text(&self.host().app),
            Heading::SrcIp => Piece::Address(self.address()),
            Heading::SrcSite | Heading::Site => Piece::Text(self.site()),
            Heading::Country => Piece::Text(self.place().country),
            Heading::Region => Piece::Text(self.place().region),
            Heading::City => Piece::Text(self.place().city),
            Heading::Asn => Piece::Built(format!("{}({})", self.place().as_org, self.place().as_number)),
            Heading::AsOrg => Piece::Text(self.place().as_org),
            Heading::User => {
                Piece::Built(format!("Cookie-user-{}", self.client().below(purpose::USER, 90_000) + 10_000))
            }
            Heading::TlsFingerprint => self.client_digest(1),
            Heading::Ja4TlsFingerprint => self.client_digest(2),
            Heading::MessageId => self.identity(1),
            Heading::Stream => Piece::Text("svcfw"),
            _ => return None,
        })
    }

    /// What an event about one request has beside.
    fn request(&self, name: Heading, kind: Kind) -> Option<Piece<'a>> {
        Some(match name {
            Heading::Severity => Piece::Text(if self.blocks(kind) { "error" } else { "info" }),
            Heading::Action => Piece::Text(self.action(kind)),
            Heading::VhType => Piece::Text("HTTP-LOAD-BALANCER"),
            Heading::VhostId => {
                let host = Draw::new(self.series.recipe.seed, self.host_index() as u64);
                Piece::Identity(host.bits(purpose::IDENTITY), host.bits(purpose::IDENTITY + 1))
            }
            Heading::SrcPort => Piece::Digits(1_024 + self.draw.below(purpose::PORT, 64_000)),
            Heading::DstIp => Piece::Address([203, 0, 113, 10 + (self.host_index() % 200) as u8]),
            Heading::DstPort => Piece::Digits(if self.draw.below(purpose::PORT + 100, 8) == 0 { 0 } else { 443 }),
            Heading::Src => Piece::Text("N:public"),
            Heading::SrcInstance => Piece::Text(self.place().city),
            Heading::Hostname => Piece::Built(format!("master-{}", self.draw.below(purpose::SITE + 100, 6))),
            Heading::ClusterName => Piece::Built(format!("{}-int-ves-io", self.site())),
            Heading::Dcid => self.client_digest(3),
            Heading::IsNewDcid => Piece::Flag(self.draw.below(purpose::SHAPE + 100, 3) == 0),
            Heading::Latitude => Piece::Text(self.place().latitude),
            Heading::Longitude => Piece::Text(self.place().longitude),
            Heading::AsNumber => Piece::Digits(self.place().as_number),
            Heading::Network => {
                let [a, b, c, _] = self.address();
                Piece::Address([a, b, c, 0])
            }
            Heading::Method => Piece::Text(self.request_line().1),
            Heading::Authority | Heading::OriginalAuthority | Heading::Domain | Heading::Sni => {
                Piece::Text(&self.host().domain)
            }
            Heading::ReqPath => Piece::Text(self.request_line().2),
            Heading::ReqParams => Piece::Text(self.request_line().3),
            Heading::ReqHeaders => Piece::Built(self.headers()),
            Heading::ReqBody => Piece::Text(""),
            Heading::ReqId => self.identity(2),
            Heading::ReqSize => Piece::Digits(180 + self.draw.below(purpose::SIZE, 2_400)),
            Heading::RspSize => {
                Piece::Digits(if self.blocks(kind) { 247 } else { 600 + self.draw.below(purpose::SIZE, 40_000) })
            }
            Heading::RspCode => Piece::Digits(self.status(kind)),
            Heading::RspCodeClass => Piece::Text(if self.status(kind) < 300 { "2xx" } else { "4xx" }),
            Heading::RspCodeDetails => Piece::Text(match (kind, self.blocks(kind)) {
                (Kind::Policy | Kind::Reputation, true) => "ext_authz_denied",
                (_, true) => "direct_response",
                (_, false) => "via_upstream",
            }),
            Heading::UpstreamRspCode => Piece::Digits(if self.blocks(kind) { 0 } else { self.status(kind) }),
            Heading::HttpVersion => Piece::Text("HTTP/1.1"),
            Heading::UserAgent => Piece::Text(self.agent().1),
            Heading::BrowserType => Piece::Text(self.agent().2),
            Heading::DeviceType => Piece::Text(self.agent().3),
            Heading::TlsVersion => Piece::Text("TLSv1_3"),
            Heading::TlsCipherSuite => Piece::Text("TLSv1_3/TLS_AES_128_GCM_SHA256"),
            Heading::XForwardedFor => Piece::Address(self.address()),
            Heading::MessageKey => Piece::Text(""),
            Heading::ApiEndpoint => Piece::Text("{}"),
            Heading::IsTruncatedField => Piece::Flag(false),
            _ => return None,
        })
    }

    /// What only some kinds of request events have.
    fn special(&self, name: Heading, kind: Kind) -> Option<Piece<'a>> {
        let fragments = &self.series.fragments;
        let choices = &self.series.choices;
        Some(match (kind, name) {
            (Kind::Firewall, Heading::Signatures) => Piece::Nested(&self.finding()[0]),
            (Kind::Firewall, Heading::AttackTypes) => Piece::Nested(&self.finding()[1]),
            (Kind::Firewall, Heading::Violations) => Piece::Nested(&self.finding()[2]),
            (Kind::Firewall, Heading::ThreatCampaigns) => Piece::Nested(&self.finding()[3]),
            (Kind::Firewall, Heading::BotInfo) => {
                Piece::Nested(&fragments.bots[choices.bots.pick(self.draw, purpose::BOT)])
            }
            (Kind::Firewall, Heading::WafMode | Heading::CalculatedAction) => Piece::Text(self.mode()),
            (Kind::Firewall, Heading::RecommendedAction) => Piece::Text("block"),
            (Kind::Firewall, Heading::EnforcementMode) => {
                Piece::Text(if self.mode() == "report" { "Monitoring" } else { "Blocking" })
            }
            (Kind::Firewall, Heading::AppFirewallName) => Piece::Text(&self.host().firewall),
            (Kind::Firewall, Heading::WafInstanceId) => self.identity(3),
            (Kind::Firewall, Heading::ViolationRating) => Piece::Digits(self.rating()),
            (Kind::Firewall, Heading::ReqRisk) => Piece::Text(match self.rating() {
                4.. => "high",
                2..=3 => "medium",
                _ => "low",
            }),
            (Kind::Firewall, Heading::ReqRiskReasons) => {
                Piece::Nested(&fragments.reasons[usize::from(self.rating() >= 4)])
            }
            (Kind::Firewall, Heading::WafRulesHit) => Piece::Text("[]"),
            (Kind::Firewall, Heading::WafRuleTags) => Piece::Text("{}"),
            (Kind::Policy, Heading::PolicyHits) => Piece::Nested(&self.hit().1),
            (Kind::Reputation, Heading::PolicyHits) => {
                Piece::Nested(&fragments.reputations[choices.reputations.pick(self.draw, purpose::FINDING)])
            }
            (Kind::BotDefense, Heading::BotDefense) => {
                Piece::Nested(&fragments.defenses[choices.defenses.pick(self.draw, purpose::FINDING)])
            }
            (Kind::Api, Heading::OasReqStatus) => Piece::Text("OpenAPIViolation"),
            (Kind::Api, Heading::Violations) => {
                Piece::Nested(&fragments.breaches[choices.breaches.pick(self.draw, purpose::FINDING)])
            }
            (Kind::NetworkFlood | Kind::Flood, Heading::Message) => {
                Piece::Text("request rate above the learned threshold")
            }
            (
                _,
                Heading::Signatures
                | Heading::AttackTypes
                | Heading::Violations
                | Heading::ThreatCampaigns
                | Heading::Detections,
            ) => Piece::Nested(&fragments.empties[self.draw.below(purpose::SHAPE, 2) as usize]),
            _ => return None,
        })
    }

    /// What an event about the behaviour of a user has: numbers are numbers here.
    fn suspicion(&self, name: Heading) -> Option<Piece<'a>> {
        let score = |part: u64| Piece::Score(self.draw.below(purpose::SCORE + 200 * part, 100));
        let count = |part: u64, most: u64| Piece::Number(self.draw.below(purpose::COUNT + 200 * part, most));
        let second = self.series.curve.time(self.index).as_second().max(0).cast_unsigned();
        Some(match name {
            Heading::StartTime => Piece::Number(second.saturating_sub(300)),
            Heading::EndTime => Piece::Number(second),
            Heading::SuspicionScore => score(1),
            Heading::WafSuspicionScore => score(2),
            Heading::BotDefenseSuspicionScore => score(3),
            Heading::BehaviorAnomalyScore => score(4),
            Heading::ReqCount => Piece::Number(20 + self.draw.below(purpose::COUNT, 900)),
            Heading::ErrCount => count(1, 40),
            Heading::WafSecEventCount => count(2, 30),
            Heading::BotDefenseSecEventCount => count(3, 20),
            Heading::FailedLoginCount => count(4, 25),
            Heading::ForbiddenAccessCount => count(5, 15),
            Heading::PageNotFoundCount => count(6, 60),
            Heading::RateLimitingCount => count(7, 10),
            Heading::ThreatLevel => Piece::Text(["Low", "Medium", "High"][self.draw.below(purpose::MODE, 3) as usize]),
            Heading::SuspicionLogType => Piece::Text("user"),
            Heading::SummaryMsg => Piece::Text("many refused requests within five minutes"),
            Heading::FeatureScore => Piece::Text("{}"),
            Heading::ApiepAnomaly => Piece::Number(0),
            Heading::OriginalTopicName => Piece::Text("suspicious-user-logs"),
            Heading::Message => Piece::Text("MUM_BLOCK_TEMPORARILY"),
            _ => return None,
        })
    }

    fn in_burst(&self) -> bool {
        self.series.curve.burst().contains(&self.index)
    }

    fn kind(&self) -> Kind {
        *self.kind.get_or_init(|| {
            let choices = &self.series.choices;
            let kinds = if self.in_burst() { &choices.burst_kinds } else { &choices.kinds };
            Kind::ALL[kinds.pick(self.draw, purpose::KIND)]
        })
    }

    /// The machine of the burst that sent the request, where one did.
    fn machine(&self) -> Option<u64> {
        (self.in_burst() && self.draw.below(purpose::MACHINE, 10) < 8)
            .then(|| self.draw.below(purpose::CLIENT, MACHINES))
    }

    /// The number of the client, the same from event to event; the machines come after the others.
    fn client_number(&self) -> u64 {
        *self.client.get_or_init(|| match self.machine() {
            Some(machine) => CLIENTS as u64 + machine,
            None => {
                let share = self.draw.share(purpose::CLIENT);
                (share * share * share * CLIENTS) as u64
            }
        })
    }

    /// The draws of the client.
    fn client(&self) -> Draw {
        Draw::new(self.series.recipe.seed ^ 0x00c1_1e47, self.client_number())
    }

    fn place(&self) -> &'static Place {
        self.place.get_or_init(|| {
            if self.machine().is_some() {
                let place = self.client().below(purpose::PLACE, BURST_PLACES.len() as u64);
                return &PLACES[BURST_PLACES[place as usize]];
            }
            &PLACES[self.series.choices.places.pick(self.client(), purpose::PLACE)]
        })
    }

    /// In 198.18.0.0/15, which is reserved for tests; the odd factor gives each client its own.
    fn address(&self) -> [u8; 4] {
        let [.., a, b, c] = (self.client_number() * 0x9e35 + self.series.recipe.seed % 0x1_0000).to_be_bytes();
        [198, 18 | (a & 1), b, c]
    }

    fn agent(&self) -> &'static (u32, &'static str, &'static str, &'static str) {
        &AGENTS[self.series.choices.agents.pick(self.client(), purpose::AGENT)]
    }

    fn client_digest(&self, part: u64) -> Piece<'a> {
        let client = self.client();
        Piece::Digest(client.bits(purpose::DIGEST + 2 * part), client.bits(purpose::DIGEST + 2 * part + 1))
    }

    fn identity(&self, part: u64) -> Piece<'a> {
        Piece::Identity(
            self.draw.bits(purpose::IDENTITY + 300 * part),
            self.draw.bits(purpose::IDENTITY + 300 * part + 1),
        )
    }

    fn host_index(&self) -> usize {
        self.series.choices.hosts.pick(self.draw, purpose::HOST)
    }

    fn host(&self) -> &'a Host {
        &self.series.hosts[self.host_index()]
    }

    fn site(&self) -> &'a str {
        &self.series.sites[self.series.choices.sites.pick(self.draw, purpose::SITE)]
    }

    fn request_line(&self) -> &'static (u32, &'static str, &'static str, &'static str) {
        &REQUESTS[self.series.choices.requests.pick(self.draw, purpose::REQUEST)]
    }

    fn headers(&self) -> String {
        format!(
            r#"{{"Accept":"*/*","Host":"{}","Method":"{}","Path":"{}","Scheme":"https","User-Agent":"{}"}}"#,
            self.host().domain,
            self.request_line().1,
            self.request_line().2,
            self.agent().1
        )
    }

    fn finding(&self) -> &'a [Fragment; 4] {
        &self.series.fragments.findings[self.series.choices.findings.pick(self.draw, purpose::FINDING)]
    }

    fn hit(&self) -> &'a (&'static str, Fragment) {
        &self.series.fragments.hits[self.series.choices.hits.pick(self.draw, purpose::FINDING)]
    }

    fn mode(&self) -> &'static str {
        ["block", "block", "block", "report", "allow"][self.draw.below(purpose::MODE, 5) as usize]
    }

    fn rating(&self) -> u64 {
        self.draw.below(purpose::SCORE, 6)
    }

    fn action(&self, kind: Kind) -> &'static str {
        match kind {
            Kind::Firewall => self.mode(),
            Kind::Policy => self.hit().0,
            Kind::Api => "report",
            _ => "block",
        }
    }

    fn blocks(&self, kind: Kind) -> bool {
        self.action(kind) == "block"
    }

    fn status(&self, kind: Kind) -> u64 {
        match (self.blocks(kind), kind) {
            (true, Kind::Flood) => 429,
            (true, _) => 403,
            (false, Kind::Api) => 400,
            (false, _) => 200,
        }
    }
}
