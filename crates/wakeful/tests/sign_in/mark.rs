//! A browser that has signed in before as this person gets past lock-outs.

use crate::{
    door::{Door, PASSWORD, WRONG, house},
    harness::Answer,
};

const OFFICE: &str = "203.0.113.7";

/// The marks among an answer's cookies, as they are set.
fn marks(answer: &Answer) -> Vec<String> {
    let set = answer.headers.get_all("set-cookie").iter();
    let set = set.map(|set| set.to_str().unwrap().to_owned());
    set.filter(|set| set.contains("known")).collect()
}

/// A browser that ann has used, and whose session has ended: what is left is the mark.
async fn known_browser(house: &crate::harness::House) -> Door {
    let mut browser = Door::new(house, Some(OFFICE));
    assert_eq!(browser.signs_in("ann", PASSWORD).await, 303);
    browser.cookies.retain(|cookie| cookie.contains("known"));
    assert_eq!(browser.cookies.len(), 1, "no mark was set");
    browser
}

#[tokio::test]
async fn a_browser_that_has_signed_in_before_gets_past_lockouts() {
    let (house, _) = house().await;
    let browser = known_browser(&house).await;
    let neighbour = Door::new(&house, Some(OFFICE));
    while neighbour.tries("ann", WRONG).await != 429 {}
    assert_eq!(neighbour.tries("ann", PASSWORD).await, 429);
    assert_eq!(browser.tries("ann", PASSWORD).await, 303);
    // It is another person's for nobody.
    while neighbour.tries("bob", WRONG).await != 429 {}
    assert_eq!(browser.tries("bob", WRONG).await, 429);
}

#[tokio::test]
async fn a_mark_is_for_signing_in_and_no_script_and_opens_nothing() {
    let (house, _) = house().await;
    let door = Door::new(&house, Some(OFFICE));
    let fields = [("name", "ann"), ("password", PASSWORD)];
    let answer = door.form("/sign-in", &fields).await;
    let set = marks(&answer);
    assert_eq!(set.len(), 1, "{set:?}");
    let flags: Vec<&str> = set[0].split("; ").skip(1).collect();
    assert_eq!(
        flags,
        [
            "Path=/sign-in",
            "Max-Age=31536000",
            "HttpOnly",
            "SameSite=Lax",
            "Secure"
        ]
    );
    assert!(!set[0].contains("ann"), "{set:?}");
    let browser = known_browser(&house).await;
    for path in ["/", "/you", "/done"] {
        let answer = browser.send("GET", path, &[], String::new()).await;
        assert_eq!(answer.status, 303, "{path}");
    }
    let me = browser.send("GET", "/api/v1/me", &[], String::new()).await;
    me.is_problem(401, "unauthenticated", None);
    // Nor does a failed try give one.
    let answer = door
        .form("/sign-in", &[("name", "ann"), ("password", WRONG)])
        .await;
    assert_eq!(marks(&answer), Vec::<String>::new());
}

#[tokio::test]
async fn a_forged_mark_is_none_and_a_stolen_one_gives_a_few_tries() {
    let (mut house, _) = house().await;
    let browser = known_browser(&house).await;
    let mut neighbour = Door::new(&house, Some(OFFICE));
    while neighbour.tries("ann", WRONG).await != 429 {}
    let mark = browser.cookies[0].clone();
    let (name, value) = mark.split_once('=').unwrap();
    let flip = |c: char| if c == '0' { '1' } else { '0' };
    let middle: String = {
        let place = value.len() / 2;
        let (before, after) = value.split_at(place);
        let flipped = after.chars().take(1).map(flip);
        let rest = after.chars().skip(1);
        before.chars().chain(flipped).chain(rest).collect()
    };
    let last: String = {
        let all: Vec<char> = value.chars().collect();
        let (last, rest) = all.split_last().unwrap();
        rest.iter().copied().chain([flip(*last)]).collect()
    };
    for forged in [
        middle,
        last,
        String::new(),
        "x".repeat(5000),
        format!("{value}0"),
    ] {
        neighbour.cookies = vec![format!("{name}={forged}")];
        assert_eq!(neighbour.tries("ann", PASSWORD).await, 429, "{forged}");
    }
    // From anywhere, and for so many tries; a restart gives no new ones.
    let thief = Door {
        cookies: browser.cookies.clone(),
        ..neighbour.at("192.0.2.66")
    };
    let home = neighbour.at("192.0.2.66");
    while home.tries("ann", WRONG).await != 429 {}
    let mut guesses = 0;
    while thief.tries("ann", WRONG).await == 401 {
        guesses += 1;
        assert!(guesses < 30, "a stolen mark guesses on and on");
    }
    assert!(guesses >= 3, "{guesses}");
    house.stop();
    house.serve().await;
    let thief = Door {
        cookies: browser.cookies.clone(),
        ..Door::new(&house, Some("192.0.2.66"))
    };
    assert_eq!(thief.tries("ann", PASSWORD).await, 429);
}
