//! Words of closed sets, told by the sets' own readers, so that no list of them
//! can fall behind.

use serde::{
    Deserializer,
    de::{DeserializeOwned, IntoDeserializer, Visitor, value},
};
use serde_json::Value;

use super::{
    fault::{Outcome, Why},
    kind::Kind,
    read::{At, Read},
};

/// A word of a closed set, read by the set's own reader.
#[derive(Clone, Copy, Debug)]
pub struct Word<T>(pub T);

fn word<T: DeserializeOwned>(text: &str) -> Option<T> {
    let reader: value::StrDeserializer<'_, value::Error> = text.into_deserializer();
    T::deserialize(reader).ok()
}

impl<T: DeserializeOwned> Read for Word<T> {
    fn kind() -> Kind {
        Kind::Word(words::<T>())
    }
    fn read(value: &Value, at: &At<'_>) -> Outcome<Word<T>> {
        let word = value.as_str().and_then(word).map(Word);
        word.ok_or_else(|| at.fault(Why::UnknownWord(words::<T>())))
    }
    fn sample() -> Word<T> {
        let first = words::<T>().first().copied().and_then(word);
        Word(first.expect("a closed set has a word"))
    }
}

/// Every word of a closed set, as its reader knows them.
pub fn words<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut found: &'static [&'static str] = &[];
    // It always ends in an error: nothing is there to be read.
    let _ = T::deserialize(Tracer(&mut found));
    found
}

struct Tracer<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Tracer<'_> {
    type Error = value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, value::Error> {
        Err(serde::de::Error::custom("only closed sets have words"))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, value::Error> {
        *self.0 = words;
        self.deserialize_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes
        byte_buf option unit unit_struct newtype_struct seq tuple tuple_struct map
        struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_set_tells_its_words() {
        assert_eq!(
            words::<crate::workspace::Band>(),
            ["critical", "interactive", "normal", "background"]
        );
        assert_eq!(words::<crate::content::Content>(), [""; 0]);
    }
}
