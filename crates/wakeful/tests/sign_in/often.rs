//! Whoever knows the password may not fill the trail by signing in.

use crate::{
    door::{Door, PASSWORD, give_password},
    harness::House,
};

async fn sessions(house: &House, token: &str) -> usize {
    house.entries(token, "session_opened").await.len()
}

#[tokio::test]
async fn signing_in_with_the_right_password_has_a_rate_of_its_own() {
    let (house, ann) = House::start().await;
    give_password(&house, "ann", None).await;
    house.user("vic", "viewer");
    give_password(&house, "vic", None).await;
    let before = sessions(&house, &ann).await;
    let vic = Door::new(&house, None);
    let mut opened = 0;
    let refused = loop {
        match vic.tries("vic", PASSWORD).await {
            303 => opened += 1,
            other => break other,
        }
        assert!(opened <= 70, "{opened} sign-ins in a row");
    };
    assert_eq!(refused, 429);
    assert!(opened >= 60, "{opened}");
    assert_eq!(sessions(&house, &ann).await, before + opened);
    // Nobody else is in the way of it.
    let other = Door::new(&house, None);
    assert_eq!(other.tries("ann", PASSWORD).await, 303);
}
