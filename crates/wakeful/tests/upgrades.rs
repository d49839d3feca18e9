//! A data directory of an earlier version opens, migrates, verifies and serves.
#![allow(clippy::unwrap_used)]

mod harness;

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use engine::{
    Clock, Engine, Keys, Reply, Setup, Vault,
    command::{Deliver, Wake},
};
use harness::{House, wakeful};
use serde_json::{Value, json};
use trail::{Hash, Micros};

const ANN: &str = "wl_fkWhpPtfi0YMFmaaz4_ETBCfRSiw-WtILkuC2CVXRDQ";
const WRITER: &str = "wk_live_hJqxMAy7pTyM5Pzuje-mxCBkBtKShTLqirO-WzxlbtE";
const ANSWERED: &str = "22dcfb83-1916-4df3-943a-11ee3ee4784e";
const ERASED: &str = "6d220e29-64c5-4ce7-a14c-6af623f1ffe6";
const TIMED_OUT: &str = "5ef22577-fadc-4ceb-8435-8a72994a75ef";

/// A house in which the data of a version was put.
fn moved_in(version: &str) -> House {
    let from = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(version);
    let house = House::empty();
    let keys = house.data().join("keys");
    fs::create_dir(&keys).unwrap();
    for file in ["wakeful.db", "head", "keys/trail.key", "keys/seal.key"] {
        // The oldest versions kept no head.
        if file == "head" && !from.join(file).exists() {
            continue;
        }
        let to = house.data().join(file);
        fs::copy(from.join(file), &to).unwrap();
        // What a checkout does not keep.
        fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).unwrap();
    }
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o700)).unwrap();
    house
}

