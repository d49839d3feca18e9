//! Every page for everyone: axe-core, zoom, calm.

use crate::{deciding::start, flow::Flow};

#[tokio::test]
async fn every_page_passes_an_audit_and_stays_calm() {
    let (house, ann, bob, keys) = start().await;
    Flow::start("audit", &house, &[&ann, &bob], keys).finish();
}
