//! The functions that verify a callback: they accept what the server signed and
//! refuse it once one byte is other.

use crate::{
    documents::{EXPRESS_VERIFIER, PAPER_VERIFIER, QUICKSTART, SPEC_VERIFIER, Sample},
    harness::verifying::Callbacks,
    scene::{AGENT, Scene},
};

/// At `handler` stand the lines that belong inside the receiver's handler.
async fn verifies_and_refuses(sample: Sample, handler: Option<&str>) {
    let scene = Scene::start().await;
    let identity = scene.identity();
    let (certificate, key) = (identity.certificate_file(), identity.key_file());
    let mut mode = vec!["receive"];
    mode.extend(handler);
    mode.extend([certificate.to_str().unwrap(), key.to_str().unwrap()]);
    let receiver = scene.run(&sample, &mode);
    let callbacks = Callbacks {
        house: &scene.house,
        person: &scene.ann,
        key: &scene.key,
        agent: AGENT,
        identity,
    };
    callbacks.are_verified_and_refused_by(receiver).await;
}

#[tokio::test]
async fn the_python_verifier_of_the_specification_tells_them_apart() {
    verifies_and_refuses(SPEC_VERIFIER, Some("if not verify_wake_webhook")).await;
}

#[tokio::test]
async fn the_python_verifier_of_the_quickstart_tells_them_apart() {
    verifies_and_refuses(QUICKSTART, None).await;
}

#[tokio::test]
async fn the_python_verifier_of_the_white_paper_tells_them_apart() {
    verifies_and_refuses(PAPER_VERIFIER, None).await;
}

#[tokio::test]
async fn the_express_verifier_tells_them_apart() {
    verifies_and_refuses(EXPRESS_VERIFIER, None).await;
}
