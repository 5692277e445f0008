//! Random specs of every kind, by the description of the kinds: what a person could write and the service takes.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value, json};
use trueup::kind::{self, Field, FieldKind, Flag, Kind, Part, Rule, Unit};

/// Levels below which a message has only what it needs.
const DEEP: usize = 4;

/// Levels that no needed message reaches.
const DEEPEST: usize = 14;

/// Makes specs; equal seeds make equal ones.
pub struct Specs {
    state: u64,
    /// Of how many fields that nobody needs one is there.
    sparse: usize,
    /// The texts that keep the rules of a part of a field, by their place in memory.
    texts: HashMap<(usize, usize), Vec<String>>,
    /// A message that is made, and in full, with those on the way to it.
    target: Option<&'static str>,
    way: BTreeSet<&'static str>,
    /// Whether a kind has many messages.
    large: HashMap<&'static str, bool>,
}

impl Specs {
    /// A generator of this seed, which a failed test has to print.
    pub fn new(seed: u64) -> Self {
        Self {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            sparse: 2,
            texts: HashMap::new(),
            target: None,
            way: BTreeSet::new(),
            large: HashMap::new(),
        }
    }

    /// A number below `most`.
    pub fn below(&mut self, most: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from((self.state >> 11) % most as u64).expect("a small number")
    }

    /// Whether something happens that happens once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// A spec of a kind with about half of its fields.
    #[track_caller]
    pub fn spec(&mut self, kind: &Kind) -> Value {
        let spec = (0..200).find_map(|_| self.message(kind.spec, 0));
        spec.unwrap_or_else(|| panic!("the generator makes no spec of {}", kind.name))
    }

    /// The same with few fields, but for one in twenty: many of them cost what some large ones cost.
    #[track_caller]
    pub fn small(&mut self, kind: &Kind) -> Value {
        let is_large = || kind.messages().len() > 20;
        let many = if *self.large.entry(kind.name).or_insert_with(is_large) { 24 } else { 8 };
        self.sparse = if self.once_in(20) { 2 } else { many };
        let spec = self.spec(kind);
        self.sparse = 2;
        spec
    }

