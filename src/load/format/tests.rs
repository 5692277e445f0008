//! Texts before and after they are formatted.

use super::{Canonical, text};

fn formatted(before: &str) -> String {
    of_file("a.yaml", before)
}

fn of_file(name: &str, before: &str) -> String {
    match text(&name.into(), before.as_bytes().to_vec()) {
        Ok(Canonical::Changed(after)) => {
            assert_eq!(text(&name.into(), after.clone().into_bytes()), Ok(Canonical::Same), "a second time:\n{after}");
            after
        }
        Ok(Canonical::Same) => before.to_owned(),
        other => panic!("{other:?} of\n{before}"),
    }
}

#[test]
fn keys_are_ordered_and_comments_move_with_them() {
    let before = "\
# about the file
spec:
  # why this port
  # (two lines)
  port: 8443   # behind it

  dnsName: search.example.net
  # protocol: UDP
# about the metadata
metadata:
  labels:
    tier: web   # kept in place
    app: x
  namespace: shop
  name: search
";
    let after = "\
# about the file
# about the metadata
metadata:
  name: search
  namespace: shop
  labels:
    tier: web   # kept in place
    app: x
spec:
  dns_name: search.example.net

  # why this port
  # (two lines)
  port: 8443   # behind it
  # protocol: UDP
";
    assert_eq!(formatted(before), after);
}

#[test]
fn a_text_moves_with_the_blank_lines_that_are_a_part_of_it() {
    let before = "metadata:\n  namespace: shop\n  description: |+\n    a\n\n  name: cart\nspec: {ip: 10.0.0.1}\n";
    let after = "metadata:\n  name: cart\n  namespace: shop\n  description: |+\n    a\n\nspec: {ip: 10.0.0.1}\n";
    assert_eq!(formatted(before), after);
    assert_eq!(formatted(&before.replace('\n', "\r\n")), after.replace('\n', "\r\n"));
}

#[test]
fn a_text_at_the_end_of_a_file_without_a_line_break_gets_none() {
    let metadata = "metadata:\n  name: cart\n  namespace: shop\n  description: |\n    a\n    b";
    for text in [format!("spec: {{ip: 10.0.0.1}}\n{metadata}"), metadata.replace('|', ">")] {
        assert_eq!(formatted(&text), text);
    }
    let text = format!("spec: {{port: 1, ip: 10.0.0.1}}\n{metadata}");
    assert_eq!(formatted(&text), text.replace("port: 1, ip: 10.0.0.1", "ip: 10.0.0.1, port: 1"));
}

#[test]
fn lists_block_texts_and_brackets_move_whole() {
    let before = "\
spec:
  where:
    site:
      ref:
      - namespace: system
        name: ce01
      networkType: VIRTUAL_NETWORK_SITE_LOCAL
  port: 80
  ip: 10.0.0.7
metadata:
  labels: {z: '1', a: '2'}
  description: |
    # not a comment

    spec: text
  namespace: shop
  name: cart
";
    let after = "\
metadata:
  name: cart
  namespace: shop
  description: |
    # not a comment

    spec: text
  labels: {z: '1', a: '2'}
spec:
  ip: 10.0.0.7
  port: 80
  where:
    site:
      network_type: VIRTUAL_NETWORK_SITE_LOCAL
      ref:
      - name: ce01
        namespace: system
";
    assert_eq!(formatted(before), after);
}

#[test]
fn mappings_in_brackets_keep_their_layout() {
    assert_eq!(
        formatted("{spec: {port: 1, 'dnsName': a.b}, metadata: {namespace: shop, name: x}}\n"),
        "{metadata: {name: x, namespace: shop}, spec: {'dns_name': a.b, port: 1}}\n"
    );
    let before = "{\n  \"spec\": {\"port\": 1, \"ip\": \"10.0.0.7\"},\n  \"metadata\": {\"name\": \"x\", \"namespace\": \"shop\"}\n}";
    let after = "{\n  \"metadata\": {\"name\": \"x\", \"namespace\": \"shop\"},\n  \"spec\": {\"ip\": \"10.0.0.7\", \"port\": 1}\n}";
    assert_eq!(of_file("a.json", before), after);
}

