//! What a person typed is never lost, never thrown away and never made up.

use serde_json::{Value, json};

use crate::{
    browser::{Browser, encode},
    harness::House,
};

struct Scene {
    house: House,
    key: String,
    ann: Browser,
}

async fn scene() -> Scene {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let ann = Browser::of(&house, "ann").await;
    Scene { house, key, ann }
}

impl Scene {
    async fn deliver(&self, details: Value) -> String {
        let more = json!({ "type": "question", "details": details });
        self.house.deliver(&self.key, "a", more).await
    }

    /// Sends an answer as the item's page does; gives status and page.
    async fn send(&self, id: &str, fields: &[(&str, &str)]) -> (u16, String) {
        let path = format!("/items/{id}/answer");
        let answer = self.ann.post(&path, fields).await;
        (answer.status.as_u16(), answer.text().to_owned())
    }

    async fn is_pending(&self, id: &str) {
        let path = format!("/items/{id}");
        let page = self.ann.page(&path).await;
        assert!(page.contains("data-open=\"true\""), "{page}");
    }
}

fn text<'a>(status: &'a str, feedback: &'a str, edited: &'a str) -> [(&'a str, &'a str); 4] {
    [
        ("status", status),
        ("feedback", feedback),
        ("edited_as", "text"),
        ("edited", edited),
    ]
}

#[tokio::test]
async fn a_change_that_an_answer_would_not_send_is_asked_about() {
    let scene = scene().await;
    for (verdict, words) in [("approved", "approve"), ("rejected", "reject")] {
        let id = scene.deliver(json!("pay 100")).await;
        let (status, page) = scene.send(&id, &text(verdict, "see <b>", "pay 10")).await;
        assert_eq!(status, 422);
        let asked = format!(
            "You changed the content: send your version (Redirect), or {words} it as delivered?"
        );
        assert!(page.contains(&asked), "{page}");
        assert!(page.contains("see &lt;b&gt;</textarea>") && page.contains("pay 10</textarea>"));
        assert!(page.contains("value=\"redirected\""), "{page}");
        let as_delivered = format!("{verdict}-as-delivered");
        assert!(
            page.contains(&format!("value=\"{as_delivered}\"")),
            "{page}"
        );
        scene.is_pending(&id).await;
        let (status, _) = scene
            .send(&id, &text(&as_delivered, "see <b>", "pay 10"))
            .await;
        assert_eq!(status, 303);
        let told = scene.house.answer(&scene.key, &id).await;
        assert_eq!(told["status"], verdict);
        assert_eq!(told["feedback"], "see <b>");
        assert_eq!(told["edited_content"], Value::Null);
    }
    // Not a valid object, and yet nothing that a person wrote is dropped.
    let id = scene.deliver(json!({ "pay": 100 })).await;
    let fields = [
        ("status", "approved"),
        ("edited_as", "json"),
        ("edited", "{\"pay\": 1"),
    ];
    let (status, page) = scene.send(&id, &fields).await;
    assert_eq!(status, 422);
    assert!(page.contains("You changed the content"), "{page}");
    // Sent as their own version.
    let id = scene.deliver(json!("pay 100")).await;
    scene.send(&id, &text("approved", "", "pay 10")).await;
    let (status, _) = scene.send(&id, &text("redirected", "", "pay 10")).await;
    assert_eq!(status, 303);
    let told = scene.house.answer(&scene.key, &id).await;
    assert_eq!(told["edited_content"], "pay 10");
}

#[tokio::test]
async fn a_redirect_that_says_nothing_is_told_what_is_missing() {
    let scene = scene().await;
    let id = scene.deliver(json!("pay 100")).await;
    for (edited, asked) in [
        ("pay 100", "what to do instead, or change the content."),
        // They have changed it, and nothing is left.
        ("", "say in the feedback what to do instead."),
    ] {
        let (status, page) = scene.send(&id, &text("redirected", "", edited)).await;
        assert_eq!(status, 422);
        assert!(page.contains(asked), "{page}");
    }
    scene.is_pending(&id).await;
}

