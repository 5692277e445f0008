//! The connection to the service: settings become a client, and with `--sandbox` an embedded service is
//! started first, in this process, over real HTTP on the loopback.

pub mod token;

use std::sync::Arc;

use crate::api::{self, Identity, RateLimit, Reader, Secret, Timing, TlsTrust, Writer};
use crate::cli::context::EmbeddedService;
use crate::cli::output::activity::{self, Activity};
use crate::cli::prelude::*;
use crate::cli::settings::{self, Address, ServiceLocation};
use crate::cli::{CommandResult as _, Context, ExitStatus, ProcessEnvironment, Result, file};
use crate::model::{Clock, Layout};
use crate::plan;
use crate::sandbox::{self, RequiredToken, Running, SandboxOptions, Scenario, Storage};

/// The maximum number of recorded requests of a rehearsal, to count those that met a fault.
const REHEARSED_REQUESTS: usize = 1_000_000;

/// The variables that may contain the password, the first one set: ours, and that of the vendor's tools.
const PASSWORD_VARIABLES: [&str; 2] = ["TRUEUP_P12_PASSWORD", "VES_P12_PASSWORD"];

/// The settings for clients of one service.
pub struct Connection {
    settings: api::ClientSettings,
}

/// Makes the client's settings, and starts the embedded service if the call asks for it.
///
/// # Errors
/// No token, files that cannot be read, a sandbox that does not start.
pub async fn connect(context: &Context, config: &Config) -> Result<Connection> {
    connect_with(context, config, true).await
}

/// Like [`connect`], but possibly without the token, to see what the service answers then.
///
/// # Errors
/// Those of [`connect`].
pub async fn connect_with(context: &Context, config: &Config, has_token: bool) -> Result<Connection> {
    let layout = settings::layout(context, config)?;
    let place = settings::place(context, config)?;
    let (rate_limit, concurrency) = context.tenants.limits(place.base_url().as_str());
    let pace = Timing::real(context.environment.chance());
    let mut settings = match place {
        ServiceLocation::At(address) => {
            let token = has_token.then(|| token(context, config.token_variable.as_deref(), &address)).transpose()?;
            let mut settings = api::ClientSettings::new(address.url, layout, token.flatten(), pace);
            settings.rate = rate_limit.or(config.rate_limit).map(rate).or(settings.rate);
            settings
        }
        ServiceLocation::Sandbox(file) => {
            let service = match &context.tenants.embedded {
                Some(service) => service.clone(),
                None => embed(context, &file).await?,
            };
            let mut settings = api::ClientSettings::new(BaseUrl::sandbox(), layout, Some(service.token), pace);
            settings.address = Some(service.address);
            settings
        }
    };
    settings.trust = trust(context)?;
    settings.proxies = context.proxies().clone();
    if settings.proxy().with_status(ExitStatus::Invalid)?.is_some() {
        context.report_unclear_exceptions(settings.base_url.as_str());
    }
    let shared = concurrency.filter(|_| context.global.concurrency.is_none());
    settings.concurrency = shared.unwrap_or_else(|| settings::concurrency(context, config));
    settings.rate = match context.global.rate {
        None => settings.rate,
        Some(given) if given > 0.0 => Some(rate(given)),
        Some(_) => None,
    };
    settings.ids = context.ids();
    let stack = settings::stack(context, config).ok().flatten();
    let source = context.output.line_source(stack, context.global.env.clone());
    let shown = Activity::new(context.output.clone(), source.clone());
    settings.listener = Some(activity::listener(context, source));
    if !context.global.verbose {
        settings.progress = Some(Arc::new(move |progress| shown.show(progress)));
    }
    context.tenants.share(&mut settings).with_status(ExitStatus::Invalid)?;
    Ok(Connection { settings })
}

/// Starts the embedded service of this file; the context stops it.
///
/// # Errors
/// It does not start.
pub async fn embed(context: &Context, file: &Path) -> Result<EmbeddedService> {
    let secret = context.environment.secret();
    let options = SandboxOptions::new(Storage::File(file.to_owned()), RequiredToken::new(&secret), clock());
    let running = sandbox::start(options).await.with_status(ExitStatus::Failed).hint("another file: --sandbox=FILE")?;
    let token = Secret::new(&secret).with_status(ExitStatus::Bug)?;
    let address = running.address();
    context.keep(running);
    Ok(EmbeddedService { address, token })
}

fn rate(per_second: f64) -> RateLimit {
    RateLimit { per_second, burst: RateLimit::CAREFUL.burst }
}

