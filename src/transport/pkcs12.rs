//! A client certificate from a PKCS #12 file (`.p12`, `.pfx`), as the vendor's console exports it: input is the file
//! and its password, output the certificate chain and the key. The file is decrypted in memory, so that no key is on a
//! disk without a password.

use p12_keystore::error::Error;
use p12_keystore::{Certificate, CertificateBag, Pkcs12Archive};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

type Chain = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// The certificate chain, the client's own first, and the key.
///
/// # Errors
/// Why the file cannot be used. Nothing of its content or of the password is shown.
pub(super) fn read(file: &[u8], password: &str) -> Result<Chain, String> {
    let archive = Pkcs12Archive::from_pkcs12(file, password).map_err(|error| match error {
        // A wrong password and a damaged file cannot be told apart.
        Error::MacError(_) | Error::UnpadError | Error::Pkcs5Error(_) => {
            "the password of the file of --client-p12 is wrong, or the file is damaged"
        }
        Error::UnsupportedEncryptionScheme | Error::UnsupportedMacAlgorithm | Error::InvalidParameters => {
            "the file of --client-p12 is encrypted with a cipher that is not supported; write it anew with AES, as OpenSSL 3 does: `openssl pkcs12 -export`"
        }
        _ if file.trim_ascii_start().starts_with(b"-----BEGIN") => {
            "the file of --client-p12 is not a PKCS #12 file: it is PEM, which --client-cert and --client-key read"
        }
        _ => "the file of --client-p12 is not a PKCS #12 file",
    })?;
    let [key] = archive.keys.as_slice() else {
        let count = archive.keys.len();
        return Err(format!("the file of --client-p12 contains {count} private keys; it must contain one"));
    };
    let id = key.local_key_id.as_ref().map(AsRef::<[u8]>::as_ref);
    let own = |bag: &&CertificateBag| bag.local_key_id.as_ref().map(AsRef::<[u8]>::as_ref) == id;
    let leaf = match archive.certs.as_slice() {
        [only] => only,
        all => all
            .iter()
            .find(own)
            .filter(|_| id.is_some())
            .ok_or("the file of --client-p12 contains no certificate for its private key")?,
    };
    let chain = chain(&leaf.cert, &archive.certs);
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.key.as_der().to_vec()));
    Ok((chain, key))
}

/// The leaf and its issuers, without the root, which the service has.
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
                let wrong = super::read(file, password).expect_err("a wrong password");
                assert!(wrong.contains("the password") && wrong.contains("is wrong"), "{password:?}: {wrong}");
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
        let rc4 = include_bytes!("../../tests/cases/tls/rc4.p12");
        let no_key = include_bytes!("../../tests/cases/tls/nokey.p12");
        for (file, password, expected) in [
            (&b"hello"[..], PASSWORD, "is not a PKCS #12 file"),
            (PEM, PASSWORD, "is PEM, which --client-cert"),
            (rc4, "trueup", "a cipher that is not supported"),
            (no_key, "trueup", "contains 0 private keys"),
        ] {
            let reason = super::read(file, password).expect_err(expected);
            assert!(reason.contains(expected), "{reason}");
        }
    }
}