#[tokio::test]
async fn a_refused_answer_keeps_what_was_written() {
    let scene = scene().await;
    let id = scene.deliver(json!({ "a": 1 })).await;
    let fields = [
        ("status", "redirected"),
        ("feedback", "my words"),
        ("edited_as", "json"),
        ("edited", "{\"a\": 1,}"),
    ];
    let (status, page) = scene.send(&id, &fields).await;
    assert_eq!(status, 422);
    assert!(page.contains("role=\"alert\">The content is"), "{page}");
    assert!(page.contains("my words</textarea>"), "{page}");
    assert!(
        page.contains("{&quot;a&quot;: 1,}</textarea>") || page.contains("{\"a\": 1,}</textarea>")
    );
    assert!(page.contains("id=\"redirect\" open"), "{page}");
    let long = "x".repeat(20_001);
    let fields = [("status", "approved"), ("feedback", &*long)];
    let (status, page) = scene.send(&id, &fields).await;
    assert_eq!(status, 422);
    assert!(page.contains(&format!("{long}</textarea>")));
    assert!(page.contains("maxlength=\"20000\""));
    scene.is_pending(&id).await;

    // A page from before the session, and no session at all.
    let path = format!("/items/{id}/answer");
    let fields = text("redirected", "my words", "mine <i>");
    let old = [&[("token", "old")], fields.as_slice()].concat();
    let answer = scene.ann.send_form(&path, &encode(&old)).await;
    assert_eq!(answer.status, 403);
    assert!(
        answer.text().contains("my words</textarea>"),
        "{}",
        answer.text()
    );
    let nobody = Browser::new(&scene.house);
    let answer = nobody.post(&path, &fields).await;
    assert_eq!(answer.status, 401);
    for kept in ["my words</textarea>", "mine &lt;i&gt;</textarea>", "next="] {
        assert!(answer.text().contains(kept), "{}", answer.text());
    }
    assert!(!answer.text().contains("headline"), "{}", answer.text());
    scene.is_pending(&id).await;

    // Someone else was first.
    let rob = scene.house.user("rob", "reviewer");
    scene
        .house
        .respond(&rob, &id, json!({ "status": "rejected" }))
        .await;
    let (status, page) = scene
        .send(&id, &text("redirected", "my words", "mine"))
        .await;
    assert_eq!(status, 409);
    assert!(page.contains("Your text, not sent"), "{page}");
    for kept in ["my words</textarea>", "mine</textarea>", "rob"] {
        assert!(page.contains(kept), "{page}");
    }
    // Undoing what is not held is refused on the item.
    let undo = format!("/items/{id}/undo");
    scene
        .ann
        .refused(&undo, &[], 409, "rob rejected this")
        .await;
    let back = scene.ann.get(&path).await;
    assert_eq!(
        back.header("location"),
        Some(format!("/items/{id}").as_str())
    );
}

#[tokio::test]
async fn what_was_written_is_there_again_after_an_undo_and_only_for_its_author() {
    let scene = scene().await;
    let id = scene.deliver(json!("as it came")).await;
    let fields = text("redirected", "my words", "my version");
    assert_eq!(scene.send(&id, &fields).await.0, 303);
    let here = format!("/items/{id}");
    scene.ann.done(&format!("{here}/undo"), &[], &here).await;
    let page = scene.ann.page(&here).await;
    // The script takes it for what they are writing.
    for kept in [
        "my words</textarea>",
        "my version</textarea>",
        " data-written",
    ] {
        assert!(page.contains(kept), "{kept}: {page}");
    }
    scene.house.user("rob", "reviewer");
    let rob = Browser::of(&scene.house, "rob").await;
    let page = rob.page(&here).await;
    assert!(!page.contains("my words"), "{page}");
    assert!(!page.contains("data-written"), "{page}");
    assert!(page.contains("as it came</textarea>"), "{page}");
}

