//! Every command that the program proposes works as it is printed: a stage notes what its commands propose, and runs it
//! in a shell when the test ends. What changes the service runs then, too; the test looks no more.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError, mpsc};
use std::time::Duration;

use regex::Regex;
use serde_json::Value;

/// Times that a command of one shape is run by all tests together.
const RUNS_OF_A_SHAPE: usize = 2;
/// Has every proposed command run, whatever its shape: `TRUEUP_HINTS_ALL=1`.
static RUNS_ALL: LazyLock<bool> = LazyLock::new(|| std::env::var_os("TRUEUP_HINTS_ALL").is_some());
/// A proposed command that meets the faults of a test is not waited for longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// The shapes that were run, and how often.
static RUN: LazyLock<Mutex<BTreeMap<String, usize>>> = LazyLock::new(Mutex::default);

/// The commands that the commands of a stage proposed.
#[derive(Debug, Default)]
pub struct Hints {
    proposed: Mutex<Vec<Hint>>,
}

#[derive(Debug)]
struct Hint {
    /// The command that proposed it.
    by: String,
    command: String,
    /// The files that it names were there then.
    had_its_files: bool,
}

impl Hints {
    /// Notes what a command proposed.
    pub fn note(&self, by: &str, output: &Output, directory: &Path) {
        // Pages of help, whose examples name files that are not there.
        const OTHERS: [&str; 6] = ["--help", "-h ", "help", "schema", "man", "completions"];
        if by.trim().is_empty() || OTHERS.iter().any(|word| by.contains(word)) {
            return;
        }
        for text in [&output.stdout, &output.stderr] {
            let commands = commands(&proposals(&String::from_utf8_lossy(text)));
            let hints = commands.into_iter().map(|command| {
                let mut paths =
                    command.split(' ').map(|word| word.trim_matches('\'')).filter(|word| word.contains(['/', '.']));
                let had_its_files = paths.all(|path| directory.join(path).exists());
                Hint { by: by.to_owned(), command, had_its_files }
            });
            self.proposed.lock().unwrap_or_else(PoisonError::into_inner).extend(hints);
        }
    }

    /// Runs each that was not run often enough; `shell` is a shell in the stage's directory and environment.
    pub fn run(&self, shell: impl Fn() -> Command) {
        let proposed = std::mem::take(&mut *self.proposed.lock().unwrap_or_else(PoisonError::into_inner));
        for Hint { by, command, had_its_files } in proposed {
            if !is_new(&command) {
                continue;
            }
            let (code, errors) = end(shell().arg(&command));
            // What the test did since may have taken away what the command names, and a stage may have no service or
            // no token; a doctor ends so if it finds something.
            let gone = had_its_files && errors.contains("No such file");
            let moved = [
                "matches nothing",
                "is defined twice",
                "there is no run",
                "deletes what the stack owns there",
                "there is no API token",
                "no service is named",
                // A store of a test that answers nothing else.
                "the answer is not a `ListBucketResult`",
                // The definitions are wrong.
                "--> ",
            ]
            .iter()
            .any(|reason| errors.contains(reason));
            let found = ["trueup doctor", "trueup validate"].iter().any(|check| command.starts_with(check));
            let fine = matches!(code, Some(1 | 64)) && (gone || moved || found);
            // A guard may refuse it. What names a recorded run or plan finds the settings that it was made with.
            let is_of_record = ["history", "show"].iter().any(|command| by.starts_with(command));
            let is_astray = is_of_record && errors.contains("the plan is of ");
            assert!(
                fine || !(is_astray || matches!(code, Some(1 | 64 | 70 | 127))),
                "`trueup {by}` proposes a command that does not work:\n{command}\n{errors}"
            );
        }
    }
}

/// What a report proposes to a person, as it is read: of a document, the texts that are there to be copied; of a page, its
/// code; of the remarks of a runner, their text.
fn proposals(text: &str) -> String {
    static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new("<code>([^<]*)</code>").expect("a pattern"));
    let entities = |text: &str| {
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
            .iter()
            .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    };
    if text.starts_with("<!doctype") {
        // Its footer names the command that made it.
        let text = text.split("<footer>").next().unwrap_or_default();
        return CODE.captures_iter(text).map(|code| entities(&code[1]) + "\n").collect();
    }
    if text.starts_with("<?xml") {
        return entities(text);
    }
    if text.starts_with("::") {
        let decoded = [("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")];
        return decoded.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    }
    if !text.starts_with('{') {
        // The form of a command is none.
        return text.split_inclusive('\n').filter(|line| !line.trim_start().starts_with("Usage: ")).collect();
    }
    let mut found = String::new();
    let documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    documents.map_while(Result::ok).for_each(|document| copied(&document, false, &mut found));
    found
}

