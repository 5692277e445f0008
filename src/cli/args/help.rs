//! The command line as people see it: `--json` beside every `--format` that has JSON, pages of help without the global
//! options, which have a page of their own, and what people of other tools type by habit.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, Id};

use crate::cli::prelude::*;
use crate::cli::{CommandError, command};

/// Where the global options are.
const OPTIONS: &str = "Global options: trueup help options";

/// The command with its help pages: the usual options, or every option and text if `is_whole`. Each option has one
/// line, so that a page fits a screen; the global options have a page of their own.
pub fn pages(is_whole: bool) -> Command {
    let command = command::described().mut_subcommand("help", |help| help.hide(true));
    let globals: Vec<Id> = globals(&command).map(|arg| arg.get_id().clone()).collect();
    paged(command, is_whole, &globals)
}

fn globals(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| arg.is_global_set())
}

fn paged(mut command: Command, is_whole: bool, globals: &[Id]) -> Command {
    let mut after = command.get_after_help();
    if is_whole {
        after = command.get_after_long_help().or(after);
    }
    let after = after.map_or_else(|| OPTIONS.to_owned(), |text| format!("{text}\n{OPTIONS}"));
    if let Some(about) = command.get_long_about().filter(|_| is_whole).cloned() {
        // The list of commands above it keeps the short sentence.
        command = command.before_help(about);
        command = command.help_template("{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}");
    }
    let shown = |arg: Arg| match arg.get_id().as_str() {
        "help" if is_whole => arg.action(ArgAction::HelpShort).help("Print help"),
        "help" => arg.action(ArgAction::HelpShort).help("Print help (all options: --help)"),
        _ if globals.contains(arg.get_id()) => arg.hide(true),
        _ if is_whole => arg.hide_short_help(false),
        _ => arg,
    };
    command.after_help(after).mut_args(shown).mut_subcommands(|command| paged(command, is_whole, globals))
}

/// The page of the global options.
pub fn options() -> String {
    let command = command::described();
    let mut page = Command::new("options").disable_help_flag(true).args(globals(&command)).max_term_width(100);
    page = page.help_template("Every command takes these options and uses those that it needs.\n\n{options}\n");
    page.render_long_help().to_string()
}

/// What users of other tools and of earlier versions type, each with a hint.
const HABITS: &[(&str, &str)] = &[
    ("diff", "to see what would change: trueup plan"),
    ("destroy delete -destroy", "to delete objects, remove their definitions: an apply deletes what the stack owns"),
    ("create update edit", "to change objects, edit their definitions: trueup apply makes the changes"),
    ("describe", "to see an object with its fields: trueup get KIND:NAMESPACE/NAME --format yaml"),
    ("list ls", "to list what is live: trueup get NAMESPACE"),
    ("unlock force-unlock", "to release the lock of a run that is certainly dead: trueup history --unlock RUN"),
    ("status refresh", "to compare what is live with the definitions: trueup drift"),
    ("check test lint", "to check the definitions: trueup validate; to compare them with what is live: trueup drift"),
    ("format", "to format definitions: trueup fmt"),
    ("sync", "to make the changes of a directory: trueup apply"),
    ("dump export", "to write live objects as definitions: trueup pull"),
    ("undo revert rollout", "to undo the newest run: trueup rollback last"),
    ("resume", "to resume the newest run: trueup apply --resume last"),
    ("state log logs runs", "to see the runs: trueup history"),
    ("login", "to use a token: set TRUEUP_TOKEN; to test it: trueup doctor"),
    ("--dry-run", "to see what an apply would do: trueup plan"),
    ("-auto-approve --auto-approve", "to apply without a question: --yes"),
    ("-f --file --filename", "a file or directory is given without an option: PATH"),
    ("-o --output", "to choose the output format: --format FORMAT"),
    ("-target --target", "to choose objects: --only GLOB"),
    ("-var-file --var-file", "to set variables for several calls: `variables:` of trueup.yaml or of an environment"),
    ("-var", "to set a variable: --var NAME=VALUE"),
    ("--force", "to allow what a guard blocks: --allow NAME"),
    ("--state-dir", "to name where runs, locks and drift states are kept: --state DIR"),
    ("--metrics", "to write the metrics of a run: --write prometheus=FILE"),
    ("--evidence", "to write the document of a run: --write json=FILE"),
    ("--base", "to see whose change each difference is: trueup plan --base REF"),
    ("--watch", "to plan again: the same command again"),
    ("context", "to choose a service: an environment of trueup.yaml (--env), or --base-url"),
];

