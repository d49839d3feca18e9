//! Our TLS beside a browser's, which is another implementation of all of it.

use serde_json::json;

use crate::{
    flow::Flow,
    harness::{House, way::Way},
};

#[tokio::test]
async fn chromium_exchanges_keys_that_outlast_quantum_computers() {
    let mut house = House::empty();
    house.serve_by(Way::Tls).await;
    let file = house.data().join("cert.pem");
    Flow::start(
        "key-exchange",
        &house,
        &[],
        json!({ "tls": { "file": file } }),
    )
    .finish();
}
