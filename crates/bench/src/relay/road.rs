//! The way to a relay: as it is, or through TLS with a certificate of its own.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _};
use rustls::{ClientConfig, RootCertStore, ServerConfig, client::Resumption, crypto};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

const NAME: &str = "localhost";

pub trait Io: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin> Io for T {}

pub type Stream = Box<dyn Io>;

/// Where a server finds its certificate and its key.
#[derive(Debug, Clone)]
pub struct Files {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

pub enum Road {
    Plain,
    Tls {
        files: Files,
        connector: TlsConnector,
    },
}

impl fmt::Debug for Road {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Road::Plain => "Plain",
            Road::Tls { .. } => "Tls",
        })
    }
}

impl Road {
    /// Makes a certificate in this directory.
    pub fn tls(dir: &Path) -> Result<Road> {
        let made = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
        let files = Files {
            certificate: dir.join("certificate.pem"),
            key: dir.join("key.pem"),
        };
        std::fs::write(&files.certificate, made.cert.pem())?;
        std::fs::write(&files.key, made.signing_key.serialize_pem())?;
        let mut roots = RootCertStore::empty();
        roots.add(made.cert.der().clone())?;
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.resumption = Resumption::disabled();
        Ok(Road::Tls {
            files,
            connector: TlsConnector::from(Arc::new(config)),
        })
    }

    pub fn files(&self) -> Option<&Files> {
        match self {
            Road::Plain => None,
            Road::Tls { files, .. } => Some(files),
        }
    }

    pub async fn go(&self, addr: SocketAddr) -> Result<Stream> {
        let stream = TcpStream::connect(addr).await?;
        stream.set_nodelay(true)?;
        Ok(match self {
            Road::Plain => Box::new(stream),
            Road::Tls { connector, .. } => {
                let name = ServerName::try_from(NAME)?;
                Box::new(connector.connect(name, stream).await?)
            }
        })
    }
}

/// What the bare relay protects its connections with.
pub fn acceptor(files: &Files) -> Result<TlsAcceptor> {
    let chain = CertificateDer::pem_file_iter(&files.certificate)?;
    let chain = chain.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(&files.key)?;
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn provider() -> Arc<crypto::CryptoProvider> {
    Arc::new(crypto::ring::default_provider())
}
