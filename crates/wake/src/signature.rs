//! How an agent knows that a callback or an answer came from its server.
//!
//! `X-Wake-Signature` is keyed with the bytes of the whole secret text, as the
//! WAKE samples do; the Standard Webhooks headers beside it are keyed with the
//! decoded part after `whsec_`. One secret serves both.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hex::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The header that carries the signature, as a name of HTTP/2 and of our own maps.
pub const HEADER: &str = "x-wake-signature";
pub const SECRET_PREFIX: &str = "whsec_";

/// A webhook secret: `whsec_` and 32 random bytes in base64.
pub fn secret(random: [u8; 32]) -> String {
    format!("{SECRET_PREFIX}{}", STANDARD.encode(random))
}

/// The value of `X-Wake-Signature` for exactly these bytes.
pub fn wake(secret: &str, body: &[u8]) -> String {
    Signer::new(secret).wake(body)
}

/// A secret that has been taken in: signing with it again and again costs less.
pub struct Signer(Hmac<Sha256>);

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signer(…)")
    }
}

impl Signer {
    pub fn new(secret: &str) -> Signer {
        Signer(keyed(secret.as_bytes()))
    }

    /// The value of `X-Wake-Signature` for exactly these bytes.
    pub fn wake(&self, body: &[u8]) -> String {
        let mut mac = self.0.clone();
        mac.update(body);
        let code: [u8; 32] = mac.finalize().into_bytes().into();
        let mut value = String::with_capacity(7 + 64);
        value.push_str("sha256=");
        HEXLOWER.encode_append(&code, &mut value);
        value
    }
}

/// The value of `webhook-signature` for one secret (`v1,<base64>`).
pub fn standard(secret: &str, webhook_id: &str, unix_seconds: i64, body: &[u8]) -> String {
    let encoded = secret.strip_prefix(SECRET_PREFIX).unwrap_or(secret);
    let key = STANDARD
        .decode(encoded)
        .unwrap_or_else(|_| secret.as_bytes().to_vec());
    let signed = format!("{webhook_id}.{unix_seconds}.");
    format!(
        "v1,{}",
        STANDARD.encode(mac(&key, &[signed.as_bytes(), body]))
    )
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes a key of any length")
}

fn mac(key: &[u8], pieces: &[&[u8]]) -> [u8; 32] {
    let mut mac = keyed(key);
    for piece in pieces {
        mac.update(piece);
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Both expectations were computed with Python's hmac module.

    #[test]
    fn the_wake_signature_is_keyed_with_the_whole_secret_text() {
        assert_eq!(
            wake("whsec_x9y8z7", b"{}"),
            "sha256=755810e3f2e702fa99f712e8cbe3be33294cb416ff1387e8b7cecadbf8a816b2"
        );
    }

    #[test]
    fn the_standard_signature_is_keyed_with_the_decoded_part() {
        let secret = secret(std::array::from_fn(|n| n as u8));
        assert_eq!(secret, "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
        assert_eq!(
            standard(&secret, "msg_1", 1_700_000_000, br#"{"a":1}"#),
            "v1,AMaOha7DUT/0J0JMycRuYOBSvbx3WtwLd2khXXbaVj4="
        );
    }
}
