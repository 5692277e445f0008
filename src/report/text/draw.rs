//! Renders text: the one place that writes foreign text for a terminal or a log.

use std::borrow::Cow;
use std::io::BufWriter;

use unicode_width::UnicodeWidthChar as _;

use super::{change, columns};
use crate::report::facts::plan::{Command, Item};
use crate::report::prelude::*;

/// Bytes that are written at a time.
const PIECE: usize = 64 * 1024;
/// Columns between two cells of a table.
const GAP: usize = 2;
/// A column is not made narrower than this, as long as there is a wider one.
const NARROW: usize = 6;
/// A column is padded to at most this width: a wider cell, such as an annotation, stays whole and pads no other.
const WIDEST: usize = 200;

/// A line as text without colours, its foreign parts escaped.
pub(in crate::report) fn plain(line: &Line<'_>) -> String {
    TextView::default().plain(line)
}

/// Our own words, with the signs that a terminal may lack.
fn own(words: &'static str, charset: Charset) -> Cow<'static, str> {
    match charset {
        Charset::Ascii if !words.is_ascii() => words.replace('…', "...").replace('·', "-").into(),
        Charset::Unicode | Charset::Ascii => words.into(),
    }
}

impl TextView {
    /// A message as text.
    pub fn message<'a>(&self, message: impl Into<Blocks<'a>>) -> String {
        message.into().0.iter().map(|one| block(one, self)).collect()
    }

    /// A line as text, without colour.
    pub(in crate::report) fn plain(&self, line: &Line<'_>) -> String {
        self.painted(line, Palette::Plain)
    }

    /// A line as text.
    pub(in crate::report) fn line(&self, line: &Line<'_>) -> String {
        self.painted(line, self.palette)
    }

    fn painted(&self, line: &Line<'_>, palette: Palette) -> String {
        let mut text = String::with_capacity(64);
        for part in &line.0 {
            match part {
                Part::Own(words) => text.push_str(&own(words, self.charset)),
                Part::Styled(role, parts) => text.push_str(&palette.paint(*role, self.plain(parts))),
                Part::Made(words) => text.push_str(words),
                Part::Foreign(words) | Part::Code(words) => text.push_str(&safe::line(words)),
                Part::Quoted(words) => text.extend(["`", &safe::line(words), "`"]),
            }
        }
        text
    }
}

/// Writes a report as text, block after block, so that the whole is never in memory.
///
/// # Errors
/// Those of `out`.
pub(in crate::report) fn write(blocks: &Blocks<'_>, view: &TextView, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(PIECE, out);
    blocks.0.iter().try_for_each(|one| out.write_all(block(one, view).as_bytes()))?;
    out.flush()
}

fn block(block: &Block<'_>, view: &TextView) -> String {
    match block {
        Block::Gap => "\n".to_owned(),
        Block::Line(indent, line) => ended(&format!("{:indent$}{}", "", view.line(line))),
        Block::Alarm(one) => alarm(one, view),
        Block::Table(one) => table(one, view),
        Block::Item(Item::Changes(changes)) => match changes.as_slice() {
            [one] => change::change(one, view),
            many => change::folded(many, view),
        },
        Block::Item(Item::Blocked(held)) => change::blocked(held, view),
        Block::Step(change, is_done, result) => {
            let name = change::step(change.action.kind(), &change.key, *is_done, view);
            ended(&(name + &view.line(result))) + &change::values(change, view)
        }
        Block::Wave(number, keys) => {
            let head = format!("  wave {number}  ");
            let keys: Vec<String> = keys.iter().map(|name| view.plain(&line![key(name)])).collect();
            let lines = change::wrapped(&keys, view.width.saturating_sub(head.len()));
            format!("{head}{}\n", lines.join(&format!("\n{:1$}", "", head.len())))
        }
        Block::Commands(all) => commands(all, view),
    }
}

/// A line without blanks at its end.
fn ended(line: &str) -> String {
    format!("{}\n", line.trim_end())
}

/// An alarm: loud if an apply is refused or was allowed.
fn alarm(alarm: &Alarm<'_>, view: &TextView) -> String {
    let (role, word) = alarm.kind.word();
    let begin = match alarm.kind {
        AlarmKind::Refused | AlarmKind::Allowed => line![loud(role, word), "  "],
        AlarmKind::Incomplete | AlarmKind::Undecided => line![styled(role, word), ": "],
    };
    let items: String = alarm.items.iter().map(|item| format!("\n  {}", view.line(item))).collect();
    format!("{}{}{items}\n", view.line(&begin), view.line(&alarm.text))
}

