//! Refuses deeply nested YAML before it is parsed: the parser's work grows with the square of the depth.

use std::path::Path;

use super::error::FileError;
use super::named;

/// How many brackets may be open at the same time.
const DEEPEST: usize = 64;

/// The text of a file that the caller named, for a parser of YAML.
///
/// # Errors
/// Those of [`named::read`]; it is not UTF-8, or nested too deep.
pub fn read_yaml(path: &Path, limit: u64) -> Result<String, FileError> {
    let bytes = named::read(path, limit)?;
    let text = String::from_utf8(bytes).map_err(|_| FileError::NotText(path.to_owned()))?;
    if is_nested_too_deep(&text) {
        return Err(FileError::TooDeep(path.to_owned()));
    }
    // The parser would take a byte-order mark for the start of another document.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Whether more brackets are open at the same time than any input of ours needs. Brackets in quotes and comments count.
pub fn is_nested_too_deep(text: &str) -> bool {
    let mut open = 0_usize;
    text.bytes().any(|byte| {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        open > DEEPEST
    })
}
