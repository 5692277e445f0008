//! TLS settings: trusted authorities (the system's and an own one) and a client certificate from PEM or PKCS #12. The
//! crypto provider is passed explicitly, so that no process-wide default is needed. A service on this machine needs no
//! system roots, which slim images lack.

use std::error::Error;
use std::io;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use super::causes;
use super::pkcs12;

/// Certificates in addition to the system's.
#[derive(Debug, Clone, Default)]
pub struct TlsTrust {
    /// Additional authorities, PEM.
    pub authorities: Option<Vec<u8>>,
    /// The client certificate.
    pub identity: Option<Identity>,
}

/// A client certificate with its key.
#[derive(Clone)]
pub enum Identity {
    /// Two PEM texts.
    Pem {
        /// The certificate chain.
        certificate: Vec<u8>,
        /// The key; may be the same file.
        key: Vec<u8>,
    },
    /// An encrypted file with both.
    Pkcs12 {
        /// The file.
        file: Vec<u8>,
        /// Its password.
        password: String,
    },
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Identity(…)")
    }
}

/// Certificates that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// `--ca-cert` contains no certificate.
    #[error("the file of --ca-cert contains no PEM certificate: {0}")]
    Authorities(String),
    /// The client certificate cannot be used.
    #[error("the client certificate cannot be used: {0}")]
    Certificate(String),
    /// The key of the client certificate cannot be used; the error shows nothing of it.
    #[error("the key of --client-key cannot be used: it must be one unencrypted PEM key")]
    Key,
    /// The PKCS #12 file cannot be used.
    #[error("{0}")]
    Pkcs12(String),
    /// No roots, or no cipher in common.
    #[error("TLS cannot be set up: {0}; give an authority with --ca-cert")]
    Setup(String),
}

fn setup(error: &rustls::Error) -> TlsError {
    TlsError::Setup(error.to_string())
}

/// Which authorities are trusted in addition to the given ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Roots {
    /// The authorities of the system.
    System,
    /// The authorities of the system, if it has any.
    SystemIfAny,
    /// No others.
    Given,
}

/// The TLS settings of a client.
///
/// # Errors
/// See [`TlsError`].
pub(crate) fn configure(roots: Roots, trust: &TlsTrust) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| setup(&error))?;
    let unusable = |reason| TlsError::Authorities(reason);
    let authorities = trust.authorities.as_deref().map(certificates).transpose().map_err(unusable)?.unwrap_or_default();
    let verifier = match roots {
        Roots::Given => None,
        Roots::System | Roots::SystemIfAny => match Verifier::new_with_extra_roots(authorities.clone(), provider) {
            Ok(verifier) => Some(verifier),
            Err(_) if roots == Roots::SystemIfAny => None,
            Err(error) => return Err(setup(&error)),
        },
    };
    let builder = if let Some(verifier) = verifier {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
    } else {
        let mut roots = RootCertStore::empty();
        for authority in authorities {
            roots.add(authority).map_err(|error| unusable(error.to_string()))?;
        }
        builder.with_root_certificates(roots)
    };
    match &trust.identity {
        None => Ok(builder.with_no_client_auth()),
        Some(identity) => {
            let (chain, key) = match identity {
                Identity::Pem { certificate, key } => {
                    let chain = certificates(certificate).map_err(TlsError::Certificate)?;
                    (chain, PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsError::Key)?)
                }
                Identity::Pkcs12 { file, password } => pkcs12::read(file, password).map_err(TlsError::Pkcs12)?,
            };
            builder.with_client_auth_cert(chain, key).map_err(|error| TlsError::Certificate(error.to_string()))
        }
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match all {
        Ok(certificates) if certificates.is_empty() => Err("no certificate in it".to_owned()),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(error.to_string()),
    }
}

