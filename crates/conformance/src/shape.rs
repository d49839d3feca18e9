//! The words of a closed set and the fields of an event, read off the types'
//! own readers, so that no list of them can fall behind.

use std::fmt;

use serde::{
    Deserializer,
    de::{
        DeserializeOwned, DeserializeSeed, EnumAccess, IntoDeserializer, VariantAccess, Visitor,
        value::U32Deserializer,
    },
};

/// Every word of a closed set.
pub fn words<T: DeserializeOwned>() -> Vec<&'static str> {
    let mut found = Vec::new();
    // It always ends in an error: nothing is there to be read.
    let _ = T::deserialize(Tracer {
        variant: None,
        found: &mut found,
    });
    found
}

/// The fields of the table that the variant at this place carries.
pub fn fields<T: DeserializeOwned>(variant: u32) -> Vec<&'static str> {
    let mut found = Vec::new();
    let _ = T::deserialize(Tracer {
        variant: Some(variant),
        found: &mut found,
    });
    found
}

struct Tracer<'a> {
    variant: Option<u32>,
    found: &'a mut Vec<&'static str>,
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
        _: V,
    ) -> Result<V::Value, Traced> {
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
    }
}
