//! The jobs for Kubernetes: the command line of each container runs as a process, with the arguments, variables and files
//! that the cluster would give it. A path of a volume is a directory of the test, and whatever a container writes outside
//! of its writable volumes fails the test.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde::Deserialize as _;
use serde_json::json;
use serde_yaml::Value;

use super::text;
use crate::support::{Service, TOKEN, definition};

/// Where the examples find their tenants.
const URLS: [&str; 2] = ["https://acme.console.example.net", "https://other.console.example.net"];

fn documents(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/pipelines/kubernetes").join(name);
    let content = fs::read_to_string(path).expect("the example");
    serde_yaml::Deserializer::from_str(&content).map(|one| Value::deserialize(one).expect("YAML")).collect()
}

fn at<'v>(value: &'v Value, path: &str) -> &'v Value {
    path.split('.').fold(value, |value, key| value.get(key).unwrap_or(&Value::Null))
}

fn list<'v>(value: &'v Value, path: &str) -> &'v [Value] {
    at(value, path).as_sequence().map_or(&[], Vec::as_slice)
}

/// A cluster: its volumes are directories, and its services answer on the loopback.
struct Cluster {
    home: tempfile::TempDir,
    /// Each URL of the examples with that of the service that answers for it.
    urls: BTreeMap<&'static str, String>,
}

/// A container that ended.
#[derive(Debug)]
struct Ended {
    code: i32,
    log: String,
}

impl Cluster {
    fn new(services: &[&Service]) -> Self {
        let urls = URLS.into_iter().zip(services.iter().map(|service| service.url())).collect();
        Self { home: tempfile::tempdir().expect("a directory"), urls }
    }

    /// A path in the volume of a claim, a secret or a configuration.
    fn path(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, self.here(content)).expect("a file");
    }

    /// A file of a secret or a configuration, as the kubelet mounts it: behind two links.
    fn mount(&self, volume: &str, name: &str, content: &str) {
        self.write(&format!("{volume}/..2026_11_22_06_00_00.1/{name}"), content);
        let volume = self.path(volume);
        let _ = symlink("..2026_11_22_06_00_00.1", volume.join("..data"));
        symlink(format!("..data/{name}"), volume.join(name)).expect("a link");
    }

    /// The text with the URLs of the services.
    fn here(&self, content: &str) -> String {
        self.urls.iter().fold(content.to_owned(), |content, (from, to)| content.replace(from, to))
    }

    /// Starts the first container of a job, as pod number `index`.
    fn start(&self, job: &Value, index: u32) -> Child {
        let pod = at(job, "spec.jobTemplate.spec.template.spec");
        let container = &list(pod, "containers")[0];
        let mounts: Vec<(&str, PathBuf)> = list(container, "volumeMounts")
            .iter()
            .map(|mount| (text(mount, "mountPath"), self.path(&volume(pod, text(mount, "name")))))
            .collect();
        for (_, directory) in &mounts {
            fs::create_dir_all(directory).expect("a volume");
        }
        let mut variables: BTreeMap<String, String> = list(container, "env")
            .iter()
            .map(|variable| (text(variable, "name").to_owned(), self.value(variable)))
            .collect();
        variables.insert("JOB_COMPLETION_INDEX".to_owned(), index.to_string());
        let expand = |text: &str| {
            variables.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("$({name})"), value))
        };
        let arguments = list(container, "args").iter().map(|argument| expand(argument.as_str().expect("a text")));
        Command::new(env!("CARGO_BIN_EXE_trueup"))
            .args(arguments.map(|argument| inside(&argument, &mounts)))
            .env_clear()
            .envs(variables.iter().map(|(name, value)| (name, inside(value, &mounts))))
            .env("KUBERNETES_SERVICE_HOST", "10.0.0.1")
            // A user without an entry of its own has this one, and may not write to it.
            .env("HOME", self.path("root"))
            .current_dir(self.path("root"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts")
    }

    /// The value of a variable, which a secret may have.
    fn value(&self, variable: &Value) -> String {
        let secret = at(variable, "valueFrom.secretKeyRef");
        if secret.is_null() {
            return self.here(text(variable, "value"));
        }
        let path = self.path(&format!("secret-{}/{}", text(secret, "name"), text(secret, "key")));
        fs::read_to_string(path).expect("the secret")
    }

    /// Runs all pods of a job at the same time, and checks what they wrote.
    fn run(&self, job: &Value) -> Vec<Ended> {
        let spec = at(job, "spec.jobTemplate.spec");
        let completions = at(spec, "completions").as_u64().unwrap_or(1);
        fs::create_dir_all(self.path("root")).expect("a directory");
        let kept = self.kept(at(spec, "template.spec"));
        let started: Vec<Child> =
            (0..u32::try_from(completions).expect("a number")).map(|index| self.start(job, index)).collect();
        let ended = started.into_iter().map(|pod| {
            let output = pod.wait_with_output().expect("the pod ends");
            let log = [output.stdout, output.stderr].map(|log| String::from_utf8(log).expect("UTF-8")).concat();
            Ended { code: output.status.code().expect("an exit code"), log }
        });
        let ended: Vec<Ended> = ended.collect();
        assert_eq!(self.kept(at(spec, "template.spec")), kept, "only writable volumes are written to");
        for pod in &ended {
            assert!(!pod.log.contains(TOKEN) && !pod.log.contains("token-of-other"), "a log has no token");
        }
        ended
    }

    /// Every file that a pod may not change.
    fn kept(&self, pod: &Value) -> BTreeMap<PathBuf, Vec<u8>> {
        let mounts = list(&list(pod, "containers")[0], "volumeMounts").iter();
        let read_only = mounts.filter(|mount| at(mount, "readOnly").as_bool() == Some(true));
        let volumes = read_only.map(|mount| volume(pod, text(mount, "name"))).chain(["root".to_owned()]);
        let entries = volumes.flat_map(|volume| walkdir::WalkDir::new(self.path(&volume))).filter_map(Result::ok);
        let files = entries.filter(|entry| entry.path().is_file());
        files.map(|entry| (entry.path().to_owned(), fs::read(entry.path()).expect("a file"))).collect()
    }
}

