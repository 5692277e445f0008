//! The output of a command: the answer on stdout, everything else on stderr. A reader that closes stdout
//! ends the writing quietly, and the command continues. Any other failure to write the answer is an error
//! at the end of the command, because an incomplete answer must not pass for a complete one. With `--format json` every
//! ending is one document on standard output, with `--format ndjson` the last line is one.

pub mod activity;
pub mod progress;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::sync::{Arc, Mutex};

use indicatif::{MultiProgress, ProgressDrawTarget};

use crate::cli::args::{Color, GlobalArgs, ReportFileArgs, WrittenReport};
use crate::cli::prelude::*;
use crate::cli::{CommandError, CommandResult as _, ExitStatus, ProcessEnvironment, Result, file};
use crate::file::FileMode;
use crate::model::share::locked;
use crate::report::{self, Charset, Format, LineSource, Palette, Report, Role};

/// The two streams of a command.
#[derive(Debug, Clone)]
pub struct Output {
    /// How an answer is rendered.
    pub answers: TextView,
    /// How a message is rendered.
    pub messages: TextView,
    quiet: bool,
    /// The lines below the messages, on a terminal.
    pub bars: MultiProgress,
    /// Whether temporary lines are shown below the messages: on a terminal.
    pub is_live: bool,
    /// What the call promises on standard output.
    pub promised: Option<Promise>,
    /// The stack that the messages are about, if the command is about several.
    stack: Option<StackOutput>,
    progress: Arc<Mutex<CommandProgress>>,
}

/// The stack of the messages of a command about several.
#[derive(Debug, Clone)]
struct StackOutput {
    directory: String,
    /// The directory, with the environment if the call is about several; what is unsafe in it is escaped.
    name: String,
}

/// What a command did so far.
#[derive(Debug, Default)]
struct CommandProgress {
    /// Why the answer is incomplete.
    failed: Option<CommandError>,
    /// What was changed on the service, if anything.
    changed: Option<String>,
    /// Whether an answer was written, or begun.
    answered: bool,
    /// The files for the document of the run, which is not written yet.
    files: Vec<(PathBuf, FileMode)>,
    /// Whether a run watches for interrupts itself.
    has_run: bool,
}

/// The result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum WriteStatus {
    /// Everything was written.
    Whole,
    /// The reader closed the stream.
    Closed,
}

/// Writes a piece of the answer and flushes it.
///
/// # Errors
/// Those of [`write_with`].
pub fn write(piece: &str) -> Result<WriteStatus> {
    write_with(|out| out.write_all(piece.as_bytes()))
}

/// Writes a piece of the answer in parts, and flushes it.
///
/// # Errors
/// A failed write, such as on a full disk; a reader that closed the stream is not an error.
pub fn write_with(piece: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<WriteStatus> {
    let mut stdout = io::stdout().lock();
    match piece(&mut stdout).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(WriteStatus::Whole),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(WriteStatus::Closed),
        Err(error) => Err(error).context("cannot write the answer").with_status(ExitStatus::Failed),
    }
}