/// If TLS failed: why there is no safe connection, and what to do about it.
pub(crate) fn fault(error: &(dyn Error + 'static), trust: &TlsTrust) -> Option<String> {
    causes(error).find_map(tls_cause).map(|fault| words(fault, trust))
}

/// The TLS error in `cause`, which may be wrapped in any number of IO errors.
fn tls_cause<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut cause = cause;
    loop {
        if let Some(found) = cause.downcast_ref::<rustls::Error>() {
            return Some(found);
        }
        cause = cause.downcast_ref::<io::Error>()?.get_ref()?;
    }
}

/// Why the service refuses the client. In TLS 1.3 this alert arrives after the client has finished the handshake.
pub(crate) fn refusal(error: &(dyn Error + 'static), trust: &TlsTrust) -> Option<&'static str> {
    refused(causes(error).find_map(tls_cause)?, trust)
}

fn refused(error: &rustls::Error, trust: &TlsTrust) -> Option<&'static str> {
    use rustls::AlertDescription as Alert;
    let rustls::Error::AlertReceived(
        Alert::CertificateRequired
        | Alert::BadCertificate
        | Alert::UnknownCA
        | Alert::AccessDenied
        | Alert::CertificateExpired
        | Alert::CertificateRevoked
        | Alert::CertificateUnknown
        | Alert::UnsupportedCertificate,
    ) = error
    else {
        return None;
    };
    Some(match trust.identity {
        Some(_) => "the service does not accept the client certificate",
        None => "the service asks for a client certificate; name one with --client-cert or --client-p12",
    })
}

/// What failed, in our words instead of the library's.
fn words(error: &rustls::Error, trust: &TlsTrust) -> String {
    use rustls::{AlertDescription as Alert, Error};
    match error {
        _ if let Some(refused) = refused(error, trust) => refused.to_owned(),
        Error::InvalidCertificate(fault) => {
            format!("the certificate of the service {}", certificate_words(fault, trust))
        }
        Error::InvalidMessage(_) => "the answer is not TLS; is the port one of plain HTTP?".to_owned(),
        Error::PeerIncompatible(_) | Error::AlertReceived(Alert::ProtocolVersion | Alert::HandshakeFailure) => {
            "the service has no version or cipher of TLS that is safe enough".to_owned()
        }
        _ => "the TLS handshake failed".to_owned(),
    }
}

fn certificate_words(fault: &CertificateError, trust: &TlsTrust) -> String {
    let day = |time: &UnixTime| {
        let time = i64::try_from(time.as_secs()).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
        time.map(|time| time.strftime(" on %Y-%m-%d").to_string()).unwrap_or_default()
    };
    match fault {
        CertificateError::ExpiredContext { not_after, .. } => format!("expired{}", day(not_after)),
        CertificateError::Expired => "has expired".to_owned(),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "is not valid yet; is the clock of this machine right?".to_owned()
        }
        CertificateError::NotValidForNameContext { expected, .. } => format!("is not for `{}`", expected.to_str()),
        CertificateError::NotValidForName => "is for another host name".to_owned(),
        CertificateError::UnknownIssuer | CertificateError::BadSignature if trust.authorities.is_some() => {
            "is of an authority that neither the system nor the file of --ca-cert has".to_owned()
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "is of an authority that the system does not trust; name it with --ca-cert".to_owned()
        }
        CertificateError::Revoked => "is revoked".to_owned(),
        // A usual self-signed certificate, for which the library has no variant.
        other if other.to_string().contains("CaUsedAsEndEntity") => {
            "is that of an authority, and no authority may be a service".to_owned()
        }
        _ => "is not valid".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_needs_no_roots() {
        assert!(configure(Roots::Given, &TlsTrust::default()).is_ok());
    }

    #[test]
    fn a_file_without_a_certificate_is_reported() {
        let trust = TlsTrust { authorities: Some(b"hello".to_vec()), identity: None };
        assert!(matches!(configure(Roots::Given, &trust), Err(TlsError::Authorities(_))));
        let identity = Identity::Pem { certificate: Vec::new(), key: b"secret".to_vec() };
        assert!(!format!("{identity:?}").contains("115"));
        let trust = TlsTrust { authorities: None, identity: Some(identity) };
        assert!(matches!(configure(Roots::Given, &trust), Err(TlsError::Certificate(_))));
    }
}
