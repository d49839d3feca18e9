//! A connection that asks for nothing, or for too much at once, is not kept.

use std::{
    io::{Read, Write as _},
    net::TcpStream,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};

use crate::{harness::House, tls};

/// How long until the other end closes.
fn closed_after(mut connection: impl Read) -> Duration {
    let started = Instant::now();
    // An end without TLS's own goodbye is an error, and an end.
    let _ = connection.read_to_end(&mut Vec::new());
    started.elapsed()
}

fn connect(house: &House) -> TcpStream {
    let address = house.address();
    let connection = TcpStream::connect(address.rsplit('/').next().unwrap()).unwrap();
    let limit = Some(Duration::from_secs(40));
    connection.set_read_timeout(limit).unwrap();
    connection
}

#[tokio::test]
async fn a_connection_without_a_request_is_closed_after_fifteen_seconds() {
    let (plain, _) = House::start().await;
    let (protected, _, _) = tls::start().await;
    let silent = connect(&plain);
    let mut halfway = connect(&plain);
    write!(halfway, "GET /healthz HTTP/1.1\r\nhost: local").unwrap();
    let without_handshake = connect(&protected);
    let over_http_2 = {
        let pem = protected.data().join("cert.pem");
        let mut roots = RootCertStore::empty();
        let certificate = CertificateDer::from_pem_file(pem).unwrap();
        roots.add(certificate).unwrap();
        let mut config = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let name = ServerName::try_from("localhost").unwrap();
        let session = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut stream = StreamOwned::new(session, connect(&protected));
        stream.conn.complete_io(&mut stream.sock).unwrap();
        assert_eq!(stream.conn.alpn_protocol(), Some(&b"h2"[..]));
        stream
    };
    let waiting = [
        ("silent", thread::spawn(move || closed_after(silent))),
        ("half a head", thread::spawn(move || closed_after(halfway))),
        (
            "no TLS",
            thread::spawn(move || closed_after(without_handshake)),
        ),
        ("HTTP/2", thread::spawn(move || closed_after(over_http_2))),
    ];
    for (what, waiting) in waiting {
        let took = waiting.join().unwrap().as_secs_f64();
        assert!((14.0..25.0).contains(&took), "{what}: {took}");
    }
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let (house, _) = House::start().await;
    for (bytes, status) in [(60_000, "HTTP/1.1 200"), (200_000, "HTTP/1.1 431")] {
        let mut connection = connect(&house);
        let filling = "x".repeat(bytes);
        // The answer may come, and the connection end, before all is written.
        let _ = write!(
            connection,
            "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx: {filling}\r\n\r\n"
        );
        let mut answer = [0; 12];
        connection.read_exact(&mut answer).unwrap();
        assert_eq!(std::str::from_utf8(&answer).unwrap(), status);
    }
}
