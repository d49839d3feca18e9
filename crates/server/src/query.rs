//! The parameters of an address. Unknown ones are ignored; a known one that is
//! given twice is refused, since either value could be the one that is meant.

use axum::http::StatusCode;
use url::form_urlencoded;

use crate::{Problem, code::Code};

/// The known parameters of a query string. An empty value counts as absent,
/// since many HTTP clients send `since=` for none.
pub fn known(
    query: &Option<String>,
    names: &[&'static str],
) -> Result<Vec<(&'static str, String)>, Problem> {
    let query = query.as_deref().unwrap_or_default();
    let mut pairs: Vec<(&'static str, String)> = Vec::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let Some(name) = names.iter().find(|known| **known == name) else {
            continue;
        };
        if value.is_empty() {
            continue;
        }
        if pairs.iter().any(|(given, _)| given == name) {
            let detail = format!("\"{name}\" is given more than once. Give it once.");
            let problem = Problem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                Code::RepeatedParameter,
                detail,
            );
            return Err(problem.field(Some(name)));
        }
        pairs.push((name, value.into_owned()));
    }
    Ok(pairs)
}

/// A parameter whose value is not acceptable.
pub fn bad(field: &'static str, expected: &str) -> Problem {
    let detail = format!("\"{field}\" must be {expected}.");
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, Code::BadQuery, detail).field(Some(field))
}

/// An integer within a range.
pub fn number(
    field: &'static str,
    text: &str,
    range: std::ops::RangeInclusive<u64>,
) -> Result<u64, Problem> {
    let number = ::wake::sweep::digits(text).filter(|number| range.contains(number));
    let expected = format!("an integer from {} to {}", range.start(), range.end());
    number.ok_or_else(|| bad(field, &expected))
}

/// A comma-separated list from a closed set, whose words are `names`.
pub fn list<T>(
    field: &'static str,
    text: &str,
    parse: impl Fn(&str) -> Option<T>,
    names: &str,
) -> Result<Vec<T>, Problem> {
    let items: Option<Vec<T>> = text.split(',').map(|item| parse(item.trim())).collect();
    items.ok_or_else(|| bad(field, &format!("{names}, separated by commas")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(query: &str) -> Result<Vec<(&'static str, String)>, Problem> {
        known(&Some(query.to_owned()), &["a", "b"])
    }

    #[test]
    fn empty_and_unknown_parameters_are_ignored_and_repeated_ones_refused() {
        assert_eq!(known(&None, &["a"]).unwrap(), []);
        assert_eq!(of("a=&x=1&x=2&b=%201").unwrap(), [("b", " 1".to_owned())]);
        assert_eq!(of("a=&a=1").unwrap(), [("a", "1".to_owned())]);
        for query in ["a=1&a=2", "a=1&b=2&a=1", "a=1&%61=1"] {
            assert_eq!(
                of(query).unwrap_err().code(),
                "repeated_parameter",
                "{query}"
            );
        }
    }

    #[test]
    fn a_number_is_digits_and_nothing_else() {
        assert_eq!(number("n", "5", 1..=9).unwrap(), 5);
        for text in ["+5", "-5", " 5", "5 ", "5.0", "0x5", "٥", "10", "0"] {
            assert!(number("n", text, 1..=9).is_err(), "{text}");
        }
    }
}