#[test]
fn the_fields_of_another_kind_get_their_spelling_and_keep_their_order() {
    let before = "\
kind: origin_pool
spec:
  # why this port
  port: 80
  originServers:
  - publicIp: {ip: 192.0.2.4}
    labels: {fooBar: x}
  newField: {aB: 1}
  useTls: {useMtls: {tlsCertificates: [{privateKey: {blindfoldSecretInfo: {location: a}}}]}}
metadata: {namespace: shop, name: cart}
";
    let after = "\
kind: origin_pool
metadata: {name: cart, namespace: shop}
spec:
  # why this port
  port: 80
  origin_servers:
  - public_ip: {ip: 192.0.2.4}
    labels: {fooBar: x}
  newField: {aB: 1}
  use_tls: {use_mtls: {tls_certificates: [{private_key: {blindfoldSecretInfo: {location: a}}}]}}
";
    assert_eq!(formatted(before), after);
    let cluster =
        "kind: cluster\nmetadata: {name: a, namespace: shop}\nspec:\n  outlierDetection: {consecutive5xx: 3}\n";
    let after = cluster.replace("outlierDetection: {consecutive5xx", "outlier_detection: {consecutive_5xx");
    assert_eq!(formatted(cluster), after);
}

#[test]
fn what_replaces_a_key_that_is_merged_keeps_its_spelling() {
    let text = "\
metadata: {name: cart, namespace: shop}
spec:
  <<: &shared {dnsName: a.example.net}
  dnsName: b.example.net
  port: 80
";
    assert_eq!(formatted(text), text);
}

#[test]
fn what_cannot_be_moved_without_doubt_stays() {
    for text in [
        // An alias would go before its anchor.
        "spec: {ip: 10.0.0.7}\nmetadata:\n  name: &n x\n  labels: {a: *n}\n  namespace: shop\n",
        // A comment between entries in brackets.
        "metadata: {namespace: shop, # where\n  name: x}\nspec: {ip: 10.0.0.7}\n",
        // Or before the first, or behind the last.
        "metadata: { # where\n  namespace: shop, name: x}\nspec: {ip: 10.0.0.7}\n",
        "metadata: {\n  namespace: shop,\n  name: x   # who\n}\nspec: {ip: 10.0.0.7}\n",
        // The comment of an entry behind a dash.
        "metadata: {name: x}\nspec:\n  where:\n    site:\n      ref:\n      - namespace: system\n        # which\n        name: a\n",
        // Another kind.
        "kind: tenant\nspec: {}\nmetadata: {}\n",
        // Documents of other programs.
        "apiVersion: v1\nkind: Service\nspec: {}\nmetadata: {namespace: shop, creationTimestamp: null}\n",
        "kind: Deployment\nspec: {}\nmetadata: {namespace: shop, ownerReferences: []}\n",
        "boardId: 5\nspec: {}\nmetadata: {createdBy: me}\n",
        "stack: x\nspecial: {b: 1, a: 2}\n",
        "",
        "# nothing\n",
    ] {
        let after = formatted(text);
        let keys = |text: &str| text.matches("dnsName").count();
        assert_eq!(keys(&after), keys(text));
        if !text.starts_with("spec: {ip") {
            assert_eq!(after, text);
        }
    }
    // The anchor and its alias stay in their order, the rest is ordered around them.
    assert_eq!(
        formatted("spec: {ip: 10.0.0.7}\nmetadata:\n  namespace: shop\n  name: &n x\n  labels: {a: *n}\n"),
        "metadata:\n  name: &n x\n  namespace: shop\n  labels: {a: *n}\nspec: {ip: 10.0.0.7}\n"
    );
    assert_eq!(
        formatted("spec: {ip: 10.0.0.7}\nmetadata:\n  labels: {a: &n x}\n  namespace: shop\n  name: *n\n"),
        "metadata:\n  labels: {a: &n x}\n  namespace: shop\n  name: *n\nspec: {ip: 10.0.0.7}\n"
    );
}

#[test]
fn several_documents_line_breaks_and_a_byte_order_mark_stay() {
    let before = "\u{feff}# first\r\nspec: {ip: 10.0.0.7}\r\nmetadata: {name: a, namespace: shop}\r\n---\r\n# second\r\nspec: {ip: 10.0.0.7}\r\n\r\nmetadata: {name: b, namespace: shop}";
    let after = "\u{feff}# first\r\nmetadata: {name: a, namespace: shop}\r\nspec: {ip: 10.0.0.7}\r\n---\r\n# second\r\nmetadata: {name: b, namespace: shop}\r\n\r\nspec: {ip: 10.0.0.7}\r\n";
    assert_eq!(formatted(before), after);
}

#[test]
fn a_text_that_cannot_be_parsed_is_a_problem_with_its_place() {
    let problems = text(&"a.yaml".into(), b"metadata: [\n".to_vec()).expect_err("a problem");
    assert!(problems[0].message.starts_with("syntax error"), "{problems:?}");
}
