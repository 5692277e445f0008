//! The rules of a definition's values: lengths, ranges and syntax. Shape is checked where the wire
//! form becomes the model; a live object may break these rules and can still be compared.

use super::bounds::{
    LONGEST_ANNOTATION, LONGEST_ANNOTATION_KEY, LONGEST_DESCRIPTION, LONGEST_HOST_NAME, LONGEST_REFERENCE_NAME,
    LONGEST_REFERENCE_PART, LONGEST_SELECTOR, LONGEST_SERVICE_NAME, MOST_PREFIXES, REFRESH_INTERVAL,
};
use super::problem::steps;
use super::{
    EmptyOption, NAME_RULE, Name, Namespace, Problem, Segment, Selector, WireEndpoint, WireMetadata, WirePrefixes,
    WireReference, WireSpec, label,
};

/// Every rule that the values of a definition break. It looks at the text as written, so that a
/// definition whose shape is wrong elsewhere gets its whole list at once.
pub fn check(raw: &WireEndpoint) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(metadata) = &raw.metadata {
        names(&mut problems, metadata);
        texts(&mut problems, metadata);
    }
    if let Some(spec) = &raw.spec {
        target(&mut problems, spec);
        writing(&mut problems, spec);
    }
    problems
}

/// What a definition may contain and had better not, each as a problem of its key: fields that the vendor has
/// deprecated, and labels under the service's own prefix. All of it is sent and compared.
pub fn warnings(raw: &WireEndpoint) -> Vec<Problem> {
    let labels = raw.metadata.iter().flat_map(|metadata| metadata.labels.iter().flatten());
    let of_service = labels.filter(|(key, value)| key.starts_with(label::PLATFORM_PREFIX) && value.is_some());
    let mut found: Vec<Problem> = of_service
        .map(|(key, _)| {
            let what = format!("the label `{key}` is under `{}`, the prefix of the service", label::PLATFORM_PREFIX);
            Problem::key(entry("labels", key), what, "the service may set or remove it: use a prefix of your own")
        })
        .collect();
    let mut note = |path: Vec<Segment>, name: &str, label: &str| {
        found.push(Problem::key(path, format!("`{name}` is deprecated by the vendor"), label));
    };
    let Some(spec) = &raw.spec else { return found };
    if spec.dns_name_advanced.as_ref().is_some_and(|advanced| advanced.strict_ttl == EmptyOption::Set) {
        let path = steps!["spec", "dns_name_advanced", "strict_ttl"];
        note(path, "strict_ttl", "sent as it is; `refresh_interval` is the current option");
    }
    let Some(place) = &spec.place else { return found };
    for (option, site) in [("site", &place.site), ("virtual_site", &place.virtual_site)] {
        let refs = site.as_ref().and_then(|site| site.refs.as_deref()).unwrap_or_default();
        if !refs.is_empty() {
            note(steps!["spec", "where", option, "refs"], "refs", "sent as it is; `ref` is the current field");
        }
    }
    found
}

/// A text that is not empty; an empty one counts as absent, which shape decides about.
fn given(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.is_empty())
}

fn names(problems: &mut Vec<Problem>, metadata: &WireMetadata) {
    let name = given(metadata.name.as_ref()).and_then(|text| Some(("name", text, Name::parse(text).err()?)));
    let namespace =
        given(metadata.namespace.as_ref()).and_then(|text| Some(("namespace", text, Namespace::parse(text).err()?)));
    for (key, text, error) in [name, namespace].into_iter().flatten() {
        let what = format!("the {key} `{text}` {error}");
        problems.push(Problem::value(steps!["metadata", key], what, NAME_RULE));
    }
}

fn entry(map: &'static str, key: &str) -> Vec<Segment> {
    vec!["metadata".into(), map.into(), Segment::Key(key.to_owned().into())]
}