/// Adds a hint for the habits of other tools, and drops suggestions of clap that are far from the word.
pub fn guessed(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    if !matches!(error.kind(), ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument) {
        return error;
    }
    let has = |word: &str| {
        let is_it = |given: &str| given == word || given.strip_prefix(word).is_some_and(|rest| rest.starts_with('='));
        words.iter().skip(1).any(|given| given.to_str().is_some_and(is_it))
    };
    let said = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    };
    // After a command that has subcommands, the same word means something else.
    let known: Vec<Command> = command::described().get_subcommands().cloned().collect();
    let is_below = |word: &str| {
        let mut before = words.iter().skip(1).take_while(|given| *given != word);
        before.any(|given| known.iter().any(|command| command.get_name() == given))
    };
    let is_meant = |habit: &str| match (said(ContextKind::InvalidSubcommand), said(ContextKind::InvalidArg)) {
        (Some(word), _) => word == habit && !is_below(word),
        // Only the rejected word counts: the habit may be a valid option elsewhere in the call.
        (None, Some(word)) if habit.starts_with("--") || habit.len() == "-f".len() => word == habit,
        // clap reports only the first letter, such as `-d` for `-destroy`, so compare the words as typed.
        (None, _) => habit.starts_with('-') && has(habit),
    };
    let habit = HABITS.iter().find(|(habits, _)| habits.split(' ').any(is_meant)).map(|(_, tip)| (*tip).to_owned());
    let Some(tip) = habit.or_else(|| of_directory(&error, has("--drift"))) else {
        // Drops clap's advice to pass the word as a value: no value of ours begins with `-`.
        let is_escape = |tip: &StyledStr| tip.to_string().starts_with("to pass '");
        if matches!(error.get(ContextKind::Suggested), Some(ContextValue::StyledStrs(tips)) if tips.iter().all(is_escape))
        {
            error.remove(ContextKind::Suggested);
        }
        for (given, suggested) in [
            (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
            (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        ] {
            if is_unlike(&error, given, suggested) {
                error.remove(suggested);
            }
        }
        return error;
    };
    error.remove(ContextKind::SuggestedSubcommand);
    if error.remove(ContextKind::SuggestedArg).is_some() {
        // The usage belongs to the suggestion that was removed.
        error.remove(ContextKind::Usage);
    }
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    error
}

/// Whether no suggestion of clap begins like the word or is a typing error away from it.
fn is_unlike(error: &clap::Error, given: ContextKind, suggested: ContextKind) -> bool {
    let Some(ContextValue::String(word)) = error.get(given) else { return false };
    let suggested = match error.get(suggested) {
        Some(ContextValue::String(one)) => std::slice::from_ref(one),
        Some(ContextValue::Strings(several)) => several,
        _ => return false,
    };
    let is_like = |one: &String| {
        let is_begun = one.starts_with(word.as_str()) || word.starts_with(one.as_str());
        is_begun || load::nearest(word, [one.as_str()]).is_some()
    };
    !suggested.iter().any(is_like)
}

/// Converts clap's error to ours: the first line says what is wrong; what clap adds follows, a line for each paragraph.
pub fn usage(error: &clap::Error, words: &[OsString]) -> CommandError {
    let text = error.render().to_string();
    let text = text.trim_start_matches("error: ");
    // A word may come from the repository and imitate text of ours; after the last usage there are no such words.
    let is_plain = words.iter().all(|word| word.to_str().is_some_and(|word| safe::line(word) == word));
    let end = match is_plain {
        true => text.find("\n\n"),
        false => text.rfind("\n\nUsage: ").or_else(|| text.rfind("\n\nFor more information")),
    };
    let (message, hints) = text.split_at(end.unwrap_or(text.len()));
    let in_line = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    error!(Usage, "{}", if is_plain { in_line(message) } else { message.trim_end().to_owned() })
        .hint_each(hints.split("\n\n").map(in_line).filter(|hint| !hint.is_empty()))
}

/// The hint for a command that takes no directory but got that of a stack.
fn of_directory(error: &clap::Error, is_drift: bool) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return None };
    let directory = safe::shell(word.trim_end_matches('/'));
    Path::new(word).join(config::FILE).is_file().then(|| match is_drift {
        true => format!("for the stack of that directory: --drift {directory}"),
        false => format!("for the stack of that directory: --config {directory}/{}", config::FILE),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::policy::consents;
    use crate::plan::Allowances;

    fn pages(command: Command, path: &str, into: &mut Vec<(String, Command)>) {
        for inner in command.get_subcommands() {
            pages(inner.clone(), &format!("{path} {}", inner.get_name()), into);
        }
        into.push((path.to_owned(), command));
    }

    fn all() -> Vec<(String, Command)> {
        let mut found = Vec::new();
        pages(command::described(), "trueup", &mut found);
        found.retain(|(path, _)| !path.contains(" help"));
        found
    }

    #[cfg(unix)]
    #[test]
    fn a_word_that_is_not_plain_is_in_the_message_and_in_no_hint() {
        use std::os::unix::ffi::OsStringExt as _;

        let hostile = "--x\n\nUsage: rm -rf /\n\nFor more information, run it".into();
        let not_text = OsString::from_vec(b"--only=\xff".to_vec());
        for (word, message) in [
            (not_text, "invalid UTF-8 was detected in one or more arguments"),
            (hostile, "unexpected argument '--x\n\nUsage: rm -rf /\n\nFor more information, run it' found"),
        ] {
            let words = ["trueup".into(), "plan".into(), word];
            let error = usage(&command::line().try_get_matches_from(&words).expect_err("no such option"), &words);
            assert!(error.to_string().starts_with(message), "{error}");
            let usage = "Usage: trueup plan [OPTIONS] [PATH]...";
            assert_eq!(error.hints, [usage, "For more information, try '--help'."]);
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        command::line().debug_assert();
    }

    #[test]
    fn policies_their_schema_and_the_help_know_every_name_that_allow_takes() {
        let schema = crate::report::schema::of(crate::report::schema::SchemaKind::Policy);
        assert_eq!(schema["properties"]["allow"]["items"]["$ref"], "#/$defs/consent");
        assert_eq!(schema["$defs"]["consent"]["enum"], consents().collect::<serde_json::Value>());
        for name in consents() {
            let texts = [name.to_owned(), format!("{name}=shop/cart")];
            let taken = texts.iter().filter(|text| Allowances::default().add(text).is_ok()).count();
            assert_eq!(taken, 1, "{name}");
            let policy = crate::load::config::policy("policy.yaml", format!("allow: [{name}]").into_bytes());
            assert!(policy.is_ok_and(|policy| policy.allow(&texts).is_ok()), "{name}");
            for (path, command) in all().iter().filter(|(path, _)| ["trueup plan", "trueup apply"].contains(&&**path)) {
                let allow = command.get_arguments().find(|arg| arg.get_id() == "allow").and_then(Arg::get_help);
                assert!(allow.is_some_and(|help| help.to_string().contains(name)), "{path}: {name}");
            }
        }
    }

    #[test]
    fn every_page_has_examples_of_its_own_command() {
        for (path, command) in all() {
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(after.starts_with("Example"), "{path}");
            assert!(after.contains(&format!("  {path}")) || path == "trueup import", "{path}: {after}");
            // A command that is broken in two cannot be copied.
            assert!(after.lines().all(|line| line.chars().count() <= 98), "{path}: {after}");
        }
    }

    #[test]
    fn a_name_of_a_global_option_that_a_page_uses_exists() {
        let command = command::described();
        let known: Vec<&str> = command.get_arguments().map(|arg| arg.get_id().as_str()).collect();
        let pages = command.get_subcommands();
        for name in pages.filter_map(|page| command::Command::globals(page.get_name())).flatten() {
            assert!(known.contains(&name), "{name}");
        }
    }

    #[test]
    fn pages_show_the_global_options_that_they_use() {
        let shows = |path: &str, option: &str| {
            let (_, mut page) = all().into_iter().find(|(name, _)| name == path).expect("a page");
            page.render_long_help().to_string().contains(option)
        };
        for (path, option, expected) in [
            ("trueup explain", "--token-file", false),
            ("trueup explain", "--color", true),
            ("trueup plan", "--token-file", true),
            ("trueup ddos list", "--token-file", true),
            ("trueup ddos list", "--state ", false),
            ("trueup validate", "--token-file", false),
        ] {
            assert_eq!(shows(path, option), expected, "{path} {option}");
        }
    }

    /// `COMMAND -h` fits a small terminal, and `--help` two of them.
    #[test]
    fn a_page_of_help_fits_a_screen() {
        let lengths = |is_whole: bool| -> Vec<(String, usize)> {
            let mut found = Vec::new();
            pages(super::pages(is_whole), "trueup", &mut found);
            found.retain(|(path, _)| !path.contains(" help"));
            found.into_iter().map(|(path, mut page)| (path, page.render_help().to_string().lines().count())).collect()
        };
        let short = lengths(false).into_iter().filter(|(_, lines)| *lines > 40);
        let long: Vec<(String, usize)> =
            short.chain(lengths(true).into_iter().filter(|(_, lines)| *lines > 80)).collect();
        assert!(long.is_empty(), "{long:#?}");
    }

    #[test]
    fn at_most_22_commands_are_listed() {
        let listed = super::pages(false).get_subcommands().filter(|command| !command.is_hide_set()).count();
        assert!(listed <= 22, "{listed}");
    }

    #[test]
    fn global_options_have_a_page_of_their_own() {
        let page = options();
        assert!(page.contains("--token-file <FILE>") && page.contains("TRUEUP_BASE_URL"), "{page}");
        let plan = super::pages(true).find_subcommand_mut("plan").expect("a command").render_help().to_string();
        assert!(!plan.contains("--token-file") && plan.contains("trueup help options"), "{plan}");
        // An option that only some commands share has no other page.
        let mut pages = super::pages(true);
        pages.build();
        let list = pages.find_subcommand_mut("ddos").and_then(|ddos| ddos.find_subcommand_mut("list"));
        let list = list.expect("a command").render_help().to_string();
        assert!(list.contains("--namespace") && !list.contains("--token-file"), "{list}");
    }

    #[test]
    fn words_of_other_tools_lead_to_what_does_it_here() {
        for (line, expected) in [
            ("trueup diff", "trueup plan"),
            ("trueup destroy", "remove their definitions"),
            ("trueup plan --state-dir x", "--state DIR"),
            ("trueup drift d --state-dir=x", "--state DIR"),
            ("trueup apply --metrics run.prom", "--write prometheus=FILE"),
            ("trueup context list", "--env"),
            ("trueup delete shop/cart", "remove their definitions"),
            ("trueup status", "trueup drift"),
            ("trueup apply --dry-run", "trueup plan"),
            ("trueup apply -auto-approve", "--yes"),
            ("trueup drift . --base main", "trueup plan --base REF"),
            ("trueup sync", "trueup apply"),
            ("trueup dump", "trueup pull"),
            ("trueup apply -f shop/cart.yaml", "without an option: PATH"),
            ("trueup apply --filename shop/cart.yaml", "without an option: PATH"),
            ("trueup doctor -o json", "--format FORMAT"),
            ("trueup apply --output=json", "--format FORMAT"),
            ("trueup plan -target=shop/cart", "--only GLOB"),
            ("trueup plan --target shop/cart", "--only GLOB"),
            ("trueup plan -var port=80", "--var NAME=VALUE"),
            ("trueup apply --force", "--allow NAME"),
            ("trueup undo", "trueup rollback last"),
            ("trueup revert", "trueup rollback last"),
            ("trueup --env prod logs", "trueup history"),
            ("trueup validat", "'validate'"),
            ("trueup plan --environment prod", "'--env'"),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let error = command::line().try_get_matches_from(&words).expect_err("another tool's");
            let text = guessed(error, &words).to_string();
            let tips = text.lines().filter(|line| line.trim_start().starts_with("tip:")).collect::<Vec<_>>();
            assert!(tips.len() == 1 && tips[0].contains(expected), "{line}: {text}");
        }
    }

    #[test]
    fn no_tip_leads_to_a_value_that_no_argument_takes_or_to_what_nobody_meant() {
        for line in [
            "trueup get -A",
            "trueup plan -x",
            "trueup plan -o plan.json --context prod",
            "trueup plan --rate -1",
            "trueup cancel",
            "trueup ddos undo",
            "trueup upgrades list",
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let error = command::line().try_get_matches_from(&words).expect_err("an unknown option");
            let text = guessed(error, &words).to_string();
            assert!(!text.contains("tip:"), "{line}: {text}");
        }
    }

    #[test]
    fn a_file_to_write_is_no_format_and_no_option_of_terraform() {
        for (line, expected) in [
            ("trueup plan -o json", "for this format: --format json; for a file of this name: ./json"),
            ("trueup drift --output markdown", "--format markdown"),
            ("trueup rollback last -o text", "--format text"),
            ("trueup move --from shop -o json", "--format json"),
            ("trueup plan -out=plan.json", "write `--output plan.json`"),
            ("trueup plan -out plan.json", "for `-out FILE`: --output FILE; for a file of this name: ./ut"),
            ("trueup plan -o yaml", "it is a file; for a file of this name: ./yaml"),
            ("trueup rollback last -o html", "it is a file; for a file of this name: ./html"),
            ("trueup snapshot -o json", "it is a file; for a file of this name: ./json"),
        ] {
            let error = command::line().try_get_matches_from(line.split(' ')).expect_err("no file").to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
        for line in ["trueup plan -o plan.json", "trueup plan -o ./json", "trueup plan -o out/json"] {
            assert!(command::line().try_get_matches_from(line.split(' ')).is_ok(), "{line}");
        }
    }

    #[test]
    fn json_is_a_format_by_another_name() {
        let format = |line: &str| {
            let matches = command::line().try_get_matches_from(line.split(' ')).expect("a command line");
            let (_, matches) = matches.subcommand().expect("a command");
            *matches.get_one::<crate::report::Format>("format").expect("a format")
        };
        assert_eq!(format("trueup plan --json").as_str(), "json");
        assert_eq!(format("trueup plan").as_str(), "text");
        assert_eq!(format("trueup plan --format html").as_str(), "html");
        assert!(command::line().try_get_matches_from(["trueup", "plan", "--json", "--format", "html"]).is_err());
        assert!(command::line().try_get_matches_from(["trueup", "schema", "--json"]).is_err());
    }
}
