//! Sockets of the relay on which nobody has said who they are.

use std::io::{Read as _, Write as _};

use crate::{
    crowd::{is_closed, resident_kib, saying},
    harness::{House, until, way::Socket},
};

/// The answer to this opens a WebSocket.
const OPEN: &str = "GET /wss HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\n\
    upgrade: websocket\r\nsec-websocket-version: 13\r\n\
    sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// A socket that has sent so much of a frame that is longer; `None` if there
/// are too many.
fn half_a_frame(house: &House, bytes: usize, of: u16) -> Option<Socket> {
    let mut socket = saying(house, OPEN);
    let mut status = [0; 12];
    socket.read_exact(&mut status).unwrap();
    if &status == b"HTTP/1.1 429" {
        return None;
    }
    assert_eq!(&status, b"HTTP/1.1 101");
    let mut frame = vec![0x81, 0xfe];
    frame.extend(of.to_be_bytes());
    frame.extend([0; 4]);
    frame.resize(frame.len() + bytes, b' ');
    // It may be cut off before all is written.
    let _ = socket.write_all(&frame);
    Some(socket)
}

#[tokio::test]
async fn a_socket_that_has_not_said_who_it_is_holds_little() {
    for (bytes, of) in [(60_000, 65_000), (3_000, 4_000)] {
        let (house, _) = House::start().await;
        let process = house.process_id();
        // Some before: threads and tables are not what is measured.
        let mut sockets: Vec<_> = (0..40)
            .filter_map(|_| half_a_frame(&house, bytes, of))
            .collect();
        let before = resident_kib(process);
        sockets.extend((0..150).filter_map(|_| half_a_frame(&house, bytes, of)));
        assert_eq!(sockets.len(), 190);
        let grown = resident_kib(process).saturating_sub(before);
        assert!(grown < 150 * 20, "150 sockets hold {grown} KiB");
        until("most of them are ended", || {
            drop(half_a_frame(&house, 1, 100));
            sockets.retain_mut(|socket| !is_closed(socket));
            std::future::ready(sockets.len() <= 64)
        })
        .await;
    }
}
