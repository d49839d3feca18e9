//! Two honest ends and a relay that does what it likes.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use wakelink::{
    Hello, Packet, Refusal, Secret, Session,
    ewsp::{Draw, Initiator, LAST_SEQ, Opened, Sid, Window, respond},
};

const AGENT: &str = "WL35080814";

fn draw(seed: u8) -> Draw {
    let mut bytes = [seed; 64];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = byte.wrapping_mul(31).wrapping_add(at as u8);
    }
    Draw::new(&bytes)
}

fn secret(seed: u8) -> Secret {
    Secret::new([seed; 32])
}

fn sid() -> Sid {
    Sid::parse("a1b2c3d4e5f6a7b8").unwrap()
}

/// Both ends after the hellos.
fn met(seed: u8) -> (Session, Session) {
    let client = Initiator::new(sid(), draw(seed));
    let hello = Hello::read(&client.hello().text()).unwrap();
    let (reply, device) = respond(AGENT, &secret(7), &hello, &draw(seed + 1)).unwrap();
    let reply = Hello::read(&reply.text()).unwrap();
    let client = client.finish(AGENT, &secret(7), &reply).unwrap();
    (client, device)
}

/// Both ends after the confirmations.
fn confirmed() -> (Session, Session) {
    let (mut client, mut device) = met(1);
    let from_device = device.confirm().unwrap();
    assert_eq!(client.open(&from_device), Ok(Opened::Confirmation));
    let from_client = client.confirm().unwrap();
    assert_eq!(device.open(&from_client), Ok(Opened::Confirmation));
    (client, device)
}

fn over_the_wire(packet: &Packet) -> Packet {
    Packet::read(&packet.text()).unwrap()
}

#[test]
fn what_one_end_seals_the_other_opens_both_ways() {
    let (mut client, mut device) = confirmed();
    for n in 0..100 {
        let said = format!("command {n}").into_bytes();
        let packet = over_the_wire(&client.seal(&said).unwrap());
        assert_eq!(packet.seq, n + 1);
        assert_eq!(device.open(&packet), Ok(Opened::Content(said)));
        let said = format!("answer {n}").into_bytes();
        let packet = over_the_wire(&device.seal(&said).unwrap());
        assert_eq!(client.open(&packet), Ok(Opened::Content(said)));
    }
}

#[test]
fn nothing_is_said_before_both_have_confirmed() {
    let (mut client, mut device) = met(1);
    assert_eq!(client.seal(b"wake"), Err(Refusal::Unconfirmed));
    let from_client = client.confirm().unwrap();
    assert_eq!(client.seal(b"wake"), Err(Refusal::Unconfirmed));
    device.open(&from_client).unwrap();
    // The device has heard the client, and has not confirmed itself.
    assert!(device.is_confirmed());
    assert_eq!(device.seal(b"answer"), Err(Refusal::Unconfirmed));
    let from_device = device.confirm().unwrap();
    // Its answer overtakes its confirmation.
    let early = device.seal(b"answer").unwrap();
    assert_eq!(client.open(&early), Err(Refusal::Unconfirmed));
    assert_eq!(client.open(&from_device), Ok(Opened::Confirmation));
    assert_eq!(client.open(&early), Ok(Opened::Content(b"answer".to_vec())));
    assert!(client.seal(b"wake").is_ok());
    // There is one confirmation.
    assert_eq!(client.confirm(), Err(Refusal::Exhausted));
}

#[test]
fn who_has_another_secret_or_another_name_confirms_nothing() {
    let client = Initiator::new(sid(), draw(1));
    for (agent_id, held) in [(AGENT, secret(8)), ("WL00000000", secret(7))] {
        let (reply, mut device) = respond(agent_id, &held, client.hello(), &draw(2)).unwrap();
        let mut session = client.finish(AGENT, &secret(7), &reply).unwrap();
        let confirmation = device.confirm().unwrap();
        assert_eq!(session.open(&confirmation), Err(Refusal::Forged));
        assert!(!session.is_confirmed());
        let confirmation = session.confirm().unwrap();
        assert_eq!(device.open(&confirmation), Err(Refusal::Forged));
    }
}