/// The texts of a document that are there to be copied, a line each.
fn copied(value: &Value, is_copied: bool, found: &mut String) {
    const COPIED: [&str; 4] = ["hints", "fix", "commands", "transfer"];
    match value {
        Value::String(text) if is_copied => found.extend([text, "\n"]),
        Value::Array(items) => items.iter().for_each(|item| copied(item, is_copied, found)),
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| copied(value, is_copied || COPIED.contains(&key.as_str()), found));
        }
        _ => {}
    }
}

/// The commands in a text: to the end of the quotes, of the column or of the line.
fn commands(text: &str) -> Vec<String> {
    static PROPOSAL: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?m)(?:(`)|^|[ (:])(trueup [a-z][a-z-]*(?: [^`\n]*?)??)(?:`|  |$)").expect("a pattern")
    });
    // A word that somebody has to replace.
    static BLANK: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?:^|[ =/])[A-Z]{2,}(?:[ =/,]|$)").expect("a pattern"));
    let found = PROPOSAL.captures_iter(text).map(|found| {
        let command = found[2].trim_end();
        // The end of a sentence, and not the working directory.
        let ended = command.trim_end_matches([')', '.', ',', ';']);
        if ended.ends_with(' ') { command.to_owned() } else { ended.to_owned() }
    });
    found.filter(|command| !BLANK.is_match(command) && !command.contains('…') && !is_prose(command)).collect()
}

/// `trueup cannot …` is a sentence.
fn is_prose(command: &str) -> bool {
    const COMMANDS: [&str; 28] = [
        "adopt",
        "apply",
        "call",
        "context",
        "ddos",
        "doctor",
        "drift",
        "events",
        "explain",
        "fmt",
        "get",
        "history",
        "import",
        "init",
        "kinds",
        "move",
        "plan",
        "pull",
        "rehearse",
        "rollback",
        "sandbox",
        "show",
        "snapshot",
        "upgrades",
        "validate",
        "schema",
        "man",
        "completions",
    ];
    let word = command.split(' ').nth(1).unwrap_or_default();
    !COMMANDS.contains(&word)
}

/// Whether a command of this shape may run once more.
fn is_new(command: &str) -> bool {
    static VALUES: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"[0-9a-f]{16,}|\d{4}-\d\d-\d\dT[\w-]+|\d+|/\S+").expect("a pattern"));
    let shape = VALUES.replace_all(command, "_").into_owned();
    let mut run = RUN.lock().unwrap_or_else(PoisonError::into_inner);
    let times = run.entry(shape).or_default();
    *times += 1;
    *RUNS_ALL || *times <= RUNS_OF_A_SHAPE
}

/// How a command ended and what it wrote to stderr; nothing if it did not end in time.
fn end(command: &mut Command) -> (Option<i32>, String) {
    let errors = tempfile::tempfile().expect("a temporary file");
    let stderr = errors.try_clone().expect("a handle");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr).spawn().expect("a shell");
    let id = child.id().to_string();
    let (ended, end) = mpsc::channel();
    let waiting = std::thread::spawn(move || ended.send(child.wait().expect("a child").code()));
    let code = end.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        let _ = Command::new("kill").arg(&id).status();
        None
    });
    let _ = waiting.join();
    if let Ok(path) = std::env::var("TRUEUP_HINTS") {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let _ = log.and_then(|mut log| writeln!(log, "{code:?} {:?}", command.get_args().last()));
    }
    (code, read(errors))
}

fn read(mut file: std::fs::File) -> String {
    use std::io::{Read as _, Seek as _};
    let mut text = String::new();
    let _ = file.rewind().and_then(|()| file.read_to_string(&mut text));
    text
}

#[test]
fn a_proposed_command_is_found_and_prose_is_not() {
    let text = "restore with:  trueup apply 'a b'      accept the live values with:  trueup pull --drift 'a b'\n\
                resume with `trueup apply --resume 2026-x --config a/b`, this trueup cannot read it\n\
                (see trueup show last)\nNext: trueup plan --base REF\ntrueup plan .\n";
    let found = [
        "trueup apply 'a b'",
        "trueup pull --drift 'a b'",
        "trueup apply --resume 2026-x --config a/b",
        "trueup show last",
        "trueup plan .",
    ];
    assert_eq!(commands(text), found);
}