/// Commands with what they are for, below one another.
fn commands(commands: &[Command], view: &TextView) -> String {
    let width = commands.iter().map(|command| command.label.len()).max().unwrap_or_default();
    let line = |command: &Command| {
        let label = format!("{:<width$}", command.label);
        format!("{}  {}\n", view.palette.paint(Role::Quiet, label), safe::line(&command.command))
    };
    commands.iter().map(line).collect()
}

/// How wide each column of a table is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::report) struct Widths {
    columns: Vec<usize>,
    cut: Cut,
}

/// In which rows free text is cut to its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    None,
    /// In rows that then fit into so many columns. Other rows are continued below, where every cell has room.
    Within(usize),
    All,
}

impl Widths {
    /// Widths with which the rows fit into the columns of the terminal, if that is possible. If the output is not a
    /// terminal, every cell is whole.
    pub fn of(table: &Table<'_>, view: &TextView) -> Self {
        let limit = view.limit();
        let fits = |widths: &Self| {
            table.indent + widths.before_the_last() + widths.columns.last().copied().unwrap_or_default() <= limit
        };
        let half = WIDEST.min(limit / 2);
        let is_long = |row: &&Vec<Line<'_>>| {
            let mut cells = row.iter().zip(&table.columns);
            cells.any(|(cell, column)| !column.is_free && columns(&view.plain(cell)) > half)
        };
        // A few long keys do not change the table.
        let is_rare = table.rows.iter().filter(is_long).count() * 2 < table.rows.len();
        let widest = [Some(WIDEST), is_rare.then_some(half)];
        match widest.into_iter().flatten().map(|widest| Self::within(table, view, widest)).find(fits) {
            Some(widths) if limit < usize::MAX => {
                Self { cut: Cut::Within(limit.saturating_sub(table.indent)), ..widths }
            }
            _ => Self { columns: natural(table, view, WIDEST), cut: Cut::None },
        }
    }

    /// Widths with which as much as possible fits.
    pub fn least(table: &Table<'_>, view: &TextView) -> Self {
        Self::within(table, view, WIDEST)
    }

    fn within(table: &Table<'_>, view: &TextView, widest: usize) -> Self {
        let mut widths = natural(table, view, widest);
        let available = view.limit().saturating_sub(table.indent + GAP * widths.len().saturating_sub(1));
        let excess = widths.iter().sum::<usize>().saturating_sub(available);
        for _ in 0..excess {
            let free =
                widths.iter_mut().zip(&table.columns).filter(|(width, column)| column.is_free && **width > NARROW);
            if let Some((width, _)) = free.max_by_key(|(width, _)| **width) {
                *width -= 1;
            }
        }
        Self { columns: widths, cut: if view.limit() < usize::MAX { Cut::All } else { Cut::None } }
    }

    /// Columns before the last one.
    pub fn before_the_last(&self) -> usize {
        self.columns.iter().rev().skip(1).map(|width| width + GAP).sum()
    }
}

/// How wide the cells of each column are; a cell that cannot be cut and is wider than `widest` does not count.
fn natural(table: &Table<'_>, view: &TextView, widest: usize) -> Vec<usize> {
    let width = |line: &Line<'_>| columns(&view.plain(line));
    let of = |at: usize| {
        let is_cut = view.limit() < usize::MAX && table.columns[at].is_free;
        let cells = table.rows.iter().filter_map(|row| row.get(at)).map(width);
        let cells = cells.filter(|width| is_cut || *width <= widest);
        cells.chain([width(&table.columns[at].heading)]).max().unwrap_or_default()
    };
    (0..table.columns.len()).map(of).collect()
}

/// The title and the line of the headings, if there are any.
pub(in crate::report) fn headings(table: &Table<'_>, widths: &Widths, view: &TextView) -> String {
    let mut text = String::new();
    if !table.title.is_empty() {
        let title = view.palette.paint(Role::Strong, view.plain(&table.title));
        text.push_str(&format!("{:1$}{title}\n", "", table.indent.saturating_sub(2)));
    }
    if table.columns.iter().any(|column| !column.heading.is_empty()) {
        let plain = TextView { charset: view.charset, ..TextView::default() };
        let row = row(table.columns.iter().map(|column| &column.heading), (table, widths), &plain);
        text.push_str(&format!("{:1$}{2}\n", "", table.indent, view.palette.paint(Role::Strong, row)));
    }
    text
}

