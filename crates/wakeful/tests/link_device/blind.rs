//! The server cannot read what it passes on. After a session in which commands
//! and answers went both ways, everything that the server has is searched: its
//! memory, its data directory, its log, and what can be had of its trail. What
//! must not be there is not; and what was planted is found, so that the search
//! is known to work.

use std::{
    fs::{self, File},
    io::{Read as _, Seek as _, SeekFrom},
    path::Path,
};

use hex::{BASE32_NOPAD, BASE64_NOPAD, BASE64URL_NOPAD, HEXLOWER, HEXUPPER};
use hkdf::Hkdf;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use wakelink::{
    Hello, Packet, Secret,
    ewsp::{Draw, Initiator, Opened, Sid},
    frame::{Auth, Frame, Relay},
};
use x25519_dalek::x25519;

use crate::{
    harness::House,
    scene::{AGENT, MAC, Scene},
};

/// Memory that is read at once.
const PART_BYTES: u64 = 1 << 20;

/// Something to be looked for, by name.
struct Needle {
    name: String,
    bytes: Vec<u8>,
}

/// Bytes as they are, and as they might be spelled.
fn spelled(name: &str, bytes: &[u8]) -> Vec<Needle> {
    let mut spellings = vec![
        bytes.to_vec(),
        HEXLOWER.encode(bytes).into_bytes(),
        HEXUPPER.encode(bytes).into_bytes(),
        BASE32_NOPAD.encode(bytes).into_bytes(),
    ];
    // In base64 it depends on what is around them: three ways to begin, and
    // only whole letters at the end.
    for alphabet in [&BASE64URL_NOPAD, &BASE64_NOPAD] {
        for skipped in 0..3 {
            let bytes = &bytes[skipped..];
            let mut text = alphabet.encode(bytes).into_bytes();
            text.truncate(bytes.len() * 8 / 6);
            spellings.push(text);
        }
    }
    // What is shorter occurs by chance.
    let long_enough = |bytes: &Vec<u8>| bytes.len() >= 8 || bytes.len() == 6;
    let needle = |bytes: Vec<u8>| Needle {
        name: format!("{name} as {:?}", String::from_utf8_lossy(&bytes)),
        bytes,
    };
    let spellings = spellings.into_iter().filter(long_enough);
    spellings.map(needle).collect()
}

/// The same for a text, which can also be written in other ways.
fn texts(name: &str, text: &str) -> Vec<Needle> {
    let written = [
        text.to_owned(),
        text.to_uppercase(),
        text.to_lowercase(),
        text.replace(':', "-"),
        text.replace([':', '-'], ""),
    ];
    let spelled = |text: String| spelled(name, text.as_bytes());
    written.into_iter().flat_map(spelled).collect()
}

/// All that a process has in memory, piece by piece.
fn memory(process: u32) -> Vec<Vec<u8>> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let mut file = File::open(format!("/proc/{process}/mem")).unwrap();
    let mut pieces = Vec::new();
    let zeroes = vec![0; usize::try_from(PART_BYTES).unwrap()];
    let mut part = zeroes.clone();
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let (range, rights) = (words.next().unwrap(), words.next().unwrap());
        let kernels = line.ends_with("[vvar]")
            || line.ends_with("[vvar_vclock]")
            || line.ends_with("[vsyscall]");
        if !rights.starts_with('r') || kernels {
            continue;
        }
        let (from, to) = range.split_once('-').unwrap();
        let from = u64::from_str_radix(from, 16).unwrap();
        let to = u64::from_str_radix(to, 16).unwrap();
        // What was never touched reads as zeroes, and there can be much of it.
        let mut piece = Vec::new();
        let mut at = from;
        while at < to {
            let length = (to - at).min(PART_BYTES);
            let part = &mut part[..usize::try_from(length).unwrap()];
            file.seek(SeekFrom::Start(at)).unwrap();
            // Unmapped meanwhile, or not to be read: no content of ours.
            if file.read_exact(part).is_err() {
                break;
            }
            match *part == zeroes[..part.len()] {
                true => pieces.push(std::mem::take(&mut piece)),
                false => piece.extend_from_slice(part),
            }
            at += length;
        }
        pieces.push(piece);
    }
    assert!(pieces.iter().map(Vec::len).sum::<usize>() > 1 << 20);
    pieces
}

