//! TLS on the ports of a cluster: the certificate that a dispatcher shows, and whom its clients trust. There is no way to
//! talk to a port of a cluster without it.

use std::fmt;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use callsheet_core::nouns::BlobId;
use rcgen::{CertificateParams, DnType, KeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, ServerConfig, SignatureScheme};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::fault::ClusterFault;

/// How long a handshake may take, and how many there are at the same time.
const HANDSHAKE: Duration = Duration::from_secs(10);
const HANDSHAKES: usize = 256;
/// How long a port waits after it could not accept a connection, as when too many files are open.
const AGAIN: Duration = Duration::from_millis(200);

/// The SHA-256 of a certificate, by which a client knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint(BlobId);

impl Fingerprint {
    fn of(certificate: &CertificateDer<'_>) -> Self {
        Self(BlobId::of(certificate))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.0)
    }
}

impl FromStr for Fingerprint {
    type Err = ClusterFault;

    /// Reads what [`fmt::Display`] writes, and what `openssl x509 -fingerprint -sha256` prints.
    fn from_str(text: &str) -> Result<Self, ClusterFault> {
        let value = text.trim().to_ascii_lowercase();
        let value = value.rsplit_once('=').map_or(value.as_str(), |(_, value)| value);
        let digits: String = value.strip_prefix("sha256:").unwrap_or(value).split(':').collect();
        if digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Self(BlobId::new(digits)));
        }
        let why = format!("\"{text}\" is not the fingerprint of a certificate: sha256: and 64 hexadecimal digits");
        Err(ClusterFault::Refused(why))
    }
}

/// Whom a client trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Whoever has the certificate with this fingerprint.
    Pinned(Fingerprint),
    /// Whoever has a certificate for the name in the address, from an authority that this machine trusts.
    Authorities,
}

/// A certificate with its key.
pub struct Certificate {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("fingerprint", &self.fingerprint()).finish_non_exhaustive()
    }
}

impl Certificate {
    /// Reads a certificate, with those that vouch for it after it, and its key, from files in PEM. One file may have both.
    ///
    /// # Errors
    /// A file cannot be read or has none.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, ClusterFault> {
        let unusable = |file: &Path, why: String| ClusterFault::Machine { what: file.display().to_string(), why };
        let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
        let chain = chain.map_err(|error| unusable(certificate, error.to_string()))?;
        if chain.is_empty() {
            return Err(unusable(certificate, "it contains no certificate in PEM".to_owned()));
        }
        let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, error.to_string()))?;
        Ok(Self { chain, key })
    }

    /// Reads the certificate in a file, or makes one there that only its user can read. It counts for this machine, and for
    /// clients that know its fingerprint.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn own(file: &Path) -> Result<Self, ClusterFault> {
        if !file.exists() {
            let unusable = |why: String| ClusterFault::Machine { what: file.display().to_string(), why };
            let text = self_signed().map_err(|error| unusable(error.to_string()))?;
            let folder = file.parent().unwrap_or(Path::new("."));
            let written = tempfile::NamedTempFile::new_in(folder).and_then(|mut temporary| {
                temporary.write_all(text.as_bytes())?;
                temporary.persist(file)?;
                Ok(())
            });
            written.map_err(|error| unusable(error.to_string()))?;
        }
        Self::read(file, file)
    }

    /// By what a client knows it.
    pub fn fingerprint(&self) -> Fingerprint {
        // `read` refuses an empty chain.
        self.chain.first().map_or_else(|| Fingerprint(BlobId::of(b"")), Fingerprint::of)
    }

    fn acceptor(self) -> Result<TlsAcceptor, rustls::Error> {
        let builder = ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13])?;
        let mut config = builder.with_no_client_auth().with_single_cert(self.chain, self.key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

/// A new certificate for this machine and its key, in PEM.
fn self_signed() -> Result<String, rcgen::Error> {
    let mut params = CertificateParams::new(["localhost", "127.0.0.1", "::1"].map(str::to_owned))?;
    params.distinguished_name.push(DnType::CommonName, "Callsheet cluster");
    let key = KeyPair::generate()?;
    Ok(params.self_signed(&key)?.pem() + &key.serialize_pem())
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// What a client that knows the fingerprint uses.
pub(crate) fn pinned(fingerprint: &Fingerprint) -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13])?;
    let verifier = Pinned { fingerprint: fingerprint.clone(), provider: provider() };
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
    Ok(builder.with_no_client_auth())
}

/// Accepts one certificate and no other. Who has its key proves that in the handshake.
#[derive(Debug)]
struct Pinned {
    fingerprint: Fingerprint,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if Fingerprint::of(end_entity) == self.fingerprint {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Why a certificate was refused, if that is why a call failed.
pub(crate) fn untrusted(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        let found = error.downcast_ref().or_else(|| inner.and_then(|inner| inner.downcast_ref()));
        match found {
            Some(rustls::Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)) => {
                return Some("it is not the one with the known fingerprint".to_owned());
            }
            Some(rustls::Error::InvalidCertificate(why)) => return Some(why.to_string()),
            _ => next = inner.map(|inner| inner as _).or_else(|| error.source()),
        }
    }
    None
}

