//! Every page for everyone: axe-core, zoom, calm.

use crate::{deciding::start, flow::Flow, guest::link};

#[tokio::test]
async fn every_page_passes_an_audit_and_stays_calm() {
    let (house, ann, bob, mut more) = start().await;
    more["link"] = link(&house, "bob").into();
    Flow::start("audit", &house, &[&ann, &bob], more).finish();
}