/// Every file below a directory.
fn files(directory: &Path, found: &mut Vec<Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files(&entry.path(), found);
        } else if kind.is_file() {
            found.push(fs::read(entry.path()).unwrap());
        }
    }
}

fn found(places: &[Vec<u8>], needle: &[u8]) -> bool {
    let finder = memchr::memmem::Finder::new(needle);
    places.iter().any(|place| finder.find(place).is_some())
}

/// The keys of a session, from the primitives alone, for who knows the
/// client's draw.
fn session_keys(secret: &Secret, draw: &[u8; 64], first: &Hello, second: &Hello) -> Vec<Vec<u8>> {
    let own: [u8; 32] = draw[..32].try_into().unwrap();
    let shared = x25519(own, second.pk);
    let digest = Sha256::digest(secret.bytes());
    let input = [&digest[..], &shared, &first.rnd, &second.rnd].concat();
    let sid = first.sid.text();
    let mut transcript = Sha256::new();
    let parts: [&[u8]; 7] = [
        b"1.1",
        AGENT.as_bytes(),
        sid.as_bytes(),
        &first.pk,
        &first.rnd,
        &second.pk,
        &second.rnd,
    ];
    for part in parts {
        transcript.update(u32::try_from(part.len()).unwrap().to_be_bytes());
        transcript.update(part);
    }
    let transcript = transcript.finalize();
    let keys = Hkdf::<Sha256>::new(Some(sid.as_bytes()), &input);
    let key = |speaker: u8| {
        let info = [b"1.1", &[speaker][..], &transcript].concat();
        let mut key = vec![0; 32];
        keys.expand(&info, &mut key).unwrap();
        key
    };
    vec![
        digest.to_vec(),
        own.to_vec(),
        shared.to_vec(),
        key(b'C'),
        key(b'D'),
    ]
}

/// A client whose draws the test knows, over a socket of its own.
struct Known {
    socket: client::link::Socket,
    keys: Vec<Vec<u8>>,
    packets: Vec<String>,
}

async fn converse(house: &House, ann: &str, secret: &Secret, asked: &[Value]) -> Known {
    let server = client::Server::at(&house.address(), None, None).unwrap();
    let connected = client::link::Socket::connect(&server, Auth::client(ann)).await;
    let (mut socket, _) = connected.unwrap();
    let draw: [u8; 64] = engine::keys::random().unwrap();
    let sid = Sid::new(engine::keys::random().unwrap());
    let initiator = Initiator::new(sid, Draw::new(&draw));
    let relay = Frame::Relay(Relay {
        payload: initiator.hello().text(),
        signature: None,
        agent_id: AGENT.to_owned(),
        request_id: None,
    });
    socket.send(relay.text()).await.unwrap();
    let reply = loop {
        if let Ok(reply) = Hello::read(&socket.next().await.unwrap()) {
            break reply;
        }
    };
    let mut session = initiator.finish(AGENT, secret, &reply).unwrap();
    let confirmation = Packet::read(&socket.next().await.unwrap()).unwrap();
    assert_eq!(session.open(&confirmation), Ok(Opened::Confirmation));
    let confirmation = session.confirm().unwrap();
    socket.send(confirmation.text()).await.unwrap();
    let mut packets = Vec::new();
    for asked in asked {
        let packet = session.seal(asked.to_string().as_bytes()).unwrap();
        packets.push(packet.text());
        socket.send(packet.text()).await.unwrap();
        let answer = Packet::read(&socket.next().await.unwrap()).unwrap();
        packets.push(answer.text());
        let Ok(Opened::Content(content)) = session.open(&answer) else {
            panic!("an answer does not open");
        };
        let answer: Value = serde_json::from_slice(&content).unwrap();
        assert_eq!(answer["id"], asked["id"]);
    }
    let keys = session_keys(secret, &draw, initiator.hello(), &reply);
    Known {
        socket,
        keys,
        packets,
    }
}

