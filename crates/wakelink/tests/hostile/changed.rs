//! Texts changed at random. What was changed may still be read as what it was
//! (a space more, a field that is ignored); so the claim is: what opens is a
//! packet that its speaker sealed, to the last bit, and opens once.

use std::{fs, path::Path};

use wakelink::{
    Hello, Packet, Refusal, Request, Secret,
    device::{Heard, SESSIONS},
    ewsp::{Draw, Initiator, Opened, Sid},
};

use crate::{
    Dice,
    parties::{AGENT, Client, Device, secret},
    rounds,
};

/// The committed texts, by name.
fn corpus() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut texts: Vec<(String, String)> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let bytes = fs::read(entry.path()).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            (name, text.trim_end_matches('\n').to_owned())
        })
        .collect();
    texts.sort();
    assert!(texts.len() >= 40, "the corpus is not where it was");
    texts
}

/// Words that mean something to a reader.
const WORDS: [&str; 24] = [
    "\"v\":\"1.0\"",
    "\"v\":\"1.1\"",
    "\"hs\":1",
    "\"hs\":2",
    "\"seq\":0",
    "\"seq\":9007199254740991",
    "\"seq\":9007199254740992",
    "\"seq\":18446744073709551616",
    "\"seq\":1e3",
    "\"p\":\"\"",
    "\"sid\":\"a1b2c3d4e5f6a7b8\"",
    "\"pk\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"",
    "\"rnd\":null",
    "\\u0061",
    "\\ud800",
    "{\"a\":",
    "[",
    "]",
    "}",
    ",",
    "\"",
    "\\",
    "\u{0}",
    "\u{feff}",
];

/// One change, or a few.
fn change(dice: &mut Dice, text: &str, others: &[String]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=dice.below(3) {
        let at = dice.below(bytes.len() + 1);
        let end = at + dice.below(bytes.len() + 1 - at);
        match dice.below(9) {
            // A bit.
            0 | 1 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            // The end is missing, or a piece.
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..end)),
            // A piece twice.
            4 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            // A digit or letter for another.
            5 if at < bytes.len() => {
                bytes[at] = b"0123456789abcdefABCDEF-_."[dice.below(25)];
            }
            6 | 7 => {
                let word = WORDS[dice.below(WORDS.len())];
                bytes.splice(at..at, word.bytes());
            }
            // The end of another text.
            _ => {
                let other = others[dice.below(others.len())].as_bytes();
                let from = dice.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
        }
        bytes.truncate(1 << 17);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn no_text_of_the_corpus_is_taken_for_what_it_is_not() {
    for (name, text) in corpus() {
        let mut device = Device::new(1);
        let heard = device.hear(&text);
        match name.starts_with("hello") {
            true => assert!(matches!(heard, Ok(Heard::Hello(_))), "{name}: {heard:?}"),
            false => assert!(heard.is_err(), "{name}: {heard:?}"),
        }
        let _ = Secret::from_uri(&text);
        let _ = Request::read(text.as_bytes());
    }
}

#[test]
fn only_what_was_sealed_opens_whatever_is_changed() {
    let mut dice = Dice(0x5eed);
    let mut texts: Vec<String> = corpus().into_iter().map(|(_, text)| text).collect();
    let mut device = Device::new(2);
    let mut client = Client::meet(&mut device, &mut dice);
    texts.extend(client.hellos.clone());
    texts.extend(client.confirmations.clone());
    let committed = texts.len();
    for round in 0..rounds(30_000) / 50 {
        // Each says something new, and it is not delivered yet.
        texts.truncate(committed);
        let asked = format!(r#"{{"id":"{round}","do":"ping"}}"#).into_bytes();
        let from_client = client.session.seal(&asked).unwrap();
        let sid = client.session.sid();
        let from_device = device.sessions.say(sid, &asked).unwrap();
        let from_device = Packet::read(&from_device).unwrap();
        texts.extend([from_client.text(), from_device.text()]);
        for _ in 0..50 {
            let chosen = dice.below(texts.len());
            let text = change(&mut dice, &texts[chosen], &texts);
            // What opens was read as the very packet, and is delivered by that.
            let heard = device.hear(&text);
            if let Ok(Heard::Content { content, .. }) = &heard {
                assert_eq!(Packet::read(&text).as_ref(), Ok(&from_client), "{text}");
                assert_eq!(*content, asked);
            }
            assert_ne!(heard, Ok(Heard::Confirmed), "{text}");
            assert!(device.sessions.len() <= SESSIONS);
            let read = Packet::read(&text);
            if let Ok(opened) = read.clone().and_then(|read| client.session.open(&read)) {
                assert_eq!(read.as_ref(), Ok(&from_device), "{text}");
                assert_eq!(opened, Opened::Content(asked.clone()));
            }
            let _ = Request::read(text.as_bytes());
        }
        // Whatever was changed, the right ones open still, or did already.
        let heard = device.hear(&from_client.text());
        assert!(
            matches!(heard, Ok(Heard::Content { .. }) | Err(Refusal::Replayed)),
            "{heard:?}"
        );
        let opened = client.session.open(&from_device);
        assert!(
            matches!(opened, Ok(Opened::Content(_)) | Err(Refusal::Replayed)),
            "{opened:?}"
        );
    }
}

#[test]
fn a_hello_that_was_changed_leads_to_no_confirmed_session() {
    let mut dice = Dice(0xbad);
    let others: Vec<String> = corpus().into_iter().map(|(_, text)| text).collect();
    let mut finished = 0;
    for _ in 0..rounds(3_000) {
        let initiator = Initiator::new(Sid::new(dice.bytes()), Draw::new(&dice.bytes()));
        let hello = initiator.hello().clone();
        let mut device = Device::new(dice.roll());
        // On its way to the device, or on its way back.
        let there = match dice.below(2) {
            0 => change(&mut dice, &hello.text(), &others),
            _ => hello.text(),
        };
        let Ok(Heard::Hello([reply, confirmation])) = device.hear(&there) else {
            continue;
        };
        let back = change(&mut dice, &reply, &others);
        let Ok(read) = Hello::read(&back) else {
            continue;
        };
        let Ok(mut session) = initiator.finish(AGENT, &secret(), &read) else {
            continue;
        };
        finished += 1;
        let whole = Hello::read(&there) == Ok(hello) && Hello::read(&reply) == Ok(read);
        let opened = Packet::read(&confirmation).and_then(|packet| session.open(&packet));
        assert_eq!(opened.is_ok(), whole, "{there} {back}");
    }
    assert!(finished > 0, "nothing was tried");
}
