//! A list that is empty says why, and one of something is not called many.

use crate::scene::Scene;

#[tokio::test]
async fn no_match_is_not_called_an_empty_inbox() {
    let scene = Scene::start().await;
    let empty = "Nothing waits for you.\n";
    assert_eq!(scene.done(&["inbox"]), (String::new(), empty.to_owned()));
    let (_, said) = scene.done(&["inbox", "--all"]);
    assert_eq!(said, "Nothing has been delivered yet.\n");

    let id = scene.deliver(&[]);
    for filter in [
        &["-q", "nosuch"][..],
        &["--agent", "nobody"],
        &["--type", "alert"],
        &["--status", "rejected"],
        &["--test"],
        &["--all", "--type", "alert"],
    ] {
        let (printed, said) = scene.done(&[&["inbox"], filter].concat());
        assert_eq!(printed, "", "{filter:?}");
        assert_eq!(said, "No delivery matches.\n", "{filter:?}");
    }
    let (_, said) = scene.done(&["inbox", "-q", "nosuch"]);
    assert!(!said.contains("waits"), "{said}");
    // Beyond the last page there is nothing more, whatever waits.
    let (_, said) = scene.done(&["inbox", "--cursor", "0"]);
    assert_eq!(said, "Nothing more.\n");
    scene.done(&["respond", &id, "approved"]);
    assert_eq!(scene.done(&["inbox"]).1, empty);
}

#[tokio::test]
async fn a_sweep_or_a_search_of_the_trail_without_a_match_says_so() {
    let scene = Scene::start().await;
    scene.deliver(&[]);
    let (printed, said) = scene.done(&["responses", "--status", "approved"]);
    assert_eq!(printed, "");
    assert!(said.contains("No delivery matches."), "{said}");
    let (printed, said) = scene.done(&["trail", "show", "--agent", "nobody"]);
    assert_eq!(printed, "");
    assert!(said.contains("No entry matches."), "{said}");
}

#[tokio::test]
async fn one_of_something_is_not_called_many() {
    let scene = Scene::start().await;
    let id = scene.deliver(&["-d", "the report"]);
    scene.done(&["respond", &id, "approved"]);
    let content = format!("/api/v1/inbox/{id}/content");
    let erased = scene
        .house
        .send("DELETE", &content, Some(&scene.ann), None)
        .await;
    assert!(erased.status.is_success(), "{}", erased.text());
    let (verified, _) = scene.done(&["trail", "verify"]);
    let said = "\n1 part was erased; its commitment stands\n";
    assert!(verified.contains(said), "{verified}");
}
