//! A table as one page: what a snapshot contains, for a browser. It runs no script and loads nothing.

use data_encoding::BASE64;
use sha2::{Digest as _, Sha256};

use crate::report::safe;

/// The style of the table, beside that of every page.
const STYLE: &str = "\
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.8rem 0.3rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--dim); font-weight: 600; }
.wide { overflow-x: auto; }
";

/// The page with this heading and table.
#[must_use]
pub fn page(heading: &str, columns: &[String], rows: &[Vec<String>]) -> String {
    let row = |cells: &[String], element: &str, attributes: &str| {
        let cell = |cell: &String| format!("<{element}{attributes}>{}</{element}>", safe::html(cell));
        format!("<tr>{}</tr>\n", cells.iter().map(cell).collect::<String>())
    };
    let style = format!("{}{STYLE}", include_str!("page.css"));
    // The hash is of what is between the tags, byte for byte.
    let style_hash = BASE64.encode(&Sha256::digest(&style));
    let body: String = rows.iter().map(|cells| row(cells, "td", "")).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{style_hash}'; \
         base-uri 'none'; form-action 'none'\">\n\
         <title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n\
         <header class=\"top\"><h1>{title}</h1></header>\n<main class=\"wide\">\n<table>\n\
         <thead>{head}</thead>\n<tbody>\n{body}</tbody>\n</table>\n</main>\n</body>\n</html>\n",
        title = safe::html(heading),
        head = row(columns, "th", " scope=\"col\"").trim_end(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_be_markup() {
        let text = page("a <b>", &["NAME".to_owned()], &[vec!["<script>x</script>\u{202e}".to_owned()]]);
        assert!(text.contains("<h1>a &lt;b&gt;</h1>") && text.contains("<th scope=\"col\">NAME</th>"), "{text}");
        assert!(text.contains("<td>&lt;script&gt;x&lt;/script&gt;\\u{202e}</td>"), "{text}");
    }
}
