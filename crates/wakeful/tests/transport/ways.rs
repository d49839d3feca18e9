//! The same things work by every way in.

use serde_json::json;

use crate::harness::{Answer, House, delivery, way::Way};

async fn form(house: &House, path: &str, cookies: &str, fields: &[(&str, &str)]) -> Answer {
    let address = reqwest::Url::parse_with_params("http://localhost", fields).unwrap();
    let body = address.query().unwrap_or_default().to_owned();
    let kind = ("content-type", "application/x-www-form-urlencoded");
    house
        .raw("POST", path, &[kind, ("cookie", cookies)], body)
        .await
}

fn is_secure(house: &House) -> bool {
    house.address().starts_with("https:")
}

fn cookies(answer: &Answer) -> String {
    let set = answer.headers.get_all("set-cookie").iter();
    let pairs = set.map(|set| set.to_str().unwrap().split(';').next().unwrap());
    pairs.collect::<Vec<_>>().join("; ")
}

#[tokio::test]
async fn agents_deliver_and_people_sign_in_and_answer_by_every_way() {
    for way in Way::ALL {
        let (mut house, ann) = House::start_by(way).await;
        let key = house.key("a");
        // An agent delivers.
        let delivered = house.post("/wake/v1/deliver", &key, delivery("a", json!({})));
        let delivered = delivered.await;
        assert_eq!(delivered.status, 201, "{way:?}: {}", delivered.text());
        let id = delivered.json()["delivery_id"].as_str().unwrap().to_owned();
        // Its person comes by a link, chooses a password and signs in with it.
        let link = house.json(&["user", "sign-in-link", "ann"]);
        let (_, link) = link["url"]
            .as_str()
            .unwrap()
            .split_once("/sign-in/")
            .unwrap();
        // The page key, which the script on the sign-in page chooses.
        let token = &"ab".repeat(32);
        let page = ("page", token.as_str());
        let entered = form(&house, &format!("/sign-in/{link}"), "", &[page]).await;
        assert_eq!(entered.status, 303, "{way:?}: {}", entered.text());
        let session = cookies(&entered);
        let password = "a quiet place to work";
        let fields = [("token", token.as_str()), ("new", password)];
        let set = form(&house, "/you", &session, &fields).await;
        assert_eq!(set.status, 303, "{way:?}: {}", set.text());
        let tries = async |given: &str| {
            let fields = [("name", "ann"), ("password", given), page];
            form(&house, "/sign-in", "", &fields).await
        };
        assert_eq!(tries("wrong").await.status, 401, "{way:?}");
        let entered = tries(password).await;
        assert_eq!(entered.status, 303, "{way:?}: {}", entered.text());
        let names_session = match is_secure(&house) {
            true => "__Host-wakeful=",
            false => "wakeful=",
        };
        assert!(cookies(&entered).starts_with(names_session), "{way:?}");
        // They answer, and the agent learns of it.
        let answered = house
            .respond(&ann, &id, json!({ "status": "approved" }))
            .await;
        assert_eq!(answered.status, 200, "{way:?}: {}", answered.text());
        // Who failed is on the trail by the address they came from.
        house.stop();
        let trail = house.json(&["trail", "show", "--limit", "200"]).to_string();
        let failed = format!("\"source\":\"{}\"", way.source());
        assert!(trail.contains(&failed), "{way:?}: {trail}");
    }
}

#[tokio::test]
async fn browsers_are_told_to_use_https_where_they_did() {
    for way in Way::ALL {
        let (house, _) = House::start_by(way).await;
        for path in ["/healthz", "/sign-in", "/api/v1/me", "/nothing"] {
            let answer = house.raw("GET", path, &[], "").await;
            let expected = is_secure(&house).then_some("max-age=31536000");
            let said = answer.header("strict-transport-security");
            assert_eq!(said, expected, "{way:?} {path}");
        }
    }
}
