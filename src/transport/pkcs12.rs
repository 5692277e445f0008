//! A client certificate from a PKCS #12 file (`.p12`, `.pfx`), as the vendor's console exports it: the
//! file and its password go in, the certificate chain and the key come out. The file is decrypted in
//! memory, so that no key is on a disk without a password.

use p12_keystore::error::Error;
use p12_keystore::{Certificate, CertificateBag, Pkcs12Archive};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// A PKCS #12 file that cannot be used. Nothing of its content or of the password is shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Pkcs12Error {
    /// Something else.
    #[error("the file of --client-p12 is not a PKCS #12 file{}", if *pem { ": it is PEM, which --client-cert and --client-key read" } else { "" })]
    Form {
        /// Whether it is PEM.
        pem: bool,
    },
    /// The password does not fit, or the file was altered: the two look the same.
    #[error("the password of the file of --client-p12 is wrong, or the file is damaged")]
    Password,
    /// A cipher that is not supported.
    #[error(
        "the file of --client-p12 is encrypted with a cipher that is not supported; write it anew with AES, as OpenSSL 3 does: `openssl pkcs12 -export`"
    )]
    Cipher,
    /// Not exactly one key.
    #[error("the file of --client-p12 contains {0} private keys; it must contain one")]
    Keys(usize),
    /// None of the certificates is the key's.
    #[error("the file of --client-p12 contains no certificate for its private key")]
    Certificate,
}

type Chain = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// The certificate chain, the client's own first, and the key.
///
/// # Errors
/// See [`Pkcs12Error`].
pub(super) fn read(file: &[u8], password: &str) -> Result<Chain, Pkcs12Error> {
    let archive = Pkcs12Archive::from_pkcs12(file, password).map_err(|error| match error {
        Error::MacError(_) | Error::UnpadError | Error::Pkcs5Error(_) => Pkcs12Error::Password,
        Error::UnsupportedEncryptionScheme | Error::UnsupportedMacAlgorithm | Error::InvalidParameters => {
            Pkcs12Error::Cipher
        }
        _ => Pkcs12Error::Form { pem: file.trim_ascii_start().starts_with(b"-----BEGIN") },
    })?;
    let [key] = archive.keys.as_slice() else {
        return Err(Pkcs12Error::Keys(archive.keys.len()));
    };
    let id = key.local_key_id.as_ref().map(AsRef::<[u8]>::as_ref);
    let own = |bag: &&CertificateBag| bag.local_key_id.as_ref().map(AsRef::<[u8]>::as_ref) == id;
    let leaf = match archive.certs.as_slice() {
        [only] => only,
        all if id.is_some() => all.iter().find(own).ok_or(Pkcs12Error::Certificate)?,
        _ => return Err(Pkcs12Error::Certificate),
    };
    let chain = chain(&leaf.cert, &archive.certs);
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.key.as_der().to_vec()));
    Ok((chain, key))
}

/// The leaf and those that issued it, without the root, which the service has.
fn chain(leaf: &Certificate, all: &[CertificateBag]) -> Vec<CertificateDer<'static>> {
    let mut found = vec![leaf];
    let mut last = leaf;
    while let Some(issuer) = all.iter().map(|bag| &bag.cert).find(|cert| cert.subject() == last.issuer()) {
        if issuer.subject() == issuer.issuer() || found.contains(&issuer) {
            break;
        }
        found.push(issuer);
        last = issuer;
    }
    found.into_iter().map(|cert| CertificateDer::from(cert.as_der().to_vec())).collect()
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::pem::PemObject as _;

    use super::*;

    const PASSWORD: &str = "trüup test";
    const MODERN: &[u8] = include_bytes!("../../tests/cases/tls/modern.p12");
    const LEGACY: &[u8] = include_bytes!("../../tests/cases/tls/legacy.p12");
    const PEM: &[u8] = include_bytes!("../../tests/cases/tls/client.pem");

    #[test]
    fn modern_and_legacy_files_contain_what_the_pem_file_contains() {
        let certificate = CertificateDer::from_pem_slice(PEM).expect("a certificate");
        let key = PrivateKeyDer::from_pem_slice(PEM).expect("a key");
        for file in [MODERN, LEGACY] {
            let (chain, read) = super::read(file, PASSWORD).expect("a certificate and a key");
            assert_eq!(chain.as_slice(), std::slice::from_ref(&certificate), "the root is left out");
            assert_eq!(read.secret_der(), key.secret_der());
        }
    }

    #[test]
    fn what_cannot_be_read_is_named_and_not_shown() {
        for file in [MODERN, LEGACY] {
            for password in ["", "trueup test", "trüup test\n"] {
                assert_eq!(super::read(file, password).err(), Some(Pkcs12Error::Password), "{password:?}");
            }
            // What is not sealed by the password (a name of an algorithm) may change; the key may not.
            let (_, key) = super::read(file, PASSWORD).expect("a key");
            for at in (0..file.len()).step_by(41) {
                let mut damaged = file.to_vec();
                damaged[at] ^= 0x55;
                let read = super::read(&damaged, PASSWORD);
                assert!(read.is_ok_and(|(_, read)| read == key) || super::read(&damaged, PASSWORD).is_err(), "{at}");
            }
        }
        assert_eq!(super::read(b"hello", PASSWORD).err(), Some(Pkcs12Error::Form { pem: false }));
        let pem = super::read(PEM, PASSWORD).expect_err("PEM");
        assert_eq!(pem, Pkcs12Error::Form { pem: true });
        assert!(pem.to_string().contains("--client-cert"));
        let rc4 = include_bytes!("../../tests/cases/tls/rc4.p12");
        assert_eq!(super::read(rc4, "trueup").err(), Some(Pkcs12Error::Cipher));
        let no_key = include_bytes!("../../tests/cases/tls/nokey.p12");
        assert_eq!(super::read(no_key, "trueup").err(), Some(Pkcs12Error::Keys(0)));
    }
}
