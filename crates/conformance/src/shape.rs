//! The words of a closed set and the fields of an event, read off the types'
//! own readers, so that no list of them can fall behind.

use std::{cell::Cell, fmt};

use serde::{
    Deserializer,
    de::{
        DeserializeOwned, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, VariantAccess,
        Visitor,
        value::{StrDeserializer, U32Deserializer},
    },
};
use serde_json::Value;

/// Every word of a closed set.
pub fn words<T: DeserializeOwned>() -> Vec<&'static str> {
    let mut found = Vec::new();
    // It always ends in an error: nothing is there to be read.
    let _ = T::deserialize(Tracer {
        variant: None,
        found: &mut found,
        probe: None,
    });
    found
}

/// The fields of the table that the variant at this place carries.
pub fn fields<T: DeserializeOwned>(variant: u32) -> Vec<&'static str> {
    let mut found = Vec::new();
    let _ = T::deserialize(Tracer {
        variant: Some(variant),
        found: &mut found,
        probe: None,
    });
    found
}

/// Whether the field of the table that the variant at this place carries can be
/// read from the value.
pub fn reads<T: DeserializeOwned>(variant: u32, field: &str, value: &Value) -> bool {
    let mut found = Vec::new();
    let probe = Probe {
        field,
        value: Cell::new(Some(value)),
        is_read: Cell::new(false),
    };
    let _ = T::deserialize(Tracer {
        variant: Some(variant),
        found: &mut found,
        probe: Some(&probe),
    });
    probe.is_read.get()
}

struct Tracer<'a> {
    variant: Option<u32>,
    found: &'a mut Vec<&'static str>,
    probe: Option<&'a Probe<'a>>,
}

/// A table with one field.
struct Probe<'a> {
    field: &'a str,
    value: Cell<Option<&'a Value>>,
    is_read: Cell<bool>,
}

#[derive(Debug)]
struct Traced;

impl fmt::Display for Traced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("traced")
    }
}

impl std::error::Error for Traced {}

impl serde::de::Error for Traced {
    fn custom<T: fmt::Display>(_: T) -> Traced {
        Traced
    }
}

impl<'de> Deserializer<'de> for Tracer<'_> {
    type Error = Traced;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Traced> {
        Err(Traced)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Traced> {
        if let Some(probe) = self.probe {
            return visitor.visit_map(probe);
        }
        self.found.extend(fields);
        Err(Traced)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Traced> {
        if self.variant.is_some() {
            return visitor.visit_enum(self);
        }
        self.found.extend(variants);
        Err(Traced)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        option unit unit_struct newtype_struct seq tuple tuple_struct map identifier ignored_any
    }
}

impl<'de> MapAccess<'de> for &Probe<'_> {
    type Error = Traced;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Traced> {
        // Asked for another, the reader has taken the first.
        if self.value.get().is_none() {
            self.is_read.set(true);
            return Err(Traced);
        }
        let field: StrDeserializer<'_, Traced> = self.field.into_deserializer();
        seed.deserialize(field).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Traced> {
        let value = self.value.take().cloned().unwrap_or_default();
        seed.deserialize(value).map_err(|_| Traced)
    }
}

impl<'de> EnumAccess<'de> for Tracer<'_> {
    type Error = Traced;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Traced> {
        let number: U32Deserializer<Traced> = self.variant.unwrap_or_default().into_deserializer();
        Ok((seed.deserialize(number)?, self))
    }
}

impl<'de> VariantAccess<'de> for Tracer<'_> {
    type Error = Traced;

    fn unit_variant(self) -> Result<(), Traced> {
        Err(Traced)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Traced> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Traced> {
        Err(Traced)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Traced> {
        self.found.extend(fields);
        Err(Traced)
    }
}

#[cfg(test)]
mod tests {
    use wacp::{Event, Refusal};

    use super::*;

    #[test]
    fn the_words_and_fields_are_those_of_the_types() {
        let refusals = words::<Refusal>();
        assert!(refusals.contains(&Refusal::NoSendRight.code()));
        assert_eq!(words::<Event>().len(), Event::TYPES.len());
        let place = Event::TYPES.iter().position(|it| *it == "signal_delivered");
        let place = u32::try_from(place.expect("it is registered")).expect("a small number");
        assert_eq!(fields::<Event>(place), ["delivered_to", "from", "signal"]);
        assert!(reads::<Event>(place, "signal", &"s1".into()));
        assert!(!reads::<Event>(place, "signal", &"w1".into()));
    }
}
