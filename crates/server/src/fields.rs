//! The fields of an administrative body, taken one by one. What is missing, of
//! the wrong type or not asked for is refused by name, in the words and with
//! the statuses of the other door.

use std::{collections::BTreeMap, convert::Infallible};

use ::wake::Fault;
use axum::{
    body::{Body, HttpBody},
    extract::{FromRequest, Request},
    http::{HeaderMap, StatusCode},
};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use trail::{KeyName, json};

use crate::{
    App, Problem,
    body::{self, Sender},
    code::Code,
};

#[derive(Debug)]
pub struct Fields(BTreeMap<String, Box<RawValue>>);

/// A body that nobody has read: who sends it, and whether they may, is known
/// first.
#[derive(Debug)]
pub struct Unread {
    headers: HeaderMap,
    body: Body,
}

impl FromRequest<App> for Unread {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &App) -> Result<Unread, Infallible> {
        let (parts, body) = request.into_parts();
        let headers = parts.headers;
        Ok(Unread { headers, body })
    }
}

impl Unread {
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Whether there is nothing to be read.
    pub fn is_empty(&self) -> bool {
        HttpBody::is_end_stream(&self.body)
    }

    /// Reads at most so many bytes of JSON, from the person of this name.
    pub async fn bytes(self, app: &App, sender: &str, limit: usize) -> Result<body::Held, Problem> {
        let sender = Sender::Person(sender);
        body::read(&app.bodies, sender, &self.headers, self.body, limit).await
    }

    /// Reads a small JSON object of the person of this name.
    pub async fn fields(self, app: &App, sender: &str) -> Result<Fields, Problem> {
        let bytes = self.bytes(app, sender, body::SMALL).await?;
        Ok(Fields::parse(&bytes)?)
    }
}

impl Fields {
    fn parse(bytes: &[u8]) -> Result<Fields, Fault> {
        json::scan(bytes, json::Rules::REQUEST)?;
        // A text that passed is JSON: if it is no map, it is no object.
        serde_json::from_slice(bytes)
            .map(Fields)
            .map_err(|_| Fault::NotAnObject)
    }

    /// A field that must be there.
    pub fn required<T: DeserializeOwned>(
        &mut self,
        field: &'static str,
        expected: &'static str,
    ) -> Result<T, Fault> {
        self.optional(field, expected)?.ok_or(Fault::Missing(field))
    }

    /// A field that may be absent. `null` is a value like others: a type that
    /// takes it says so.
    pub fn optional<T: DeserializeOwned>(
        &mut self,
        field: &'static str,
        expected: &'static str,
    ) -> Result<Option<T>, Fault> {
        let read = |raw: Box<RawValue>| serde_json::from_str(raw.get());
        let value = self.0.remove(field).map(read).transpose();
        value.map_err(|_| Fault::WrongType { field, expected })
    }

    /// A word from a closed set, if it is there and not `null`.
    pub fn choice<T: DeserializeOwned>(
        &mut self,
        field: &'static str,
        expected: &'static str,
    ) -> Result<Option<T>, Fault> {
        let word: Option<Option<String>> = self.optional(field, "a string or null")?;
        let read = |word: String| serde_json::from_value(word.into());
        let choice = word.flatten().map(read).transpose();
        choice.map_err(|_| Fault::NotOneOf { field, expected })
    }

    /// Refuses what was not asked for: a misspelt field must not be lost.
    pub fn end(self) -> Result<(), Problem> {
        let Some(name) = self.0.into_keys().next() else {
            return Ok(());
        };
        let name = KeyName::new(&name);
        let detail = format!("There is no field {name} here. Leave it out.");
        let problem = Problem::new(StatusCode::UNPROCESSABLE_ENTITY, Code::UnknownField, detail);
        Err(match name.text() {
            Some(name) => problem.with("field", name.to_owned()),
            None => problem,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Fields {
        Fields::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn only_an_object_without_repeated_keys_is_read() {
        for (text, code) in [
            ("", "not_json"),
            ("{", "not_json"),
            ("[]", "not_an_object"),
            ("null", "not_an_object"),
            (r#"{"a":1,"a":2}"#, "duplicate_key"),
        ] {
            assert_eq!(Fields::parse(text.as_bytes()).unwrap_err().code(), code);
        }
    }

    #[test]
    fn a_missing_field_is_malformed_and_a_wrong_one_is_refused_by_name() {
        let missing = fields("{}").required::<String>("name", "a string");
        assert_eq!(missing, Err(Fault::Missing("name")));
        let null = fields(r#"{"days":null}"#).required::<Option<u32>>("days", "…");
        assert_eq!(null, Ok(None));
        let wrong = fields(r#"{"name":1}"#).optional::<String>("name", "a string");
        assert_eq!(wrong.unwrap_err().code(), "wrong_type");
        let king = fields(r#"{"role":"king"}"#).choice::<account::Role>("role", "…");
        assert_eq!(king.unwrap_err().code(), "unknown_value");
        let none = fields(r#"{"role":null}"#).choice::<account::Role>("role", "…");
        assert_eq!(none, Ok(None));
    }

    #[test]
    fn what_was_not_asked_for_is_refused() {
        let mut known = fields(r#"{"name":"x"}"#);
        known.required::<String>("name", "a string").unwrap();
        assert!(known.end().is_ok());
        let problem = fields(r#"{"nmae":"x"}"#).end().unwrap_err();
        assert_eq!(problem.code(), "unknown_field");
    }
}