#[tokio::test]
async fn whoever_is_signed_out_is_shown_content_only_if_they_changed_it() {
    let scene = scene().await;
    let id = scene.deliver(json!("as it came\r\nin lines")).await;
    let page = scene.ann.page(&format!("/items/{id}")).await;
    let (_, from) = page
        .split_once("name=\"edited_from\" value=\"")
        .expect("the form names what its editor held");
    let (digest, _) = from.split_once('"').unwrap();
    let nobody = Browser::new(&scene.house);
    for (edited, is_shown) in [("as it came\nin lines", false), ("mine", true)] {
        let fields = text("approved", "my words", edited);
        let fields = [&[("edited_from", digest)], fields.as_slice()].concat();
        let answer = nobody.post(&format!("/items/{id}/answer"), &fields).await;
        assert_eq!(answer.status, 401);
        let page = answer.text();
        assert!(page.contains("my words</textarea>"), "{page}");
        assert_eq!(page.contains("as you changed it"), is_shown, "{page}");
    }
}

#[tokio::test]
async fn an_address_puts_no_words_into_the_pages_mouth() {
    let scene = scene().await;
    let id = scene.deliver(json!("x")).await;
    for name in ["fault", "said", "error", "notice"] {
        let page = scene
            .ann
            .page(&format!("/items/{id}?{name}=sesame+open"))
            .await;
        assert!(!page.contains("sesame"), "{page}");
    }
}

#[tokio::test]
async fn what_nobody_changed_is_not_sent_back_and_line_ends_stay() {
    let scene = scene().await;
    let mut given = Vec::new();
    // What a browser makes of it, and sends.
    for (details, sent, edited, told) in [
        (
            "a\r\nb\r\n",
            "a\r\nb\r\n",
            "a\r\nc\r\n",
            json!("a\r\nc\r\n"),
        ),
        ("a\rb", "a\r\nb", "a\r\nc", json!("a\nc")),
        ("a\nb", "a\r\nb", "a\r\nc", json!("a\nc")),
        ("a\0b\n", "a\u{FFFD}b\r\n", "a b\r\n", json!("a b\n")),
        ("\n\r\nx", "\r\n\r\nx", "\r\n\r\ny", json!("\n\ny")),
    ] {
        for (fields, verdict, expected) in [
            (text("approved", "", sent), "approved", Value::Null),
            (text("redirected", "no", sent), "redirected", Value::Null),
            (text("redirected", "", edited), "redirected", told),
        ] {
            let id = scene.deliver(json!(details)).await;
            let (status, page) = scene.send(&id, &fields).await;
            assert_eq!(status, 303, "{details:?}: {page}");
            given.push((id, verdict, expected));
        }
    }
    // All are held at the same time.
    for (id, verdict, expected) in given {
        let answer = scene.house.answer(&scene.key, &id).await;
        assert_eq!(answer["status"], verdict);
        assert_eq!(answer["edited_content"], expected);
    }
}

#[tokio::test]
async fn what_an_editor_hides_is_listed_and_changes_are_shown_before_they_are_sent() {
    let scene = scene().await;
    let id = scene.deliver(json!("pay\nrob\u{202E}bor\u{200B}")).await;
    let page = scene.ann.page(&format!("/items/{id}")).await;
    let (_, below) = page.split_once("id=\"preview\"").unwrap();
    for said in [
        "RIGHT-TO-LEFT OVERRIDE</li>",
        "ZERO WIDTH SPACE</li>",
        "Line 2: ",
    ] {
        assert!(below.contains(said), "{said}: {below}");
    }
    assert!(!below.contains("What you changed"), "{below}");
    // By the button, and while one types.
    let edited = "pay\r\nann\u{202E}bor<b>";
    let (status, page) = scene.send(&id, &text("preview", "mine", edited)).await;
    assert_eq!(status, 200);
    assert!(page.contains("mine</textarea>"), "{page}");
    let path = format!("/items/{id}/preview");
    let typed = scene.ann.shown(&path, &text("", "mine", edited)).await;
    for page in [&page, &typed] {
        let (_, below) = page.split_once("id=\"preview\"").unwrap();
        assert!(below.contains("What you changed"), "{below}");
        assert!(below.contains("RIGHT-TO-LEFT OVERRIDE"), "{below}");
        assert!(!below.contains("ZERO WIDTH SPACE</li>"), "{below}");
        assert!(!below.contains("<b>"), "{below}");
    }
    assert!(page.contains("value=\"redirected\""), "{page}");
    scene.is_pending(&id).await;
    // Nothing hidden, nothing listed; nothing changed, and it says so.
    let id = scene.deliver(json!({ "a": 1 })).await;
    let page = scene.ann.page(&format!("/items/{id}")).await;
    assert!(!page.contains("The editor does not show"), "{page}");
    let fields = [
        ("status", "preview"),
        ("edited_as", "json"),
        ("edited", "{\n  \"a\": 1\n}"),
    ];
    let (_, page) = scene.send(&id, &fields).await;
    assert!(page.contains("Nothing was changed."), "{page}");
    assert!(
        page.contains("value=\"approved\" data-key=\"a\" formnovalidate"),
        "{page}"
    );
}

