//! Pictures of the main pages, from what the demo's agents deliver. They are
//! always taken; with `WAKEFUL_TEST_PICTURES` they go into `docs/images`.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{flow::packages, harness::WAKEFUL};

fn directory() -> PathBuf {
    match std::env::var_os("WAKEFUL_TEST_PICTURES") {
        Some(_) => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images"),
        None => Path::new(env!("CARGO_TARGET_TMPDIR")).join("images"),
    }
}

#[test]
fn the_demo_makes_pictures_for_the_documents() {
    std::fs::create_dir_all(directory()).unwrap();
    let mut demo = Command::new(WAKEFUL)
        .args(["demo", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(demo.stderr.take().unwrap()).lines();
    let link = said
        .by_ref()
        .map_while(Result::ok)
        .find(|line| line.contains("/sign-in/"));
    // Read on, so that the demo never waits for us.
    let reader = std::thread::spawn(move || said.map_while(Result::ok).count());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/screenshots.mjs");
    let taken = Command::new("node")
        .arg(script)
        .arg(link.expect("the demo prints no link").trim())
        .arg(directory())
        .env("WAKEFUL_TEST_NODE", packages())
        .status();
    let ended = Command::new("kill")
        .args(["-TERM", &demo.id().to_string()])
        .status();
    assert!(ended.unwrap().success() && demo.wait().unwrap().success());
    reader.join().unwrap();
    assert!(taken.unwrap().success(), "no pictures: see above");
}