    /// The same with a way to one of its messages, however deep that is, and this one with about half of its fields.
    #[track_caller]
    pub fn towards(&mut self, kind: &Kind, id: &'static str) -> Value {
        let mut above: HashMap<&str, Vec<&'static str>> = HashMap::new();
        for (owner, message) in kind.messages() {
            let below = message.fields.iter().filter(|field| is_written_in_full(field)).filter_map(Field::below);
            below.for_each(|id| above.entry(id).or_default().push(owner));
        }
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            open.extend(above.get(id).into_iter().flatten().filter(|owner| self.way.insert(owner)));
        }
        self.target = self.way.contains(kind.spec).then_some(id);
        self.way.insert(id);
        let spec = self.small(kind);
        self.target = None;
        self.way.clear();
        spec
    }

    /// A spec in which there is no secret; nothing where the kind has one everywhere.
    pub fn without_secret(&mut self, kind: &Kind) -> Option<Value> {
        (0..50).map(|_| self.spec(kind)).find(|spec| kind::sealed::places(kind.message(), spec).is_empty())
    }

    fn message(&mut self, id: &str, depth: usize) -> Option<Value> {
        let message = kind::message(id);
        if id.ends_with("ObjectRefType") {
            return Some(self.reference());
        }
        let is_target = self.target == Some(id);
        let (is_free, sparse) = if is_target { (true, 2) } else { (depth < DEEP, self.sparse) };
        let leads = |field: &&Field| is_written_in_full(field) && field.below().is_some_and(|id| self.way.contains(id));
        let leads: Vec<&str> = match self.target {
            Some(_) => message.fields.iter().filter(leads).map(|field| field.name).collect(),
            None => Vec::new(),
        };
        let lead = if leads.is_empty() { None } else { Some(leads[self.below(leads.len())]) };
        let mut object = Map::new();
        for group in &message.groups {
            let is_needed = group.needs_choice();
            let options: Vec<&Field> = group.members.iter().filter_map(|name| message.field(name)).collect();
            let first = options.iter().position(|field| Some(field.name) == lead);
            let is_wanted = is_needed || first.is_some() || is_free && self.below(2 * sparse - 1) >= 2 * sparse - 3;
            let start = self.below(options.len());
            let start = first.unwrap_or(start);
            let mut options = options[start..].iter().chain(&options[..start]).filter(|field| is_written(field));
            // What the generator cannot make is another option's turn.
            let made = options.find_map(|field| Some((field.name, self.field(field, depth)?)));
            match made.filter(|_| is_wanted) {
                Some((name, value)) => _ = object.insert(name.to_owned(), value),
                None if is_needed => return None,
                None => {}
            }
        }
        for field in message.fields.iter().filter(|field| is_written(field) && message.group_of(field.name).is_none()) {
            let is_needed = field.is(Flag::Required);
            if is_needed || Some(field.name) == lead || is_free && self.once_in(sparse) {
                match self.field(field, depth) {
                    Some(value) => _ = object.insert(field.name.to_owned(), value),
                    None if is_needed && !(field.is_list && may_have(field, 0)) => return None,
                    None => {}
                }
            }
        }
        Some(object.into())
    }

    /// A reference into a namespace that no stack of these tests has: in another, one to nothing is an error.
    fn reference(&mut self) -> Value {
        let namespace = if self.once_in(2) { "elsewhere" } else { "another" };
        json!({"name": format!("other-{}", self.below(3)), "namespace": namespace})
    }

    /// A value of a field of which the message is so deep.
    pub fn field(&mut self, field: &Field, depth: usize) -> Option<Value> {
        let sealed = || json!({"blindfold_secret_info": {"location": "string:///c2VhbGVk"}});
        if let FieldKind::Map(of) = &field.kind {
            let key = self.text(field, Part::Keys, 0)?;
            let value = if field.is(Flag::Secret) { sealed() } else { self.value(field, of, Part::Values, depth)? };
            return Some(json!({ key: value }));
        }
        if field.is(Flag::Secret) {
            let secret = if field.kind == FieldKind::Text { "hush".into() } else { sealed() };
            return Some(if field.is_list { json!([secret]) } else { secret });
        }
        if !field.is_list {
            return self.value(field, &field.kind, Part::Value, depth);
        }
        let count = count(field)?;
        let mut items: Vec<Value> = Vec::new();
        for _ in 0..count * 8 {
            if items.len() < count {
                let item = self.value(field, &field.kind, Part::Items, depth)?;
                // Rules ask for items that differ, or whose names do.
                let is_new = |item: &Value| {
                    items.iter().all(|other| {
                        other != item
                            && (item.get("metadata").is_none() || other["metadata"]["name"] != item["metadata"]["name"])
                    })
                };
                if is_new(&item) {
                    items.push(item);
                }
            }
        }
        (!items.is_empty() && may_have(field, items.len())).then(|| items.into())
    }

    fn value(&mut self, field: &Field, kind: &FieldKind, part: Part, depth: usize) -> Option<Value> {
        let fits =
            |value: &Value| field.rules.iter().all(|(of, rule)| *of != part || rule.broken(field, value).is_none());
        match kind {
            FieldKind::Bool => {
                let start = self.once_in(2);
                [start, !start].into_iter().find(|flag| fits(&(*flag).into())).map(Value::from)
            }
            FieldKind::Integer { bits, .. } => {
                let numbers = [1, 2, 3, 5, 7, 10, 20, 80, 100, 300, 443, 600, 1024, 5000, 64_512, 100_000];
                let start = self.below(numbers.len());
                let mut numbers = numbers[start..].iter().chain(&numbers[..start]);
                let number = *numbers.find(|number| fits(&(**number).into()))?;
                Some(if *bits == 64 { number.to_string().into() } else { number.into() })
            }
            // The second has more digits than 32 bits.
            FieldKind::Float { .. } => Some(json!(if self.once_in(2) { 0.5 } else { 5.774_929_33 })),
            FieldKind::Text => {
                let nth = self.below(3);
                self.text(field, part, nth).map(Value::from)
            }
            FieldKind::Bytes => Some("YQ==".into()),
            FieldKind::Timestamp => {
                let never = self.once_in(4);
                Some(if never { "9999-12-31T23:59:59Z" } else { "2026-01-31T12:00:00Z" }.into())
            }
            FieldKind::Duration => Some("1.5s".into()),
            FieldKind::Any => Some(json!({"anything": [1]})),
            FieldKind::Message("") => Some(json!({})),
            FieldKind::Message(id) if depth < DEEPEST => {
                let message = self.message(id, depth + 1)?;
                let is_full = !field.rules.contains(&(part, Rule::OneNonzero)) || message != json!({});
                is_full.then_some(message)
            }
            FieldKind::Enum(id) => {
                let values = kind::values(id);
                let start = self.below(values.len());
                let mut values = values[start..].iter().chain(&values[..start]);
                // A name of another one's number is answered as the other one.
                let is_first = |(name, number): &(&str, Option<i32>)| {
                    number.is_none()
                        || kind::values(id).iter().find(|(_, of)| of == number).is_some_and(|(of, _)| of == name)
                };
                values
                    .find(|(name, number)| is_first(&(name, *number)) && fits(&(*name).into()))
                    .map(|(name, _)| (*name).into())
            }
            FieldKind::Message(_) | FieldKind::Map(_) => None,
        }
    }

    /// A text that has the form and keeps the rules of this part; `nth` chooses among several.
    fn text(&mut self, field: &Field, part: Part, nth: usize) -> Option<String> {
        let rules = &field.rules;
        let of_part = || rules.iter().filter(|(of, _)| *of == part).map(|(_, rule)| rule).collect();
        let key = (rules.as_ptr() as usize, part as usize);
        let texts = self.texts.entry(key).or_insert_with(|| texts(field, of_part()));
        (!texts.is_empty()).then(|| texts[nth % texts.len()].clone())
    }

    /// The same spec as other people write it: keys in camel case, numbers as texts, words as numbers, `null` for nothing.
    pub fn respelt(&mut self, id: &str, spec: &Value) -> Value {
        self.rewritten(id, spec, false)
    }

    /// The same with host names and addresses in capitals, and selectors at length; a service shows them so.
    pub fn respelt_with_texts(&mut self, id: &str, spec: &Value) -> Value {
        self.rewritten(id, spec, true)
    }

    fn rewritten(&mut self, id: &str, spec: &Value, texts: bool) -> Value {
        let message = kind::message(id);
        let Value::Object(object) = spec else { return spec.clone() };
        let mut respelt = Map::new();
        for (key, value) in object {
            let Some(field) = message.field(key) else {
                respelt.insert(key.clone(), value.clone());
                continue;
            };
            let value = match value {
                Value::Array(items) => {
                    items.iter().map(|item| self.rewritten_part(field, &field.kind, item, texts)).collect()
                }
                value => self.rewritten_part(field, &field.kind, value, texts),
            };
            let key = if self.once_in(2) { camel(key) } else { key.clone() };
            respelt.insert(key, value);
        }
        // Of an option without fields, nothing is not enough.
        let is_free = |field: &&Field| {
            let is_option = message.group_of(field.name).is_some() || field.kind == FieldKind::EMPTY;
            !is_option && !object.contains_key(field.name)
        };
        for field in message.fields.iter().filter(is_free) {
            if self.once_in(8) {
                respelt.insert(field.name.to_owned(), Value::Null);
            }
        }
        respelt.into()
    }

    fn rewritten_part(&mut self, field: &Field, kind: &FieldKind, value: &Value, texts: bool) -> Value {
        match (kind, value) {
            (FieldKind::Message(id), value) => self.rewritten(id, value, texts),
            (FieldKind::Map(of), Value::Object(entries)) => {
                entries.iter().map(|(key, value)| (key.clone(), self.rewritten_part(field, of, value, texts))).collect()
            }
            (FieldKind::Integer { bits: 64, .. }, Value::String(text)) if self.once_in(2) => {
                text.parse::<i64>().map_or_else(|_| value.clone(), Value::from)
            }
            (FieldKind::Integer { .. }, Value::Number(number)) if self.once_in(2) => number.to_string().into(),
            (FieldKind::Enum(id), Value::String(name)) if self.once_in(2) => {
                let values = kind::values(id);
                let number = values.iter().find(|(of, _)| of == name).and_then(|(_, number)| *number);
                number.map_or_else(|| value.clone(), Value::from)
            }
            (FieldKind::Text, Value::String(text)) if texts && self.once_in(2) => {
                let part = if field.is_list { Part::Items } else { Part::Value };
                let has_form = |is_it: fn(&str) -> bool| {
                    let is_form =
                        |rule: &Rule| matches!(rule, Rule::Format(forms) if forms.iter().any(|form| is_it(form)));
                    field.rules.iter().any(|(of, rule)| *of == part && is_form(rule))
                };
                let respelt = Value::from(match text.split_once('=') {
                    Some((key, value)) if has_form(|form| form == "k8s_label_selector") => {
                        format!("{key} in ({value})")
                    }
                    _ if has_form(|form| form.starts_with("host") || form.starts_with("ip")) => text.to_uppercase(),
                    _ => text.clone(),
                });
                let is_good = field.broken(part, &respelt).next().is_none();
                if is_good { respelt } else { value.clone() }
            }
            _ => value.clone(),
        }
    }
}

