//! A delivery by its id, or by enough of its beginning. What begins like
//! several is refused with some of them, so that nobody answers another item
//! than the one they meant.

use anyhow::Result;
use client::encode;
use wake::{IdPrefix, PrefixFault};

use crate::{
    Ending,
    connect::Connection,
    output::{line, say},
};

/// So many are asked for when an id's beginning is not unique.
const COUNTED: usize = 200;
/// So many of them are listed.
const LISTED: usize = 5;

/// A delivery that was named.
#[derive(Debug)]
pub struct Named {
    pub id: String,
    /// Its headline, if it had to be looked up.
    pub headline: Option<String>,
}

impl Named {
    /// The whole id and what it is about, for someone who typed less.
    pub fn say(&self) {
        if let Some(headline) = &self.headline {
            say(&format!("{}: {}", line(&self.id), line(headline)));
        }
    }
}

/// What a text can be the beginning of: `None` if it is taken as it is, because
/// it is a whole id or because the server shall say that it is none.
pub fn read(text: &str) -> Result<Option<IdPrefix>, Ending> {
    match IdPrefix::parse(text) {
        Ok(prefix) if prefix.is_whole() => Ok(None),
        Ok(prefix) => Ok(Some(prefix)),
        Err(PrefixFault::NoId) => Ok(None),
        Err(PrefixFault::TooShort) => {
            say(&format!(
                "wakeful: {} is too short: give at least {} characters of the id",
                line(text),
                IdPrefix::SHORTEST
            ));
            Err(Ending::Refused)
        }
    }
}

/// Finds a delivery among all that a person can see.
pub async fn find(connection: &Connection, text: &str) -> Result<Result<Named, Ending>> {
    match read(text) {
        Err(ending) => return Ok(Err(ending)),
        Ok(None) => {
            let (id, headline) = (text.to_owned(), None);
            return Ok(Ok(Named { id, headline }));
        }
        Ok(Some(_)) => {}
    }
    let path = format!("/api/v1/inbox?id_prefix={}&limit={COUNTED}", encode(text));
    let reply = match connection.call("GET", &path, None).await? {
        Ok(reply) => reply.json(),
        Err(ending) => return Ok(Err(ending)),
    };
    let field = |item: &serde_json::Value, name: &str| {
        let text = item[name].as_str().unwrap_or_default();
        text.to_owned()
    };
    let items = reply["items"].as_array().map_or(&[][..], Vec::as_slice);
    let found = items.iter().map(|item| Named {
        id: field(item, "id"),
        headline: Some(field(item, "headline")),
    });
    let found: Vec<Named> = found.collect();
    Ok(only_one(
        text,
        found,
        "There is nothing here: no delivery's id",
    ))
}

/// Whether a delivery's id begins with this text. One that is too short, or begins
/// with a sign, is none.
pub async fn begins_one(connection: &Connection, text: &str) -> Result<bool> {
    if !matches!(IdPrefix::parse(text), Ok(prefix) if !prefix.is_whole()) {
        return Ok(false);
    }
    let path = format!("/api/v1/inbox?id_prefix={}&limit=1", encode(text));
    let reply = connection.request("GET", &path, &[], None).await?;
    Ok(reply.json()["items"]
        .as_array()
        .is_some_and(|items| !items.is_empty()))
}

/// The one that was found; says so if it is none or not the only one.
pub fn only_one(text: &str, mut found: Vec<Named>, nothing: &str) -> Result<Named, Ending> {
    let text = line(text);
    if found.len() > 1 {
        let at_least = match found.len() >= COUNTED {
            true => "at least ",
            false => "",
        };
        say(&format!(
            "wakeful: {at_least}{} deliveries begin with {text}: give more of the id",
            found.len()
        ));
        for named in found.iter().take(LISTED) {
            let headline = named.headline.as_deref().map(line).unwrap_or_default();
            say(format!("  {}  {headline}", line(&named.id)).trim_end());
        }
        if found.len() > LISTED {
            say(&format!("  … and {at_least}{} more", found.len() - LISTED));
        }
        return Err(Ending::Refused);
    }
    found.pop().ok_or_else(|| {
        say(&format!("wakeful: {nothing} begins with {text}"));
        Ending::Refused
    })
}