impl Output {
    /// The streams of this process, coloured as asked for.
    pub fn new(global: &GlobalArgs, environment: &ProcessEnvironment) -> Self {
        // A Windows console shows colours once they are enabled; other terminals on Windows set TERM.
        let is_asked = anstyle_query::windows::enable_ansi_colors() != Some(false);
        let plain = match environment.variable("TERM") {
            Some(terminal) => terminal == "dumb",
            None => !is_asked,
        } || environment.variable("NO_COLOR").is_some();
        let palette = |terminal: bool| match global.color {
            Color::Always => Palette::Coloured,
            Color::Auto if terminal && !plain => Palette::Coloured,
            Color::Auto | Color::Never => Palette::Plain,
        };
        let view = |is_terminal| TextView {
            palette: palette(is_terminal),
            width: environment.width,
            charset: Charset::of_locale(|name| environment.variable(name)),
            is_terminal,
            ..TextView::default()
        };
        let is_live = environment.stderr_is_terminal && !global.quiet && !global.verbose;
        let target = if is_live { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Self {
            bars: MultiProgress::with_draw_target(target),
            is_live,
            answers: view(environment.stdout_is_terminal),
            messages: view(environment.stderr_is_terminal),
            quiet: global.quiet,
            promised: None,
            stack: None,
            progress: Arc::default(),
        }
    }

    /// The same streams, for the messages of one of several stacks: each begins with its name.
    #[must_use]
    pub fn of_stack(&self, directory: String, name: String) -> Self {
        let name = safe::line(&name).into_owned();
        Self { stack: Some(StackOutput { directory, name }), ..self.clone() }
    }

    /// The stack that a line for programs is about, as far as it is known.
    pub fn line_source(&self, stack: Option<String>, environment: Option<String>) -> LineSource {
        LineSource { directory: self.stack.as_ref().map(|stack| stack.directory.clone()), stack, environment }
    }

    /// The text after the name of the stack, if there are several.
    pub fn named<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.stack {
            Some(stack) if text.starts_with(' ') => format!("{}{text}", stack.name).into(),
            Some(stack) => format!("{}: {text}", stack.name).into(),
            None => text.into(),
        }
    }

    /// Sets what the call promises on standard output.
    pub fn promise(&mut self, promise: Option<Promise>) {
        crate::cli::promise_document(promise.is_some());
        self.promised = promise;
    }

    /// Sets the files for the document of the call; if there is no document, an error goes there.
    pub fn promise_files(&self, files: Vec<(PathBuf, FileMode)>) {
        locked(&self.progress).files = files;
    }

    /// Notes that the document is written, or goes elsewhere: for several stacks, into a directory.
    pub fn leave_files(&self) {
        locked(&self.progress).files.clear();
    }

    /// Notes that a run begins, which watches for interrupts itself.
    pub fn note_run(&self) {
        locked(&self.progress).has_run = true;
    }

    /// Whether a run watches for interrupts itself.
    pub fn has_run(&self) -> bool {
        locked(&self.progress).has_run
    }

    /// Whether a document is promised, or temporary lines have to be removed at the end.
    pub fn is_watched(&self) -> bool {
        self.promised.is_some() || self.is_live || !locked(&self.progress).files.is_empty()
    }

    /// How a report is rendered as a message: in the colours of messages.
    pub fn as_message(&self, view: &TextView) -> TextView {
        TextView { palette: self.messages.palette, ..view.clone() }
    }

    /// Removes the progress lines, before the command ends early.
    pub fn clear_lines(&self) {
        // A terminal that is gone shows no lines.
        let _ = self.bars.clear();
    }

    /// Writes while the progress lines are hidden.
    fn beside_lines<T>(&self, write: impl FnOnce() -> T) -> T {
        // The library panics if it cannot draw them again, as on a terminal that is gone.
        if self.bars.clear().is_err() {
            self.bars.set_draw_target(ProgressDrawTarget::hidden());
        }
        self.bars.suspend(write)
    }

    /// Writes a report as the answer.
    pub fn report(&self, report: &dyn Report, format: Format) {
        self.report_with(report, format, &self.answers);
    }

    /// Writes a report as the answer, rendered like `view`, and piece by piece if [`report::write`] can.
    pub fn report_with(&self, report: &dyn Report, format: Format, view: &TextView) {
        self.note_answer();
        self.answered(self.beside_lines(|| write_with(|out| report::write(report, format, view, out))));
    }

    /// Writes a report where the call wants it: as the answer or in a file, and in files of other formats.
    ///
    /// # Errors
    /// The file of the answer cannot be written.
    pub fn report_to(
        &self,
        report: &dyn Report,
        format: Format,
        files: &ReportFileArgs,
        view: &TextView,
    ) -> Result<()> {
        self.report_beside(report, &files.write, view);
        match &files.output {
            Some(path) => into(path, report, format, view)?,
            None => self.report_with(report, format, view),
        }
        let formats = files.write.iter().map(|written| written.format).chain([format]);
        for words in formats.filter_map(|format| report::left_out(report, format)) {
            self.message(&words);
        }
        Ok(())
    }