fn verify(data: &Path) -> Value {
    let output = wakeful(data, &["trail", "verify", "--json"], &[]);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Stops the server: the trail verifies, and a rebuild of the views changes nothing.
fn is_whole(house: &mut House) {
    house.stop();
    assert_eq!(verify(house.data())["verified"], true);
    let rebuilt = house.json(&["trail", "rebuild"]);
    assert_eq!(rebuilt["changed"], json!([]), "{rebuilt}");
}

/// What was redirected and what was erased is told as before, a hold that ran out
/// while nobody served is final, and what waits can be answered.
async fn goes_on(house: &House, person: &str, key: &str, ids: [&str; 4]) {
    let [redirected, erased, held, waits] = ids;
    let told = house.response(key, redirected).await;
    assert_eq!(
        (&told["feedback"], &told["edited_content"]),
        (&json!("Shorter."), &json!({ "n": 1 }))
    );
    assert_eq!(house.response(key, erased).await["content_erased"], true);
    assert_eq!(house.answer(key, held).await["status"], "rejected");
    let approve = json!({ "status": "approved" });
    assert_eq!(house.respond(person, waits, approve).await.status, 200);
}

#[tokio::test]
async fn data_of_the_version_before_row_seals_opens_migrates_verifies_and_serves() {
    let mut house = moved_in("schema-3");
    // Before anything is migrated, too.
    assert_eq!(verify(house.data())["entries"], 28);
    house.serve().await;
    assert_eq!(
        house.response(WRITER, ANSWERED).await["status"],
        "redirected"
    );
    assert_eq!(
        house.response(WRITER, ANSWERED).await["feedback"],
        "Shorter."
    );
    let erased = house.response(WRITER, ERASED).await;
    assert_eq!(erased["status"], "approved");
    assert_eq!(erased["feedback"], Value::Null);

    // What it owed, held and remembered goes on: a repeated request is one.
    let inbox = house
        .get(&format!("/api/v1/inbox/{TIMED_OUT}"), ANN)
        .await
        .json();
    assert_eq!(inbox["headline"], "timed");
    let attempts = house.get("/api/v1/webhooks/callbacks", ANN).await;
    assert!(attempts.status.is_success(), "{attempts:?}");
    assert!(attempts.text().contains(ANSWERED), "{}", attempts.text());
    let next = house
        .deliver(WRITER, "writer", json!({ "headline": "New" }))
        .await;
    let approved = house
        .respond(ANN, &next, json!({ "status": "approved" }))
        .await;
    assert_eq!(approved.status, 200);
    is_whole(&mut house);
}

#[tokio::test]
async fn data_of_the_version_before_codes_of_deliveries_opens_migrates_verifies_and_serves() {
    const ANN: &str = "wl_JkkPRT336jY1k2ptFTxdYCy1cpPZpar25qJe8s_zpQo";
    const WRITER: &str = "wk_live_7O84wBmS8G4HURRGFsUrA7jmZOCMS7qKPEs2zCECcqg";
    const REDIRECTED: &str = "c8686f81-2752-42d1-aab1-ad1d71893440";
    const ERASED: &str = "aa62361d-0866-48ae-b2c6-2d8ff79fdca0";
    const HELD: &str = "26336acf-52f5-46d6-9aaa-4ace0286b95a";
    const WAITS: &str = "9dba1d48-cfee-458d-9432-cac3c11ae641";
    let mut house = moved_in("schema-4");
    assert_eq!(verify(house.data())["entries"], 14);
    house.serve().await;
    let told = house.response(WRITER, REDIRECTED).await;
    assert_eq!(told["status"], "redirected");
    assert_eq!(
        (&told["feedback"], &told["edited_content"]),
        (&json!("Shorter."), &json!({ "n": 1 }))
    );
    let told = house.response(WRITER, ERASED).await;
    assert_eq!(
        (&told["status"], &told["content_erased"]),
        (&json!("approved"), &json!(true))
    );
    // What was held is final: its time was over while nobody served.
    assert_eq!(house.answer(WRITER, HELD).await["status"], "rejected");
    let item = house
        .get(&format!("/api/v1/inbox/{WAITS}"), ANN)
        .await
        .json();
    assert_eq!(item["details"], "all of waits", "{item}");
    let answer = house
        .respond(ANN, WAITS, json!({ "status": "approved" }))
        .await;
    assert_eq!(answer.status, 200);
    is_whole(&mut house);
}

#[tokio::test]
async fn data_of_the_version_before_erasing_the_unanswered_opens_migrates_verifies_and_serves() {
    const ANN: &str = "wl_wBwWpNgIPCM3K2rq2gSkq-95D7vJkKGq3h6AAjjx4IU";
    const WRITER: &str = "wk_live_kOGltsQP5vYrinIhZlbsIXs1aIBD_qMcC7pzpUY6Rz4";
    const REDIRECTED: &str = "81937a29-c164-4efd-b08b-b558288c5de0";
    const ERASED: &str = "d7dcb91b-b5b8-437a-8e7f-23605b07d518";
    const UPDATE: &str = "4e4b598f-20e8-4441-9677-45befe7730dc";
    const TIMED_OUT: &str = "5ca236d4-0b74-44b0-b43d-bfe0e2e3f743";
    const HELD: &str = "7df250ee-2321-47a6-ab89-e83de8f316a1";
    let mut house = moved_in("schema-5");
    // Before anything is migrated, too.
    assert_eq!(verify(house.data())["verified"], true);
    house.serve().await;
    let told = house.response(WRITER, REDIRECTED).await;
    assert_eq!(told["feedback"], "Shorter.");
    assert_eq!(house.response(WRITER, ERASED).await["content_erased"], true);
    assert_eq!(house.answer(WRITER, HELD).await["status"], "approved");
    // What timed out before can be erased now, and what waits cannot.
    let content = |id: &str| format!("/api/v1/inbox/{id}/content");
    let erased = house
        .send("DELETE", &content(TIMED_OUT), Some(ANN), None)
        .await;
    assert!(erased.status.is_success(), "{erased:?}");
    let told = house.response(WRITER, TIMED_OUT).await;
    assert_eq!(
        (&told["status"], &told["content_erased"]),
        (&json!("pending"), &json!(true))
    );
    let update = house.get(&format!("/api/v1/inbox/{UPDATE}"), ANN).await;
    assert_eq!(update.json()["details"], "details of update");
    let late = json!({ "status": "rejected", "feedback": "Too late." });
    assert_eq!(house.respond(ANN, TIMED_OUT, late).await.status, 200);
    assert_eq!(
        house.response(WRITER, TIMED_OUT).await["feedback"],
        "Too late."
    );
    is_whole(&mut house);
    assert_eq!(verify(house.data())["verified"], true);
}

#[tokio::test]
async fn data_of_the_version_before_turns_opens_migrates_verifies_and_serves() {
    const ANN: &str = "wl_ZwHxo5deRtP7m1yiJOrYVcYRmzlwUR_ZbBM0Redq8l8";
    const WRITER: &str = "wk_live_bNZlsSDWMZ1xOmtllryiXhmMqwv6wOvfNOfDz_oRfm4";
    const REDIRECTED: &str = "0dfab0c6-5a2e-4755-85c4-5a9f4b0eecfa";
    const ERASED: &str = "82c8c1e3-e95a-4c9f-b0bc-01800ab2fbe2";
    const WAITS: &str = "11e24759-3a94-4095-b47e-52040cf2a078";
    const HELD: &str = "650a5438-7bc3-4a74-be69-f1a1a0fd9704";
    let mut house = moved_in("schema-6");
    // Before anything is migrated, too.
    assert_eq!(verify(house.data())["entries"], 14);
    house.serve().await;
    goes_on(&house, ANN, WRITER, [REDIRECTED, ERASED, HELD, WAITS]).await;
    is_whole(&mut house);
}

#[tokio::test]
async fn data_of_the_version_before_rooms_opens_migrates_verifies_and_serves() {
    const ANN: &str = "wl_zI8viVfoh9AhyrncrjZKy_gQTwXURP_LUAfZtRSvYKg";
    const WRITER: &str = "wk_live_CWxmRpiDSxjnI9b-6D0zmxWKHGlfVM5jWc1YY10nAxA";
    const REDIRECTED: &str = "e14eed1e-7a30-4dd6-a487-2478c8e3c35b";
    const ERASED: &str = "07b57a4a-32bb-4107-9868-342b8bfdc224";
    const WAITS: &str = "973bdd70-f535-46d2-926e-5b9c42ef774e";
    const HELD: &str = "a7ae3218-3b08-4c72-8310-fa45fc8e7114";
    let mut house = moved_in("schema-7");
    // Before anything is migrated, too.
    assert_eq!(verify(house.data())["entries"], 19);
    house.serve().await;
    goes_on(&house, ANN, WRITER, [REDIRECTED, ERASED, HELD, WAITS]).await;
    // Numbers in lanes go on where they were.
    house
        .deliver(WRITER, "writer", json!({ "headline": "New" }))
        .await;
    let swept = house
        .get("/wake/v1/responses?agent_id=writer&limit=1", WRITER)
        .await
        .json();
    assert_eq!(swept["total"], 5, "{swept}");
    is_whole(&mut house);
}

#[tokio::test]
async fn data_of_the_version_before_ended_keys_were_forgotten_opens_migrates_verifies_and_serves() {
    const ANN: &str = "wl_6dPrIu0936cSKwbbwCMzseg8Ndf4_yLMnwgX6ck3ZPo";
    const WRITER: &str = "wk_live_2nlOx57AD3ao9j7LcRoY2yijVqkujfKul8i7RdD_Gz0";
    const REDIRECTED: &str = "05edca2e-15c4-4321-bf8e-8208a5c0c870";
    const ERASED: &str = "494276d6-4573-438f-9761-0522fe714755";
    const HELD: &str = "e09ff43d-7206-4a8a-bdd8-ad90a673942e";
    const WAITS: &str = "f9c4239f-597b-4676-9dca-6ba702a46525";
    let mut house = moved_in("schema-8");
    // Its views have keys that are forgotten now: the start makes them anew.
    house.serve().await;
    assert_eq!(verify(house.data())["verified"], true);
    goes_on(&house, ANN, WRITER, [REDIRECTED, ERASED, HELD, WAITS]).await;
    // One that works, and the ten of thirteen that were revoked last.
    let keys = house.json(&["key", "list"]);
    assert_eq!(keys["keys"].as_array().map(Vec::len), Some(11), "{keys}");
    is_whole(&mut house);
}

/// While its day lasts: the clock stands where the data were made.
#[tokio::test]
async fn a_request_that_an_earlier_version_answered_is_answered_with_the_same_bytes() {
    const ANSWERED: &str = r#"{"delivery_id":"973bdd70-f535-46d2-926e-5b9c42ef774e","status":"received","created_at":"2026-11-18T13:19:03.432117Z"}"#;
    const BODY: &str = r#"{"agent_id":"writer","provider":"test","type":"question","headline":"waits","summary":"waits","details":"all of waits"}"#;
    let house = moved_in("schema-7");
    let keys = Keys::open(house.data()).unwrap();
    let seal = keys.seal.row_seal();
    let engine = Engine::start(Setup {
        store: store::open(&house.data().into(), &seal).await.unwrap(),
        vault: Vault::new(&keys.seal, &[]),
        keys,
        clock: Clock::new(|| Micros(1_795_008_000_000_000)),
    });
    let engine = engine.await.unwrap();
    let again = Wake::Deliver(Deliver {
        key_id: "key_435c8edffd1d".to_owned(),
        delivery: wake::NewDelivery::parse(BODY.as_bytes(), 1 << 20).unwrap(),
        idempotency: Some((
            "waits".to_owned(),
            Hash::of("wakeful/body/1", &[BODY.as_bytes()]),
        )),
    });
    let answered = engine.submit(again).await.unwrap();
    let same = Reply::Repeated {
        status: 201,
        body: ANSWERED.as_bytes().to_vec(),
    };
    assert_eq!(answered, same);
    engine.stop().await;
}
