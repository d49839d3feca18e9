//! Reading what must be a JSON object. The fields of one could also be read
//! from a list of their values, which other implementations would refuse.

use serde::{Deserialize, de::Error as _};

pub fn object<'t, T: Deserialize<'t>>(text: &'t [u8]) -> serde_json::Result<T> {
    let mut rest = text.iter().skip_while(|byte| b" \t\n\r".contains(byte));
    match rest.next() {
        Some(b'{') => serde_json::from_slice(text),
        _ => Err(serde_json::Error::custom("not an object")),
    }
}
