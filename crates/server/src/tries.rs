//! Keeping counts of wrong passwords: every few seconds if they have changed,
//! and at the end. Of a kill the last seconds are lost, which gives a guesser
//! the tries of those seconds again.

use std::time::Duration;

use engine::command::Account;

use crate::App;

/// A record of all of them is a hundred kilobytes: seldom enough that nobody waits
/// for it, often enough that little is forgotten.
const EVERY: Duration = Duration::from_secs(15);

/// Goes on from what the server before this one had counted.
pub async fn resume(app: &App) {
    let now = app.shared().clock.now();
    match app.shared().sign_in_tries().await {
        Ok(None) => {}
        Ok(Some(tries)) if app.limits.sign_in.resume(&tries, now) => {}
        Ok(Some(_)) => tracing::error!("counts of wrong passwords could not be read"),
        Err(error) => tracing::error!(%error, "counts of wrong passwords could not be read"),
    }
}

/// Runs until the server ends.
pub async fn run(app: App) {
    loop {
        tokio::time::sleep(EVERY).await;
        flush(&app).await;
    }
}

pub async fn flush(app: &App) {
    let now = app.shared().clock.now();
    let Some(tries) = app.limits.sign_in.take_changes(now) else {
        return;
    };
    let kept = match app.shared().seal_sign_in_tries(&tries) {
        Ok(sealed) => app.engine.submit(Account::KeepTries { sealed }).await,
        Err(error) => return tracing::error!(%error, "counts of wrong passwords are not sealed"),
    };
    if let Err(refusal) = kept {
        tracing::warn!(%refusal, "counts of wrong passwords could not be kept");
        app.limits.sign_in.put_back();
    }
}
