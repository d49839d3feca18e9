//! Wrong passwords from everywhere at once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::watch;

use crate::door::{Door, PASSWORD, WRONG, house};

const ADDRESSES: usize = 1000;
const PER_SECOND: u64 = 180;

/// Sends wrong passwords at the pace until told to stop: for a person's own
/// name and for made-up ones in turn, from one address after the other.
async fn flood(door: Arc<Door>, over: Arc<AtomicBool>, sent: watch::Sender<usize>) {
    let mut pace = tokio::time::interval(Duration::from_micros(1_000_000 / PER_SECOND));
    let mut tries = tokio::task::JoinSet::new();
    while !over.load(Ordering::Relaxed) {
        pace.tick().await;
        let n = *sent.borrow();
        sent.send_replace(n + 1);
        let from = format!("10.{}.{}.1", n % ADDRESSES / 250, n % 250);
        let door = door.at(&from);
        tries.spawn(async move {
            let name = match n % 2 {
                0 => "ann".to_owned(),
                _ => format!("made-up-{n}"),
            };
            let status = door.tries(&name, WRONG).await;
            assert!(matches!(status, 401 | 429), "{status}");
        });
        while tries.try_join_next().is_some_and(|tried| tried.is_ok()) {}
    }
    // Whoever floods does not wait for the end.
    tries.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_right_password_from_a_fresh_address_gets_in_through_a_flood_of_wrong_ones() {
    let (house, _) = house().await;
    let door = Arc::new(Door::new(&house, Some("203.0.113.1")));
    let over = Arc::new(AtomicBool::new(false));
    let (sent, mut flooded) = watch::channel(0);
    let flooding = tokio::spawn(flood(Arc::clone(&door), Arc::clone(&over), sent));
    // In the first rush, when every address is new, and once all have failed.
    let moments: &[usize] = match std::env::var_os("WAKEFUL_TEST_FULL") {
        None => &[400, 1500],
        Some(_) => &[200, 400, 1000, 1500, 3000, 6000],
    };
    let mut took = Vec::new();
    for (n, moment) in moments.iter().enumerate() {
        flooded.wait_for(|sent| sent >= moment).await.unwrap();
        let fresh = door.at(&format!("203.0.113.{}", 10 + n));
        let started = Instant::now();
        let status = fresh.tries("ann", PASSWORD).await;
        assert_eq!(status, 303, "after {moment} wrong ones");
        took.push(started.elapsed());
    }
    over.store(true, Ordering::Relaxed);
    flooding.await.unwrap();
    println!("after {moments:?} wrong passwords a right one took {took:?}");
    assert!(
        took.iter().all(|took| *took < Duration::from_secs(15)),
        "{took:?}"
    );
}
