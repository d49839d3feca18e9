//! The committed vectors, computed here a second time from the bare primitives
//! as `docs/ewsp.md` describes them, and compared with what the crate sends.
//!
//! `WAKEFUL_WRITE_VECTORS=1 cargo test -p wakelink --test vectors` writes them anew.
#![allow(clippy::unwrap_used)]
#![allow(clippy::disallowed_methods, reason = "the vectors are a file")]

use std::{fs, path::Path};

use chacha20poly1305::{
    ChaCha20Poly1305, KeyInit as _,
    aead::{Aead as _, Payload},
};
use hex::{BASE64URL_NOPAD, HEXLOWER};
use hkdf::Hkdf;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use wakelink::{
    Secret,
    ewsp::{Draw, Initiator, Sid, respond},
};
use x25519_dalek::{X25519_BASEPOINT_BYTES, x25519};

const AGENT: &str = "WL35080814";
const SID: &str = "a1b2c3d4e5f6a7b8";

/// Bytes that count up from a number.
fn counting<const N: usize>(from: u8) -> [u8; N] {
    std::array::from_fn(|at| from.wrapping_add(at as u8))
}

fn hello(number: u8, public: &[u8], random: &[u8]) -> String {
    format!(
        r#"{{"v":"1.1","sid":"{SID}","hs":{number},"pk":"{}","rnd":"{}"}}"#,
        BASE64URL_NOPAD.encode(public),
        BASE64URL_NOPAD.encode(random)
    )
}

fn prefixed(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend_from_slice(&u32::try_from(part.len()).unwrap().to_be_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}

fn packet(key: &[u8; 32], speaker: u8, seq: u64, content: &[u8]) -> String {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&seq.to_be_bytes());
    let aad = [b"1.1", SID.as_bytes(), &seq.to_be_bytes(), &[speaker]].concat();
    let payload = Payload {
        msg: content,
        aad: &aad,
    };
    let cipher = ChaCha20Poly1305::new(key.into());
    let sealed = cipher.encrypt(&nonce.into(), payload).unwrap();
    format!(
        r#"{{"v":"1.1","sid":"{SID}","seq":{seq},"p":"{}"}}"#,
        BASE64URL_NOPAD.encode(&sealed)
    )
}

/// Everything from the primitives alone.
fn computed() -> Value {
    let secret: [u8; 32] = counting(0x00);
    let (client_key, client_random): ([u8; 32], [u8; 32]) = (counting(0x20), counting(0x40));
    let (device_key, device_random): ([u8; 32], [u8; 32]) = (counting(0x60), counting(0x80));
    let client_public = x25519(client_key, X25519_BASEPOINT_BYTES);
    let device_public = x25519(device_key, X25519_BASEPOINT_BYTES);
    let shared = x25519(client_key, device_public);
    let secret_digest: [u8; 32] = Sha256::digest(secret).into();
    let input = [secret_digest, shared, client_random, device_random].concat();
    let transcript = Sha256::digest(prefixed(&[
        b"1.1",
        AGENT.as_bytes(),
        SID.as_bytes(),
        &client_public,
        &client_random,
        &device_public,
        &device_random,
    ]));
    let key = |speaker: u8| {
        let info = [b"1.1".as_slice(), &[speaker], &transcript].concat();
        let mut key = [0; 32];
        let extracted = Hkdf::<Sha256>::new(Some(SID.as_bytes()), &input);
        extracted.expand(&info, &mut key).unwrap();
        key
    };
    let (from_client, from_device) = (key(b'C'), key(b'D'));
    let hex = |bytes: &[u8]| HEXLOWER.encode(bytes);
    json!({
        "agent_id": AGENT,
        "sid": SID,
        "secret": hex(&secret),
        "secret_sha256": hex(&secret_digest),
        "code": Secret::new(secret).code(AGENT).as_str(),
        "fingerprint": Secret::new(secret).fingerprint(AGENT),
        "client_key": hex(&client_key),
        "client_random": hex(&client_random),
        "device_key": hex(&device_key),
        "device_random": hex(&device_random),
        "client_hello": hello(1, &client_public, &client_random),
        "device_hello": hello(2, &device_public, &device_random),
        "shared": hex(&shared),
        "input": hex(&input),
        "transcript_sha256": hex(&transcript),
        "key_from_client": hex(&from_client),
        "key_from_device": hex(&from_device),
        "device_confirmation": packet(&from_device, b'D', 0, b"confirm"),
        "client_confirmation": packet(&from_client, b'C', 0, b"confirm"),
        "client_content": r#"{"id":"1","do":"ping"}"#,
        "client_packet": packet(&from_client, b'C', 1, br#"{"id":"1","do":"ping"}"#),
        "device_content": r#"{"id":"1","ok":true}"#,
        "device_packet": packet(&from_device, b'D', 1, br#"{"id":"1","ok":true}"#),
    })
}

#[test]
fn the_committed_vectors_follow_from_the_primitives() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/ewsp.json");
    let text = serde_json::to_string_pretty(&computed()).unwrap() + "\n";
    if std::env::var_os("WAKEFUL_WRITE_VECTORS").is_some() {
        fs::write(&file, &text).unwrap();
    }
    assert_eq!(fs::read_to_string(file).unwrap(), text);
}

#[test]
fn both_ends_say_exactly_what_the_vectors_say() {
    let vectors = computed();
    let text = |name: &str| vectors[name].as_str().unwrap();
    let secret = Secret::from_code(AGENT, text("code")).unwrap();
    let draw = |key: [u8; 32], random: [u8; 32]| {
        let both = [key, random].concat();
        Draw::new(&both.try_into().unwrap())
    };
    let client = Initiator::new(
        Sid::parse(SID).unwrap(),
        draw(counting(0x20), counting(0x40)),
    );
    assert_eq!(client.hello().text(), text("client_hello"));
    let device_draw = draw(counting(0x60), counting(0x80));
    let (reply, mut device) = respond(AGENT, &secret, client.hello(), &device_draw).unwrap();
    assert_eq!(reply.text(), text("device_hello"));
    let mut client = client.finish(AGENT, &secret, &reply).unwrap();
    let confirmation = device.confirm().unwrap();
    assert_eq!(confirmation.text(), text("device_confirmation"));
    client.open(&confirmation).unwrap();
    let confirmation = client.confirm().unwrap();
    assert_eq!(confirmation.text(), text("client_confirmation"));
    device.open(&confirmation).unwrap();
    let packet = client.seal(text("client_content").as_bytes()).unwrap();
    assert_eq!(packet.text(), text("client_packet"));
    device.open(&packet).unwrap();
    let packet = device.seal(text("device_content").as_bytes()).unwrap();
    assert_eq!(packet.text(), text("device_packet"));
    client.open(&packet).unwrap();
}