#[tokio::test]
async fn what_an_agent_says_it_is_stands_apart() {
    let scene = scene().await;
    let provider = "claude) approved by rob, final";
    let id = scene
        .house
        .deliver(&scene.key, "a", json!({ "provider": provider }))
        .await;
    let page = scene.ann.page(&format!("/items/{id}")).await;
    let (_, own) = page
        .split_once("which says it is <bdi class=\"own\"")
        .unwrap();
    assert!(
        own.split("</bdi>").next().unwrap().ends_with(provider),
        "{own}"
    );
    assert_eq!(page.matches(provider).count(), 1);
}

#[tokio::test]
async fn what_was_answered_together_is_taken_back_together() {
    let scene = scene().await;
    let mut ids = Vec::new();
    for n in 0..12 {
        ids.push(scene.deliver(json!(n.to_string())).await);
    }
    let mut fields = vec![("status", "approved"), ("confirmed", "yes")];
    fields.extend(ids.iter().map(|id| ("id", id.as_str())));
    let page = scene.ann.shown("/answers", &fields).await;
    assert_eq!(page.matches(">Undo all<").count(), 1);
    // One alone leaves the others to be taken back.
    let one = [&[("undo", ids[3].as_str())], &fields[2..]].concat();
    let page = scene.ann.shown("/answers/undo", &one).await;
    assert_eq!(page.matches("It waits for an answer.").count(), 1);
    assert_eq!(page.matches(">Undo<").count(), 11);
    let all = [&[("undo", "all")], &fields[2..]].concat();
    let page = scene.ann.shown("/answers/undo", &all).await;
    assert_eq!(page.matches("It waits for an answer.").count(), 12);
    assert!(!page.contains(">Undo"), "{page}");
    for id in &ids {
        scene.is_pending(id).await;
    }
    // A second time there is nothing to take back, and it says so.
    let page = scene.ann.shown("/answers/undo", &one).await;
    assert_eq!(page.matches("There is nothing to undo").count(), 1);
    for path in ["/answers", "/answers/undo"] {
        let answer = scene.ann.get(path).await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("location")),
            (303, Some("/"))
        );
    }
}

#[tokio::test]
async fn a_browser_is_told_on_a_page_and_a_program_as_a_problem() {
    let scene = scene().await;
    for (method, path, status) in [("GET", "/nowhere", 404), ("GET", "/sign-out", 405)] {
        let page = scene
            .house
            .raw(method, path, &[("accept", "text/html,*/*;q=0.8")], "")
            .await;
        assert_eq!(page.status, status);
        assert!(page.text().contains("To the inbox"), "{}", page.text());
        let problem = scene
            .house
            .raw(method, path, &[("accept", "*/*")], "")
            .await;
        assert_eq!(problem.json().get("status"), None);
    }
}