    /// Writes a report into the files that the call wants beside its answer. A file that cannot be written is an error
    /// at the end of the command, after the answer.
    pub fn report_beside(&self, report: &dyn Report, files: &[WrittenReport], view: &TextView) {
        self.leave_files();
        for WrittenReport { format, path } in files {
            if let Err(error) = into(path, report, *format, view) {
                self.note_unwritten(error);
            }
        }
    }

    /// Writes the answer. A failure is an error at the command's end: see [`Output::ended`].
    pub fn answer(&self, text: &str) {
        if !text.is_empty() {
            self.note_answer();
        }
        self.answered(self.beside_lines(|| write(text)));
    }

    fn answered(&self, written: Result<WriteStatus>) {
        if let Err(error) = written {
            self.note_unwritten(error);
        }
    }

    /// Notes that an answer is written, or was begun.
    pub fn note_answer(&self) {
        locked(&self.progress).answered = true;
        crate::cli::promise_document(false);
    }

    /// Notes that something which the call asked for could not be written: an error at the end of the command.
    pub fn note_unwritten(&self, error: CommandError) {
        locked(&self.progress).failed.get_or_insert(error);
    }

    /// Notes that the command changed something on the service: `what` is a hint of an error that follows.
    pub fn note_change(&self, what: impl Into<String>) {
        locked(&self.progress).changed = Some(what.into());
    }

    /// The status of a command that would end with `ending` if its answer was written.
    pub fn ended(&self, ending: ExitStatus) -> ExitStatus {
        let (failed, changed, answered) = {
            let mut progress = locked(&self.progress);
            (progress.failed.take(), progress.changed.take(), progress.answered)
        };
        let Some(mut error) = failed else {
            if !answered && ending != ExitStatus::Done {
                self.answer_error(&CommandError::new(ending, anyhow::anyhow!(ending.as_str())));
            }
            return ending;
        };
        let ending = ending.without_answer(changed.is_some());
        error.status = ending;
        let error = error.hint_each(changed);
        self.error(&error);
        let document = report::error::json(&error.report());
        self.answer_in_files(|out| out.write_all(document.as_bytes()));
        ending
    }

    /// Writes one line as the answer, with what is unsafe in it escaped.
    pub fn answer_line(&self, text: &str) {
        self.answer(&format!("{}\n", safe::line(text)));
    }

    /// Writes a line that a person may want, with what is unsafe in it escaped; `--quiet` leaves it out.
    pub fn message(&self, text: &str) {
        self.rendered_message(&safe::line(text));
    }

    /// Writes a line that must be seen, with what is unsafe in it escaped.
    pub fn notice(&self, text: &str) {
        self.rendered_notice(&safe::line(text));
    }

    /// Writes text that is escaped already and that a person may want; `--quiet` leaves it out.
    pub fn rendered_message(&self, text: &str) {
        if !self.quiet {
            self.rendered_notice(text);
        }
    }

    /// Writes text that is escaped already and must be seen, in the columns of the terminal. A line break is added.
    pub fn rendered_notice(&self, text: &str) {
        self.unnamed(&self.named(text));
    }

    /// The text of a warning, with what is unsafe in it escaped.
    pub fn warning(&self, text: &str) -> String {
        format!("{}: {}", self.messages.palette.paint(Role::Careful, "warning"), safe::line(text))
    }

    /// [`Output::rendered_notice`] without the name of the stack, for text that names its files.
    pub fn unnamed(&self, text: &str) {
        let text = safe::log(text.trim_end_matches('\n'));
        // In one write: a run prints a line for each change, and stderr has no buffer.
        let lines = match self.messages.is_terminal {
            true => format!("{}\n", report::fit(&text, self.messages.width)),
            false => format!("{text}\n"),
        };
        self.beside_lines(|| {
            let _ = io::stderr().lock().write_all(lines.as_bytes());
        });
    }

    /// Writes a line of a log for programs to stderr, unchanged and even with `--quiet`.
    pub fn log(&self, line: &str) {
        self.beside_lines(|| {
            let _ = io::stderr().lock().write_all(line.as_bytes());
        });
    }