/// Whether a person writes it: a create has it, and the vendor does not keep it for itself.
fn is_written(field: &Field) -> bool {
    !field.is(Flag::ReadOnly) && !field.is(Flag::ReplaceOnly)
}

/// The same of one that is no secret, which is sealed.
fn is_written_in_full(field: &Field) -> bool {
    is_written(field) && !field.is(Flag::Secret)
}

/// Whether a list may have so many items.
fn may_have(field: &Field, count: usize) -> bool {
    field.rules.iter().filter(|(of, _)| *of == Part::Value).all(|(_, rule)| match rule {
        Rule::Range { unit: Unit::Items, least, most } => {
            least.is_none_or(|least| least.parse().is_ok_and(|least: usize| least <= count))
                && most.is_none_or(|most| most.parse().is_ok_and(|most: usize| count <= most))
        }
        Rule::ItemCounts(counts) => counts.contains(&count.to_string().as_str()),
        _ => true,
    })
}

/// How many items a list may have, the fewer the better.
fn count(field: &Field) -> Option<usize> {
    // Two messages that differ in what is written may mean the same.
    let is_one = field.below().is_some() && field.rules.contains(&(Part::Value, Rule::Unique));
    let counts = if is_one { [1, 2, 3, 4, 8] } else { [2, 1, 3, 4, 8] };
    counts.into_iter().find(|count| may_have(field, *count))
}

