//! A stack of many definitions on disk and the service as a process beside it.

use std::error::Error;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The token of the service that the bench starts; it guards nothing but made-up data.
pub const TOKEN: &str = "bench-token";

/// Which part of the definitions is written otherwise than it was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edited {
    OnePercent,
    All,
}

/// A stack in a directory of its own.
pub struct Stack {
    pub directory: PathBuf,
    pub count: usize,
    pub namespaces: usize,
}

impl Stack {
    /// Writes the definitions: `count` files spread over `namespaces`.
    pub fn write(directory: &Path, count: usize, namespaces: usize) -> Result<Self, Box<dyn Error>> {
        let stack = Self { directory: directory.to_owned(), count, namespaces };
        std::fs::create_dir_all(directory)?;
        let names: Vec<String> = (0..namespaces).map(|at| format!("  - {}\n", namespace(at))).collect();
        std::fs::write(
            directory.join("trueup.yaml"),
            format!("stack: bench\nallow_empty: true\nnamespaces:\n{}", names.concat()),
        )?;
        for at in 0..namespaces {
            std::fs::create_dir_all(directory.join(namespace(at)))?;
        }
        stack.edit(Edited::All, 8443)?;
        Ok(stack)
    }

    /// Writes the chosen definitions with another port.
    pub fn edit(&self, edited: Edited, port: u16) -> Result<(), Box<dyn Error>> {
        for at in 0..self.count {
            if edited == Edited::All || (edited == Edited::OnePercent && at % 100 == 0) {
                std::fs::write(self.file(at), definition(at, self.namespaces, port))?;
            }
        }
        Ok(())
    }

    /// Writes the first definitions with another port.
    pub fn edit_first(&self, count: usize, port: u16) -> Result<(), Box<dyn Error>> {
        (0..count).try_for_each(|at| Ok(std::fs::write(self.file(at), definition(at, self.namespaces, port))?))
    }

    /// Writes every definition with a port of its own.
    pub fn edit_each(&self, port: impl Fn(usize) -> u16) -> Result<(), Box<dyn Error>> {
        (0..self.count).try_for_each(|at| Ok(std::fs::write(self.file(at), definition(at, self.namespaces, port(at)))?))
    }

    /// Writes the same definitions as JSON into another directory.
    pub fn as_json(&self, directory: &Path) -> Result<Self, Box<dyn Error>> {
        let other = Self { directory: directory.to_owned(), count: self.count, namespaces: self.namespaces };
        for at in 0..self.count {
            let file = other.file(at).with_extension("json");
            let endpoint: serde_json::Value = serde_yaml::from_str(&std::fs::read_to_string(self.file(at))?)?;
            std::fs::create_dir_all(file.parent().ok_or("a file has a directory")?)?;
            std::fs::write(file, endpoint.to_string())?;
        }
        std::fs::copy(self.directory.join("trueup.yaml"), directory.join("trueup.yaml"))?;
        Ok(other)
    }

    /// Takes all definitions away.
    pub fn empty(&self) -> Result<(), Box<dyn Error>> {
        for at in 0..self.count {
            std::fs::remove_file(self.file(at))?;
        }
        Ok(())
    }

    fn file(&self, at: usize) -> PathBuf {
        self.directory.join(namespace(at % self.namespaces)).join(format!("endpoint-{at:06}.yaml"))
    }
}

/// The name of a namespace.
pub fn namespace(at: usize) -> String {
    format!("team-{at:03}")
}

/// The text of one definition.
pub fn definition(at: usize, namespaces: usize, port: u16) -> String {
    let namespace = namespace(at % namespaces);
    format!(
        "# endpoint {at} of team {namespace}
metadata:
  name: endpoint-{at:06}
  namespace: {namespace}
  description: \"endpoint {at}, as its team wants it\"
  labels:
    app: app-{}
    tier: web
    zone: z{}
  annotations:
    owner: team-{}
spec:
  dns_name: host-{at}.example.net
  protocol: TCP
  port: {port}
  health_check_port: 9080
  snat_pool:
    snat_pool:
      prefixes:
        - 10.{}.0.0/16
        - 192.0.2.0/24
  where:
    site:
      ref:
        - name: ce{:02}
          namespace: system
      network_type: VIRTUAL_NETWORK_SITE_LOCAL
",
        at % 97,
        at % 5,
        at % 13,
        at % 200,
        at % 40,
    )
}

/// The service in a process of its own; ends with this value.
pub struct Service {
    child: Child,
    pub base_url: String,
}

impl Service {
    /// Starts it on a file and waits for its first line.
    pub fn start(program: &Path, data: &Path) -> Result<Self, Box<dyn Error>> {
        Self::start_with(program, data, &[])
    }

    /// Starts it with more options.
    pub fn start_with(program: &Path, data: &Path, options: &[&OsStr]) -> Result<Self, Box<dyn Error>> {
        let mut child = Command::new(program)
            .args(["sandbox", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(options)
            .env("TRUEUP_SANDBOX_TOKEN", TOKEN)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()?;
        let output = child.stdout.take().ok_or("the service has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let base_url =
            line.split_whitespace().find(|word| word.starts_with("http://")).ok_or("no address is printed")?;
        let base_url = base_url.trim_end_matches('/').to_owned();
        Ok(Self { child, base_url })
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        self.base_url.trim_start_matches("http://")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
