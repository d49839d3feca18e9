//! The ways to a server: plain loopback over IPv4 and IPv6, TLS, and behind nginx
//! and HAProxy. A house that was started by one is used like any other.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
};

use reqwest::Certificate;
use rustls::{ClientConfig, ClientConnection, RootCertStore, pki_types::pem::PemObject as _};

use super::{
    House,
    front::{Front, Kind},
    install_tls,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Plain,
    PlainIpv6,
    Tls,
    TlsIpv6,
    Nginx,
    NginxIpv6,
    Haproxy,
}

impl Way {
    pub const ALL: [Way; 7] = [
        Way::Plain,
        Way::PlainIpv6,
        Way::Tls,
        Way::TlsIpv6,
        Way::Nginx,
        Way::NginxIpv6,
        Way::Haproxy,
    ];
    /// Those on which the server itself takes every connection.
    pub const DIRECT: [Way; 4] = [Way::Plain, Way::PlainIpv6, Way::Tls, Way::TlsIpv6];

    fn is_ipv6(self) -> bool {
        matches!(self, Way::PlainIpv6 | Way::TlsIpv6 | Way::NginxIpv6)
    }

    fn is_tls(self) -> bool {
        matches!(self, Way::Tls | Way::TlsIpv6)
    }

    fn proxy(self) -> Option<Kind> {
        match self {
            Way::Nginx | Way::NginxIpv6 => Some(Kind::Nginx),
            Way::Haproxy => Some(Kind::Haproxy),
            _ => None,
        }
    }

    /// The client's address as the server should see it.
    pub fn source(self) -> &'static str {
        match self {
            Way::PlainIpv6 | Way::TlsIpv6 => "::1",
            _ => "127.0.0.1",
        }
    }
}

/// A certificate for localhost and its key, as PEM.
pub fn certificate() -> (String, String) {
    install_tls();
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    (made.cert.pem(), made.signing_key.serialize_pem())
}

impl House {
    /// A running server with the owner `ann`, reached by this way.
    pub async fn start_by(way: Way) -> (House, String) {
        let mut house = House::empty();
        let token = house.user("ann", "owner");
        house.serve_by(way).await;
        (house, token)
    }

    /// Starts the server, to be reached by this way.
    pub async fn serve_by(&mut self, way: Way) {
        let (certificate, key) = certificate();
        if way.is_ipv6() {
            self.listen_on("[::1]:0");
        }
        if way.is_tls() {
            let files = ["cert.pem", "key.pem"].map(|file| self.data().join(file));
            std::fs::write(&files[0], &certificate).unwrap();
            std::fs::write(&files[1], &key).unwrap();
            let [cert, key] = files
                .each_ref()
                .map(|file| file.to_str().unwrap().to_owned());
            let flags = ["--tls-cert".to_owned(), cert, "--tls-key".to_owned(), key];
            self.flags.extend(flags);
        }
        if way.proxy().is_some() {
            self.go_behind(&["127.0.0.1/32", "::1/128"]);
        }
        self.serve().await;
        let trusted = Certificate::from_pem(certificate.as_bytes()).unwrap();
        let mut client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .tls_certs_only([trusted]);
        if let Some(kind) = way.proxy() {
            let front = Front::start(kind, &self.address(), &certificate, &key).await;
            // The certificate is for a name, which must not be looked up as ::1.
            let at = SocketAddr::from(([127, 0, 0, 1], front.https.port()));
            client = client.resolve("localhost", at);
            self.front = Some(front);
        }
        self.http = client.build().unwrap();
        self.trusted = way.is_tls().then_some(certificate);
    }

    /// A socket on which every byte is said by the test. Behind a proxy it leads
    /// to the proxy's port without TLS.
    pub fn socket(&self) -> Socket {
        let address = match &self.front {
            Some(front) => front.bare,
            None => {
                let address = self.address();
                address.rsplit('/').next().unwrap().parse().unwrap()
            }
        };
        let tcp = TcpStream::connect(address).unwrap();
        let tls = self.trusted.as_ref().map(|certificate| {
            let mut roots = RootCertStore::empty();
            let certificate =
                rustls::pki_types::CertificateDer::from_pem_slice(certificate.as_bytes());
            roots.add(certificate.unwrap()).unwrap();
            let config = ClientConfig::builder()
                .with_root_certificates(roots)
                .with_no_client_auth();
            let name = "localhost".try_into().unwrap();
            Box::new(ClientConnection::new(Arc::new(config), name).unwrap())
        });
        Socket { tcp, tls }
    }
}

#[derive(Debug)]
pub struct Socket {
    pub tcp: TcpStream,
    tls: Option<Box<ClientConnection>>,
}

impl Read for Socket {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        match &mut self.tls {
            Some(tls) => rustls::Stream::new(tls.as_mut(), &mut self.tcp).read(room),
            None => self.tcp.read(room),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.tls {
            Some(tls) => rustls::Stream::new(tls.as_mut(), &mut self.tcp).write(bytes),
            None => self.tcp.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match &mut self.tls {
            Some(tls) => rustls::Stream::new(tls.as_mut(), &mut self.tcp).flush(),
            None => self.tcp.flush(),
        }
    }
}
