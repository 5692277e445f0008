//! Work that consists of work, as a tree: each line has a sign and a word for how far it is, a bar
//! where steps are counted, and a note. The signs alone tell enough for a glance, the words for a log.

use unicode_width::UnicodeWidthStr as _;

use super::{Charset, Palette, Role, safe};

/// Columns of a bar.
const BAR: u64 = 10;

/// How far a piece of work is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkState {
    /// Nothing is known.
    Unknown,
    /// Not begun.
    Waiting,
    /// Begun.
    Running,
    /// Ended well.
    Done,
    /// Ended badly.
    Failed,
    /// Not needed.
    Skipped,
    /// A word that the service made up.
    Other(String),
}

/// A piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkNode {
    /// Its name.
    pub label: String,
    /// How far it is; nothing for a heading.
    pub state: Option<WorkState>,
    /// Steps done of steps to do, where they are counted.
    pub steps: Option<(u64, u64)>,
    /// What else is to be said.
    pub note: String,
    /// What it consists of.
    pub parts: Vec<WorkNode>,
}

impl WorkNode {
    /// A piece of work without parts, steps and note.
    pub fn new(label: impl Into<String>, state: Option<WorkState>) -> Self {
        Self { label: label.into(), state, steps: None, note: String::new(), parts: Vec::new() }
    }
}

impl WorkState {
    fn word(&self) -> String {
        match self {
            WorkState::Unknown => "unknown".to_owned(),
            WorkState::Waiting => "waiting".to_owned(),
            WorkState::Running => "running".to_owned(),
            WorkState::Done => "done".to_owned(),
            WorkState::Failed => "failed".to_owned(),
            WorkState::Skipped => "skipped".to_owned(),
            WorkState::Other(word) => safe::line(word).into_owned(),
        }
    }

    fn sign(&self, charset: Charset) -> &'static str {
        let (unicode, ascii) = match self {
            WorkState::Unknown | WorkState::Other(_) => ("?", "?"),
            WorkState::Waiting => ("·", "."),
            WorkState::Running => ("▶", ">"),
            WorkState::Done => ("✔", "+"),
            WorkState::Failed => ("✘", "!"),
            WorkState::Skipped => ("–", "-"),
        };
        match charset {
            Charset::Unicode => unicode,
            Charset::Ascii => ascii,
        }
    }

    fn role(&self) -> Option<Role> {
        match self {
            WorkState::Done => Some(Role::Right),
            WorkState::Failed => Some(Role::Wrong),
            WorkState::Running => Some(Role::Careful),
            WorkState::Waiting | WorkState::Skipped => Some(Role::Quiet),
            WorkState::Unknown | WorkState::Other(_) => None,
        }
    }
}

/// One line before it is aligned.
struct TreeLine<'a> {
    left: String,
    node: &'a WorkNode,
}

/// The tree, a line for each piece of work.
#[must_use]
pub fn draw(root: &WorkNode, palette: Palette, charset: Charset) -> String {
    let mut lines = Vec::new();
    grow(root, "", "", charset, &mut lines);
    let left = lines.iter().map(|line| line.left.width()).max().unwrap_or_default();
    let words = lines.iter().filter_map(|line| line.node.state.as_ref()).map(|state| state.word().width());
    let word = words.max().unwrap_or_default();
    let mut text = String::new();
    for line in &lines {
        let space = left - line.left.width();
        let mut whole = format!("{}{:space$}", line.left, "");
        if let Some(state) = &line.node.state {
            let (said, sign) = (state.word(), state.sign(charset));
            let space = word - said.width();
            let message = format!("{sign} {said}{:space$}", "");
            match state.role() {
                Some(role) => whole.push_str(&format!("  {}", palette.paint(role, message))),
                None => whole.push_str(&format!("  {message}")),
            }
        }
        let steps = steps(line.node.steps, charset);
        let note = safe::line(&line.node.note);
        for more in [steps.as_str(), note.as_ref()].into_iter().filter(|more| !more.is_empty()) {
            whole.push_str("  ");
            whole.push_str(more);
        }
        text.push_str(whole.trim_end());
        text.push('\n');
    }
    text
}

fn grow<'a>(node: &'a WorkNode, stem: &str, branch: &str, charset: Charset, into: &mut Vec<TreeLine<'a>>) {
    into.push(TreeLine { left: format!("{stem}{branch}{}", safe::line(&node.label)), node });
    let (between, last, through) = match charset {
        Charset::Unicode => ("├─ ", "└─ ", "│  "),
        Charset::Ascii => ("|- ", "`- ", "|  "),
    };
    let below = match branch {
        "" => stem.to_owned(),
        branch if branch == last => format!("{stem}   "),
        _ => format!("{stem}{through}"),
    };
    for (at, part) in node.parts.iter().enumerate() {
        let branch = if at + 1 == node.parts.len() { last } else { between };
        grow(part, &below, branch, charset, into);
    }
}

fn steps(steps: Option<(u64, u64)>, charset: Charset) -> String {
    let Some((done, all)) = steps.filter(|(_, all)| *all > 0) else { return String::new() };
    let full = usize::try_from(u128::from(done.min(all)) * u128::from(BAR) / u128::from(all)).unwrap_or_default();
    let (filled, empty) = match charset {
        Charset::Unicode => ("█", "░"),
        Charset::Ascii => ("#", "-"),
    };
    let rest = usize::try_from(BAR).unwrap_or_default() - full;
    format!("[{}{}] {done}/{all}", filled.repeat(full), empty.repeat(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> WorkNode {
        let mut download = WorkNode::new("image download", Some(WorkState::Done));
        download.steps = Some((4, 4));
        let mut nodes = WorkNode::new("nodes", Some(WorkState::Running));
        let mut one = WorkNode::new("master-0", Some(WorkState::Running));
        one.steps = Some((1, 3));
        one.parts =
            vec![WorkNode::new("network", Some(WorkState::Done)), WorkNode::new("agents", Some(WorkState::Waiting))];
        let mut other = WorkNode::new("worker-0", Some(WorkState::Failed));
        other.note = "not enough disk space\u{1b}[0m".to_owned();
        nodes.parts = vec![one, other];
        let mut root = WorkNode::new("ce-lyon", Some(WorkState::Running));
        root.note = "to crt-20260201-0179".to_owned();
        root.parts = vec![download, nodes, WorkNode::new("validation", Some(WorkState::Other("REWINDING".to_owned())))];
        root
    }

    #[test]
    fn a_tree_shows_states_steps_and_notes() {
        insta::assert_snapshot!(draw(&sample(), Palette::Plain, Charset::Unicode), @r"
        ce-lyon            ▶ running    to crt-20260201-0179
        ├─ image download  ✔ done       [██████████] 4/4
        ├─ nodes           ▶ running
        │  ├─ master-0     ▶ running    [███░░░░░░░] 1/3
        │  │  ├─ network   ✔ done
        │  │  └─ agents    · waiting
        │  └─ worker-0     ✘ failed     not enough disk space\u{1b}[0m
        └─ validation      ? REWINDING
        ");
    }

    #[test]
    fn ascii_loses_no_word() {
        insta::assert_snapshot!(draw(&sample(), Palette::Plain, Charset::Ascii), @r"
        ce-lyon            > running    to crt-20260201-0179
        |- image download  + done       [##########] 4/4
        |- nodes           > running
        |  |- master-0     > running    [###-------] 1/3
        |  |  |- network   + done
        |  |  `- agents    . waiting
        |  `- worker-0     ! failed     not enough disk space\u{1b}[0m
        `- validation      ? REWINDING
        ");
    }
}