impl Connection {
    /// Requests at the same time.
    pub fn concurrency(&self) -> usize {
        self.settings.concurrency
    }

    /// The service, as a plan names it.
    pub fn service(&self) -> plan::ServiceId {
        plan::ServiceId { base_url: self.settings.base_url.to_string(), layout: self.settings.layout }
    }

    /// Checks that the settings name the service that the plan or record is for.
    ///
    /// # Errors
    /// They name another.
    pub fn is_for(&self, plan: &plan::Plan) -> Result<()> {
        let (is, planned) = (self.service(), &plan.service);
        if is == *planned {
            return Ok(());
        }
        let [is, planned] = [&is, planned].map(|service| format!("{} ({} layout)", service.base_url, service.layout));
        Err(error!(Refused, "the plan is for {planned}, and the settings name {is}").hint("nothing was sent"))
    }

    /// A client that only reads.
    ///
    /// # Errors
    /// Certificates that cannot be used.
    pub fn reader(&self) -> Result<Reader> {
        Reader::new(self.settings.clone()).with_status(ExitStatus::Invalid)
    }

    /// A client that may change something.
    ///
    /// # Errors
    /// Certificates that cannot be used.
    pub fn writer(&self) -> Result<Writer> {
        Writer::new(self.settings.clone()).with_status(ExitStatus::Invalid)
    }
}

/// Starts an embedded service in memory for one rehearsal, with the faults of `scenario`. Its client does not wait: it
/// skips the pauses of a real one.
///
/// # Errors
/// It does not start.
pub async fn rehearse(
    context: &Context,
    layout: Layout,
    config: &Config,
    scenario: Scenario,
) -> Result<(Connection, Running)> {
    let secret = context.environment.secret();
    let mut options = SandboxOptions::new(Storage::Memory, RequiredToken::new(&secret), clock());
    options.scenario = scenario;
    options.log_size = REHEARSED_REQUESTS;
    let running = sandbox::start(options).await.with_status(ExitStatus::Failed)?;
    let token = Secret::new(&secret).with_status(ExitStatus::Bug)?;
    let mut settings = api::ClientSettings::new(BaseUrl::sandbox(), layout, Some(token), Timing::noted(|_| {}));
    settings.address = Some(running.address());
    settings.concurrency = settings::concurrency(context, config);
    settings.rate = None;
    Ok((Connection { settings }, running))
}

/// The time, for the embedded service.
pub fn clock() -> Clock {
    Clock::new(Timestamp::now)
}

fn token(context: &Context, variable: Option<&str>, address: &Address) -> Result<Option<Secret>> {
    let Some(token) = token::given(context, variable, address)? else {
        if context.global.client_cert.is_some() || context.global.client_p12.is_some() {
            return Ok(None);
        }
        return Err(error!(Invalid, "there is no API token")
            .hint("set TRUEUP_TOKEN, or give a file with --token-file; or try it with --sandbox"));
    };
    Secret::new(&token.text).map(Some).with_status(ExitStatus::Invalid)
}

/// TLS trust and client identity, from the files that the command line names. The password of a PKCS #12 file comes from a
/// file or a variable, never from an argument, which other users of a machine can see.
///
/// # Errors
/// A file that cannot be read, or a PKCS #12 file without a password.
fn trust(context: &Context) -> Result<TlsTrust> {
    let global = &context.global;
    let authorities = global.ca_cert.as_deref().map(certificate).transpose()?;
    let identity = match (&global.client_cert, &global.client_key, &global.client_p12) {
        (Some(file), Some(key), _) => Some(Identity::Pem { certificate: certificate(file)?, key: certificate(key)? }),
        (_, _, Some(path)) => {
            let password = password(global.client_p12_password_file.as_deref(), &context.environment)?;
            let password = password.ok_or_else(|| {
                error!(Invalid, "there is no password for `{}`", path.display())
                    .hint("set TRUEUP_P12_PASSWORD, or name a file with --client-p12-password-file")
            })?;
            Some(Identity::Pkcs12 { file: certificate(path)?, password })
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
        String::from_utf8(certificate(path)?).map_err(|_| error!(Invalid, "`{}` is not UTF-8 text", path.display()))?;
    let line = text.trim_end_matches(['\r', '\n']).len();
    text.truncate(line);
    Ok(Some(text))
}

fn certificate(path: &Path) -> Result<Vec<u8>> {
    file::read_secret(path, limit::CERTIFICATES)
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
