//! What went wrong is what the program says went wrong.

use crate::{
    harness::{House, wakeful},
    scene::{Scene, text},
};

#[test]
fn a_directory_without_data_is_said_to_have_none_and_nothing_is_made_in_it() {
    let house = House::empty();
    for command in [
        &["trail", "verify"][..],
        &["trail", "export", "nowhere"],
        &["trail", "rebuild"],
        &["trail", "rotate-key"],
        &["backup", "nowhere"],
    ] {
        let output = house.command(command, &[]);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {output:?}");
        let said = text(output.stderr);
        let data = house.data().display();
        assert_eq!(said, format!("wakeful: there is no data in {data}\n"));
    }
    assert!(std::fs::read_dir(house.data()).unwrap().next().is_none());
}

#[tokio::test]
async fn an_answer_that_is_held_says_when_it_is_final() {
    let scene = Scene::start().await;
    let id = scene.deliver(&[]);
    let (_, said) = scene.done(&["respond", &id, "approved", "--hold", "30"]);
    assert!(said.starts_with("approved. Final at 20"), "{said}");
    let undo = format!("; until then: wakeful undo {id}\n");
    assert!(said.ends_with(&undo), "{said}");
}

#[tokio::test]
async fn keys_are_live_or_test() {
    let scene = Scene::start().await;
    let said = scene.ends(2, &["rate", "set", "poem", "5/5"]);
    assert!(said.contains("live, test"), "{said}");
}

#[tokio::test]
async fn a_server_that_answers_without_tls_is_not_called_unreachable() {
    let scene = Scene::start().await;
    let address = scene.house.address().replace("http:", "https:");
    let environment = [("WAKEFUL_TOKEN", scene.ann.as_str())];
    let output = std::process::Command::new(crate::harness::WAKEFUL)
        .args(["inbox", "--server", &address])
        .env_remove("WAKEFUL_DATA")
        .envs(environment)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = text(output.stderr);
    assert!(said.contains("not with HTTPS"), "{said}");
    assert!(!said.contains("could not be reached"), "{said}");
}

#[test]
fn an_address_that_nobody_knows_is_said_to_be_a_guess() {
    let house = House::empty();
    house.user("ann", "owner");
    house.key("a");
    for command in [
        &["user", "sign-in-link", "ann"][..],
        &["prompt", "--agent", "a"],
    ] {
        let output = house.command(command, &[]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let said = text(output.stderr);
        assert!(said.contains("No server runs here"), "{said}");
        assert!(said.contains("http://127.0.0.1:7377"), "{said}");
    }
    let named = ["prompt", "--agent", "a", "--address", "https://h.example"];
    assert_eq!(text(house.command(&named, &[]).stderr), "");
}

#[tokio::test]
async fn an_address_that_a_server_knows_is_not() {
    let scene = Scene::start().await;
    let (_, said) = scene.done(&["prompt", "--agent", "a"]);
    assert_eq!(said, "");
    let (link, said) = scene.done(&["user", "sign-in-link", "ann"]);
    assert!(link.starts_with(&scene.house.address()), "{link}");
    assert!(!said.contains("No server"), "{said}");
}

#[tokio::test]
async fn a_viewer_is_told_that_viewers_have_no_devices() {
    let scene = Scene::start().await;
    let vic = scene.house.user("vic", "viewer");
    let environment = [("WAKEFUL_TOKEN", vic.as_str())];
    let output = wakeful(scene.house.data(), &["link", "watch"], &environment);
    let said = text(output.stderr);
    assert!(said.contains("a viewer reads and has no devices"), "{said}");
}

#[tokio::test]
async fn a_variable_that_is_empty_is_not_set() {
    let scene = Scene::start().await;
    for name in ["WAKEFUL_SERVER", "WAKEFUL_CA", "WAKEFUL_BODY_KEY"] {
        let output = scene.house.command(&["user", "list"], &[(name, "")]);
        assert_eq!(output.status.code(), Some(0), "{name}: {output:?}");
        assert_eq!(text(output.stderr), "", "{name}");
    }
    let address = scene.house.address();
    let output = std::process::Command::new(crate::harness::WAKEFUL)
        .args(["user", "list", "--server", &address])
        .env("WAKEFUL_DATA", "")
        .env("WAKEFUL_TOKEN", &scene.ann)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(text(output.stderr), "");
    let said = scene.ends(2, &["inbox", "--server-ca", ""]);
    assert!(said.contains("--server-ca is empty"), "{said}");
}

#[tokio::test]
async fn a_key_that_was_revoked_before_is_said_to_have_been() {
    let scene = Scene::start().await;
    let keys = scene.json(&["key", "list"]);
    let id = keys["keys"][0]["key_id"].as_str().unwrap().to_owned();
    let (_, said) = scene.done(&["key", "revoke", &id]);
    assert_eq!(said, "Revoked.\n");
    let (_, said) = scene.done(&["key", "revoke", &id]);
    assert_eq!(
        said,
        format!("Nothing changed: {id} was revoked already.\n")
    );
}

#[tokio::test]
async fn a_final_answer_of_ones_own_cannot_be_undone_and_is_said_to_be_final() {
    let scene = Scene::start().await;
    let id = scene.deliver(&[]);
    scene.done(&["respond", &id, "approved"]);
    let said = scene.ends(1, &["undo", &id]);
    assert!(said.contains("can no longer be undone"), "{said}");
    assert!(!said.contains("first answer"), "{said}");
}

#[tokio::test]
async fn a_person_whose_token_is_not_accepted_is_told_which_and_how_to_get_another() {
    let scene = Scene::start().await;
    let environment = [("WAKEFUL_TOKEN", "wrong")];
    for command in [&["inbox"][..], &["respond", "c7c0b633", "approved"]] {
        let output = wakeful(scene.house.data(), command, &environment);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = text(output.stderr);
        assert!(said.contains("WAKEFUL_TOKEN"), "{said}");
        assert!(said.contains("`wakeful user token NAME`"), "{said}");
        assert!(!said.contains("your human"), "{said}");
    }
}
