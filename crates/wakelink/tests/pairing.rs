//! The secret on its way past every server.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use wakelink::{Secret, pairing::CodeFault};

const AGENT: &str = "WL35080814";

proptest! {
    #[test]
    fn a_code_holds_the_whole_secret_however_it_is_typed(bytes in any::<[u8; 32]>()) {
        let secret = Secret::new(bytes);
        let code = secret.code(AGENT);
        for typed in [code.to_string(), code.to_lowercase(), code.replace('-', " "), code.replace('-', "")] {
            let read = Secret::from_code(AGENT, &typed).unwrap();
            prop_assert_eq!(read.bytes(), &bytes);
        }
        let (agent_id, read) = Secret::from_uri(&secret.uri(AGENT)).unwrap();
        prop_assert_eq!(agent_id, AGENT);
        let read = read.unwrap();
        prop_assert_eq!(read.bytes(), &bytes);
    }
}

#[test]
fn a_slip_in_a_code_is_told() {
    let secret = Secret::new([0x5a; 32]);
    let code = secret.code(AGENT).to_string();
    let mut found = 0;
    for (at, letter) in code.char_indices().filter(|(_, letter)| *letter != '-') {
        let other = if letter == 'A' { "B" } else { "A" };
        let mut slip = code.clone();
        slip.replace_range(at..=at, other);
        let fault = Secret::from_code(AGENT, &slip).unwrap_err();
        assert_eq!(fault, CodeFault::Check, "{slip}");
        found += 1;
    }
    assert_eq!(found, 56);
    assert_eq!(
        Secret::from_code("WL00000000", &code).unwrap_err(),
        CodeFault::Check,
        "another device's"
    );
    assert_eq!(
        Secret::from_code(AGENT, &code[..20]).unwrap_err(),
        CodeFault::Length { found: 16 }
    );
    let wrong = code.replacen(&code[..1], "1", 1);
    assert_eq!(
        Secret::from_code(AGENT, &wrong).unwrap_err(),
        CodeFault::Character
    );
}

#[test]
fn fingerprints_tell_secrets_and_devices_apart() {
    let one = Secret::new([1; 32]).fingerprint(AGENT);
    assert_eq!(one.len(), 5 * 4 + 4);
    assert_ne!(one, Secret::new([2; 32]).fingerprint(AGENT));
    assert_ne!(one, Secret::new([1; 32]).fingerprint("WL00000000"));
    assert_eq!(one, Secret::new([1; 32]).fingerprint(AGENT));
}
