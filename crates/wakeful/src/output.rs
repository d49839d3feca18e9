//! Data on standard output, everything else on standard error, and nothing
//! that an agent or a server wrote reaches a terminal unescaped.

use std::{
    fmt::Write as _,
    io::{IsTerminal as _, Write as _},
    time::{Duration, Instant},
};

use serde_json::{Value, value::RawValue};
use trail::layout;

use crate::list;

pub fn start_log(level: tracing::Level, json: bool) {
    let log = tracing_subscriber::fmt().with_max_level(level);
    match json {
        true => log
            .json()
            .flatten_event(true)
            .with_writer(|| Escaped(escape_json))
            .init(),
        false => log
            .with_target(false)
            .without_time()
            .with_writer(|| Escaped(lines))
            .init(),
    }
}

/// Standard error for a log, which may quote whom we talk to. A log in JSON is
/// kept, and read on a terminal later.
struct Escaped(fn(&str) -> String);

impl std::io::Write for Escaped {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let safe = self.0(&String::from_utf8_lossy(bytes));
        std::io::stderr().write_all(safe.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

/// To standard error.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// To standard output. A reader that went away is not an error of ours.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out
        .write_all(text.as_bytes())
        .and_then(|()| out.write_all(b"\n"));
}

/// Lines to standard output: exactly, or escaped when a person looks at a terminal.
pub fn print_text(text: &str) {
    match std::io::stdout().is_terminal() {
        true => print(&lines(text)),
        false => print(text),
    }
}

/// JSON of our own to standard output.
pub fn print_json(value: &Value) {
    print_body(value.to_string().as_bytes());
}

/// JSON of our own to standard output, on one line also on a terminal.
pub fn print_json_line(value: &Value) {
    let text = value.to_string();
    match std::io::stdout().is_terminal() {
        true => print(&escape_json(&text)),
        false => print(&text),
    }
}

/// JSON to standard output: the exact bytes, or the same laid out and escaped
/// when a person looks at a terminal.
pub fn print_body(body: &[u8]) {
    let text = String::from_utf8_lossy(body);
    match std::io::stdout().is_terminal() {
        true => print(&escape_json(&layout::indent(&text))),
        false => print(text.trim_end()),
    }
}

/// What someone wrote, text or JSON, for a person to read.
pub fn content(written: &RawValue) -> String {
    content_as(written, layout::indent)
}

/// The same, with JSON on one line.
pub fn short_content(written: &RawValue) -> String {
    content_as(written, layout::compact)
}

fn content_as(written: &RawValue, layout: fn(&str) -> String) -> String {
    match serde_json::from_str::<String>(written.get()) {
        Ok(text) => lines(&text),
        Err(_) => escape_json(&layout(written.get())),
    }
}

/// How wide the terminal is, if there is one.
pub fn terminal_width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some(usize::from(width.0)).filter(|width| *width > 0)
}

/// Characters that move the cursor, change colours or reorder text. JSON text
/// keeps its line breaks, which our own printing put there.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// One line of text that cannot do anything but be read.
pub fn line(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match is_unsafe(c) {
            false => safe.push(c),
            true => drop(write!(safe, "\\u{{{:x}}}", u32::from(c))),
        }
    }
    safe
}

/// Several lines of such text.
pub fn lines(text: &str) -> String {
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// JSON text whose strings cannot do anything but be read, and is JSON still.
fn escape_json(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match is_unsafe(c) && c != '\n' {
            false => safe.push(c),
            true => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(safe, "\\u{unit:04x}");
                }
            }
        }
    }
    safe
}

/// "1 entry", "2 entries".
pub fn counted(count: u64, one: &str, many: &str) -> String {
    let what = if count == 1 { one } else { many };
    format!("{count} {what}")
}

/// An aligned table; the last column is as long as it is.
pub fn table(rows: &[Vec<String>]) {
    for line in list::align(rows) {
        print(line.trim_end());
    }
}

/// Progress on standard error, from the second second on.
#[derive(Debug)]
pub struct Progress {
    what: &'static str,
    started: Instant,
    shown: std::sync::Mutex<Option<Instant>>,
}

impl Progress {
    pub fn new(what: &'static str) -> Progress {
        Progress {
            what,
            started: Instant::now(),
            shown: std::sync::Mutex::new(None),
        }
    }

    pub fn at(&self, done: u64, all: u64) {
        let Ok(mut shown) = self.shown.lock() else {
            return;
        };
        let due = match *shown {
            None => self.started.elapsed() > Duration::from_secs(1),
            Some(at) => at.elapsed() > Duration::from_millis(250),
        };
        if due {
            *shown = Some(Instant::now());
            let percent = (done.min(all) * 100).checked_div(all).unwrap_or(100);
            let end = if std::io::stderr().is_terminal() {
                '\r'
            } else {
                '\n'
            };
            let _ = write!(
                std::io::stderr(),
                "{} {done} of {all} ({percent} %){end}",
                self.what
            );
        }
    }

    pub fn finish(&self) {
        let shown = self.shown.lock().is_ok_and(|shown| shown.is_some());
        if shown && std::io::stderr().is_terminal() {
            let _ = writeln!(std::io::stderr());
        }
    }

    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_an_agent_writes_can_steer_a_terminal() {
        let hostile = "\u{1b}[31mred\u{1b}]0;title\u{7}\u{9b}1m\r\u{8}\u{202e}evil\u{200b}\u{feff}";
        let safe = line(hostile);
        assert!(!safe.chars().any(is_unsafe), "{safe:?}");
        assert!(safe.contains("\\u{1b}[31mred") && safe.contains("\\u{202e}evil"));
        assert_eq!(lines("a\nb\tc"), "a\nb\\u{9}c");
        assert_eq!(line("Grüße, 世界 🌍"), "Grüße, 世界 🌍");
    }

    #[test]
    fn json_that_was_made_safe_for_a_terminal_still_says_the_same() {
        let value = serde_json::json!({ "a\u{202e}": ["\u{9b}1m\u{e0041}\n", "🌍"] });
        let safe = escape_json(&layout::indent(&value.to_string()));
        assert!(!safe.replace('\n', "").chars().any(is_unsafe), "{safe:?}");
        assert_eq!(serde_json::from_str::<Value>(&safe).unwrap(), value);
    }
}
