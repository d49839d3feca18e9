//! What a client may ask of a device, and what it is answered: JSON inside
//! sealed packets, which no relay reads. `docs/ewsp.md` lists all of it.
//!
//! Reading never trusts: whoever has the secret may still send nonsense.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::json::object;

/// The longest name of something to be woken.
pub const TARGET_CHARACTERS: usize = 64;
/// The longest name by which a question and its answer find each other.
pub const ID_CHARACTERS: usize = 64;

/// What a device can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Whether it is there.
    Ping,
    /// What it is, and what it may wake.
    Info,
    /// Wake a machine on its network, by name or by address.
    Wake { target: String },
}

impl Command {
    pub const NAMES: [&str; 3] = ["ping", "info", "wake"];

    pub fn name(&self) -> &'static str {
        match self {
            Command::Ping => "ping",
            Command::Info => "info",
            Command::Wake { .. } => "wake",
        }
    }

    /// As it is asked, without its id.
    pub fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("do".to_owned(), self.name().into());
        if let Command::Wake { target } = self {
            fields.insert("target".to_owned(), target.as_str().into());
        }
        fields
    }
}

/// A command with the id by which its answer is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub id: String,
    pub command: Command,
}

/// The fields as they may come, before anything is known of them.
#[derive(Deserialize)]
struct Asked {
    id: String,
    r#do: String,
    target: Option<String>,
}

impl Request {
    /// Reads what was in a packet. What cannot be done has its answer at once.
    pub fn read(content: &[u8]) -> Result<Request, Answer> {
        let asked: Asked = object(content).map_err(|_| {
            let sentence = "A command is a JSON object with the texts id and do.";
            Answer::refused(None, Code::BadCommand, sentence)
        })?;
        if !is_short(&asked.id, ID_CHARACTERS) {
            let sentence = "An id has 1 to 64 characters.";
            return Err(Answer::refused(None, Code::BadCommand, sentence));
        }
        let refused =
            |code, sentence: &str| Answer::refused(Some(asked.id.clone()), code, sentence);
        let command = match (asked.r#do.as_str(), asked.target) {
            ("ping", _) => Command::Ping,
            ("info", _) => Command::Info,
            ("wake", Some(target)) if is_short(&target, TARGET_CHARACTERS) => {
                Command::Wake { target }
            }
            ("wake", _) => {
                let sentence = "To wake needs a target: a name or an address, 1 to 64 characters.";
                return Err(refused(Code::BadCommand, sentence));
            }
            _ => {
                let known = Command::NAMES.join(", ");
                let sentence = format!("There is no such command; there are {known}.");
                return Err(refused(Code::UnknownCommand, &sentence));
            }
        };
        Ok(Request {
            id: asked.id,
            command,
        })
    }
}

fn is_short(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.chars().count())
}

/// Why a device does not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    BadCommand,
    UnknownCommand,
    /// The target is not on the device's list.
    NotAllowed,
    /// It tried, and could not.
    Failed,
}

impl Code {
    pub fn as_str(self) -> &'static str {
        match self {
            Code::BadCommand => "BAD_COMMAND",
            Code::UnknownCommand => "UNKNOWN_COMMAND",
            Code::NotAllowed => "NOT_ALLOWED",
            Code::Failed => "FAILED",
        }
    }
}

/// What comes back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The request's; none if that could not be read.
    pub id: Option<String>,
    pub ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Answer {
    pub fn done(id: String, result: Option<Value>) -> Answer {
        Answer {
            id: Some(id),
            ok: true,
            result,
            code: None,
            error: None,
        }
    }

    pub fn refused(id: Option<String>, code: Code, sentence: &str) -> Answer {
        Answer {
            id,
            ok: false,
            result: None,
            code: Some(code.as_str().to_owned()),
            error: Some(sentence.to_owned()),
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_as_it_was_asked() {
        let wake = Command::Wake {
            target: "nas".to_owned(),
        };
        for command in [Command::Ping, Command::Info, wake] {
            let mut fields = command.fields();
            let id = "é".repeat(ID_CHARACTERS);
            fields.insert("id".to_owned(), id.as_str().into());
            fields.insert("later".to_owned(), true.into());
            let content = Value::Object(fields).to_string();
            let request = Request::read(content.as_bytes());
            assert_eq!(request, Ok(Request { id, command }));
        }
    }

    #[test]
    fn what_is_no_command_has_its_answer() {
        let long = format!(r#"{{"id":"3","do":"wake","target":"{}"}}"#, "x".repeat(65));
        let long_id = format!(r#"{{"id":"{}","do":"ping"}}"#, "x".repeat(65));
        let cases = [
            ("", None, Code::BadCommand),
            ("\u{fffd}", None, Code::BadCommand),
            ("[]", None, Code::BadCommand),
            (r#"["1","wake","nas"]"#, None, Code::BadCommand),
            ("{}", None, Code::BadCommand),
            (r#"{"id":"1"}"#, None, Code::BadCommand),
            (r#"{"do":"ping"}"#, None, Code::BadCommand),
            (r#"{"id":1,"do":"ping"}"#, None, Code::BadCommand),
            (r#"{"id":"","do":"ping"}"#, None, Code::BadCommand),
            (r#"{"id":"1","id":"2","do":"ping"}"#, None, Code::BadCommand),
            (r#"{"id":"1","do":"wake"}"#, Some("1"), Code::BadCommand),
            (
                r#"{"id":"1","do":"wake","target":""}"#,
                Some("1"),
                Code::BadCommand,
            ),
            (r#"{"id":"2","do":"PING"}"#, Some("2"), Code::UnknownCommand),
            (
                r#"{"id":"2","do":"run","argv":["sh"]}"#,
                Some("2"),
                Code::UnknownCommand,
            ),
            (&long, Some("3"), Code::BadCommand),
            (&long_id, None, Code::BadCommand),
        ];
        for (content, id, code) in cases {
            let answer = Request::read(content.as_bytes()).unwrap_err();
            assert_eq!(answer.id.as_deref(), id, "{content}");
            assert_eq!(answer.code.as_deref(), Some(code.as_str()), "{content}");
            assert!(!answer.ok && answer.error.is_some_and(|said| said.ends_with('.')));
        }
    }

    #[test]
    fn an_answer_says_only_what_belongs_to_it() {
        let text = |answer: Answer| String::from_utf8(answer.bytes()).unwrap();
        assert_eq!(
            text(Answer::done("1".to_owned(), None)),
            r#"{"id":"1","ok":true}"#
        );
        assert_eq!(
            text(Answer::refused(None, Code::NotAllowed, "No.")),
            r#"{"id":null,"ok":false,"code":"NOT_ALLOWED","error":"No."}"#
        );
    }
}
