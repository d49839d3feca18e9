//! What an item is called. Each door has its own kind of item; the text of an
//! `ItemId` is what addresses and the API use.
//!
//! A further kind of item is a further variant here. Its text must begin with
//! something that no UUID begins with, so that it is never taken for a delivery.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use uuid::Uuid;

/// Something that waits for a person, whatever door it came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ItemId {
    /// What an agent delivered over WAKE. Its text is the bare UUID.
    Delivery(Uuid),
}

impl ItemId {
    /// Reads an id in the one form that we write; any other names nothing.
    pub fn parse(text: &str) -> Option<ItemId> {
        let is_hyphenated = text.len() == uuid::fmt::Hyphenated::LENGTH;
        let id = Uuid::try_parse(text).ok().filter(|_| is_hyphenated)?;
        Some(ItemId::Delivery(id))
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ItemId::Delivery(id) => id.fmt(f),
        }
    }
}

impl Serialize for ItemId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ItemId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ItemId, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        ItemId::parse(&text).ok_or_else(|| D::Error::custom("not the id of an item"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_is_named_by_its_bare_uuid_in_one_form() {
        let text = "550e8400-e29b-41d4-a716-446655440000";
        let id = ItemId::parse(text).unwrap();
        assert_eq!(id, ItemId::Delivery(Uuid::try_parse(text).unwrap()));
        assert_eq!(id.to_string(), text);
        assert_eq!(serde_json::to_string(&id).unwrap(), format!("\"{text}\""));
        for other in [
            text.replace('-', ""),
            format!("{{{text}}}"),
            format!("urn:uuid:{text}"),
            format!("{text} "),
            text[1..].to_owned(),
            String::new(),
        ] {
            assert_eq!(ItemId::parse(&other), None, "{other}");
        }
    }
}
