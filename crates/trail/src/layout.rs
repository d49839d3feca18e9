//! JSON as it was written: laid out anew, token by token, and never read into
//! values, which would round long numbers, sort keys and drop repeated ones.

/// Deeper levels are not indented further, so that no text grows without bound.
const DEEPEST: usize = 64;

/// On one line, without white space between tokens.
pub fn compact(json: &str) -> String {
    lay_out(json, false)
}

/// For people: each member on a line of its own.
pub fn indent(json: &str) -> String {
    lay_out(json, true)
}

fn lay_out(json: &str, lines: bool) -> String {
    let mut out = String::with_capacity(json.len());
    let mut depth = 0_usize;
    let break_line = |out: &mut String, depth: usize| {
        if lines {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth.min(DEEPEST)));
        }
    };
    let mut rest = json.chars().peekable();
    while let Some(c) = rest.next() {
        if is_space(c) {
            continue;
        }
        if matches!(c, '}' | ']') {
            depth = depth.saturating_sub(1);
            break_line(&mut out, depth);
        }
        out.push(c);
        match c {
            '"' => {
                let mut escaped = false;
                let inside = rest.by_ref().take_while(|&c| {
                    let ends = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    !ends
                });
                out.extend(inside);
                out.push('"');
            }
            '{' | '[' => {
                while rest.next_if(|&c| is_space(c)).is_some() {}
                match rest.next_if(|c| matches!(c, '}' | ']')) {
                    Some(end) => out.push(end),
                    None => {
                        depth += 1;
                        break_line(&mut out, depth);
                    }
                }
            }
            ',' => break_line(&mut out, depth),
            ':' if lines => out.push(' '),
            _ => {}
        }
    }
    out
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str = " { \"z\" : 12345678901234567890123 ,\n\"a\":[1e400, -0.0,{ },[\n]],\r\n\t\"s\": \"a \\\" { , : ü\\\\\" } ";

    #[test]
    fn every_number_key_and_string_stays_as_it_was_written() {
        assert_eq!(
            compact(WRITTEN),
            r#"{"z":12345678901234567890123,"a":[1e400,-0.0,{},[]],"s":"a \" { , : ü\\"}"#
        );
        assert_eq!(
            indent(WRITTEN),
            "{\n  \"z\": 12345678901234567890123,\n  \"a\": [\n    1e400,\n    -0.0,\n    {},\n    []\n  ],\n  \"s\": \"a \\\" { , : ü\\\\\"\n}"
        );
        assert_eq!(compact(&indent(WRITTEN)), compact(WRITTEN));
        for scalar in ["null", "\"\"", "-1.50", "{}"] {
            assert_eq!(indent(scalar), scalar);
        }
    }

    #[test]
    fn no_depth_makes_the_text_much_larger() {
        let deep = "[".repeat(100_000);
        assert!(indent(&deep).len() < 200 * deep.len());
    }
}
