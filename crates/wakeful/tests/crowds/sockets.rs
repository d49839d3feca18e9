//! Sockets that say nothing.

use std::time::Duration;

use crate::{
    crowd::{ask, crowd, is_closed},
    harness::{House, until, way::Way},
};

#[tokio::test]
async fn silent_sockets_keep_nobody_out_though_files_are_few() {
    // Behind a proxy they are the proxy's.
    for way in Way::DIRECT {
        silent_sockets_keep_nobody_out(way).await;
    }
}

async fn silent_sockets_keep_nobody_out(way: Way) {
    let mut house = House::empty();
    house.prelude = Some("ulimit -n 1024");
    let ann = house.user("ann", "owner");
    house.serve_by(way).await;
    let mut silent = crowd(&house, 1_100, "");
    let request = format!(
        "GET /api/v1/inbox HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {ann}\r\n\r\n"
    );
    for _ in 0..5 {
        let (status, took) = ask(&house, &request);
        assert_eq!(status, "HTTP/1.1 200", "{way:?}, after {took:?}");
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
    until("most of them are sent away", || {
        ask(&house, &request);
        silent.retain_mut(|socket| !is_closed(socket));
        std::future::ready(silent.len() <= 64)
    })
    .await;
}