#[test]
fn a_relay_that_changes_a_hello_is_found_out_at_the_confirmation() {
    let client = Initiator::new(sid(), draw(1));
    let own = client.hello().clone();
    let other = Initiator::new(sid(), draw(9)).hello().clone();
    let other_sid = Sid::parse("0000000000000001").unwrap();
    let changed = [
        Hello {
            pk: other.pk,
            ..own.clone()
        },
        Hello {
            rnd: other.rnd,
            ..own.clone()
        },
        Hello {
            sid: other_sid,
            ..own.clone()
        },
    ];
    for hello in changed {
        let (reply, mut device) = respond(AGENT, &secret(7), &hello, &draw(2)).unwrap();
        let back = Hello {
            sid: own.sid,
            ..reply
        };
        let mut session = client.finish(AGENT, &secret(7), &back).unwrap();
        let refused = session.open(&device.confirm().unwrap()).unwrap_err();
        assert!(
            matches!(refused, Refusal::Forged | Refusal::OtherSession),
            "{hello:?}: {refused:?}"
        );
    }
    // And one that changes the reply.
    let (reply, mut device) = respond(AGENT, &secret(7), &own, &draw(2)).unwrap();
    let confirmation = device.confirm().unwrap();
    for reply in [
        Hello {
            pk: other.pk,
            ..reply.clone()
        },
        Hello {
            rnd: other.rnd,
            ..reply.clone()
        },
    ] {
        let mut session = client.finish(AGENT, &secret(7), &reply).unwrap();
        assert_eq!(session.open(&confirmation), Err(Refusal::Forged));
    }
    // The right one may still come.
    let mut session = client.finish(AGENT, &secret(7), &reply).unwrap();
    assert_eq!(session.open(&confirmation), Ok(Opened::Confirmation));
}

#[test]
fn hellos_are_taken_only_in_their_place() {
    let client = Initiator::new(sid(), draw(1));
    let (reply, _) = respond(AGENT, &secret(7), client.hello(), &draw(2)).unwrap();
    assert!(respond(AGENT, &secret(7), &reply, &draw(3)).is_err());
    let own = client.hello();
    assert!(client.finish(AGENT, &secret(7), own).is_err());
    let other = Hello {
        sid: Sid::new([0; 8]),
        ..reply
    };
    assert_eq!(
        client.finish(AGENT, &secret(7), &other).unwrap_err(),
        Refusal::OtherSession
    );
}

/// The points of small order, as bytes that decode to them.
const WEAK: [&str; 7] = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
];

#[test]
fn a_public_key_that_gives_no_secret_is_refused_on_both_sides() {
    for weak in WEAK {
        let pk: Vec<u8> = (0..32)
            .map(|at| u8::from_str_radix(&weak[2 * at..2 * at + 2], 16).unwrap())
            .collect();
        let pk: [u8; 32] = pk.try_into().unwrap();
        let client = Initiator::new(sid(), draw(1));
        let hello = Hello {
            pk,
            ..client.hello().clone()
        };
        let refused = respond(AGENT, &secret(7), &hello, &draw(2)).unwrap_err();
        assert_eq!(refused, Refusal::WeakKey, "{weak}");
        let (reply, _) = respond(AGENT, &secret(7), client.hello(), &draw(2)).unwrap();
        let reply = Hello { pk, ..reply };
        let refused = client.finish(AGENT, &secret(7), &reply).unwrap_err();
        assert_eq!(refused, Refusal::WeakKey, "{weak}");
    }
}

