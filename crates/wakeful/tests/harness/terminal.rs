//! A pseudo-terminal, on which the program finds that a person looks at it.

use hex::HEXLOWER;
use serde_json::json;

use super::{WAKEFUL, peer::Peer};

/// Text that clears a screen, colours it, names a window, makes a link and
/// turns the direction of what follows, unless it is escaped.
pub const HOSTILE: &str = "\u{1b}[2J\u{1b}[31mred\u{1b}]0;title\u{7}\u{1b}]8;;https://evil.example\u{1b}\\\u{9b}1m\r\u{8}\u{7f}\u{202e}live\u{2066}\u{200b}\u{feff}\u{ad}";

/// Whether a character does more on a terminal than to be read.
pub fn steers(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

pub struct Terminal(Peer);

impl Terminal {
    /// A terminal whose programs get these environment variables.
    pub fn open(environment: &[(&str, &str)]) -> Terminal {
        Terminal(Peer::start("on_terminal.py", &[], environment))
    }

    /// Runs `wakeful ARGS`; returns its exit code and what the terminal got on
    /// standard output and standard error together.
    #[track_caller]
    pub fn run(&mut self, arguments: &[&str]) -> (i64, String) {
        let command: Vec<&str> = [WAKEFUL].iter().chain(arguments).copied().collect();
        self.0.say(&json!(command).to_string());
        let ended = self.0.expect("ended");
        let shown = HEXLOWER.decode(ended[1].as_str().unwrap().as_bytes());
        let shown = String::from_utf8(shown.unwrap()).expect("what is shown is UTF-8");
        // A terminal begins each line at its left edge.
        (ended[0].as_i64().unwrap(), shown.replace("\r\n", "\n"))
    }
}
