//! A limit on the size of files is an error like a full disk, and not the end.

use serde_json::json;

use crate::harness::{House, delivery};

#[tokio::test]
async fn a_limit_on_file_size_refuses_writes_and_does_not_end_the_server() {
    let mut house = House::empty();
    let ann = house.user("ann", "owner");
    // In blocks of 512 bytes.
    house.prelude = Some("ulimit -f 1024");
    house.serve().await;
    let key = house.key("writer");
    let first = house.deliver(&key, "writer", json!({})).await;
    let more = json!({ "details": "x".repeat(200_000) });
    let mut refused = false;
    for _ in 0..20 {
        let answer = house
            .post("/wake/v1/deliver", &key, delivery("writer", more.clone()))
            .await;
        refused |= answer.status == 503;
        if refused {
            break;
        }
    }
    assert!(refused, "nothing was ever too much");
    assert_eq!(house.response(&key, &first).await["status"], "pending");
    assert_eq!(house.get("/api/v1/inbox", &ann).await.status, 200);
    house.stop();
    house.prelude = None;
    house.serve().await;
    house.deliver(&key, "writer", more).await;
}