fn texts(problems: &mut Vec<Problem>, metadata: &WireMetadata) {
    let length = metadata.description.as_ref().map_or(0, String::len);
    if length > LONGEST_DESCRIPTION {
        problems.push(Problem::value(
            steps!["metadata", "description"],
            format!("`description` is {length} bytes long"),
            format!("at most {LONGEST_DESCRIPTION} bytes"),
        ));
    }
    for (key, value) in metadata.annotations.iter().flatten() {
        let Some(value) = value else { continue };
        let characters = key.chars().count();
        if characters == 0 || characters > LONGEST_ANNOTATION_KEY {
            problems.push(Problem::key(
                entry("annotations", key),
                format!("the annotation's key is {characters} characters long"),
                format!("1 to {LONGEST_ANNOTATION_KEY} characters"),
            ));
        }
        let characters = value.chars().count();
        if characters == 0 || characters > LONGEST_ANNOTATION {
            problems.push(Problem::value(
                entry("annotations", key),
                format!("the annotation `{key}` is {characters} characters long"),
                format!("1 to {LONGEST_ANNOTATION} characters"),
            ));
        }
    }
    for (key, value) in metadata.labels.iter().flatten() {
        let Some(value) = value else { continue };
        if key.is_empty() {
            problems.push(Problem::key(entry("labels", key), "a label's key is empty", "a label needs a key"));
        } else if let Some(rule) = label::key_fault(key) {
            let what = format!("`{key}` is not a valid label key");
            problems.push(Problem::key(entry("labels", key), what, rule));
        }
        if let Some(rule) = label::value_fault(value) {
            let what = format!("`{value}` is not a valid label value");
            problems.push(Problem::value(entry("labels", key), what, rule));
        }
    }
}

fn host(problems: &mut Vec<Problem>, path: Vec<Segment>, name: &str) {
    if let Some(fault) = host_name_fault(name.strip_suffix('.').unwrap_or(name)) {
        problems.push(Problem::value(
            path,
            format!("`{name}` is not a valid host name: {fault}"),
            "a host name such as shop.example.net",
        ));
    }
}

fn target(problems: &mut Vec<Problem>, spec: &WireSpec) {
    if let Some(name) = given(spec.dns_name.as_ref()) {
        host(problems, steps!["spec", "dns_name"], name);
    }
    if let Some(advanced) = &spec.dns_name_advanced {
        if let Some(name) = given(advanced.name.as_ref()) {
            host(problems, steps!["spec", "dns_name_advanced", "name"], name);
        }
        // What does not fit into a u32 is a problem of shape already.
        let seconds = advanced.refresh_interval.and_then(|seconds| u32::try_from(seconds).ok());
        if let Some(seconds) = seconds.filter(|seconds| !REFRESH_INTERVAL.contains(seconds)) {
            problems.push(Problem::value(
                steps!["spec", "dns_name_advanced", "refresh_interval"],
                format!("`refresh_interval` is {seconds}"),
                "must be 10 to 604800 seconds",
            ));
        }
    }
    let Some(service) = &spec.service_info else { return };
    let length = service.service_name.as_ref().map_or(0, String::len);
    if length > LONGEST_SERVICE_NAME {
        problems.push(Problem::value(
            steps!["spec", "service_info", "service_name"],
            format!("`service_name` is {length} bytes long"),
            format!("at most {LONGEST_SERVICE_NAME} bytes"),
        ));
    }
    // Another number of expressions is a problem of shape.
    if let Some([expression]) = service.service_selector.as_ref().and_then(|selector| selector.expressions.as_deref()) {
        selector(problems, expression);
    }
}

fn selector(problems: &mut Vec<Problem>, expression: &str) {
    let at = steps!["spec", "service_info", "service_selector", "expressions", 0];
    let characters = expression.chars().count();
    if characters > LONGEST_SELECTOR {
        problems.push(Problem::value(
            at,
            format!("the label selector is {characters} characters long"),
            format!("at most {LONGEST_SELECTOR} characters"),
        ));
    } else if let Err(error) = Selector::parse(expression) {
        problems.push(Problem::value(
            at,
            format!("`{expression}` is not a valid label selector"),
            format!("{error}; for example `tier in (web, db),!legacy`"),
        ));
    }
}

