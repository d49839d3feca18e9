//! Addresses at which a program ends up that was given the wrong base. The two
//! WAKE documents mean different things by `WAKE_ENDPOINT`: one the server, the
//! other the server and `/wake/v1`.

use axum::http::StatusCode;

use crate::{Problem, code::Code};

/// The door's own address.
const DOOR: &str = "/wake/v1";

/// What to say to someone who looked for the door at this path.
pub fn problem(path: &str) -> Option<Problem> {
    let meant = meant(path)?;
    let detail = format!(
        "There is nothing at this address. {meant} is what you look for: set WAKE_ENDPOINT to the server's address with /wake/v1 at its end, or without it, as your code appends it or not."
    );
    Some(Problem::new(StatusCode::NOT_FOUND, Code::WrongAddress, detail).with("address", meant))
}

/// The path that was meant, without what a caller may have made up.
fn meant(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    while parts.starts_with(&["wake", "v1"]) {
        parts.drain(..2);
    }
    let meant = match parts.as_slice() {
        ["deliver"] => format!("{DOOR}/deliver"),
        ["responses"] => format!("{DOOR}/responses"),
        ["response", _] => format!("{DOOR}/response/{{delivery_id}}"),
        _ => return None,
    };
    // Someone who is there already has asked for something else.
    let is_there = path.strip_prefix(DOOR).is_some_and(|rest| {
        rest == "/deliver" || rest == "/responses" || rest.starts_with("/response/")
    });
    (!is_there).then_some(meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_the_wrong_base_is_told_the_right_address() {
        for base in ["", "/wake/v1/wake/v1", "/wake/v1/", "/wake/v1//wake/v1"] {
            for (path, meant_path) in [
                ("/deliver", "/wake/v1/deliver"),
                ("/responses", "/wake/v1/responses"),
                ("/response/6f1c", "/wake/v1/response/{delivery_id}"),
            ] {
                let path = format!("{base}{path}");
                assert_eq!(meant(&path).as_deref(), Some(meant_path), "{path}");
            }
        }
        for other in [
            "/",
            "/wake/v1",
            "/delivery",
            "/wake/v1/deliver",
            "/response",
            "/items/x",
        ] {
            assert_eq!(meant(other), None, "{other}");
        }
    }
}
