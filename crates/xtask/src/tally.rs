//! Counts over all test programs of a run, read from what they print.
//!
//! Cargo says nothing about the whole; each test program ends with one line
//! such as `test result: ok. 3 passed; 0 failed; 1 ignored; …`.

use std::fmt;

/// Longer lines are not results; what lies beyond is not looked at.
const LINE_BYTES: usize = 1024;

#[derive(Debug, Default)]
pub struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
    line: Vec<u8>,
}

impl Tally {
    /// Takes the next piece of output, cut anywhere.
    pub fn read(&mut self, piece: &[u8]) {
        for &byte in piece {
            match byte {
                b'\n' => {
                    let line = std::mem::take(&mut self.line);
                    self.count(&plain(&line));
                }
                _ if self.line.len() < LINE_BYTES => self.line.push(byte),
                _ => {}
            }
        }
    }

    /// A run that failed must not read as one without failures: a test program
    /// that crashed, or did not compile, printed no result.
    pub fn note_failure(&mut self) {
        self.failed = self.failed.max(1);
    }

    /// Whether the output stopped in the middle of a line.
    pub fn ends_mid_line(&self) -> bool {
        !self.line.is_empty()
    }

    fn count(&mut self, line: &str) {
        let Some(result) = line.trim_end().strip_prefix("test result: ") else {
            return;
        };
        // After "ok." or "FAILED." come counts with their names.
        let Some((_, counts)) = result.split_once(". ") else {
            return;
        };
        for count in counts.split("; ") {
            let Some((number, name)) = count.split_once(' ') else {
                continue;
            };
            let Ok(number) = number.parse::<u64>() else {
                continue;
            };
            match name {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally {
            passed,
            failed,
            skipped,
            ..
        } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// The text without colours (`ESC [ … letter`).
fn plain(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\u{1b}' {
            plain.push(c);
        } else if rest.next() == Some('[') {
            rest.find(|c| ('@'..='~').contains(c));
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(output: &str) -> String {
        let mut tally = Tally::default();
        tally.read(output.as_bytes());
        tally.to_string()
    }

    const TWO_PROGRAMS: &str = "\
running 3 tests
test a ... ok

test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.01s

test result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s
";

    #[test]
    fn results_of_all_test_programs_add_up() {
        assert_eq!(counted(TWO_PROGRAMS), "7 passed, 2 failed, 1 skipped");
    }

    #[test]
    fn output_may_be_cut_anywhere() {
        let mut tally = Tally::default();
        for byte in TWO_PROGRAMS.as_bytes() {
            tally.read(&[*byte]);
        }
        assert_eq!(tally.to_string(), "7 passed, 2 failed, 1 skipped");
    }

    #[test]
    fn colours_do_not_hide_a_result() {
        let line = "test result: \u{1b}[32mok\u{1b}(B\u{1b}[m. 3 passed; 0 failed; 0 ignored; x\n";
        assert_eq!(counted(line), "3 passed, 0 failed, 0 skipped");
        let line =
            "\u{1b}[1mtest result: \u{1b}[1;31mFAILED\u{1b}[0m. 3 passed; 1 failed; 0 ignored\r\n";
        assert_eq!(counted(line), "3 passed, 1 failed, 0 skipped");
    }

    #[test]
    fn other_lines_count_nothing() {
        let long = "x".repeat(10 * LINE_BYTES);
        let text = format!("a test result: ok. 9 passed; 9 failed\n{long}\ntest result: what\n");
        assert_eq!(counted(&text), "0 passed, 0 failed, 0 skipped");
    }

    #[test]
    fn a_crashed_test_program_is_a_failure() {
        let mut tally = Tally::default();
        tally.read(b"test result: ok. 2 passed; 0 failed; 0 ignored\nrunning 1 test\nabou");
        tally.note_failure();
        assert!(tally.ends_mid_line());
        assert_eq!(tally.to_string(), "2 passed, 1 failed, 0 skipped");
    }
}
