//! Where the API token comes from: a file, or a variable of the environment whose name begins with
//! `TRUEUP_TOKEN`. Never an argument, a command or the configuration.

use super::args::Global;
use super::ending::{Ending, Error};
use super::surroundings::Surroundings;

/// The variable that is always looked at.
const VARIABLE: &str = "TRUEUP_TOKEN";
/// The variable of other tools, looked at last.
const FOREIGN_VARIABLE: &str = "F5XC_API_TOKEN";

/// The token's text: of `--token-file`, of the variable that the configuration names, of
/// `TRUEUP_TOKEN`, of `F5XC_API_TOKEN`, in this order. Nothing where none is given.
///
/// # Errors
/// A file that cannot be read, or a variable that the configuration may not name.
pub fn given(global: &Global, surroundings: &Surroundings, named: Option<&str>) -> Result<Option<String>, Error> {
    if let Some(path) = &global.token_file {
        let read = std::fs::read_to_string(path).map_err(|error| {
            let told = anyhow::Error::from(error).context(format!("cannot read the token file `{}`", path.display()));
            Error::new(Ending::Invalid, told)
        })?;
        return Ok(Some(read));
    }
    if let Some(name) = named {
        if !name.starts_with(VARIABLE) {
            let told = format!("`token_variable` names `{name}`, which does not begin with `{VARIABLE}`");
            return Err(Error::words(Ending::Invalid, told)
                .hint("a definition's author must not be able to send away another secret; rename the variable"));
        }
        if let Some(token) = surroundings.variable(name) {
            return Ok(Some(token.to_owned()));
        }
    }
    let token = surroundings.variable(VARIABLE).or_else(|| surroundings.variable(FOREIGN_VARIABLE));
    Ok(token.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::Arguments;

    fn token(environment: &[(&str, &str)], named: Option<&str>) -> Result<Option<String>, Error> {
        let global = Arguments::try_parse_from(["trueup", "man"]).expect("a command line").global;
        given(&global, &Surroundings::with(environment), named)
    }

    #[test]
    fn the_variable_that_the_configuration_names_stands_over_the_usual_one() {
        let environment = [("TRUEUP_TOKEN", "usual"), ("TRUEUP_TOKEN_PROD", "prod"), ("F5XC_API_TOKEN", "foreign")];
        let given = |named| token(&environment, named).expect("a token");
        assert_eq!(given(Some("TRUEUP_TOKEN_PROD")).as_deref(), Some("prod"));
        assert_eq!(given(None).as_deref(), Some("usual"));
        assert_eq!(token(&environment[2..], None).expect("a token").as_deref(), Some("foreign"));
        assert!(token(&[], None).expect("no error").is_none());
    }

    #[test]
    fn the_configuration_cannot_name_another_secret() {
        let error = token(&[("AWS_SECRET_ACCESS_KEY", "hunter2")], Some("AWS_SECRET_ACCESS_KEY")).expect_err("refused");
        assert!(!error.to_string().contains("hunter2"));
    }
}
