//! A server with the interface of S3, in a process of its own: VersityGW, which `.ci/run` builds. Its buckets are
//! directories, so that a test also sees what is in them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::sandbox::schema::not_tested;

/// The secret of its one user.
pub const SECRET: &str = "bucket-secret-5b1e77d0";
const USER: &str = "bucket-user";

/// A running server with an empty bucket, `state`. It ends when it is dropped.
pub struct BucketServer {
    directory: TempDir,
    program: PathBuf,
    child: Child,
    address: SocketAddr,
}

impl BucketServer {
    /// The server, or nothing where it is not installed, which is said.
    pub fn start() -> Option<Self> {
        let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/versitygw/versitygw");
        let program = std::env::var_os("TRUEUP_S3_SERVER").map_or(usual, PathBuf::from);
        if !program.is_file() {
            not_tested(&format!("no S3 server at {} (`.ci/run` builds it)", program.display()));
            return None;
        }
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(directory.path().join("data/state")).expect("a bucket");
        let address = own_address();
        let child = Self::spawn(&program, directory.path(), address);
        Some(Self { directory, program, child, address })
    }

    fn spawn(program: &Path, directory: &Path, address: SocketAddr) -> Child {
        let log = std::fs::File::options().append(true).create(true).open(directory.join("log")).expect("a log");
        let child = Command::new(program)
            .args(["--port", &address.to_string(), "posix", "data"])
            .current_dir(directory)
            .env_clear()
            .env("ROOT_ACCESS_KEY", USER)
            .env("ROOT_SECRET_KEY", SECRET)
            .stdout(log)
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(begun.elapsed() < Duration::from_mins(2), "the S3 server does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        child
    }

    pub fn kill_and_restart(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
        self.child = Self::spawn(&self.program, self.directory.path(), self.address);
    }

    /// What a runner has in its environment.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        variables(self.address)
    }

    /// The names of the objects below a folder of the state, of any depth.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let root = self.directory.path().join("data/state/team").join(folder);
        let files = walkdir::WalkDir::new(&root).sort_by_file_name().into_iter().filter_map(Result::ok);
        let files = files.filter(|entry| entry.file_type().is_file());
        files.map(|entry| entry.path().strip_prefix(&root).expect("below").display().to_string()).collect()
    }

    /// Requests with this method so far.
    pub fn requests(&self, method: &str) -> usize {
        let log = std::fs::read_to_string(self.directory.path().join("log")).expect("a log");
        log.lines().filter(|line| line.contains(&format!("| {method} |"))).count()
    }
}

/// A free port of an address where no other test listens, which could be given the port before the server has it. It is not
/// listened on to find it: a program that another test starts would have it too.
fn own_address() -> SocketAddr {
    let [a, b, c] = [(); 3].map(|()| fastrand::u8(1..255));
    let ip = if cfg!(target_os = "linux") { Ipv4Addr::new(127, a, b, c) } else { Ipv4Addr::LOCALHOST };
    UdpSocket::bind((ip, 0)).and_then(|free| free.local_addr()).expect("a port")
}

fn variables(address: SocketAddr) -> Vec<(&'static str, String)> {
    vec![
        ("TRUEUP_STATE", "s3://state/team".to_owned()),
        ("AWS_ACCESS_KEY_ID", USER.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ENDPOINT_URL", format!("http://{address}")),
        // Nobody here waits a minute for a runner that was killed.
        ("TRUEUP_STATE_LEASE", "2".to_owned()),
    ]
}

/// A server that answers a test's own way: a status and a body to a request line and its body. It ends with the process.
pub struct OddServer {
    address: SocketAddr,
}

impl OddServer {
    pub fn start(mut answer: impl FnMut(&str, &[u8]) -> (u16, Vec<u8>) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut reader = BufReader::new(&stream);
                let head: Vec<String> =
                    reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
                let Some((line, headers)) = head.split_first() else { continue };
                let length = headers.iter().find_map(|header| {
                    let (name, value) = header.split_once(':')?;
                    name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
                });
                let mut body = vec![0; length.unwrap_or_default()];
                reader.read_exact(&mut body).expect("a body");
                let (status, body) = answer(line, &body);
                let head = format!(
                    "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Type: application/json\r\nETag: \"1\"\r\nLast-Modified: Wed, 01 Jul 2026 00:00:00 GMT\r\n\
                     Content-Length: {}\r\n\r\n",
                    body.len()
                );
                // Who went away needs no answer.
                let _ = (&stream).write_all(&[head.as_bytes(), &body].concat());
            }
        });
        Self { address }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What a runner has in its environment whose bucket it is.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        variables(self.address)
    }
}

impl Drop for BucketServer {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