/// The lines of the rows.
pub(in crate::report) fn rows(table: &Table<'_>, widths: &Widths, view: &TextView) -> String {
    let lines = |cells: &Vec<Line<'_>>| {
        let row = format!("{:1$}{2}\n", "", table.indent, row(cells.iter(), (table, widths), view));
        let below = cells.iter().skip(table.columns.len());
        let below = below.map(|line| format!("{:1$}  {2}\n", "", table.indent, view.line(line)));
        below.fold(row, |row, line| row + &line)
    };
    table.rows.iter().map(lines).collect()
}

/// A whole table.
pub(in crate::report) fn table(table: &Table<'_>, view: &TextView) -> String {
    let widths = Widths::of(table, view);
    headings(table, &widths, view) + &rows(table, &widths, view)
}

fn row<'l, 'a: 'l>(
    cells: impl Iterator<Item = &'l Line<'a>> + Clone,
    (table, widths): (&Table<'_>, &Widths),
    view: &TextView,
) -> String {
    // The row with its columns on a terminal.
    let draw = |is_limited: bool| {
        let (mut line, mut at, mut end, mut owed) = (String::new(), 0, (0, 0), 0);
        for ((cell, column), width) in cells.clone().zip(&table.columns).zip(&widths.columns) {
            let plain = view.plain(cell);
            let is_cut = is_limited && column.is_free && columns(&plain) > *width;
            let (drawn, takes) = match is_cut {
                true => (cut(&plain, *width, view.charset).into_owned(), *width),
                false => (view.line(cell), columns(&plain)),
            };
            let space = width.saturating_sub(takes);
            let before = if column.is_number { space } else { 0 };
            line.extend(std::iter::repeat_n(' ', owed + before));
            line.push_str(&drawn);
            at += owed + before + takes;
            owed = space - before + GAP;
            // Empty cells at the end of a row take no room.
            if takes > 0 {
                end = (line.len(), at);
            }
        }
        line.truncate(end.0);
        (line, end.1)
    };
    let (line, takes) = draw(widths.cut != Cut::None);
    match widths.cut {
        Cut::Within(limit) if takes > limit => draw(false).0,
        _ => line,
    }
}

