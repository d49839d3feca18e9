//! What a server says when it starts.

use crate::harness::House;

/// The lines of the server's log, until now.
fn log(house: &House) -> String {
    std::fs::read_to_string(house.log_file()).unwrap_or_default()
}

async fn start(prelude: &'static str, config: Option<&str>) -> String {
    let mut house = House::empty();
    house.user("ann", "owner");
    house.prelude = Some(prelude);
    let file = house.data().with_extension("toml");
    match config {
        None => house.try_serve(&[]).await.unwrap(),
        Some(config) => {
            std::fs::write(&file, config).unwrap();
            let flags = ["--config", file.to_str().unwrap()];
            house.try_serve(&flags).await.unwrap();
            std::fs::remove_file(file).unwrap();
        }
    }
    house.stop();
    log(&house)
}

#[tokio::test]
async fn nobody_is_warned_that_a_limit_is_too_low_for_what_nobody_asked_for() {
    for prelude in ["ulimit -n 20000", "ulimit -n 4096", "ulimit -n 1024"] {
        let log = start(prelude, None).await;
        assert!(!log.contains("WARN"), "{prelude}: {log}");
        assert!(!log.contains("too low"), "{prelude}: {log}");
    }
}

#[tokio::test]
async fn whoever_asks_for_more_connections_than_files_allow_is_warned() {
    let asked = "[link]\nconnections = 5000\n";
    let log = start("ulimit -n 4096", Some(asked)).await;
    assert!(log.contains("WARN") && log.contains("too low"), "{log}");
    let fits = "[link]\nconnections = 3000\n";
    let log = start("ulimit -n 4096", Some(fits)).await;
    assert!(!log.contains("WARN"), "{log}");
}
