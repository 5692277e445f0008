//! TLS trust and client identity, from the files that the command line names. The password of a PKCS #12
//! file comes from a file or a variable, never from an argument, which other users of a machine can see.

use std::path::Path;

use crate::api::{Identity, TlsTrust};
use crate::cli::{CommandResult as _, Context, ExitStatus, ProcessEnvironment, Result};
use crate::file;

/// The variables that may contain the password, the first one set: ours, and that of the vendor's tools.
const PASSWORD_VARIABLES: [&str; 2] = ["TRUEUP_P12_PASSWORD", "VES_P12_PASSWORD"];

/// Authorities and identity of the command line.
///
/// # Errors
/// A file that cannot be read, or a PKCS #12 file without a password.
pub fn given(context: &Context) -> Result<TlsTrust> {
    let global = &context.global;
    let authorities = global.ca_cert.as_deref().map(read).transpose()?;
    let identity = match (&global.client_cert, &global.client_key, &global.client_p12) {
        (Some(certificate), Some(key), _) => Some(Identity::Pem { certificate: read(certificate)?, key: read(key)? }),
        (_, _, Some(path)) => {
            let password = password(global.client_p12_password_file.as_deref(), &context.environment)?;
            let password = password.ok_or_else(|| {
                error!(Invalid, "there is no password for `{}`", path.display())
                    .hint("set TRUEUP_P12_PASSWORD, or name a file with --client-p12-password-file")
            })?;
            Some(Identity::Pkcs12 { file: read(path)?, password })
        }
        _ => None,
    };
    Ok(TlsTrust { authorities, identity })
}

/// The password, without the end of the line that an editor leaves. Blanks may be part of it.
fn password(path: Option<&Path>, environment: &ProcessEnvironment) -> Result<Option<String>> {
    let Some(path) = path else {
        return Ok(PASSWORD_VARIABLES.iter().find_map(|name| environment.variable(name)).map(str::to_owned));
    };
    let mut text =
        String::from_utf8(read(path)?).map_err(|_| error!(Invalid, "`{}` is not UTF-8 text", path.display()))?;
    let line = text.trim_end_matches(['\r', '\n']).len();
    text.truncate(line);
    Ok(Some(text))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    file::read_secret(path, file::limit::CERTIFICATES).with_status(ExitStatus::Invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_comes_from_a_file_or_a_variable() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("password");
        std::fs::write(&path, " pass word \r\n").expect("written");
        let both = ProcessEnvironment::with(&[("VES_P12_PASSWORD", "theirs"), ("TRUEUP_P12_PASSWORD", "ours")]);
        let given = |path, environment: &ProcessEnvironment| password(path, environment).expect("no error");
        assert_eq!(given(Some(&*path), &both).as_deref(), Some(" pass word "));
        assert_eq!(given(None, &both).as_deref(), Some("ours"));
        assert_eq!(
            given(None, &ProcessEnvironment::with(&[("VES_P12_PASSWORD", "theirs")])).as_deref(),
            Some("theirs")
        );
        assert_eq!(given(None, &ProcessEnvironment::with(&[])), None);
    }
}