/// `text` in at most `width` columns; if something is cut off, the last column shows it. The text
/// must be safe already.
pub(in crate::report) fn cut(text: &str, width: usize, charset: Charset) -> Cow<'_, str> {
    if columns(text) <= width {
        return Cow::Borrowed(text);
    }
    let mut short = String::new();
    let mut left = width.saturating_sub(1);
    for character in text.chars() {
        let takes = character.width().unwrap_or(0);
        if takes > left {
            break;
        }
        left -= takes;
        short.push(character);
    }
    if width > 0 {
        short.push_str(if charset == Charset::Unicode { "…" } else { "~" });
    }
    Cow::Owned(short)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::line::code;

    fn sample() -> Table<'static> {
        let mut table = Table::new(["NAME", "SIZE", "NOTE"]).right([1]).free(0..3);
        table.row(["last_minute.pcap", "73400320", ""].map(code));
        table.row(["日本語", "5", "wide characters take two columns"].map(code));
        table.row(["a\u{1b}[2J\u{202e}b", "0", "x"].map(code));
        table
    }

    fn drawn(table: &Table<'_>, width: usize, charset: Charset) -> String {
        super::table(table, &TextView { width, charset, is_terminal: true, ..TextView::default() })
    }

    #[test]
    fn columns_are_aligned_by_what_they_take_on_a_terminal() {
        insta::assert_snapshot!(drawn(&sample(), 100, Charset::Unicode), @r"
        NAME                     SIZE  NOTE
        last_minute.pcap     73400320
        日本語                      5  wide characters take two columns
        a\u{1b}[2J\u{202e}b         0  x
        ");
    }

    #[test]
    fn what_does_not_fit_is_cut_where_it_is_widest() {
        insta::assert_snapshot!(drawn(&sample(), 40, Charset::Ascii), @r"
        NAME                SIZE  NOTE
        last_minute.p~  73400320
        日本語                 5  wide characte~
        a\u{1b}[2J\u{~         0  x
        ");
        assert!(drawn(&sample(), 40, Charset::Unicode).lines().all(|line| columns(line) <= 40));
        assert_eq!(cut("日本語", 4, Charset::Unicode), "日…");
        assert_eq!(cut("ab", 0, Charset::Unicode), "");
    }

    #[test]
    fn a_very_long_cell_is_whole_and_widens_no_other_row() {
        let mut table = Table::new(["NAME", "OWNER", "PORT"]).free([1]);
        let long = "o".repeat(WIDEST + 1);
        table.row(["a", long.as_str(), "80"].map(code));
        table.row(["b", "kim", "443"].map(code));
        let text = super::table(&table, &TextView::default());
        assert_eq!(text, format!("NAME  OWNER  PORT\na     {long}  80\nb     kim    443\n"));
    }

    #[test]
    fn a_fixed_column_is_never_cut_and_no_column_without_a_limit() {
        let mut table = Table::new(["ID", "NAME"]).free([1]);
        table.row(["6c1d0b7e-5f0a-4c58", "a name that can be guessed"].map(code));
        assert!(drawn(&table, 30, Charset::Ascii).contains("6c1d0b7e-5f0a-4c58  a name th~"));
        assert!(drawn(&table, 20, Charset::Ascii).contains("6c1d0b7e-5f0a-4c58  a name that can be guessed"));
        let view = TextView::default();
        let widths = Widths::of(&table, &view);
        table.row(["6c1d0b7e-5f0a-4c58-and-more", "a name that is longer than the first one"].map(code));
        let whole = "6c1d0b7e-5f0a-4c58-and-more  a name that is longer than the first one\n";
        assert!(rows(&table, &widths, &view).ends_with(whole));
    }

    #[test]
    fn one_long_cell_among_short_ones_is_continued_below_and_the_others_stay_in_their_columns() {
        let mut table = Table::new(["ID", "NAME", "AGE"]).free([1]);
        table.row(["a", "kim", "3"].map(code));
        table.row(["b", "eva", "7"].map(code));
        let long = "0123456789-0123456789-01234";
        table.row([long, "a name that is long", "10"].map(code));
        let text = format!(
            "ID  NAME                 AGE\na   kim                  3\nb   eva                  7\n{long}  a name that is long  10\n"
        );
        assert_eq!(drawn(&table, 32, Charset::Unicode), text);
        assert!(drawn(&table, 20, Charset::Unicode).contains(&format!("{long}  a name that is long  10\n")));
        // Where most are long, they have a column.
        table.row(["0123456789-0123456789", "tom", "4"].map(code));
        table.row(["0123456789-0123456789-0", "ann", "5"].map(code));
        assert!(
            drawn(&table, 32, Charset::Unicode).contains("\na                            kim                  3\n")
        );
    }

    #[test]
    fn a_second_batch_keeps_the_widths_of_the_first() {
        let mut table = sample();
        let view = TextView { width: 60, is_terminal: true, ..TextView::default() };
        let widths = Widths::of(&table, &view);
        table.rows.clear();
        table.row(["a name that is longer than any before", "1", ""].map(code));
        assert_eq!(rows(&table, &widths, &view), "a name that is lon…         1\n");
    }

    #[test]
    fn a_row_that_is_not_continued_is_cut_although_it_does_not_fit() {
        let mut table = Table::new(["FROM", "TYPE", "PATH"]).free([1, 2]);
        let (address, path) = ("2001:db8:1234:5678:9abc:def0:1234:5678", format!("/api/v1/{}", "x".repeat(300)));
        table.row([address, "waf", &path].map(code));
        let view = TextView { width: 50, is_terminal: true, ..TextView::default() };
        let widths = Widths::least(&table, &view);
        assert_eq!(rows(&table, &widths, &view), format!("{address}  waf   /api/…\n"));
        assert!(rows(&table, &Widths::of(&table, &view), &view).contains(&path));
    }

    #[test]
    fn only_colours_are_added_and_ascii_replaces_signs() {
        let line = line!["a … b ", crate::report::line::styled(Role::Delete, line!["gone ", code("\u{1b}[0m")])];
        let view = TextView { palette: Palette::Coloured, charset: Charset::Ascii, ..TextView::default() };
        assert_eq!(view.line(&line), "a ... b \u{1b}[31mgone \\u{1b}[0m\u{1b}[0m");
        assert_eq!(view.plain(&line), "a ... b gone \\u{1b}[0m");
    }
}
