//! What a device is told of itself, and the unit that runs it.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use crate::harness::WAKEFUL;

const CONFIG: &str = r#"
server = "https://wakeful.example.com"
agent = "WL35080814"
token-file = "token"
secret-file = "keys/secret"

[[target]]
name = "nas"
mac = "00:11:22:aa:bb:cc"

[[network]]
interface = "eth0"
broadcast = "192.168.1.255"
"#;

fn write(directory: &Path, text: &str) -> PathBuf {
    let file = directory.join("device.toml");
    std::fs::write(&file, text).unwrap();
    file
}

fn device(config: &Path, more: &[&str]) -> Output {
    Command::new(WAKEFUL)
        .args(["link", "device", "--config"])
        .arg(config)
        .args(more)
        .env("XDG_STATE_HOME", config.with_extension("state"))
        .env_remove("WAKEFUL_SERVER")
        .output()
        .unwrap()
}

#[test]
fn the_unit_names_every_file_and_systemd_takes_it() {
    let directory = tempfile::tempdir().unwrap();
    let output = device(&write(directory.path(), CONFIG), &["--print-unit"]);
    assert!(output.status.success(), "{output:?}");
    let unit = String::from_utf8(output.stdout).unwrap();
    let at = directory.path().display();
    for line in [
        format!("LoadCredential=device.toml:{at}/device.toml"),
        format!("LoadCredential=token:{at}/token"),
        format!("LoadCredential=secret:{at}/keys/secret"),
    ] {
        assert!(unit.lines().any(|found| found == line), "{line}\n{unit}");
    }
    assert!(unit.contains("--server https://wakeful.example.com"));
    assert!(!unit.contains("@AGENT@") && !unit.contains("@COMMAND@"));
    // Where there is a systemd, it says whether it would run this.
    let file = directory.path().join("wakeful-device.service");
    std::fs::write(&file, &unit).unwrap();
    let mut verify = Command::new("systemd-analyze");
    if let Ok(output) = verify.arg("verify").arg(&file).output() {
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!said.contains("wakeful-device"), "{said}");
    }
}

#[test]
fn a_file_that_makes_no_sense_says_where() {
    let directory = tempfile::tempdir().unwrap();
    let without = |what: &str| CONFIG.replace(what, "");
    let cases = [
        (without(r#"agent = "WL35080814""#), "agent"),
        (without(r#"token-file = "token""#), "token-file"),
        (
            without(r#"server = "https://wakeful.example.com""#),
            "--server",
        ),
        (CONFIG.replace("aa:bb:cc", "aa:bb"), "hardware address"),
        (CONFIG.replace("192.168.1.255", "everyone"), "broadcast"),
        (CONFIG.replace("interface", "interfaces"), "interfaces"),
        (
            CONFIG.replace(
                "[[network]]",
                "[[target]]\nname = \"nas\"\nmac = \"00:00:00:00:00:01\"\n[[network]]",
            ),
            "twice",
        ),
        (
            CONFIG.replace("\"nas\"", "\"00:11:22:aa:bb:cc\""),
            "no name",
        ),
    ];
    for (text, because) in cases {
        let output = device(&write(directory.path(), &text), &["--print-unit"]);
        assert_eq!(output.status.code(), Some(2), "{text}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(because), "{because}: {said}");
    }
}

#[test]
fn tokens_secrets_and_passwords_are_for_their_owner_alone() {
    let directory = tempfile::tempdir().unwrap();
    let config = write(directory.path(), CONFIG);
    let said = |output: Output| {
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    // No secret yet.
    assert!(said(device(&config, &[])).contains("wakeful link pair WL35080814"));
    let secret = directory.path().join("keys/secret");
    let made = Command::new(WAKEFUL)
        .args(["link", "pair", "WL35080814", "--secret-file"])
        .arg(&secret)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let token = directory.path().join("token");
    std::fs::write(&token, "wld_x\n").unwrap();
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(said(device(&config, &[])).contains("token can be read by others"));
    let secured = CONFIG.replace(
        "mac = \"00:11:22:aa:bb:cc\"",
        "mac = \"00:11:22:aa:bb:cc\"\npassword = \"01:02:03:04:05:06\"",
    );
    let config = write(directory.path(), &secured);
    std::fs::set_permissions(&config, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(said(device(&config, &[])).contains("device.toml can be read by others"));
    // Another device's secret is not this one's.
    let other = CONFIG.replace("WL35080814", "WL00000000");
    let config = write(directory.path(), &other);
    assert!(said(device(&config, &[])).contains("the secret of WL35080814"));
}

#[test]
fn what_systemd_hands_over_is_read_although_its_access_list_looks_like_a_group() {
    let directory = tempfile::tempdir().unwrap();
    let (handed, elsewhere) = (
        directory.path().join("handed"),
        directory.path().join("else"),
    );
    std::fs::create_dir(&handed).unwrap();
    std::fs::create_dir(&elsewhere).unwrap();
    let secret = handed.join("secret");
    let pair = |credentials: Option<&Path>| {
        let mut pair = Command::new(WAKEFUL);
        pair.args(["link", "pair", "WL35080814", "--secret-file"])
            .arg(&secret)
            .env_remove("CREDENTIALS_DIRECTORY");
        if let Some(directory) = credentials {
            pair.env("CREDENTIALS_DIRECTORY", directory);
        }
        pair.output().unwrap()
    };
    let made = pair(None);
    assert!(made.status.success(), "{made:?}");
    // 0400 and a list that lets one more user read is 0440 to whoever asks.
    let mode = |mode| {
        std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o440);
    let again = pair(Some(&handed));
    assert!(again.status.success(), "{again:?}");
    assert_eq!(again.stdout, made.stdout);
    assert_eq!(pair(None).status.code(), Some(2));
    assert_eq!(pair(Some(&elsewhere)).status.code(), Some(2));
    for open in [0o444, 0o460] {
        mode(open);
        assert_eq!(pair(Some(&handed)).status.code(), Some(2), "{open:o}");
    }
}

#[test]
fn the_unit_s_own_command_line_reads_what_it_is_handed() {
    let directory = tempfile::tempdir().unwrap();
    let config = write(
        directory.path(),
        &CONFIG.replace(
            "mac = \"00:11:22:aa:bb:cc\"",
            "mac = \"00:11:22:aa:bb:cc\"\npassword = \"01:02:03:04:05:06\"",
        ),
    );
    std::fs::set_permissions(&config, std::fs::Permissions::from_mode(0o440)).unwrap();
    let run = |credentials: &Path| {
        Command::new("sh")
            .args(["-c", "exec \"$0\" link device --config \"${CREDENTIALS_DIRECTORY}/device.toml\" --print-unit", WAKEFUL])
            .env("CREDENTIALS_DIRECTORY", credentials)
            .output()
            .unwrap()
    };
    let output = run(directory.path());
    assert!(output.status.success(), "{output:?}");
    let unit = String::from_utf8(output.stdout).unwrap();
    for file in [
        "--config ${CREDENTIALS_DIRECTORY}/device.toml",
        "--token-file ${CREDENTIALS_DIRECTORY}/token",
        "--secret-file ${CREDENTIALS_DIRECTORY}/secret",
    ] {
        assert!(unit.contains(file), "{unit}");
    }
}
