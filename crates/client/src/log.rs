//! An agent's own log (WAKE, "Agent Behaviour Requirements"): what it delivered,
//! what was answered, and where it stopped waiting; one JSON text a line. Only
//! its owner can read it, since it holds content.

use std::{
    collections::HashMap,
    fs::{DirBuilder, File, OpenOptions},
    io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _},
    ops::RangeInclusive,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use trail::Micros;
use uuid::Uuid;

use trail::layout;

use crate::Answer;

/// What a server says of a delivery that it took.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Received {
    pub delivery_id: Uuid,
    pub created_at: Micros,
}

#[derive(Debug)]
pub struct Log {
    file: File,
    known: HashMap<Uuid, Known>,
}

/// What the log says about one of our deliveries.
#[derive(Clone, Debug, Default)]
struct Known {
    /// When we go on without an answer.
    due: Option<Micros>,
    answered: bool,
    /// The note that time is over: with the assumption on which we go on, if one
    /// was given.
    timed_out: Option<Option<String>>,
}

/// One line, as far as it is read again.
#[derive(Deserialize)]
struct Line {
    delivered: Option<Received>,
    delivery: Option<Terms>,
    answered: Option<Named>,
    timed_out: Option<Uuid>,
    assumption: Option<String>,
}

#[derive(Deserialize)]
struct Terms {
    timeout_seconds: Option<i64>,
}

#[derive(Deserialize)]
struct Named {
    delivery_id: Uuid,
}

impl Log {
    /// Opens a log, creating it if it is not there. Opened before anything is
    /// sent, so that nothing is delivered that cannot be kept.
    pub fn open(path: &Path) -> io::Result<Log> {
        if let Some(directory) = path.parent().filter(|path| !path.as_os_str().is_empty()) {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)?;
        }
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .mode(0o600)
            .open(path)?;
        // A line that was cut short must not swallow the next one.
        let mut last = [b'\n'];
        if file.seek(SeekFrom::End(0))? > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        if last != [b'\n'] {
            file.write_all(b"\n")?;
        }
        let known = HashMap::new();
        Ok(Log { file, known })
    }

    /// Reads what earlier processes wrote. Lines that are not ours are skipped.
    pub fn recall(&mut self) -> io::Result<()> {
        self.file.rewind()?;
        let mut lines = BufReader::new(&self.file);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line)? > 0 {
            if let Ok(read) = serde_json::from_slice::<Line>(&line) {
                if let Some(received) = read.delivered {
                    let seconds = read.delivery.and_then(|terms| terms.timeout_seconds);
                    let due = seconds.map(|seconds| received.created_at.plus_seconds(seconds));
                    self.known.entry(received.delivery_id).or_default().due = due;
                }
                if let Some(known) = read
                    .answered
                    .and_then(|a| self.known.get_mut(&a.delivery_id))
                {
                    known.answered = true;
                }
                if let Some(known) = read.timed_out.and_then(|id| self.known.get_mut(&id)) {
                    let before = known.timed_out.take().flatten();
                    known.timed_out = Some(read.assumption.or(before));
                }
            }
            line.clear();
        }
        Ok(())
    }

    /// Whether we delivered it.
    pub fn is_own(&self, id: Uuid) -> bool {
        self.known.contains_key(&id)
    }

    /// Our deliveries whose ids are in this range, in the order of their ids.
    pub fn own_within(&self, range: &RangeInclusive<Uuid>) -> Vec<Uuid> {
        let own = self.known.keys().copied();
        let mut own: Vec<Uuid> = own.filter(|id| range.contains(id)).collect();
        own.sort_unstable();
        own
    }

    /// Whether the time is over after which we go on without an answer.
    pub fn is_overdue(&self, id: Uuid) -> bool {
        let due = self.known.get(&id).and_then(|known| known.due);
        due.is_some_and(|due| due <= now())
    }

    /// How long it is until then, if it was said when we delivered.
    pub fn time_left(&self, id: Uuid) -> Option<Duration> {
        let due = self.known.get(&id).and_then(|known| known.due)?;
        let micros = u64::try_from(due.0.saturating_sub(now().0)).unwrap_or(0);
        Some(Duration::from_micros(micros))
    }

    /// Notes a delivery, with the seconds after which we go on without an answer.
    pub fn delivered(
        &mut self,
        received: &Received,
        delivery: &impl Serialize,
        timeout_seconds: Option<i64>,
    ) -> io::Result<()> {
        #[derive(Serialize)]
        struct Delivered<'a, T> {
            delivered: &'a Received,
            delivery: &'a T,
        }
        // A repeated delivery has the id of the first.
        let due = timeout_seconds.map(|seconds| received.created_at.plus_seconds(seconds));
        self.known.entry(received.delivery_id).or_default().due = due;
        self.write(&Delivered {
            delivered: received,
            delivery,
        })
    }

    /// Notes an answer, once.
    pub fn answered(&mut self, answer: &Answer) -> io::Result<()> {
        #[derive(Serialize)]
        struct Answered<'a> {
            answered: &'a Answer,
            at: Micros,
        }
        let known = self.known.get_mut(&answer.delivery_id);
        if known.is_some_and(|known| std::mem::replace(&mut known.answered, true)) {
            return Ok(());
        }
        let at = now();
        self.write(&Answered {
            answered: answer,
            at,
        })
    }

    /// Notes that the time for an answer is over, and on what assumption we go on.
    /// Notes it once, and again for each assumption that is not the one noted last.
    /// The caller knows that the time is over.
    pub fn timed_out(&mut self, id: Uuid, assumption: Option<&str>) -> io::Result<()> {
        #[derive(Serialize)]
        struct TimedOut<'a> {
            timed_out: Uuid,
            at: Micros,
            /// Null: none was given.
            assumption: Option<&'a str>,
        }
        if let Some(known) = self.known.get_mut(&id) {
            let is_noted = known
                .timed_out
                .as_ref()
                .is_some_and(|noted| assumption.is_none() || noted.as_deref() == assumption);
            if is_noted {
                return Ok(());
            }
            known.timed_out = Some(assumption.map(str::to_owned));
        }
        let at = now();
        self.write(&TimedOut {
            timed_out: id,
            at,
            assumption,
        })
    }

    /// One write for the whole line: several processes may keep one log.
    fn write(&mut self, line: &impl Serialize) -> io::Result<()> {
        let line = layout::compact(&serde_json::to_string(line)?);
        self.file.write_all(format!("{line}\n").as_bytes())
    }
}

