//! Which server a command talks to when a flag and the environment disagree.

use std::{
    path::Path,
    process::{Command, Output},
};

use crate::{
    harness::{WAKEFUL, state},
    scene::{Scene, text},
};

fn run(scene: &Scene, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    Command::new(WAKEFUL)
        .args(arguments)
        .env_remove("WAKEFUL_SERVER")
        .env_remove("WAKEFUL_DATA")
        .env("XDG_STATE_HOME", state(scene.house.data()))
        .env("WAKEFUL_TOKEN", &scene.ann)
        .env("WAKE_API_KEY", &scene.key)
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

fn utf8(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test]
async fn a_server_that_is_named_wins_over_a_directory_in_the_environment_and_says_so() {
    let scene = Scene::start().await;
    let address = scene.house.address();
    let empty = tempfile::tempdir().unwrap();
    let data = [("WAKEFUL_DATA", utf8(empty.path()))];
    let output = run(&scene, &["user", "list", "--server", &address], &data);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(output.stdout).contains("ann"));
    let said = text(output.stderr);
    assert!(said.contains("WAKEFUL_DATA is not used"), "{said}");
    assert!(said.contains("--server"), "{said}");
    assert!(std::fs::read_dir(empty.path()).unwrap().next().is_none());
    // Without the variable nothing is said of it.
    let output = run(&scene, &["user", "list", "--server", &address], &[]);
    assert_eq!(text(output.stderr), "");
}

#[tokio::test]
async fn a_directory_that_is_named_wins_over_a_server_in_the_environment_and_says_so() {
    let scene = Scene::start().await;
    let data = utf8(scene.house.data());
    let nobody = [("WAKEFUL_SERVER", "http://127.0.0.1:9")];
    let output = run(&scene, &["user", "list", "--data", data], &nobody);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(output.stdout).contains("ann"));
    let said = text(output.stderr);
    assert!(said.contains("WAKEFUL_SERVER is not used"), "{said}");
    // Verification reads data, and the variable does not stop it.
    let output = run(&scene, &["trail", "verify", "--data", data], &nobody);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[tokio::test]
async fn two_places_that_are_equally_named_are_refused() {
    let scene = Scene::start().await;
    let address = scene.house.address();
    let data = utf8(scene.house.data());
    let flags = ["inbox", "--data", data, "--server", &address];
    let output = run(&scene, &flags, &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(output.stderr).contains("--server"));
    let both = [("WAKEFUL_DATA", data), ("WAKEFUL_SERVER", &address)];
    let output = run(&scene, &["inbox"], &both);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = text(output.stderr);
    assert!(said.contains("WAKEFUL_DATA and WAKEFUL_SERVER"), "{said}");
    // What needs no server does not ask.
    let output = run(&scene, &["completions", "bash"], &both);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(text(output.stderr), "");
}

#[tokio::test]
async fn what_works_on_a_directory_does_not_take_this_machine_s_for_the_server_named() {
    let scene = Scene::start().await;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("export.jsonl");
    let home = [("XDG_DATA_HOME", utf8(home.path()))];
    let output = run(&scene, &["user", "create", "bob"], &home);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let address = scene.house.address();
    for command in [
        &["trail", "export", utf8(&file)][..],
        &["trail", "rebuild"],
        &["trail", "rotate-key"],
        &["trail", "verify"],
    ] {
        let named = [command, &["--server", &address]].concat();
        let output = run(&scene, &named, &home);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = text(output.stderr);
        assert!(said.contains("use --data DIR"), "{command:?}: {said}");
    }
    assert!(!file.exists());
}
