//! The secret goes from one side to the other in a person's hands.

use std::{
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::Value;

use crate::harness::WAKEFUL;

const AGENT: &str = "WL35080814";

/// `wakeful link pair WL35080814 …`, where this side keeps its things.
fn pair(side: &Path, more: &[&str], input: &str) -> Output {
    let mut child = Command::new(WAKEFUL)
        .args(["link", "pair", AGENT])
        .args(more)
        .env("XDG_STATE_HOME", side)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // One that does not read is not told.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn said(output: &Output) -> (String, String) {
    assert!(output.status.success(), "{output:?}");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

/// What a scanner reads from the picture among these lines.
fn scanned(shown: &str) -> String {
    let drawn = |line: &&str| !line.is_empty() && line.chars().all(|c| " ▀▄█".contains(c));
    let rows: Vec<Vec<char>> = shown
        .lines()
        .filter(drawn)
        .map(|line| line.chars().collect())
        .collect();
    let width = rows[0].len();
    // Each character is one module wide and two high; a module is 4 pixels.
    let dark = |x: usize, y: usize| {
        let (x, y) = (x / 4, y / 4);
        match rows[y / 2].get(x).copied().unwrap_or(' ') {
            '█' => true,
            '▀' => y % 2 == 0,
            '▄' => y % 2 == 1,
            _ => false,
        }
    };
    let mut image =
        rqrr::PreparedImage::prepare_from_greyscale(width * 4, rows.len() * 8, |x, y| {
            if dark(x, y) { 0 } else { 255 }
        });
    let grids = image.detect_grids();
    assert_eq!(grids.len(), 1, "{shown}");
    let (_, content) = grids[0].decode().unwrap();
    content
}

#[test]
fn the_code_is_carried_over_and_both_sides_show_one_fingerprint() {
    let (device, client) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (code, shown) = said(&pair(device.path(), &[], ""));
    assert_eq!(code.trim().len(), 56 + 13, "{code}");
    let (fingerprint, _) = said(&pair(client.path(), &["--accept"], &code));
    assert!(shown.contains(fingerprint.trim()), "{shown}");
    let file = "wakeful/link/WL35080814.secret";
    let kept = |side: &Path| std::fs::read_to_string(side.join(file)).unwrap();
    assert_eq!(kept(device.path()), kept(client.path()));
    for side in [&device, &client] {
        let mode = std::fs::metadata(side.path().join(file)).unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    }
    // Asked again, the device shows the same; for another client, say.
    assert_eq!(said(&pair(device.path(), &[], "")).0, code);
    let as_json: Value =
        serde_json::from_str(&said(&pair(device.path(), &["--json"], "")).0).unwrap();
    assert_eq!(as_json["code"], code.trim());
    assert_eq!(as_json["fingerprint"], fingerprint.trim());
}

#[test]
fn the_picture_holds_the_whole_secret_and_can_be_given_instead_of_the_code() {
    let (device, client) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (code, shown) = said(&pair(device.path(), &[], ""));
    let uri = scanned(&shown);
    assert_eq!(uri, format!("wakelink:{AGENT}:{}", code.trim()));
    let (fingerprint, _) = said(&pair(client.path(), &["--accept"], &uri));
    assert!(shown.contains(fingerprint.trim()));
}

#[test]
fn a_code_that_is_mistyped_or_anothers_is_not_taken() {
    let (device, client) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (code, _) = said(&pair(device.path(), &[], ""));
    let first = if code.starts_with('A') { "B" } else { "A" };
    let mistyped = format!("{first}{}", &code[1..]);
    let other = code.replace('-', " ").to_lowercase();
    for (given, because) in [
        ("", "0 characters"),
        (mistyped.as_str(), "mistyped"),
        ("wakelink:WL00000000:AAAA", "WL00000000"),
    ] {
        let output = pair(client.path(), &["--accept"], given);
        assert_eq!(output.status.code(), Some(2), "{given}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(because), "{given}: {said}");
    }
    assert!(!client.path().join("wakeful").exists());
    // People type it as they like.
    said(&pair(client.path(), &["--accept"], &other));
}

#[test]
fn a_secret_is_replaced_only_when_that_is_asked_for() {
    let side = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    let (first, _) = said(&pair(side.path(), &[], ""));
    let (second, _) = said(&pair(other.path(), &[], ""));
    let output = pair(side.path(), &["--accept"], &second);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(said(&pair(side.path(), &[], "")).0, first);
    said(&pair(side.path(), &["--accept", "--replace"], &second));
    assert_eq!(said(&pair(side.path(), &[], "")).0, second);
    let (third, _) = said(&pair(side.path(), &["--replace"], ""));
    assert!(third != first && third != second);
}

#[test]
fn a_secret_that_others_can_read_is_not_used() {
    let side = tempfile::tempdir().unwrap();
    said(&pair(side.path(), &[], ""));
    let file = side.path().join("wakeful/link/WL35080814.secret");
    let open = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(&file, open).unwrap();
    let output = pair(side.path(), &[], "");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(output.stdout, b"");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("chmod 600"), "{said}");
}

#[test]
fn a_code_among_the_arguments_is_refused() {
    let side = tempfile::tempdir().unwrap();
    let output = pair(side.path(), &["--accept", "AAAA-BBBB"], "");
    assert_eq!(output.status.code(), Some(2));
}
