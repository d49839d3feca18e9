//! The beginning of an id is enough where it is the beginning of one id.

use serde_json::json;

use crate::scene::Scene;

/// The shortest beginning of `id` that no other of `ids` has, and never less
/// than four characters.
fn shortest<'a>(id: &'a str, ids: &[String]) -> &'a str {
    let unique = |length: &usize| {
        let same = ids.iter().filter(|other| other.starts_with(&id[..*length]));
        same.count() == 1
    };
    let length = (4..=id.len()).find(unique).unwrap();
    &id[..length]
}

#[tokio::test]
async fn the_beginning_of_an_id_is_enough() {
    let scene = Scene::start().await;
    let ids: Vec<String> = (0..5).map(|_| scene.deliver(&[])).collect();
    for id in &ids {
        let start = shortest(id, &ids);
        assert_eq!(scene.json(&["inbox", start])["id"], **id);
        let shown = scene.json(&["trail", "show", start]);
        assert_eq!(shown, scene.json(&["trail", "show", id]));
        assert_eq!(scene.json(&["response", start])["delivery_id"], **id);
        assert_eq!(scene.json(&["inbox", &start.to_uppercase()])["id"], **id);
    }
    let id = &ids[2];
    let start = shortest(id, &ids);
    // A person learns which one it was.
    let respond = ["respond", start, "approved", "--hold", "30"];
    let (_, said) = scene.done(&respond);
    assert!(
        said.contains(id.as_str()) && said.contains("Done"),
        "{said}"
    );
    let (_, said) = scene.done(&["undo", start]);
    assert!(said.contains(id.as_str()), "{said}");
    scene.done(&["respond", start, "rejected"]);
    assert_eq!(scene.json(&["inbox", id])["status"], "rejected");
    let start = &id[..13];
    let proof = scene.done(&["trail", "proof", start]).0;
    assert_eq!(proof, scene.done(&["trail", "proof", id]).0);
}

#[tokio::test]
async fn digits_that_begin_an_id_are_not_taken_for_a_position() {
    let scene = Scene::start().await;
    // A fifth of all ids begin with four digits.
    let id = loop {
        let id = scene.house.deliver(&scene.key, "a", json!({})).await;
        if id[..4].bytes().all(|byte| byte.is_ascii_digit()) {
            break id;
        }
    };
    let digits = &id[..4];
    let refused = scene.run(&["trail", "proof", digits]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("give more of the id"), "{said}");
    // A position of which no id begins, and one that is marked as such.
    let entry = scene.done(&["trail", "proof", "1"]).0;
    assert_eq!(entry, scene.done(&["trail", "proof", "+1"]).0);
}

#[tokio::test]
async fn a_beginning_of_several_ids_names_some_of_them_and_nothing_happens() {
    let scene = Scene::start().await;
    // Among so many there are two that begin alike.
    let mut ids = Vec::new();
    let alike = loop {
        let id = scene.house.deliver(&scene.key, "a", json!({})).await;
        let same = |other: &&String| other[..4] == id[..4];
        if let Some(other) = ids.iter().find(same) {
            break [String::clone(other), id];
        }
        ids.push(id);
        assert!(ids.len() < 5000, "ids are not random");
    };
    let start = &alike[0][..4];
    for command in [
        &["inbox", start][..],
        &["respond", start, "approved"],
        &["undo", start],
        &["trail", "show", start],
    ] {
        let said = scene.ends(1, command);
        assert!(said.contains("2 deliveries begin with"), "{said}");
        for id in &alike {
            assert!(said.contains(id.as_str()), "{said}");
        }
    }
    for id in &alike {
        assert_eq!(scene.json(&["inbox", id])["status"], "pending");
    }
}

#[tokio::test]
async fn a_beginning_that_is_too_short_or_of_nothing_is_refused() {
    let scene = Scene::start().await;
    let id = scene.deliver(&[]);
    let other = match id.starts_with("0000") {
        true => "1111",
        false => "0000",
    };
    for command in [
        &["inbox", other][..],
        &["respond", other, "approved"],
        &["undo", other],
        &["trail", "show", other],
        &["response", other],
    ] {
        let said = scene.ends(1, command);
        assert!(said.contains("begins with"), "{said}");
    }
    for command in [["inbox", &id[..3]], ["response", &id[..3]]] {
        let said = scene.ends(1, &command);
        assert!(said.contains("4 characters"), "{said}");
    }
    // What no id can begin with is what it always was.
    for wrong in [
        "not-an-id",
        "550e8400e29b",
        "%20",
        "550e8400-e29b-41d4-a716-446655440000-",
    ] {
        let said = scene.ends(1, &["inbox", wrong]);
        assert!(said.contains("There is nothing here"), "{wrong}: {said}");
    }
}

#[tokio::test]
async fn an_agent_s_beginnings_are_those_of_its_own_deliveries() {
    let scene = Scene::start().await;
    let foreign = scene.house.deliver(&scene.key, "a", json!({})).await;
    let own = scene.deliver(&[]);
    assert_ne!(foreign[..8], own[..8]);
    let (answer, _) = scene.done(&["response", &own[..8]]);
    assert_eq!(answer, "pending\n");
    let said = scene.ends(1, &["response", &foreign[..8]]);
    assert!(said.contains("begins with"), "{said}");
    assert!(said.contains("agent.log"), "{said}");
    // The whole id works as ever.
    scene.done(&["response", &foreign]);
}

#[tokio::test]
async fn the_server_refuses_what_no_id_begins_with() {
    let scene = Scene::start().await;
    let id = scene.deliver(&[]);
    let long = format!("{id}0");
    for wrong in ["123", "xyzw", "550e84001", "550e8400e29b", &long] {
        let path = format!("/api/v1/inbox?id_prefix={wrong}");
        let answer = scene.house.get(&path, &scene.ann).await;
        answer.is_problem(422, "bad_query", Some("id_prefix"));
    }
    let path = format!("/api/v1/inbox?id_prefix={}&status=pending", &id[..4]);
    let answer = scene.house.get(&path, &scene.ann).await;
    answer.is_problem(422, "bad_query", Some("id_prefix"));
    let path = format!("/api/v1/inbox?id_prefix={}", &id[..4]);
    let found = scene.house.get(&path, &scene.ann).await.json();
    assert_eq!(found["items"][0]["id"], *id);
    assert!(found["next_cursor"].is_null());
    // No agent looks through the inbox.
    let answer = scene.house.get(&path, &scene.key).await;
    assert!(matches!(answer.status.as_u16(), 401 | 403));
}