/// A port that speaks TLS. A slow handshake keeps no other waiting.
pub(crate) struct TlsListener {
    accepted: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    local: SocketAddr,
}

impl TlsListener {
    /// Listens with this certificate.
    pub async fn bind(listen: SocketAddr, certificate: Certificate) -> Result<Self, ClusterFault> {
        let unusable = |why: String| ClusterFault::Machine { what: listen.to_string(), why };
        let acceptor = certificate.acceptor().map_err(|error| unusable(error.to_string()))?;
        let listener = TcpListener::bind(listen).await.map_err(|error| unusable(error.to_string()))?;
        let local = listener.local_addr().map_err(|error| unusable(error.to_string()))?;
        let (done, accepted) = mpsc::channel(HANDSHAKES);
        tokio::spawn(accept(listener, acceptor, done));
        Ok(Self { accepted, local })
    }
}

/// Accepts connections until nobody takes them any more.
async fn accept(listener: TcpListener, acceptor: TlsAcceptor, done: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>) {
    let handshakes = Arc::new(Semaphore::new(HANDSHAKES));
    loop {
        let Ok(permit) = Arc::clone(&handshakes).acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = done.closed() => return,
        };
        let (stream, from) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::debug!(%error, "a connection was not accepted");
                tokio::time::sleep(AGAIN).await;
                continue;
            }
        };
        let (acceptor, done) = (acceptor.clone(), done.clone());
        tokio::spawn(async move {
            let _permit = permit;
            // Small messages go back and forth, and the system may refuse only what does not matter.
            let _slower = stream.set_nodelay(true);
            match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                // Nobody takes it if the server has ended.
                Ok(Ok(stream)) => drop(done.send((stream, from)).await),
                Ok(Err(error)) => tracing::debug!(%error, %from, "a handshake failed"),
                Err(_) => tracing::debug!(%from, "a handshake took too long"),
            }
        });
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.accepted.recv().await {
            Some(accepted) => accepted,
            // The task that accepts has ended with its runtime.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        Ok(self.local)
    }
}

/// Serves what a test plays, and returns its address.
#[cfg(test)]
pub(crate) async fn played(certificate: Certificate, router: axum::Router) -> String {
    let bound = TlsListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)), certificate).await;
    let Ok(listener) = bound else { return String::new() };
    let address = format!("https://{}", listener.local);
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::post;

    use super::*;
    use crate::client::{Access, Client};

    async fn served(certificate: Certificate) -> String {
        played(certificate, Router::new().route("/said", post(async || "true"))).await
    }

    async fn call(address: &str, trust: Trust) -> Result<bool, ClusterFault> {
        let access = Access { address: address.to_owned(), token: None, trust };
        Client::new(&access)?.ask("said").await
    }

    /// covers: 15.12
    #[tokio::test]
    async fn a_client_calls_only_whom_it_knows() {
        let folder = tempfile::tempdir().unwrap();
        let certificate = |name: &str| Certificate::own(&folder.path().join(name)).unwrap();
        let address = served(certificate("own")).await;
        let known = certificate("own").fingerprint();
        assert!(call(&address, Trust::Pinned(known.clone())).await.unwrap());
        for trust in [Trust::Pinned(certificate("other").fingerprint()), Trust::Authorities] {
            let refused = call(&address, trust).await.unwrap_err();
            assert!(matches!(refused, ClusterFault::Untrusted { .. }), "{refused}");
        }
        let plain = call(&address.replace("https", "http"), Trust::Pinned(known)).await.unwrap_err();
        assert!(plain.to_string().contains("https://"), "{plain}");
    }

    /// covers: 15.12
    #[test]
    fn a_fingerprint_is_read_as_it_is_printed_and_by_openssl() {
        let digits = "ab".repeat(32);
        let fingerprint: Fingerprint = format!("sha256:{digits}").parse().unwrap();
        assert_eq!(fingerprint.to_string(), format!("sha256:{digits}"));
        let openssl = format!("sha256 Fingerprint={}", vec!["AB"; 32].join(":"));
        assert_eq!(openssl.parse::<Fingerprint>().unwrap(), fingerprint);
        for wrong in ["", "sha256:", "sha1:abcd", &digits[1..], &"é".repeat(32)] {
            assert!(wrong.parse::<Fingerprint>().is_err(), "{wrong}");
        }
    }

    /// covers: 15.12
    #[test]
    fn a_certificate_stays_the_same_and_only_its_user_reads_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("own.pem");
        let first = Certificate::own(&file).unwrap().fingerprint();
        assert_eq!(Certificate::own(&file).unwrap().fingerprint(), first);
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&file, "no certificate").unwrap();
        assert!(matches!(Certificate::own(&file), Err(ClusterFault::Machine { .. })));
    }
}
