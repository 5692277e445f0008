//! `upgrades versions`: the versions that a site can be upgraded to, drawn as steps from the current one.

use std::cmp::Ordering;

use serde_json::json;

use crate::api::upgrades;
use crate::cli::context::Context;
use crate::cli::exit_status::{CommandError, ExitStatus};
use crate::cli::query_args::{QueryFormat, UpgradeVersionsArgs};
use crate::cli::{prompt, session};
use crate::model::Namespace;
use crate::report::{Charset, json as documents, safe};

/// Lists the versions that a site can be upgraded to.
pub async fn run(
    arguments: &UpgradeVersionsArgs,
    namespace: &Namespace,
    context: &Context,
) -> Result<ExitStatus, CommandError> {
    let reader = session::service(context).await?.reader()?;
    let (os, sw) = (arguments.current_os.as_deref(), arguments.current_sw.as_deref());
    let versions = upgrades::versions(&reader, namespace, os, sw).await.map_err(prompt::unanswered)?;
    context.output.answer(&match arguments.format {
        QueryFormat::Text => ladder(&versions, os, sw, context.charset()),
        QueryFormat::Json => {
            let content = json!({ "current_os_version": os, "current_sw_version": sw, "sw_versions": versions });
            safe::json(&documents::document("upgradable_sw_versions", content)).into_owned()
        }
    });
    Ok(ExitStatus::Done)
}

/// The versions, which are sorted with the newest first, as the way up from the current one.
fn ladder(versions: &[String], os: Option<&str>, sw: Option<&str>, charset: Charset) -> String {
    let at = [os.map(|os| format!("OS {}", safe::line(os))), sw.map(|sw| format!("software {}", safe::line(sw)))];
    let at = at.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let of = if at.is_empty() { String::new() } else { format!(" from {at}") };
    if versions.is_empty() {
        return format!("no upgradable software versions{of}\n");
    }
    let (top, way, here) = match charset {
        Charset::Unicode => ("▲", "│", "●"),
        Charset::Ascii => ("^", "|", "*"),
    };
    let newer = |version: &String| sw.is_none_or(|sw| upgrades::compare_versions(version, sw) == Ordering::Greater);
    let (up, down): (Vec<&String>, Vec<&String>) = versions.iter().partition(|version| newer(version));
    let mut text = format!("upgradable software versions{of}\n");
    for (index, version) in up.iter().enumerate() {
        let mut notes = Vec::new();
        if index == 0 {
            notes.push("newest");
        }
        if sw.is_some() && index + 1 == up.len() {
            notes.push("next");
        }
        let sign = if index == 0 { top } else { way };
        line(&mut text, sign, version, &notes.join(", "));
    }
    if let Some(sw) = sw {
        line(&mut text, here, sw, "now");
    }
    for version in down {
        if sw != Some(version.as_str()) {
            line(&mut text, " ", version, "not newer");
        }
    }
    text
}

fn line(text: &mut String, sign: &str, version: &str, note: &str) {
    let line = format!("  {sign} {:20}  {note}", safe::line(version));
    text.push_str(line.trim_end());
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_up_leads_from_the_current_version_to_the_newest() {
        let versions = ["crt-20260315-0012", "crt-20260201-0179", "crt-20251002-0027", "crt-20250701-0090"];
        let versions = versions.map(str::to_owned);
        let drawn = ladder(&versions, Some("9.2026.17"), Some("crt-20251002-0027"), Charset::Unicode);
        insta::assert_snapshot!(drawn, @r"
        upgradable software versions from OS 9.2026.17, software crt-20251002-0027
          ▲ crt-20260315-0012     newest
          │ crt-20260201-0179     next
          ● crt-20251002-0027     now
            crt-20250701-0090     not newer
        ");
        insta::assert_snapshot!(ladder(&versions[..2], None, None, Charset::Ascii), @r"
        upgradable software versions
          ^ crt-20260315-0012     newest
          | crt-20260201-0179
        ");
        assert_eq!(
            ladder(&[], None, Some("crt-1\u{1b}"), Charset::Ascii),
            "no upgradable software versions from software crt-1\\u{1b}\n"
        );
    }
}