    /// Reports an error that ends the command, for people and, if a document is promised, as that document.
    pub fn fail(&self, error: &CommandError) {
        self.error(error);
        self.answer_error(error);
    }

    /// Writes the error as the document that the call promises, unless one is already written, and into the files of
    /// the call. A usage error leaves the files for the document of a run alone.
    pub fn answer_error(&self, error: &CommandError) {
        let document = report::error::json(&error.report());
        if error.status == ExitStatus::Usage {
            locked(&self.progress).files.retain(|(_, mode)| *mode != FileMode::Private);
        }
        self.answer_in_files(|out| out.write_all(document.as_bytes()));
        let answered = locked(&self.progress).answered;
        match self.promised {
            None => {}
            Some(Promise::Document) if answered => {}
            Some(Promise::Document) => self.answer(&document),
            Some(Promise::Lines | Promise::RunEvents) => self.answer(&report::document::one_line(&document)),
        }
    }

    /// Writes the end of the call into the files for its document: that of an earlier call would be mistaken for it.
    pub fn answer_in_files(&self, write: impl Fn(&mut dyn Write) -> io::Result<()>) {
        let files = std::mem::take(&mut locked(&self.progress).files);
        for (path, mode) in files {
            if let Err(error) = file::replace(&path, mode, &write) {
                self.note_unwritten(error!(Failed, "cannot write the document of the call: {error}"));
            }
        }
    }

    /// Prints an error with what to do about it.
    pub fn error(&self, error: &CommandError) {
        self.error_as(&error.to_string(), error);
    }

    /// Prints the error with another `text`, such as one that names the stacks which have it.
    pub fn error_as(&self, text: &str, error: &CommandError) {
        let mut message = match error.is_sum {
            true => safe::line(text).into_owned(),
            false => format!("{}: {}", self.messages.palette.paint(Role::Wrong, "error"), safe::line(text)),
        };
        for hint in &error.hints {
            message.push_str(&format!("\n  {}", safe::line(hint)));
        }
        self.rendered_notice(&message);
    }
}

/// What a call promises on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// One document.
    Document,
    /// Lines, the last of which is a document if the command fails.
    Lines,
    /// The events of a run as lines, the last of which is a document.
    RunEvents,
}

/// The output that an invalid command line asks for, if any.
pub fn asked_for(words: &[OsString]) -> Option<Promise> {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let command = words.iter().skip(1).find(|word| !word.starts_with('-'));
    let is_in_file = command.is_some_and(|name| name == "drift" || name == "fleet")
        && words.iter().any(|word| word.starts_with("--output") || word.starts_with("-o"));
    let given = |value: &str| {
        let is_behind = words.windows(2).any(|pair| pair[0] == "--format" && pair[1] == value);
        is_behind || words.contains(&format!("--format={value}").into())
    };
    match is_in_file {
        true => None,
        false if given("json") || words.contains(&"--json".into()) => Some(Promise::Document),
        false => given("ndjson").then_some(Promise::Lines),
    }
}

fn into(path: &Path, report: &dyn Report, format: Format, view: &TextView) -> Result<()> {
    // A file is not a terminal.
    let view = TextView { is_terminal: false, palette: Palette::default(), ..view.clone() };
    file::replace(path, FileMode::Shared, |out| report::write(report, format, &view, out))
}

/// Rejects a report that would replace definitions, and two reports in one file: the later one would replace the other.
///
/// # Errors
/// A file is such an output.
pub fn check_files(output: Option<&Path>, beside: &[WrittenReport]) -> Result<()> {
    let mut seen = BTreeSet::new();
    for path in output.into_iter().chain(beside.iter().map(|written| written.path.as_path())) {
        if !seen.insert(std::path::absolute(path).unwrap_or_else(|_| path.to_owned())) {
            let error = error!(Usage, "two reports are to be written to `{}`", path.display());
            return Err(error.hint("name a file for each"));
        }
        file::check_output(path)?;
    }
    Ok(())
}
