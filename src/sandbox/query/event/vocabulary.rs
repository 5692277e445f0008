//! The words that generated events are made of. Names, addresses and systems are made up or reserved
//! for documentation; values that the service is known to use (types, results, modes) are its own.

use serde_json::{Value, json};

/// Where a client sits.
#[derive(Debug)]
pub struct ClientLocation {
    pub weight: u32,
    pub country: &'static str,
    pub region: &'static str,
    pub city: &'static str,
    pub latitude: &'static str,
    pub longitude: &'static str,
    pub as_number: u64,
    pub as_org: &'static str,
}

const fn place(
    weight: u32,
    [country, region, city]: [&'static str; 3],
    [latitude, longitude]: [&'static str; 2],
    (as_number, as_org): (u64, &'static str),
) -> ClientLocation {
    ClientLocation { weight, country, region, city, latitude, longitude, as_number, as_org }
}

pub const PLACES: [ClientLocation; 26] = [
    place(14, ["United States", "California", "San Jose"], ["37.338700", "-121.885300"], (64496, "Bay Broadband")),
    place(11, ["United States", "Virginia", "Ashburn"], ["39.043800", "-77.487400"], (64497, "Potomac Cloud")),
    place(8, ["United States", "Texas", "Dallas"], ["32.776700", "-96.797000"], (64498, "Lone Star Telecom")),
    place(6, ["United States", "New York", "New York"], ["40.712800", "-74.006000"], (64499, "Hudson Fiber")),
    place(7, ["Germany", "Hesse", "Frankfurt am Main"], ["50.110900", "8.682100"], (64500, "Main Netz")),
    place(4, ["Germany", "Berlin", "Berlin"], ["52.520000", "13.405000"], (64501, "Spree Telekom")),
    place(6, ["Brazil", "São Paulo", "São Paulo"], ["-23.550500", "-46.633300"], (64502, "Rede Paulista")),
    place(2, ["Brazil", "Ceará", "Fortaleza"], ["-3.731900", "-38.526700"], (64503, "Nordeste Link")),
    place(5, ["India", "Maharashtra", "Mumbai"], ["19.076000", "72.877700"], (64504, "Konkan Online")),
    place(3, ["India", "Karnataka", "Bengaluru"], ["12.971600", "77.594600"], (64505, "Deccan Net")),
    place(5, ["France", "Île-de-France", "Paris"], ["48.856600", "2.352200"], (64506, "Seine Réseaux")),
    place(4, ["United Kingdom", "England", "London"], ["51.507400", "-0.127800"], (64507, "Thames Connect")),
    place(2, ["United Kingdom", "Scotland", "Glasgow"], ["55.864200", "-4.251800"], (64508, "Clyde Digital")),
    place(4, ["Japan", "Tokyo", "Tokyo"], ["35.689300", "139.689900"], (64509, "Musashi Network")),
    place(3, ["Japan", "Osaka", "Osaka"], ["34.693700", "135.502300"], (64510, "Kansai Hikari")),
    place(4, ["Netherlands", "North Holland", "Amsterdam"], ["52.367600", "4.904100"], (64511, "Gracht Hosting")),
    place(3, ["Canada", "Ontario", "Toronto"], ["43.653200", "-79.383200"], (65536, "Lakeshore Cable")),
    place(3, ["Singapore", "Singapore", "Singapore"], ["1.352100", "103.819800"], (65537, "Straits Data")),
    place(3, ["Australia", "New South Wales", "Sydney"], ["-33.868800", "151.209300"], (65538, "Harbour Internet")),
    place(3, ["Poland", "Masovia", "Warsaw"], ["52.229700", "21.012200"], (65539, "Wisła Sieci")),
    place(2, ["Spain", "Madrid", "Madrid"], ["40.416800", "-3.703800"], (65540, "Meseta Fibra")),
    place(2, ["South Africa", "Gauteng", "Johannesburg"], ["-26.204100", "28.047300"], (65541, "Highveld Net")),
    place(2, ["Mexico", "Jalisco", "Guadalajara"], ["20.659700", "-103.349600"], (65542, "Red Tapatía")),
    place(1, ["Indonesia", "Jakarta", "Jakarta"], ["-6.208800", "106.845600"], (65543, "Nusantara Link")),
    place(1, ["Vietnam", "Hanoi", "Hanoi"], ["21.027800", "105.834200"], (65544, "Sông Hồng Net")),
    place(1, ["Iceland", "Capital Region", "Reykjavík"], ["64.146600", "-21.942600"], (65545, "Norðurljós")),
];

/// The places that the machines of a burst sit in.
pub const BURST_PLACES: [usize; 4] = [6, 9, 23, 24];

/// Regional edges: weight and name.
pub const SITES: [(u32, &str); 8] = [
    (8, "fr4-fra"),
    (9, "dc12-ash"),
    (7, "sv10-sjc"),
    (4, "sg3-sin"),
    (4, "ty8-tky"),
    (4, "pa4-par"),
    (3, "sp4-sao"),
    (3, "lon2-lon"),
];

/// Weight within a namespace, and what an application of it is called.
pub const APPS: [(u32, &str); 4] = [(6, "storefront"), (4, "api"), (2, "checkout"), (1, "login")];

/// Share of an hour of the day in UTC in the events of the day.
pub const HOURS: [u32; 24] =
    [22, 19, 17, 16, 17, 21, 29, 40, 54, 66, 73, 76, 78, 82, 88, 92, 95, 93, 86, 76, 63, 50, 38, 28];

/// Weight, method, path, parameters.
pub const REQUESTS: [(u32, &str, &str, &str); 14] = [
    (14, "GET", "/", ""),
    (12, "GET", "/products", "?page=2"),
    (10, "GET", "/search", "?q=lamp"),
    (9, "POST", "/login", ""),
    (8, "POST", "/api/v1/cart", ""),
    (7, "GET", "/api/v1/orders", "?limit=50"),
    (5, "POST", "/api/v1/orders", ""),
    (5, "GET", "/products/4711", ""),
    (4, "PUT", "/api/v1/profile", ""),
    (4, "POST", "/checkout/pay", ""),
    (3, "GET", "/.env", ""),
    (3, "GET", "/wp-login.php", ""),
    (2, "GET", "/admin", ""),
    (1, "DELETE", "/api/v1/cart/17", ""),
];

/// Weight, user agent, browser, device.
pub const AGENTS: [(u32, &str, &str, &str); 9] = [
    (20, "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/131.0.0.0 Safari/537.36", "Chrome", "Desktop"),
    (14, "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) Version/18.1 Mobile Safari/604.1", "Safari", "Phone"),
    (10, "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0", "Firefox", "Desktop"),
    (9, "Mozilla/5.0 (Linux; Android 15) Chrome/131.0.0.0 Mobile Safari/537.36", "Chrome", "Phone"),
    (9, "python-requests/2.32.3", "Other", "Other"),
    (8, "curl/8.11.0", "Other", "Other"),
    (5, "Go-http-client/2.0", "Other", "Other"),
    (3, "sqlmap/1.8.11#stable (https://sqlmap.org)", "Other", "Other"),
    (2, "Mozilla/5.0 (compatible; Nikto/2.5.0)", "Other", "Other"),
];

/// The nested groups of an event, each with its weight.
#[derive(Debug)]
pub struct Groups {
    pub findings: Vec<(u32, Value)>,
    pub bots: Vec<(u32, Value)>,
    pub defenses: Vec<(u32, Value)>,
    pub hits: Vec<(u32, Value)>,
    pub reputations: Vec<(u32, Value)>,
    pub breaches: Vec<(u32, Value)>,
}

impl Groups {
    /// All of them.
    #[must_use]
    pub fn new() -> Self {
        Self {
            findings: findings(),
            bots: bots(),
            defenses: defenses(),
            hits: hits(),
            reputations: reputations(),
            breaches: breaches(),
        }
    }
}

/// What a signature engine found.
fn findings() -> Vec<(u32, Value)> {
    let signature = |id: &str, name: &str, kind: &str, context: &str, found: &str| {
        json!({
            "id": id, "name": name, "attack_type": kind, "accuracy": "high_accuracy", "risk": "high",
            "context": context, "matching_info": found, "state": "Enabled",
        })
    };
    let violation = |name: &str, kind: &str| json!({"name": name, "attack_type": kind, "state": "Enabled"});
    let finding =
        |signatures: Vec<Value>, kind: &str| json!({"signatures": signatures, "attack_types": [{"name": kind}]});
    let with = |mut finding: Value, key: &str, list: Value| {
        finding[key] = list;
        finding
    };
    let (sql, script, traversal, command, leak, parser) = (
        "ATTACK_TYPE_SQL_INJECTION",
        "ATTACK_TYPE_CROSS_SITE_SCRIPTING",
        "ATTACK_TYPE_PATH_TRAVERSAL",
        "ATTACK_TYPE_COMMAND_EXECUTION",
        "ATTACK_TYPE_INFORMATION_LEAKAGE",
        "ATTACK_TYPE_HTTP_PARSER_ATTACK",
    );
    let union = signature("200002147", "SQL-INJ UNION SELECT (Parameter)", sql, "parameter (q)", "union select");
    let tautology = signature("200002835", "SQL-INJ always true (Parameter)", sql, "parameter (id)", "1=1");
    let tag = signature("200001475", "XSS script tag (Parameter)", script, "parameter (q)", "<script>");
    let parent = signature("200007029", "Directory traversal \"../\" (URI)", traversal, "uri", "../../etc/passwd");
    let lookup = signature("200004474", "Log4j lookup (Header)", command, "header (User-Agent)", "${jndi:");
    let dot_file = signature("200010466", "Dot file access (URI)", leak, "uri", "/.env");
    let campaign = json!([{"id": "cmp1f2d", "name": "Logging library - remote code execution", "state": "Enabled"}]);
    let broken = json!([violation("VIOL_HTTP_PROTOCOL", parser), violation("VIOL_COOKIE_MALFORMED", parser)]);
    vec![
        (9, finding(vec![union.clone()], sql)),
        (5, finding(vec![union, tautology], sql)),
        (8, finding(vec![tag], script)),
        (6, with(finding(vec![parent], traversal), "violations", json!([violation("VIOL_URL_METACHAR", traversal)]))),
        (4, with(finding(vec![lookup], command), "threat_campaigns", campaign)),
        (5, finding(vec![dot_file], leak)),
        (4, json!({"attack_types": [{"name": parser}], "violations": broken})),
    ]
}

/// `bot_info` of a firewall event.
fn bots() -> Vec<(u32, Value)> {
    let bot = |classification: &str, name: &str, kind: &str, anomaly: &str| json!({"classification": classification, "name": name, "type": kind, "anomaly": anomaly});
    vec![
        (10, bot("HUMAN", "UNKNOWN", "UNKNOWN", "NONE")),
        (4, bot("SUSPICIOUS", "python-requests", "HTTP Library", "SUSPICIOUS_HTTP_HEADERS")),
        (3, bot("MALICIOUS", "sqlmap", "Vulnerability Scanner", "NONE")),
        (2, bot("MALICIOUS", "Nikto", "Vulnerability Scanner", "SUSPICIOUS_HTTP_HEADERS")),
        (2, bot("GOOD", "Search crawler", "Search Engine", "NONE")),
    ]
}

/// `bot_defense` of a bot defense event.
fn defenses() -> Vec<(u32, Value)> {
    let defense = |automation: &str, insight: &str, recommendation: &str| json!({"automation_type": automation, "insight": insight, "recommendation": recommendation});
    vec![
        (7, defense("Token Missing", "MALICIOUS", "block")),
        (4, defense("Browser Automation", "MALICIOUS", "block")),
        (2, defense("Token Replay", "SUSPICIOUS", "report")),
        (1, defense("", "HUMAN", "allow")),
    ]
}

/// The doubled `policy_hits` of a service policy event, and its `action`.
fn hits() -> Vec<(u32, Value)> {
    let hit = |action: &str, result: &str, policy: &str, rule: &str, trust: &str, categories: &str| {
        json!({"action": action, "policy_hits": {"policy_hits": [{
            "result": result, "policy": policy, "policy_rule": rule, "policy_namespace": "shared",
            "policy_set": "shared-service-policies", "ip_risk": "HIGH_RISK", "ip_trustscore": trust,
            "ip_trustworthiness": "LOW", "ip_threat_categories": categories, "rate_limiter_action": "none",
            "malicious_user_mitigate_action": "MUM_NONE",
        }]}})
    };
    vec![
        (8, hit("block", "deny", "deny-countries", "embargo", "40", "")),
        (5, hit("block", "deny", "deny-threats", "scanners", "15", "SCANNERS")),
        (3, hit("allow", "default_allow", "allow-partners", "", "80", "")),
        (4, hit("block", "rate_limiter_drop", "limit-login", "ten-a-minute", "55", "")),
    ]
}

/// The hits of an address with a bad name.
fn reputations() -> Vec<(u32, Value)> {
    let reputation = |categories: &str, trust: &str| {
        json!({"policy_hits": {"policy_hits": [{
            "result": "deny", "policy": "ip-reputation", "policy_rule": "", "policy_namespace": "system",
            "ip_risk": "HIGH_RISK", "ip_trustscore": trust, "ip_trustworthiness": "LOW",
            "ip_threat_categories": categories,
        }]}})
    };
    vec![
        (4, reputation("BOTNETS", "5")),
        (3, reputation("SPAM_SOURCES", "20")),
        (2, reputation("TOR_PROXY,ANONYMOUS_PROXY", "10")),
    ]
}

/// `violations` of a request that breaks the API's description.
fn breaches() -> Vec<(u32, Value)> {
    let breach = |context: &str, field: &str, property: &str, description: &str| json!([{"context": context, "field": field, "property": property, "description": description}]);
    vec![
        (5, breach("body", "/quantity", "HTTP_BODY", "value is not an integer")),
        (4, breach("query", "limit", "QUERY_PARAMETERS", "value is above the maximum of 20")),
        (3, breach("header", "content-type", "HTTP_HEADERS", "text/plain is not described")),
    ]
}