/// The directory of a volume of a pod: by its claim, secret or configuration, so that two jobs share what they would.
fn volume(pod: &Value, name: &str) -> String {
    let volume = list(pod, "volumes").iter().find(|volume| text(volume, "name") == name);
    let volume = volume.unwrap_or_else(|| panic!("`{name}` is not a volume"));
    for (kind, key) in [("persistentVolumeClaim", "claimName"), ("secret", "secretName"), ("configMap", "name")] {
        let claim = text(at(volume, kind), key);
        if !claim.is_empty() {
            return format!("{}-{claim}", if kind == "persistentVolumeClaim" { "claim" } else { kind });
        }
    }
    assert!(!at(volume, "emptyDir").is_null(), "`{name}` is of a kind that this test does not know");
    format!("empty-{name}")
}

/// The text with the paths of the volumes as they are here.
fn inside(text: &str, mounts: &[(&str, PathBuf)]) -> String {
    let (flag, path) = text.rfind('=').map_or(("", text), |at| text.split_at(at + 1));
    let place = mounts
        .iter()
        .find(|(mounted, _)| path.strip_prefix(mounted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
    match place {
        Some((mounted, directory)) => format!("{flag}{}{}", directory.display(), &path[mounted.len()..]),
        None => text.to_owned(),
    }
}

/// What a job does with the exit code of a pod: the first rule that fits.
fn action(job: &Value, code: i32) -> String {
    let spec = at(job, "spec.jobTemplate.spec");
    let rules = list(spec, "podFailurePolicy.rules").iter();
    let fits = |rule: &&Value| {
        let values = list(rule, "onExitCodes.values").iter();
        let is_in = values.clone().any(|value| value.as_i64() == Some(i64::from(code)));
        match text(at(rule, "onExitCodes"), "operator") {
            "In" => is_in,
            "NotIn" => !is_in,
            _ => false,
        }
    };
    rules.clone().find(fits).map_or("count".to_owned(), |rule| text(rule, "action").to_owned())
}

/// Two tenants in eight stacks, applied.
fn tenants(cluster: &Cluster) {
    for (tenant, token, url) in [("acme", TOKEN, URLS[0]), ("other", "token-of-other", URLS[1])] {
        cluster.mount("secret-trueup-read", tenant, &format!("{token}\n"));
        for number in 0..4 {
            let name = format!("{tenant}-{number}");
            let variable = format!("TRUEUP_TOKEN_{}", tenant.to_uppercase());
            cluster.write(
                &format!("claim-tenants/{name}/trueup.yaml"),
                &format!("stack: {name}\nbase_url: {url}\ntoken_variable: {variable}\nnamespaces: [{name}]\n"),
            );
            cluster.write(&format!("claim-tenants/{name}/cart.yaml"), &definition(&format!("{name}/cart"), 80));
            let applied = Command::new(env!("CARGO_BIN_EXE_trueup"))
                .args(["apply", "--yes", "--quiet"])
                .arg(cluster.path(&format!("claim-tenants/{name}")))
                .env_clear()
                .env("XDG_STATE_HOME", cluster.path("state"))
                .env(&variable, token)
                .env(format!("{variable}_URL"), cluster.here(url))
                .output()
                .expect("the program starts");
            assert!(applied.status.success(), "{name}: {}", String::from_utf8_lossy(&applied.stderr));
        }
    }
}

#[test]
fn the_fleet_of_the_example_checks_every_tenant_and_reports_it_as_one() {
    let acme = Service::start();
    let other = Service::with(|options| options.token = trueup::sandbox::RequiredToken::new("token-of-other"))
        .with_token("token-of-other");
    let cluster = Cluster::new(&[&acme, &other]);
    tenants(&cluster);
    let jobs = documents("fleet.yaml");
    let job = |name: &str| {
        let found = jobs.iter().find(|job| at(job, "metadata.name").as_str() == Some(name));
        found.unwrap_or_else(|| panic!("there is no job `{name}`"))
    };
    let (check, report) = (job("trueup-fleet"), job("trueup-report"));

    let pods = cluster.run(check);
    assert_eq!(pods.len(), 5);
    assert!(pods.iter().all(|pod| pod.code == 0 && pod.log.contains("8 stacks: ")), "{pods:?}");
    let reports = cluster.run(report);
    assert_eq!((reports[0].code, reports.len()), (0, 1), "{reports:?}");
    assert!(reports[0].log.contains("8 stacks: 8 in sync\nfrom 5 files, checked 2"), "{reports:?}");
    let metrics = || fs::read_to_string(cluster.path("claim-trueup-report/trueup.prom")).expect("metrics");
    assert_eq!(metrics().matches("trueup_drift_verdict{").count(), 8 * 5);
    assert!(metrics().contains("trueup_drift_report_problems 0\n"));

    // Somebody changes a tenant: the pod of that tenant fails its index, and the others do not.
    other.change("other-1/cart", |object| object["spec"]["port"] = json!(9));
    let codes: Vec<i32> = cluster.run(check).iter().map(|pod| pod.code).collect();
    assert_eq!(codes.iter().filter(|code| **code != 0).collect::<Vec<_>>(), [&3], "{codes:?}");
    assert_eq!(action(check, 3), "FailIndex");
    let reports = cluster.run(report);
    assert_eq!(reports[0].code, 3, "{reports:?}");
    assert_eq!(action(report, 3), "FailJob");
    assert!(reports[0].log.contains("DRIFT  1 of 1 endpoint"), "{reports:?}");
    // The drift state is kept from one hour to the next.
    assert!(metrics().contains("trueup_drift_first_seen_timestamp_seconds{"));
    let kept = fs::read_dir(cluster.path("claim-trueup-state/drift")).expect("drift states");
    let names = kept.map(|file| file.expect("a file").file_name().display().to_string());
    assert_eq!(names.filter(|name| !name.starts_with('.')).count(), 8);

    // A token that is not there is a tenant that cannot be checked, and hides no other.
    fs::remove_file(cluster.path("secret-trueup-read/acme")).expect("the token");
    let codes: Vec<i32> = cluster.run(check).iter().map(|pod| pod.code).collect();
    assert!(codes.contains(&1) && codes.iter().all(|code| [0, 1, 3].contains(code)), "{codes:?}");
    let reports = cluster.run(report);
    assert!(reports[0].code == 1 && reports[0].log.contains("4 not checked"), "{reports:?}");
    assert!(metrics().contains("trueup_drift_unchecked{directory=\""));

    // A pod that wrote nothing is missed.
    fs::remove_file(cluster.path("claim-trueup-checks/3.json")).expect("the checks of a pod");
    let reports = cluster.run(report);
    assert!(reports[0].log.contains("shard 3/5\nINCOMPLETE  no file contains it"), "{reports:?}");
    assert!(metrics().contains("trueup_drift_report_problems 1\n"));
    for (job, expected) in [
        (check, [(0, "count"), (1, "FailIndex"), (2, "FailIndex"), (4, "FailIndex"), (5, "count"), (64, "FailJob")]),
        (report, [(0, "count"), (1, "FailJob"), (2, "FailJob"), (4, "FailJob"), (5, "FailJob"), (137, "count")]),
    ] {
        for (code, what) in expected {
            assert_eq!(action(job, code), what, "{code}");
        }
    }
}

#[test]
fn the_check_of_one_stack_reads_its_definitions_as_the_cluster_mounts_them() {
    let service = Service::start();
    let cluster = Cluster::new(&[&service]);
    cluster.mount("configMap-endpoints", "trueup.yaml", "stack: shop\nnamespaces: [shop]\n");
    cluster.mount("configMap-endpoints", "cart.yaml", &definition("shop/cart", 80));
    cluster.write("secret-trueup-read/token", TOKEN);
    let job = &documents("cronjob.yaml")[0];
    let code = || cluster.run(job).remove(0);
    let ended = code();
    assert!(ended.code == 2 && ended.log.contains("PENDING  1 of 1"), "{ended:?}");
    service.create(&json!({
        "metadata": {"name": "cart", "namespace": "shop"}, "spec": {"ip": "10.0.0.7", "port": 9}
    }));
    let ended = code();
    assert!(ended.code == 3 && ended.log.contains("seen in 1 check"), "{ended:?}");
    let ended = code();
    assert!(ended.code == 3 && ended.log.contains("seen in 2 checks"), "{ended:?}");
}