#[test]
fn every_bit_of_a_packet_counts() {
    let (mut client, mut device) = confirmed();
    let packet = client.seal(b"wake the printer").unwrap();
    for bit in 0..packet.p.len() * 8 {
        let mut changed = packet.clone();
        changed.p[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(device.open(&changed), Err(Refusal::Forged), "bit {bit}");
    }
    for seq in [packet.seq + 1, packet.seq + 40, LAST_SEQ] {
        let moved = Packet {
            seq,
            ..packet.clone()
        };
        assert_eq!(device.open(&moved), Err(Refusal::Forged), "as {seq}");
    }
    for length in 0..packet.p.len() {
        let mut cut = packet.clone();
        cut.p.truncate(length);
        assert_eq!(device.open(&cut), Err(Refusal::Forged), "{length} bytes");
    }
    // None of it kept the right one from being opened.
    assert!(device.open(&packet).is_ok());
}

#[test]
fn a_packet_opens_once_and_only_where_it_was_sent() {
    let (mut client, mut device) = confirmed();
    let packet = client.seal(b"once").unwrap();
    // Sent back to who said it.
    assert_eq!(client.open(&packet), Err(Refusal::Forged));
    // In a session of other keys, and under another session's name.
    let (_, mut other) = met(40);
    assert_eq!(other.open(&packet), Err(Refusal::Forged));
    let renamed = Packet {
        sid: Sid::new([1; 8]),
        ..packet.clone()
    };
    assert_eq!(device.open(&renamed), Err(Refusal::OtherSession));
    assert!(device.open(&packet).is_ok());
    assert_eq!(device.open(&packet), Err(Refusal::Replayed));
}

#[test]
fn packets_may_change_their_order_within_the_window_and_not_beyond() {
    let (mut client, mut device) = confirmed();
    let packets: Vec<Packet> = (0..200).map(|_| client.seal(b"x").unwrap()).collect();
    // The last comes first; 63 before it still open, in any order, once.
    let (newest, rest) = packets.split_last().unwrap();
    assert!(device.open(newest).is_ok());
    let (late, in_time) = rest.split_at(rest.len() - 63);
    for packet in in_time.iter().rev() {
        assert!(device.open(packet).is_ok(), "{}", packet.seq);
        assert_eq!(device.open(packet), Err(Refusal::Replayed));
    }
    for packet in late {
        assert_eq!(device.open(packet), Err(Refusal::Replayed));
    }
}

#[test]
fn another_version_is_not_spoken_and_nonsense_is_not_read() {
    let (mut client, _) = confirmed();
    let text = client.seal(b"x").unwrap().text();
    let hello = Initiator::new(sid(), draw(1)).hello().text();
    for version in ["1.0", "1.2", "2", ""] {
        let version = format!("\"v\":\"{version}\"");
        let packet = text.replace("\"v\":\"1.1\"", &version);
        assert_eq!(Packet::read(&packet), Err(Refusal::Version));
        let hello = hello.replace("\"v\":\"1.1\"", &version);
        assert_eq!(Hello::read(&hello), Err(Refusal::Version));
    }
    let bad = [
        "",
        "{}",
        "[]",
        "null",
        "nonsense",
        r#"{"v":"1.1","sid":"a1b2c3d4e5f6a7b8","seq":1}"#,
        r#"{"v":"1.1","sid":"a1b2c3d4e5f6a7b8","seq":-1,"p":""}"#,
        r#"{"v":"1.1","sid":"a1b2c3d4e5f6a7b8","seq":1.5,"p":""}"#,
        r#"{"v":"1.1","sid":"a1b2c3d4e5f6a7b8","seq":9007199254740992,"p":""}"#,
        r#"{"v":"1.1","sid":"A1B2C3D4E5F6A7B8","seq":1,"p":""}"#,
        r#"{"v":"1.1","sid":"a1b2c3d4e5f6a7b","seq":1,"p":""}"#,
        r#"{"v":"1.1","sid":"a1b2c3d4e5f6a7b8","seq":1,"p":"A"}"#,
        r#"{"v":"1.1","sid":"a1b2c3d4e5f6a7b8","seq":1,"p":"AB=="}"#,
        r#"{"v":"1.1","sid":"a1b2c3d4e5f6a7b8","seq":1,"p":"AB"}"#,
        r#"{"v":"1.1","sid":"a1b2c3d4e5f6a7b8","seq":1,"seq":2,"p":""}"#,
    ];
    for text in bad {
        assert!(
            matches!(Packet::read(text), Err(Refusal::Malformed(_))),
            "{text}"
        );
    }
    let long = format!("{{\"v\":\"1.1\",\"x\":\"{}\"}}", "x".repeat(1 << 16));
    assert!(matches!(Packet::read(&long), Err(Refusal::Malformed(_))));
}

#[test]
fn nothing_that_is_printed_for_a_log_holds_a_secret() {
    let (client, _) = met(1);
    let printed = format!("{client:?} {:?} {:?}", secret(7), draw(1));
    assert!(!printed.contains("7, 7"), "{printed}");
    assert!(printed.contains("Secret(…)") && printed.contains("Draw(…)"));
}

proptest! {
    /// Against a list of all that was seen.
    #[test]
    fn the_window_knows_what_was_seen(
        numbers in prop::collection::vec(prop_oneof![0..200u64, 0..2000u64, Just(LAST_SEQ)], 1..300)
    ) {
        let (mut window, mut seen) = (Window::default(), Vec::<u64>::new());
        for number in numbers {
            let highest = seen.iter().max().copied();
            let too_old = highest.is_some_and(|highest| number + 64 <= highest);
            prop_assert_eq!(window.is_new(number), !too_old && !seen.contains(&number));
            window.note(number);
            seen.push(number);
        }
    }

    #[test]
    fn no_text_brings_a_reader_down(text in "\\PC*", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Packet::read(&text);
        let _ = Hello::read(&text);
        let noise = String::from_utf8_lossy(&bytes).into_owned();
        let _ = Packet::read(&noise);
        let _ = Secret::from_uri(&noise);
    }

    #[test]
    fn what_is_sealed_opens_as_it_was(content in prop::collection::vec(any::<u8>(), 0..2000)) {
        let (mut client, mut device) = confirmed();
        let packet = over_the_wire(&client.seal(&content).unwrap());
        prop_assert_eq!(device.open(&packet), Ok(Opened::Content(content)));
    }
}