/// Texts that have the form and keep these rules.
fn texts(field: &Field, rules: Vec<&Rule>) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for rule in &rules {
        match rule {
            Rule::In(values) => texts.extend(values.iter().map(|value| (*value).to_owned())),
            Rule::Const(value) => texts.push((*value).to_owned()),
            Rule::Format(forms) => {
                let form = forms.last().expect("a form");
                texts.extend(
                    FORMS
                        .iter()
                        .filter(|(of, _)| of == form)
                        .flat_map(|(_, of)| of.iter())
                        .map(|text| (*text).to_owned()),
                );
            }
            _ => {}
        }
    }
    let is_free = texts.is_empty();
    if is_free {
        let words = ["a", "abc", "a-b", "a1.example.net", "/a", "80", "192.0.2.4", "192.0.2.0/24", "2001:db8::/32"];
        texts.extend(words.map(str::to_owned));
        let ids = ["vpc", "subnet", "sg", "vgw", "tgw", "nat", "dxvif", "acl", "rtb", "igw", "eni"];
        texts.extend(ids.map(|id| format!("{id}-0123abcd")));
        texts.extend(PATTERNED.map(str::to_owned));
        texts.extend([5, 8, 16, 17, 32, 64].map(|length| "a".repeat(length)));
    }
    texts.retain(|text| rules.iter().all(|rule| rule.broken(field, &text.as_str().into()).is_none()));
    texts
}

/// Texts that patterns of the description ask for.
const PATTERNED: [&str; 14] = [
    "10:30 AM",
    "arn:aws:iam::123456789012:role/a",
    "ami-0123abcd",
    "0 0 * * *",
    "1.2.3",
    "a@example.net",
    "A1B2",
    "us-east-1",
    "https://a.example.net/a",
    "projects/a",
    "GET",
    "65000:1",
    "200",
    "404",
];