#[tokio::test]
async fn beside_an_item_stand_those_that_came_before_it() {
    let scene = scene().await;
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(scene.deliver(json!("x")).await);
    }
    let page = scene.ann.page(&format!("/items/{}", ids[2])).await;
    let (_, beside) = page.split_once("Earlier from this agent").unwrap();
    let place = |id: &String| beside.find(&format!("href=\"/items/{id}\""));
    assert!(
        place(&ids[1]).unwrap() < place(&ids[0]).unwrap(),
        "{beside}"
    );
    assert!(
        place(&ids[2]).is_none() && place(&ids[3]).is_none(),
        "{beside}"
    );
    let page = scene.ann.page("/agents").await;
    assert!(page.contains("4 deliveries, the last "), "{page}");
}

#[tokio::test]
async fn a_link_to_another_port_of_this_server_is_shown_and_is_no_link() {
    let (house, _) = House::start().await;
    let key = house.key("a");
    let own = house.address();
    let details = format!(
        "[Mine](http://localhost:9/take) and [his](http://[::ffff:7f00:1]:9/) and \
         [far](https://a.example/) and [here]({own}/trail)"
    );
    let more = json!({ "details": details, "details_format": "markdown" });
    let id = house.deliver(&key, "a", more).await;
    let ann = Browser::of(&house, "ann").await;
    let page = ann.page(&format!("/items/{id}")).await;
    for text in ["http://localhost:9/take", "http://[::ffff:7f00:1]:9/"] {
        assert!(page.contains(text), "{text} in {page}");
        assert!(!page.contains(&format!("href=\"{text}\"")), "{page}");
    }
    assert!(page.contains("href=\"https://a.example/\""), "{page}");
    assert!(page.contains(&format!("href=\"{own}/trail\"")), "{page}");
}

#[tokio::test]
async fn what_cannot_be_seen_is_pointed_out_alike_and_each_text_has_its_own_direction() {
    let scene = scene().await;
    let texts = json!({ "headline": "Pay\u{202e} now", "summary": "Pay\u{202e} now" });
    let id = scene.house.deliver(&scene.key, "a", texts.clone()).await;
    scene.house.deliver(&scene.key, "a", texts).await;
    let shown = |page: &str| page.matches(">U+202E</span> now").count();
    // The row's label, its link and its summary, of each of the two.
    let inbox = scene.ann.page("/").await;
    assert_eq!(shown(&inbox), 6, "{inbox}");
    assert!(
        inbox.contains("<p class=\"summary\" dir=\"auto\">"),
        "{inbox}"
    );
    // The headline, the summary, and the other item among the earlier ones.
    let item = scene.ann.page(&format!("/items/{id}")).await;
    assert!(shown(&item) >= 2, "{item}");
    assert!(item.contains("<h1 dir=\"auto\">Pay"), "{item}");
    assert!(item.contains("<p class=\"lead\" dir=\"auto\">"), "{item}");
    for page in [inbox, item] {
        assert!(
            !page.contains('\u{202e}') && !page.contains('\u{fffd}'),
            "{page}"
        );
    }
}

#[tokio::test]
async fn an_answer_from_a_page_without_its_key_says_why_it_was_not_sent() {
    let scene = scene().await;
    let id = scene.deliver(json!("pay 100")).await;
    let path = format!("/items/{id}/answer");
    for (token, why) in [
        ("", "opened by its plain address"),
        ("x", "opened before you signed in"),
    ] {
        let form = encode(&[("token", token), ("status", "approved")]);
        let answer = scene.ann.send_form(&path, &form).await;
        assert_eq!(answer.status, 403);
        assert!(answer.text().contains(why), "{}", answer.text());
    }
    scene.is_pending(&id).await;
}

#[tokio::test]
async fn a_search_of_what_is_done_that_finds_nothing_says_so() {
    let scene = scene().await;
    let page = scene.ann.page("/done").await;
    assert!(page.contains("Nothing here yet."), "{page}");
    let page = scene.ann.page("/done?q=needle").await;
    assert!(page.contains("Nothing here matches."), "{page}");
}
