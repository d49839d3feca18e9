//! What a hostile server says reaches no terminal raw, by whichever command it
//! is asked, and does not fill the memory.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use wakelink::{
    Secret,
    frame::{AgentStatus, AuthResponse, Error, Frame},
};

use crate::{
    harness::{
        WAKEFUL,
        terminal::{HOSTILE, Terminal, steers},
    },
    scene::text,
};

/// The delivery that every answer is about.
const ID: &str = "c7c0b633-bccf-4b8b-95ba-ccfc89a6051f";
const TIME: &str = "2026-11-15T22:00:00Z";

/// What a server answers to one request: its head's first line, and all that follows.
type Answering = dyn Fn(&str, &[u8], &mut TcpStream) + Send + Sync;

/// Serves until the test program ends; returns where.
fn serve(answer: impl Fn(&str, &[u8], &mut TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let answer: Arc<Answering> = Arc::new(answer);
    std::thread::spawn(move || {
        for peer in listener.incoming().map_while(Result::ok) {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || converse(peer, answer.as_ref()));
        }
    });
    address
}

/// One request on one connection. A peer may leave at any time.
fn converse(mut peer: TcpStream, answer: &Answering) {
    let mut reader = BufReader::new(peer.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    while reader.read_line(&mut head).is_ok_and(|read| read > 2) {
        let last = head.lines().next_back().unwrap_or_default();
        if let Some(("content-length", value)) = last.split_once(": ") {
            length = value.parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_ok() {
        answer(&head, &body, &mut peer);
        let _ = peer.shutdown(std::net::Shutdown::Write);
        // What is still unread would end the connection before our words arrive.
        let _ = std::io::copy(&mut reader, &mut std::io::sink());
    }
}

/// The path that a request asks for.
fn path(head: &str) -> &str {
    head.split(' ').nth(1).unwrap_or_default()
}

fn send(peer: &mut TcpStream, status: u16, body: &[u8]) {
    let headers = format!(
        "content-length: {}\r\nretry-after: 0\r\nconnection: close",
        body.len()
    );
    let _ = write!(peer, "HTTP/1.1 {status} As it is\r\n{headers}\r\n\r\n")
        .and_then(|()| peer.write_all(body));
}

/// A problem (RFC 9457) of which every field is hostile.
fn problem() -> Value {
    let mut problem = json!({ "edited_content": { HOSTILE: HOSTILE } });
    for field in [
        "type",
        "title",
        "detail",
        "code",
        "field",
        "instance",
        "answered_by",
        "status_given",
        "responded_at",
        "feedback",
    ] {
        problem[field] = json!(HOSTILE);
    }
    problem
}

/// Whatever any command looks for in an answer, hostile wherever it may be text.
fn fields(path: &str) -> Value {
    let mut one = json!({
        "delivery_id": ID, "test": false, "timed_out": false, "content_erased": true,
        "created_at": TIME, "responded_at": TIME, "timeout_at": TIME,
        "held": { "by": HOSTILE, "status": HOSTILE, "until": TIME },
        "status": if path.starts_with("/wake") { "redirected" } else { HOSTILE },
        "details": { HOSTILE: HOSTILE }, "edited_content": { HOSTILE: HOSTILE },
        "token": format!("wld_{HOSTILE}"), "session_token": "wls_1",
        "link": { "online": true, "last_seen_at": HOSTILE },
        "wake": { "endpoint": HOSTILE },
        "networks": [HOSTILE], "orchestrates": [HOSTILE], "facts": { HOSTILE: HOSTILE },
        "position": 1, "total": 1,
    });
    // The inbox is read with its moments, other lists as they are.
    if path.contains("/users") || path.contains("/keys") || path.contains("/allowlist") {
        one["created_at"] = json!(HOSTILE);
    }
    for field in [
        "id",
        "agent_id",
        "provider",
        "type",
        "headline",
        "summary",
        "answered_by",
        "callback_webhook",
        "feedback",
        "name",
        "role",
        "state",
        "url",
        "key",
        "secret",
        "webhook_secret",
        "key_id",
        "pattern",
        "expires_at",
        "revoked_at",
        "attempts",
        "next_attempt_at",
        "last_error",
        "time",
        "stream",
        "actor",
        "event_type",
        "held_until",
        "next_since",
        "next_cursor",
        "erased",
    ] {
        one[field] = json!(HOSTILE);
    }
    let mut all = one.clone();
    for list in [
        "deliveries",
        "items",
        "entries",
        "users",
        "keys",
        "agents",
        "allowlist",
        "callbacks",
    ] {
        all[list] = json!([one]);
    }
    let rate = json!({ "per_hour": HOSTILE, "burst": HOSTILE });
    all["rates"] = json!({ "live": rate, "test": rate });
    all["retention_days"] = json!({ "update": HOSTILE, "alert": HOSTILE });
    all
}

/// Answers a request for a WebSocket with these frames, which are texts, and
/// closes it with a hostile reason.
fn send_frames(peer: &mut TcpStream, head: &str, frames: &[Frame]) {
    let key = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        (name == "sec-websocket-key").then_some(value)
    });
    let accept = derive_accept_key(key.unwrap().as_bytes());
    let mut bytes = format!(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-accept: {accept}\r\n\r\n"
    )
    .into_bytes();
    let mut push = |kind: u8, payload: &[u8]| {
        bytes.extend([0x80 | kind, 126]);
        bytes.extend(u16::try_from(payload.len()).unwrap().to_be_bytes());
        bytes.extend(payload);
    };
    for frame in frames {
        push(1, frame.text().as_bytes());
    }
    let _ = peer.write_all(&bytes);
    // A control frame is short.
    let reason = [&1008_u16.to_be_bytes(), HOSTILE.as_bytes()].concat();
    assert!(reason.len() < 126);
    let close = [&[0x88, u8::try_from(reason.len()).unwrap()], &reason[..]].concat();
    let _ = peer.write_all(&close);
}

fn authenticated() -> Frame {
    Frame::AuthResponse(AuthResponse::Authenticated {
        session_token: HOSTILE.to_owned(),
        expires_in: 60,
        max_requests: 60,
    })
}

fn failed(error: &str, code: Option<&str>) -> Frame {
    Frame::AuthResponse(AuthResponse::Failed {
        error: error.to_owned(),
        code: code.map(str::to_owned),
        retry_after: None,
    })
}

fn refused() -> Frame {
    Frame::Error(Error {
        error: HOSTILE.to_owned(),
        code: HOSTILE.to_owned(),
        request_id: Some(HOSTILE.to_owned()),
        sid: None,
    })
}

/// A terminal, and files that commands need.
struct Desk {
    files: TempDir,
    terminal: Terminal,
}

impl Desk {
    fn new() -> Desk {
        let files = tempfile::tempdir().unwrap();
        let state = files.path().join("state");
        let terminal = Terminal::open(&[
            ("WAKEFUL_TOKEN", "wl_person"),
            ("WAKE_API_KEY", "wk_live_agent"),
            ("XDG_STATE_HOME", state.to_str().unwrap()),
        ]);
        let desk = Desk { files, terminal };
        desk.keep("secret", &Secret::new([7; 32]).uri("WL1"));
        desk.keep("token", "wld_device");
        let config = "agent = \"WL1\"\ntoken-file = \"token\"\nsecret-file = \"secret\"\n";
        desk.keep("device.toml", config);
        desk
    }

    fn file(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    fn keep(&self, name: &str, text: &str) {
        std::fs::write(self.file(name), text).unwrap();
        let owner_only = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(self.file(name), owner_only).unwrap();
    }

    /// Runs a command against a server; checks what the terminal got, and
    /// returns it.
    #[track_caller]
    fn run(&mut self, address: &str, command: &[&str]) -> String {
        let secret = self.file("secret").to_str().unwrap().to_owned();
        let config = self.file("device.toml").to_str().unwrap().to_owned();
        let written = |word: &&str| match *word {
            "SECRET" => secret.clone(),
            "CONFIG" => config.clone(),
            word => word.to_owned(),
        };
        let mut arguments: Vec<String> = command.iter().map(written).collect();
        arguments.extend(["--server".to_owned(), address.to_owned()]);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (_, shown) = self.terminal.run(&arguments);
        let raw: String = shown.chars().filter(|c| steers(*c)).collect();
        assert_eq!(raw, "", "{command:?} shows {shown:?}");
        shown
    }
}

/// Every command that asks a server, but those that stay connected.
const ASKING: [&[&str]; 43] = [
    &["user", "create", "bob"],
    &["user", "list"],
    &["user", "suspend", "bob"],
    &["user", "resume", "bob"],
    &["user", "deactivate", "bob"],
    &["user", "role", "bob", "viewer"],
    &["user", "token", "bob"],
    &["user", "sign-in-link", "bob"],
    &["key", "create", "--agent", "a"],
    &["key", "create", "--agent", "a", "--orchestrator", "b"],
    &["key", "list"],
    &["key", "revoke", "key_1"],
    &["key", "rotate", "key_1"],
    &["webhook", "allow", "hooks.example"],
    &["webhook", "list"],
    &["webhook", "remove", "hooks.example"],
    &["webhook", "secret", "--agent", "a"],
    &["webhook", "attempts"],
    &["webhook", "replay", "1"],
    &["rate", "set", "live", "5/5"],
    &["rate", "list"],
    &["retention", "set", "update", "5"],
    &["retention", "list"],
    &["retention", "run"],
    &["deliver", "--agent", "a", "-H", "Done", "-s", "All."],
    &["response", ID],
    &["responses"],
    &["inbox"],
    &["inbox", ID],
    &["inbox", "c7c0b633"],
    &["respond", ID, "approved"],
    &["undo", "c7c0b633"],
    &["trail", "show"],
    &["trail", "show", "c7c0b633"],
    &["trail", "proof", ID],
    &["trail", "checkpoint"],
    &["trail", "key"],
    &["prompt", "--agent", "a"],
    &["link", "add", "WL1"],
    &["link", "token", "WL1"],
    &["link", "remove", "WL1"],
    &["link", "status"],
    &["link", "send", "WL1", "ping", "--secret-file", "SECRET"],
];
/// Two that do the same as one above, and those that stay connected.
const ASKING_TOO: [&[&str]; 3] = [&["link", "wake"], &["link", "watch"], &["link", "device"]];
/// Commands that ask no server, or their own alone.
const LOCAL: [&[&str]; 12] = [
    &["demo"],
    &["serve"],
    &["backup"],
    &["restore"],
    &["completions"],
    &["man"],
    &["link", "pair"],
    &["trail", "verify"],
    &["trail", "export"],
    &["trail", "rebuild"],
    &["trail", "continue"],
    &["trail", "rotate-key"],
];

/// Runs all of them, for a person and with `--json`, against servers that answer
/// like this one.
fn ask_everything(address: &str) {
    let mut desk = Desk::new();
    for command in ASKING {
        desk.run(address, command);
        desk.run(address, &[command, &["--json"]].concat());
    }
}

/// The names under "Commands:" in what a command says of itself.
fn names_below(command: &[&str]) -> Vec<String> {
    let output = Command::new(WAKEFUL).args(command).arg("--help").output();
    let help = text(output.unwrap().stdout);
    let Some((_, below)) = help.split_once("Commands:\n") else {
        return Vec::new();
    };
    let listed = below.lines().take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names = names.filter(|name| !name.is_empty() && *name != "help");
    names.map(str::to_owned).collect()
}

#[test]
fn every_command_is_known_to_ask_a_server_or_not_to() {
    let known: BTreeSet<Vec<&str>> = ASKING
        .iter()
        .chain(&ASKING_TOO)
        .chain(&LOCAL)
        .flat_map(|command| {
            [
                command[..1].to_vec(),
                command[..command.len().min(2)].to_vec(),
            ]
        })
        .collect();
    let mut found = 0;
    for name in names_below(&[]) {
        let below = names_below(&[&name]);
        found += below.len().max(1);
        if below.is_empty() {
            assert!(known.contains(&vec![name.as_str()]), "{name}");
        }
        for second in &below {
            let command = vec![name.as_str(), second.as_str()];
            assert!(known.contains(&command), "{command:?} is in no list above");
        }
    }
    assert!(found > 50, "{found}");
}

#[test]
fn no_field_of_an_answer_steers_a_terminal() {
    let address = serve(|head, _, peer| match path(head) {
        "/wss" => send_frames(peer, head, &[authenticated(), refused()]),
        path => send(peer, 200, fields(path).to_string().as_bytes()),
    });
    ask_everything(&address);
}

#[test]
fn no_answer_that_is_no_json_steers_a_terminal() {
    let body = [
        HOSTILE.as_bytes(),
        b"\n\xff\x9b1m{\"detail\":\"\x1b[2J\"}\0",
    ]
    .concat();
    ask_everything(&serve(move |_, _, peer| send(peer, 200, &body)));
}

#[test]
fn nothing_is_said_to_be_done_where_something_else_answers() {
    let page: &[u8] = b"<html>Sign in to this network</html>";
    for (status, body) in [(200, page), (200, b""), (201, page)] {
        let address = serve(move |_, _, peer| send(peer, status, body));
        for command in [
            &["key", "revoke", "key_1"][..],
            &["key", "list"],
            &["user", "create", "bob"],
            &["user", "list"],
            &["webhook", "allow", "e.example"],
            &["webhook", "remove", "e.example"],
            &["retention", "run"],
            &["rate", "list"],
            &["undo", ID],
            &["respond", ID, "approved"],
            &["trail", "show"],
            &["trail", "checkpoint"],
            &["trail", "key"],
            &["link", "status"],
        ] {
            let output = Command::new(WAKEFUL)
                .args(command)
                .args(["--server", &address])
                .env("WAKEFUL_TOKEN", "wl_token")
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(2), "{command:?}: {output:?}");
            assert_eq!(text(output.stdout), "", "{command:?}");
        }
    }
}

#[test]
fn no_refusal_steers_a_terminal() {
    for status in [403, 429] {
        let body = problem().to_string();
        ask_everything(&serve(move |_, _, peer| {
            send(peer, status, body.as_bytes())
        }));
    }
}

#[test]
fn no_failure_steers_a_terminal() {
    let body = problem().to_string();
    ask_everything(&serve(move |_, _, peer| send(peer, 500, body.as_bytes())));
}

#[test]
fn no_header_and_no_noise_steers_a_terminal() {
    let mut desk = Desk::new();
    let header = format!(
        "{}\u{1b}]0;title\u{7}",
        HOSTILE.replace(['\r', '\u{8}'], "")
    );
    for words in [
        format!("HTTP/1.1 302 {header}\r\nlocation: {header}\r\ncontent-length: 0\r\n\r\n"),
        "HTTP/1.1 302 Found\r\nlocation: http://\u{9b}1m\u{202e}/\r\ncontent-length: 0\r\n\r\n"
            .to_owned(),
        format!("HTTP/1.1 200 OK\r\nretry-after: {header}\r\ncontent-length: 2\r\n\r\n{{}}"),
        "HTTP/1.1 429 No\r\nretry-after: \u{202e}0\r\ncontent-length: 9\r\n\r\n{".to_owned(),
        format!("HTTP/1.1 200 OK\r\ncontent-length: {header}\r\n\r\n"),
        format!("HTTP/1.1 200 OK\r\n{header}: 1\r\n\r\n"),
        format!("{HOSTILE}\r\n\r\n"),
    ] {
        let address = serve(move |_, _, peer| drop(peer.write_all(words.as_bytes())));
        for command in [
            &["user", "list"][..],
            &["trail", "checkpoint"],
            &["link", "status"],
        ] {
            desk.run(&address, command);
            desk.run(&address, &[command, &["--json"]].concat());
        }
    }
}

#[test]
fn no_relay_steers_the_terminal_of_whoever_watches() {
    for flags in [&[][..], &["--json"]] {
        let mut desk = Desk::new();
        let asked = AtomicUsize::new(0);
        let address = serve(move |head, _, peer| match path(head) {
            "/wss" => match asked.fetch_add(1, Ordering::SeqCst) {
                1 => {
                    let status = Frame::AgentStatus(AgentStatus {
                        agent_id: HOSTILE.to_owned(),
                        online: true,
                    });
                    send_frames(peer, head, &[authenticated(), status, refused()]);
                }
                // Which ends it.
                _ => send_frames(peer, head, &[failed(HOSTILE, None)]),
            },
            "/api/v1/auth/session" if asked.load(Ordering::SeqCst) == 0 => {
                asked.fetch_add(1, Ordering::SeqCst);
                send(peer, 500, problem().to_string().as_bytes());
            }
            path => send(peer, 200, fields(path).to_string().as_bytes()),
        });
        let shown = desk.run(&address, &[&["link", "watch"], flags].concat());
        if !flags.is_empty() {
            let events = shown.lines().filter(|line| line.starts_with('{'));
            let events: Vec<Value> = events.map(|it| serde_json::from_str(it).unwrap()).collect();
            assert_eq!(events, [json!({ "agent_id": HOSTILE, "online": true })]);
        }
        for said in [
            "answered 500: ",
            "online",
            "the server closed",
            "refused the token: ",
        ] {
            assert!(shown.contains(said), "{said} in {shown}");
        }
    }
}

/// A relay that refuses a device for a hostile reason, and its token the next time.
fn refusing_relay() -> String {
    let asked = AtomicUsize::new(0);
    serve(move |head, _, peer| {
        assert_eq!(path(head), "/wss");
        match asked.fetch_add(1, Ordering::SeqCst) {
            0 => send_frames(peer, head, &[failed(HOSTILE, Some(HOSTILE))]),
            // Which ends it.
            _ => send_frames(peer, head, &[failed("Invalid token", None)]),
        }
    })
}

#[test]
fn no_relay_steers_the_terminal_of_a_device() {
    let mut desk = Desk::new();
    let shown = desk.run(&refusing_relay(), &["link", "device", "--config", "CONFIG"]);
    assert!(shown.contains("offline: "), "{shown}");
    assert!(shown.contains("Invalid token"), "{shown}");
}

#[test]
fn no_relay_steers_a_terminal_on_which_a_devices_log_is_read_later() {
    let desk = Desk::new();
    let output = Command::new(WAKEFUL)
        .args(["link", "device", "--server", &refusing_relay(), "--config"])
        .arg(desk.file("device.toml"))
        .output()
        .unwrap();
    let log = text(output.stderr);
    let raw: String = log.chars().filter(|c| steers(*c)).collect();
    assert_eq!(raw, "", "{log:?}");
    let lines = log.lines().filter(|line| line.starts_with('{'));
    let entries = lines.map(|line| serde_json::from_str(line).unwrap());
    let messages: Vec<String> = entries
        .map(|entry: Value| entry["message"].as_str().unwrap().to_owned())
        .collect();
    // It is escaped, and says the same.
    assert!(
        messages.iter().any(|it| it.contains(HOSTILE)),
        "{messages:?}"
    );
}

#[test]
fn an_answer_that_does_not_end_is_refused_when_it_is_too_long() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let address = serve(move |_, _, peer| {
        let _ = peer.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
        let part = vec![b'x'; 1 << 20];
        while peer.write_all(&part).is_ok() {
            counted.fetch_add(part.len(), Ordering::SeqCst);
        }
    });
    let output = Command::new(WAKEFUL)
        .args(["trail", "checkpoint", "--server", &address])
        .env("WAKEFUL_TOKEN", "wl_person")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(text(output.stdout), "");
    let said = text(output.stderr);
    let why = "answered with more than 250 MiB: ask for fewer at a time";
    assert_eq!(said, format!("wakeful: {address} {why}\n"));
    // The rest was on its way.
    assert!(sent.load(Ordering::SeqCst) < 2 * client::ANSWER_BYTES);
}

#[test]
fn no_sweep_of_our_own_is_too_long() {
    // A character outside the first plane can be sent as two escapes of six bytes.
    let feedback = inbox::answer::FEEDBACK_CHARS * 12 + 2;
    let names_and_times = 1 << 10;
    let answer = inbox::answer::EDITED_BYTES + feedback + names_and_times;
    assert!(wake::limits::SWEEP_MAX * answer < client::ANSWER_BYTES);
}