/// A few texts of each form that the vendor names.
const FORMS: &[(&str, &[&str])] = &[
    ("hostname", &["a.example.net", "b.example.net", "c.example.net"]),
    ("ipv4", &["192.0.2.4", "192.0.2.5", "192.0.2.6"]),
    ("ipv6", &["2001:db8::4", "2001:db8::5", "2001:db8::6"]),
    ("ip", &["192.0.2.4", "2001:db8::4", "192.0.2.5"]),
    ("ipv4_prefix", &["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"]),
    ("ipv6_prefix", &["2001:db8::/32", "2001:db9::/32", "2001:dba::/32"]),
    ("ip_prefix", &["192.0.2.0/24", "2001:db8::/32", "198.51.100.0/24"]),
    ("ip_prefix_globally_routable", &["1.1.1.0/24", "8.8.8.0/24"]),
    ("ipv4_globally_routable", &["1.1.1.1", "8.8.8.8"]),
    ("ipv6_globally_routable", &["2606:4700::1", "2001:4860::1"]),
    ("http_path", &["/a", "/b", "/c"]),
    ("templated_http_path", &["/a", "/b/{id}", "/c"]),
    ("json_path", &["$.a", "$.b"]),
    ("uri_ref", &["https://a.example.net/", "/a", "/b"]),
    ("url_or_uri_ref", &["https://a.example.net/", "/a"]),
    ("uri", &["https://a.example.net/", "https://b.example.net/"]),
    ("regex", &["a.*", "b+", "c"]),
    ("vh_domain", &["a.example.net", "*.example.org", "b.example.net"]),
    ("http_header_field", &["x-a", "x-b", "x-c"]),
    ("cookie_name", &["a", "b"]),
    ("time_interval", &["10s", "5m", "1h"]),
    ("ves_object_name", &["abcde", "bcdef", "cdefg"]),
    ("ves_service_namespace_name", &["a.b"]),
    ("port_range", &["80", "443-445"]),
    ("port_range_list", &["80", "80,443-445"]),
    ("unique_port_range_list", &["80", "80,443-445"]),
    ("hostname_or_ip", &["a.example.net", "2001:db8::4"]),
    ("hostport", &["a.example.net:443", "b.example.net:80"]),
    ("email", &["a@example.net", "b@example.net"]),
    ("phone_number", &["+15550100123"]),
    ("hex", &["0a1b2c3d", "aabbccdd"]),
    ("mac", &["00:00:5e:00:53:01", "00:00:5e:00:53:02"]),
    ("dns_1123_label", &["a", "b-1"]),
    ("k8s_label_value", &["a", "b"]),
    ("k8s_label_selector", &["tier=web"]),
    ("iana_svc_name", &["http", "https"]),
    ("certificate_url", &["string:///YQ=="]),
    ("intermediate_certificate_chain_url", &["string:///YQ=="]),
    ("truststore_url", &["string:///YQ=="]),
    ("http_valid_methods", &["GET"]),
    ("http_status_range", &["200", "200-299"]),
];

fn camel(name: &str) -> String {
    let mut camel = String::new();
    let mut is_start = false;
    for letter in name.chars() {
        match letter {
            '_' => is_start = true,
            letter if is_start => {
                camel.push(letter.to_ascii_uppercase());
                is_start = false;
            }
            letter => camel.push(letter),
        }
    }
    camel
}

/// The value with one text, number or flag changed, for each of them in turn.
pub fn edits(value: &Value) -> Vec<Value> {
    let below = |part: &Value, put: &dyn Fn(Value) -> Value| edits(part).into_iter().map(put).collect::<Vec<_>>();
    match value {
        Value::Bool(flag) => vec![json!(!flag)],
        Value::Number(number) if number.is_f64() => vec![json!(0.75)],
        Value::Number(number) => number.as_u64().map(|number| json!(number + 1)).into_iter().collect(),
        Value::String(text) if !text.is_empty() => vec![json!(format!("{text}x")), json!("192.0.2.77"), json!("x")],
        Value::Array(items) => (0..items.len())
            .flat_map(|at| {
                below(&items[at], &|item| {
                    let mut items = items.clone();
                    items[at] = item;
                    items.into()
                })
            })
            .collect(),
        // What a reference says beside the name is the service's.
        Value::Object(entries) => entries
            .keys()
            .filter(|key| !["tenant", "uid", "kind", "namespace"].contains(&key.as_str()))
            .flat_map(|key| {
                below(&entries[key], &|part| {
                    let mut entries = entries.clone();
                    entries[key] = part;
                    entries.into()
                })
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// A namespace that a kind may be in.
pub fn namespace(kind: &Kind) -> &'static str {
    match kind.namespaces.first() {
        Some(&"user") | None => "shop",
        Some(other) => other,
    }
}

/// The seed of this run, which a failed test shows; `TRUEUP_SEED` sets another.
pub fn seed() -> u64 {
    let seed = std::env::var("TRUEUP_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(28);
    eprintln!("TRUEUP_SEED={seed}");
    seed
}

/// Every kind but endpoint.
pub fn kinds() -> Vec<&'static Kind> {
    kind::all().filter(|kind| kind.name != kind::ENDPOINT).collect()
}

/// The settings of a stack that manages all of them.
pub fn settings() -> String {
    let names: Vec<&str> = kinds().iter().map(|kind| kind.name).collect();
    format!("stack: all\nnamespaces: [shop, shared, system]\nkinds: [{}]\nrate_limit: 10000\n", names.join(", "))
}