fn writing(problems: &mut Vec<Problem>, spec: &WireSpec) {
    if let Some(advanced) = &spec.dns_name_advanced {
        let strict = [("strict_ttl", advanced.strict_ttl)];
        without_value(problems, &["spec".into(), "dns_name_advanced".into()], &strict);
    }
    if let Some(pool) = &spec.snat_pool {
        without_value(problems, &["spec".into(), "snat_pool".into()], &[("no_snat_pool", pool.no_snat_pool)]);
        if let Some(WirePrefixes { prefixes, ipv6_prefixes }) = &pool.snat_pool {
            let prefixes = prefixes.as_deref().unwrap_or_default();
            if prefixes.len() > MOST_PREFIXES {
                problems.push(Problem::value(
                    steps!["spec", "snat_pool", "snat_pool", "prefixes"],
                    format!("`prefixes` has {} prefixes", prefixes.len()),
                    format!("at most {MOST_PREFIXES}"),
                ));
            }
            unique_prefixes(problems, "prefixes", prefixes);
            unique_prefixes(problems, "ipv6_prefixes", ipv6_prefixes.as_deref().unwrap_or_default());
        }
    }
    let Some(place) = &spec.place else { return };
    for (option, site) in [("site", &place.site), ("virtual_site", &place.virtual_site)] {
        let Some(site) = site else { continue };
        let vip =
            [("disable_internet_vip", site.disable_internet_vip), ("enable_internet_vip", site.enable_internet_vip)];
        without_value(problems, &["spec".into(), "where".into(), option.into()], &vip);
        references(problems, option, "ref", site.reference.as_deref().filter(|references| references.len() == 1));
        references(problems, option, "refs", site.refs.as_deref());
    }
    if let Some(network) = &place.virtual_network {
        let one = network.reference.as_deref().filter(|references| references.len() == 1);
        references(problems, "virtual_network", "ref", one);
    }
}

/// An option without fields that has no value: the person meant it, the service would drop it.
fn without_value(problems: &mut Vec<Problem>, base: &[Segment], options: &[(&'static str, EmptyOption)]) {
    for (option, choice) in options {
        if *choice == EmptyOption::Null {
            let mut path = base.to_vec();
            path.push((*option).into());
            problems.push(Problem::key(path, format!("`{option}` has no value"), format!("write `{option}: {{}}`")));
        }
    }
}

/// Every duplicate prefix of a list; a text that is not a prefix is a problem of shape.
fn unique_prefixes(problems: &mut Vec<Problem>, key: &'static str, prefixes: &[String]) {
    let item = |index: usize| steps!["spec", "snat_pool", "snat_pool", key, index];
    let mut seen = std::collections::BTreeMap::new();
    for (index, text) in prefixes.iter().enumerate() {
        let Ok(prefix) = text.parse::<ipnet::IpNet>() else { continue };
        if let Some(first) = seen.insert(prefix.trunc(), index) {
            problems.push(
                Problem::value(item(index), format!("duplicate prefix `{text}`"), "second time here")
                    .with(super::Location::Value(item(first)), "first time here"),
            );
        }
    }
}

fn references(
    problems: &mut Vec<Problem>,
    option: &'static str,
    list: &'static str,
    references: Option<&[WireReference]>,
) {
    for (index, reference) in references.unwrap_or_default().iter().enumerate() {
        let parts = [
            ("name", &reference.name, LONGEST_REFERENCE_NAME),
            ("namespace", &reference.namespace, LONGEST_REFERENCE_PART),
            ("tenant", &reference.tenant, LONGEST_REFERENCE_PART),
        ];
        for (part, text, longest) in parts {
            let length = text.as_ref().map_or(0, String::len);
            if length > longest {
                problems.push(Problem::value(
                    steps!["spec", "where", option, list, index, part],
                    format!("the reference's `{part}` is {length} bytes long"),
                    format!("at most {longest} bytes"),
                ));
            }
        }
    }
}

/// Why a text is not a host name (RFC 1123; whether the service takes wildcards is not known).
fn host_name_fault(name: &str) -> Option<&'static str> {
    if name.chars().count() > LONGEST_HOST_NAME {
        return Some("it is longer than 256 characters");
    }
    for label in name.split('.') {
        if label.is_empty() {
            return Some("a part between dots is empty");
        }
        if label.len() > 63 {
            return Some("a part between dots is longer than 63 characters");
        }
        if label.starts_with('-') || label.ends_with('-') {
            return Some("a part begins or ends with `-`");
        }
        if !label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Some("only letters, digits, `-` and dots are allowed");
        }
    }
    None
}