fn now() -> Micros {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let micros = since_1970.map_or(0, |time| time.as_micros());
    Micros(i64::try_from(micros).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use serde_json::{Value, json, value::RawValue};
    use wake::Status;

    use super::*;

    fn answer(id: u128) -> Answer {
        let edited = "{\n  \"amount\": 12345678901234567890123\n}".to_owned();
        Answer {
            delivery_id: Uuid::from_u128(id),
            status: Status::Redirected,
            feedback: Some("a\nb".to_owned()),
            edited_content: RawValue::from_string(edited).ok(),
            responded_at: None,
            content_erased: false,
        }
    }

    fn received(id: u128, created_at: Micros) -> Received {
        Received {
            delivery_id: Uuid::from_u128(id),
            created_at,
        }
    }

    #[test]
    fn the_next_process_knows_what_the_last_one_delivered() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state/agent.log");
        let mut log = Log::open(&path).unwrap();
        let terms = json!({ "timeout_seconds": 60 });
        log.delivered(&received(1, Micros(0)), &terms, Some(60))
            .unwrap();
        log.delivered(&received(2, now()), &terms, Some(60))
            .unwrap();
        log.delivered(&received(3, Micros(0)), &json!({}), None)
            .unwrap();
        let left = log.time_left(Uuid::from_u128(2)).unwrap();
        assert!((59..=60).contains(&left.as_secs()), "{left:?}");
        assert_eq!(log.time_left(Uuid::from_u128(1)), Some(Duration::ZERO));
        assert_eq!(log.time_left(Uuid::from_u128(3)), None);
        // A line that was cut short costs that line alone.
        log.file.write_all(b"{\"delivered\":{\"deliv").unwrap();
        let mut log = Log::open(&path).unwrap();
        log.delivered(&received(4, Micros(0)), &terms, Some(60))
            .unwrap();

        let mut log = Log::open(&path).unwrap();
        assert!(!log.is_own(Uuid::from_u128(1)));
        log.recall().unwrap();
        for (id, own, overdue) in [
            (1, true, true),
            (2, true, false),
            (3, true, false),
            (4, true, true),
            (5, false, false),
        ] {
            let id = Uuid::from_u128(id);
            assert_eq!((log.is_own(id), log.is_overdue(id)), (own, overdue), "{id}");
        }
    }

    #[test]
    fn each_assumption_is_noted_once_also_after_a_note_without_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("agent.log");
        let id = Uuid::from_u128(1);
        let mut log = Log::open(&path).unwrap();
        log.delivered(&received(1, Micros(0)), &json!({}), Some(60))
            .unwrap();
        for assumption in [None, None, Some("the old prices"), None, Some("others")] {
            let mut log = Log::open(&path).unwrap();
            log.recall().unwrap();
            log.timed_out(id, assumption).unwrap();
            log.timed_out(id, assumption).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let noted: Vec<Value> = text
            .lines()
            .skip(1)
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["assumption"].take())
            .collect();
        let expected = [Value::Null, json!("the old prices"), json!("others")];
        assert_eq!(noted, expected, "{text}");
    }

    #[test]
    fn an_answer_and_a_time_out_are_noted_once_on_a_line_each() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("agent.log");
        for _ in 0..2 {
            let mut log = Log::open(&path).unwrap();
            log.recall().unwrap();
            if !log.is_own(Uuid::from_u128(1)) {
                log.delivered(&received(1, Micros(0)), &json!({}), None)
                    .unwrap();
            }
            for _ in 0..2 {
                log.timed_out(Uuid::from_u128(1), Some("a\nb")).unwrap();
                log.answered(&answer(1)).unwrap();
            }
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert_eq!(lines[1]["timed_out"], Uuid::from_u128(1).to_string());
        assert_eq!(lines[1]["assumption"], "a\nb");
        assert_eq!(lines[2]["answered"]["status"], "redirected");
        assert!(text.contains("{\"amount\":12345678901234567890123}"));
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