#[tokio::test]
async fn the_server_has_nothing_of_what_it_passed_on() {
    let mut house = House::empty();
    // All that it can say.
    house.log_level = Some("trace");
    let ann = house.user("ann", "owner");
    house.serve().await;
    let scene = Scene::in_house(house, ann, "");
    let _device = scene.device();

    // Through the command line, and through a client whose keys are known here.
    let uri = fs::read_to_string(scene.device_side.path().join("secret")).unwrap();
    let (_, secret) = Secret::from_uri(&uri).unwrap();
    let secret = secret.unwrap();
    scene.done(&["link", "wake", AGENT, "nas"]);
    scene.done(&["link", "wake", AGENT, MAC]);
    let marker = "only-for-the-two-of-us-5f0e";
    let asked = [
        json!({ "id": marker, "do": "ping" }),
        json!({ "id": "2", "do": "info" }),
        json!({ "id": "3", "do": "wake", "target": MAC }),
        json!({ "id": "4", "do": "wake", "target": "not-on-the-list-77aa" }),
    ];
    let known = converse(&scene.house, &scene.ann, &secret, &asked).await;

    // Planted: in memory, in the database and on the trail.
    let planted = "planted-to-be-found-91cc";
    scene.house.key(planted);

    let mut needles = Vec::new();
    needles.extend(texts("what was asked", marker));
    needles.extend(texts("what was asked", "not-on-the-list-77aa"));
    needles.extend(texts("an address", MAC));
    let code = secret.code(AGENT);
    needles.extend(texts("the code", &code));
    needles.extend(spelled("an address", &[0x02, 0x4e, 0xa7, 0x93, 0x5c, 0xd1]));
    needles.extend(spelled("the secret", secret.bytes()));
    for key in &known.keys {
        needles.extend(spelled("a key", key));
    }
    needles.sort_by(|one, other| one.bytes.cmp(&other.bytes));
    needles.dedup_by(|one, other| one.bytes == other.bytes);

    let process = scene.house.process_id();
    let in_memory = memory(process);
    let mut in_files = Vec::new();
    files(scene.house.data(), &mut in_files);
    let log = vec![fs::read(scene.house.log_file()).unwrap()];
    let export = scene.device_side.path().join("export");
    scene.done(&["trail", "export", export.to_str().unwrap()]);
    let shown = scene.house.get("/api/v1/trail?limit=200", &scene.ann).await;
    let export = vec![fs::read(&export).unwrap()];
    let trail = vec![shown.body];

    let places = [
        ("memory", &in_memory),
        ("the data directory", &in_files),
        ("the log", &log),
        ("an export of the trail", &export),
        ("the trail as it is shown", &trail),
    ];
    for (place, content) in places {
        for needle in &needles {
            assert!(
                !found(content, &needle.bytes),
                "{place} holds {}",
                needle.name
            );
        }
        // The same search finds what is there.
        let control = match place {
            "the log" => scene.house.address(),
            _ => planted.to_owned(),
        };
        let mut control = texts("what was planted", &control).into_iter();
        assert!(
            control.any(|control| found(content, &control.bytes)),
            "{place} does not hold what was planted"
        );
    }
    // It finds bytes that are not text, too: the hash of the owner's token.
    let hash = Sha256::digest(scene.ann.as_bytes());
    assert!(found(&in_memory, &hash));
    // And what the server is allowed to see while it passes: the session's name.
    let packet: Value = serde_json::from_str(&known.packets[0]).unwrap();
    let sid = packet["sid"].as_str().unwrap().as_bytes();
    assert!(found(&in_memory, sid), "a session that is open has a name");
    known.socket.close().await;
}
