//! Erasing the content of one item, by an owner and without a rule.

use serde_json::json;

use crate::{
    browser::Browser,
    harness::{House, until},
};

#[tokio::test]
async fn an_owner_erases_the_content_of_an_answered_item_for_good() {
    let (house, token) = House::start().await;
    house.user("rob", "reviewer");
    let key = house.key("a");
    let id = house
        .deliver(&key, "a", json!({ "details": "sesamedetails" }))
        .await;
    let (ann, rob) = (
        Browser::of(&house, "ann").await,
        Browser::of(&house, "rob").await,
    );
    let (path, erase) = (format!("/items/{id}"), format!("/items/{id}/erase"));

    // What waits is never erased.
    assert!(!ann.page(&path).await.contains("Erase"));
    let refused = ann.post(&erase, &[]).await;
    assert_eq!(refused.status, 409);
    assert!(
        refused.text().contains("It waits for an answer"),
        "{}",
        refused.text()
    );
    let content = format!("/api/v1/inbox/{id}/content");
    let refused = house.send("DELETE", &content, Some(&token), None).await;
    refused.is_problem(409, "still_open", None);

    let answer = json!({
        "status": "redirected", "feedback": "sesamefeedback", "edited_content": "sesameedited"
    });
    house.respond(&token, &id, answer).await;
    let page = ann.page(&path).await;
    assert!(
        page.contains("sesamedetails") && page.contains("Erase it now"),
        "{page}"
    );
    // Only an owner's own page can ask for it.
    assert!(!rob.page(&path).await.contains("Erase"));
    assert_eq!(rob.post(&erase, &[]).await.status, 403);
    assert_eq!(ann.send_form(&erase, "").await.status, 403);
    assert!(ann.page(&path).await.contains("sesamedetails"));

    ann.done(&erase, &[], &path).await;
    let page = ann.page(&path).await;
    assert!(!page.contains("sesame"), "{page}");
    assert!(
        page.contains("Its content was erased.") && page.contains("content erased"),
        "{page}"
    );
    let told = house.response(&key, &id).await;
    assert_eq!(
        (&told["status"], &told["content_erased"]),
        (&json!("redirected"), &json!(true))
    );
    let erased = house.entries(&token, "content_erased").await;
    assert_eq!(erased.len(), 1);
    assert_eq!(erased[0]["facts"]["by"], "ann");
    // Once is enough.
    let again = house.send("DELETE", &content, Some(&token), None).await;
    assert_eq!(again.status, 204);
    assert_eq!(house.entries(&token, "content_erased").await.len(), 1);
    // It is gone from the files as well, and the trail is whole.
    until("no file holds it", || async {
        let files = std::fs::read_dir(house.data()).unwrap().map(Result::unwrap);
        let files = files.filter(|file| file.file_type().unwrap().is_file());
        files
            .map(|file| std::fs::read(file.path()).unwrap())
            .all(|bytes| {
                let mut windows = bytes.windows(6);
                !windows.any(|window| window == b"sesame")
            })
    })
    .await;
    house.verify();
    let nobody = "/api/v1/inbox/00000000-0000-4000-8000-000000000000/content";
    let absent = house.send("DELETE", nobody, Some(&token), None).await;
    absent.is_problem(404, "not_found", None);
}
