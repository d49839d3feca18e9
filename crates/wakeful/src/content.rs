//! Content as someone gives it on a command line: plain text, or a JSON object
//! or string. It is sent as it was written; what could only be guessed at is
//! refused.

use anyhow::{Result, bail};
use serde_json::value::{RawValue, to_raw_value};
use trail::json::{Fault, Rules, scan};

/// Reads what was given with `flag`. What begins with `{` must be a JSON object.
pub fn read(flag: &str, text: &str) -> Result<Box<RawValue>> {
    let begin = text.trim_start().chars().next();
    match (begin, scan(text.as_bytes(), Rules::REQUEST)) {
        (Some('{'), Err(fault @ Fault::Syntax { .. })) => bail!(
            "{flag} is {fault}; text that begins with {{ is read as a JSON object, \
             unless it is written as a JSON string"
        ),
        (Some('{'), Err(fault)) => bail!("{flag} cannot be sent: {fault}"),
        (Some('['), Ok(())) => {
            bail!("{flag} is a JSON array; give an object, or a JSON string if it is meant as text")
        }
        (Some('{' | '"'), Ok(())) => Ok(RawValue::from_string(text.to_owned())?),
        _ => Ok(to_raw_value(text)?),
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn json_is_kept_as_it_was_written_and_other_text_is_text() {
        for exact in [
            r#"{"amount":12345678901234567890123}"#,
            r#"{ "z": 1e400, "a": -0.0 }"#,
            r#""a \u0041 string""#,
        ] {
            assert_eq!(read("-d", exact).unwrap().get(), exact);
        }
        for text in [
            "",
            "Cut it.",
            "42",
            "null",
            "[draft] Cut it.",
            "\"No\" is what she said.",
            "line 1\nline 2",
        ] {
            let kept = read("-d", text).unwrap();
            assert_eq!(serde_json::from_str::<String>(kept.get()).unwrap(), text);
        }
    }

    #[test]
    fn what_could_only_be_guessed_at_is_refused() {
        for (text, because) in [
            ("{oops", "--edited is not valid JSON at byte 1"),
            (r#"{"a":1} {"#, "--edited is not valid JSON at byte 8"),
            (r#"{"dup":1,"dup":2}"#, "the key \"dup\" appears twice"),
            ("[1,2]", "--edited is a JSON array"),
        ] {
            let refused = read("--edited", text).unwrap_err().to_string();
            assert!(refused.contains(because), "{text}: {refused}");
        }
        let deep = format!("{}1{}", "{\"a\":".repeat(200), "}".repeat(200));
        let refused = read("--edited", &deep).unwrap_err().to_string();
        assert!(refused.contains("nested deeper"), "{refused}");
    }
}
