//! Lock-outs weigh the address and the name together.

use crate::door::{Door, PASSWORD, WRONG, house};

const OFFICE: &str = "203.0.113.7";

#[tokio::test]
async fn made_up_names_from_a_shared_address_lock_nobody_out() {
    let (house, _) = house().await;
    let office = Door::new(&house, Some(OFFICE));
    for n in 0..60 {
        office.tries(&format!("made-up-{n}"), WRONG).await;
    }
    assert_eq!(office.tries("ann", PASSWORD).await, 303);
}

/// Half a minute, as long as that takes.
#[cfg(feature = "full")]
#[tokio::test]
async fn half_a_minute_of_tries_from_a_shared_address_keeps_nobody_out_for_long() {
    let (house, _) = house().await;
    let office = Door::new(&house, Some(OFFICE));
    let started = std::time::Instant::now();
    let mut n = 0;
    while started.elapsed().as_secs() < 30 {
        office.tries(&format!("made-up-{n}"), WRONG).await;
        office.tries("ann", WRONG).await;
        n += 1;
    }
    // Her own name was tried from her own address, and this browser is new: some
    // seconds, not minutes.
    let over = std::time::Instant::now();
    crate::harness::until_within(
        std::time::Duration::from_secs(20),
        "ann gets in from the shared address",
        || async { office.tries("ann", PASSWORD).await == 303 },
    )
    .await;
    println!("{n} tries of each kind; in after {:?}", over.elapsed());
}

#[tokio::test]
async fn tries_of_one_name_from_one_address_are_slowed_and_others_are_not_in_the_way() {
    let (house, _) = house().await;
    let office = Door::new(&house, Some(OFFICE));
    let mut statuses = Vec::new();
    for _ in 0..7 {
        statuses.push(office.tries("ann", WRONG).await);
    }
    assert_eq!(statuses, [401, 401, 401, 401, 401, 429, 429]);
    // A right password does not tell its guesser that it is right.
    assert_eq!(office.tries("ann", PASSWORD).await, 429);
    assert_eq!(office.tries("bob", WRONG).await, 401);
    let elsewhere = office.at("203.0.113.8");
    assert_eq!(elsewhere.tries("ann", PASSWORD).await, 303);
}

#[tokio::test]
async fn addresses_of_one_ipv6_network_are_one() {
    let (house, _) = house().await;
    let door = Door::new(&house, Some("2001:db8:1:1::1"));
    for n in 1..=5 {
        let door = door.at(&format!("2001:db8:1:1:{n:x}::{n:x}"));
        assert_eq!(door.tries("ann", WRONG).await, 401);
    }
    let same = door.at("2001:db8:1:1:ffff:ffff:ffff:ffff");
    assert_eq!(same.tries("ann", WRONG).await, 429);
    let another = door.at("2001:db8:1:2::1");
    assert_eq!(another.tries("ann", PASSWORD).await, 303);
}

#[tokio::test]
async fn lockouts_survive_a_restart() {
    let (mut house, _) = house().await;
    let office = Door::new(&house, Some(OFFICE));
    // Far enough that the wait outlasts the restart.
    for _ in 0..5 {
        assert_eq!(office.tries("ann", WRONG).await, 401);
    }
    crate::harness::until("the first wait is over", || async {
        office.tries("ann", WRONG).await == 401
    })
    .await;
    crate::harness::until("the second wait is over", || async {
        office.tries("ann", WRONG).await == 401
    })
    .await;
    house.stop();
    house.serve().await;
    let office = Door::new(&house, Some(OFFICE));
    assert_eq!(office.tries("ann", PASSWORD).await, 429);
    assert_eq!(office.tries("bob", WRONG).await, 401);
}
