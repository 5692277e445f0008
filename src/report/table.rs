//! Plain tables: aligned by what a character takes on a terminal, free text cut to the columns that there are,
//! every cell on one line and without force. The widths are a value of their own, so that a table
//! that arrives in batches keeps them.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::{Charset, Palette, Role, safe};

/// Columns between two cells.
const GAP: usize = 2;
/// A column is not made narrower than this, as long as there is a wider one.
const NARROW: usize = 6;

/// On which side a cell's text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Texts.
    Left,
    /// Numbers.
    Right,
}

/// Headings and rows.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
    fixed_width: Vec<usize>,
}

/// How wide each column is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Widths {
    columns: Vec<usize>,
    /// Whether free text is cut to its column.
    is_limited: bool,
}

impl Table {
    /// A table with these headings and no rows.
    pub fn new<T: Into<String>>(columns: impl IntoIterator<Item = (T, Align)>) -> Self {
        let columns = columns.into_iter().map(|(heading, align)| (safe::line(&heading.into()).into_owned(), align));
        Self { columns: columns.collect(), rows: Vec::new(), fixed_width: Vec::new() }
    }

    /// The same with these columns never cut: a time, a name or an id is of no use without its end.
    #[must_use]
    pub fn fixed_width(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        self.fixed_width.extend(columns);
        self
    }

    /// Adds a row; its cells need not be safe. Cells beyond the headings are left out.
    pub fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let cells = cells.into_iter().map(|cell| safe::line(cell.as_ref()).into_owned());
        self.rows.push(cells.take(self.columns.len()).collect());
    }

    /// Takes all rows out.
    pub fn clear(&mut self) {
        self.rows.clear();
    }

    /// Widths with which the rows that are there fit into `width` columns, if that is possible. `usize::MAX`
    /// leaves every cell whole, also those of later rows.
    #[must_use]
    pub fn widths(&self, width: usize) -> Widths {
        let natural = |(at, (heading, _)): (usize, &(String, Align))| {
            let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.width());
            cells.chain([heading.width()]).max().unwrap_or_default()
        };
        let mut widths: Vec<usize> = self.columns.iter().enumerate().map(natural).collect();
        let available = width.saturating_sub(GAP * widths.len().saturating_sub(1));
        let mut excess = widths.iter().sum::<usize>().saturating_sub(available);
        while excess > 0 {
            let soft =
                widths.iter().enumerate().filter(|(at, width)| !self.fixed_width.contains(at) && **width > NARROW);
            let Some((at, _)) = soft.max_by_key(|(_, width)| **width) else { break };
            widths[at] -= 1;
            excess -= 1;
        }
        Widths { columns: widths, is_limited: width < usize::MAX }
    }

    /// The line of the headings.
    #[must_use]
    pub fn headings(&self, widths: &Widths, palette: Palette, charset: Charset) -> String {
        let headings = self.columns.iter().map(|(heading, _)| heading.as_str());
        format!("{}\n", palette.paint(Role::Strong, self.line(headings, widths, charset)))
    }

    /// The lines of the rows.
    #[must_use]
    pub fn rows(&self, widths: &Widths, charset: Charset) -> String {
        let mut text = String::new();
        for row in &self.rows {
            text.push_str(&self.line(row.iter().map(String::as_str), widths, charset));
            text.push('\n');
        }
        text
    }

    /// The whole table.
    #[must_use]
    pub fn draw(&self, width: usize, palette: Palette, charset: Charset) -> String {
        let widths = self.widths(width);
        self.headings(&widths, palette, charset) + &self.rows(&widths, charset)
    }

    fn line<'a>(&self, cells: impl Iterator<Item = &'a str>, widths: &Widths, charset: Charset) -> String {
        let mut line = String::new();
        let mut owed = 0;
        for (at, ((cell, width), (_, align))) in cells.zip(&widths.columns).zip(&self.columns).enumerate() {
            let is_cut = widths.is_limited && !self.fixed_width.contains(&at);
            let cell = if is_cut { cut(cell, *width, charset) } else { Cow::Borrowed(cell) };
            let space = width.saturating_sub(cell.width());
            let before = if *align == Align::Right { space } else { 0 };
            line.extend(std::iter::repeat_n(' ', owed + before));
            line.push_str(&cell);
            owed = space - before + GAP;
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// `text` in at most `width` columns; where something is cut off, the last column says so. The text
/// must be safe already.
#[must_use]
pub fn cut(text: &str, width: usize, charset: Charset) -> Cow<'_, str> {
    if text.width() <= width {
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
        short.push_str(charset.ellipsis());
    }
    Cow::Owned(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new([("NAME", Align::Left), ("SIZE", Align::Right), ("NOTE", Align::Left)]);
        table.row(["last_minute.pcap", "73400320", ""]);
        table.row(["日本語", "5", "wide characters take two columns"]);
        table.row(["a\u{1b}[2J\u{202e}b", "0", "x"]);
        table
    }

    #[test]
    fn columns_are_aligned_by_what_they_take_on_a_terminal() {
        insta::assert_snapshot!(sample().draw(100, Palette::Plain, Charset::Unicode), @r"
        NAME                     SIZE  NOTE
        last_minute.pcap     73400320
        日本語                      5  wide characters take two columns
        a\u{1b}[2J\u{202e}b         0  x
        ");
    }

    #[test]
    fn what_does_not_fit_is_cut_where_it_is_widest() {
        insta::assert_snapshot!(sample().draw(40, Palette::Plain, Charset::Ascii), @r"
        NAME                SIZE  NOTE
        last_minute.p~  73400320
        日本語                 5  wide characte~
        a\u{1b}[2J\u{~         0  x
        ");
        assert!(sample().draw(40, Palette::Plain, Charset::Unicode).lines().all(|line| line.width() <= 40));
        assert_eq!(cut("日本語", 4, Charset::Unicode), "日…");
        assert_eq!(cut("ab", 0, Charset::Unicode), "");
    }

    #[test]
    fn a_fixed_column_is_never_cut_and_no_column_without_a_limit() {
        let mut table = Table::new([("ID", Align::Left), ("NAME", Align::Left)]).fixed_width([0]);
        table.row(["6c1d0b7e-5f0a-4c58", "a name that can be guessed"]);
        assert!(table.draw(30, Palette::Plain, Charset::Ascii).contains("6c1d0b7e-5f0a-4c58  a name th~"));
        assert!(table.draw(20, Palette::Plain, Charset::Ascii).contains("6c1d0b7e-5f0a-4c58  a nam~"));
        let widths = table.widths(usize::MAX);
        table.row(["6c1d0b7e-5f0a-4c58-and-more", "a name that is longer than the first one"]);
        let whole = "6c1d0b7e-5f0a-4c58-and-more  a name that is longer than the first one\n";
        assert!(table.rows(&widths, Charset::Ascii).ends_with(whole));
    }

    #[test]
    fn a_second_batch_keeps_the_widths_of_the_first() {
        let mut table = sample();
        let widths = table.widths(60);
        table.clear();
        table.row(["a name that is longer than any before", "1", ""]);
        assert_eq!(table.rows(&widths, Charset::Unicode), "a name that is lon…         1\n");
    }
}
