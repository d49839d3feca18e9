//! What somebody says once they are in. Only what says where it goes is read.

use std::borrow::Cow;

use serde::{Deserialize, de::IgnoredAny};

use crate::{
    ewsp::Side,
    relay::scan::{Quoted, members},
};

/// A `sid` is 16 digits; others may have longer ones, but not without end.
pub(super) const SID_BYTES: usize = 128;
const REQUEST_ID_BYTES: usize = 128;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming<'t> {
    Pong,
    /// A client's envelope.
    Relay(Envelope<'t>),
    /// A packet without one: all of the frame, as it is.
    Packet {
        sid: Cow<'t, str>,
        request_id: Option<Cow<'t, str>>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope<'t> {
    pub agent_id: Cow<'t, str>,
    pub payload: Cow<'t, str>,
    pub request_id: Option<Cow<'t, str>>,
}

/// A frame that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadFrame {
    pub why: &'static str,
    /// If it could be read.
    pub request_id: Option<String>,
}

/// A member that is read: absent, a string, something else, or there twice.
#[derive(Clone, Copy, Debug, Default)]
enum Member<'t> {
    #[default]
    Absent,
    Text(Quoted<'t>),
    Other,
    Twice,
}

impl<'t> Member<'t> {
    fn put(&mut self, value: Option<Quoted<'t>>) {
        *self = match (&self, value) {
            (Member::Absent, Some(text)) => Member::Text(text),
            (Member::Absent, None) => Member::Other,
            _ => Member::Twice,
        }
    }

    fn text(self) -> Option<Cow<'t, str>> {
        match self {
            Member::Text(text) => text.read(),
            _ => None,
        }
    }
}

#[derive(Debug, Default)]
struct Members<'t> {
    r#type: Member<'t>,
    sid: Member<'t>,
    agent_id: Member<'t>,
    payload: Member<'t>,
    request_id: Member<'t>,
}

impl<'t> Incoming<'t> {
    /// Reads what a client or a device sent.
    pub fn read(from: Side, text: &'t str) -> Result<Incoming<'t>, BadFrame> {
        let mut found = Members::default();
        members(text, |key, value| {
            let member = match key.plain() {
                Some(name) => found.member(name),
                None => key.read().and_then(|name| found.member(&name)),
            };
            if let Some(member) = member {
                member.put(value);
            }
        })
        .map_err(|_| BadFrame {
            why: "The frame is not a JSON object",
            request_id: None,
        })?;
        let bad = |why| BadFrame {
            why,
            request_id: found.short_request_id().map(Cow::into_owned),
        };
        match found.r#type {
            Member::Absent => match found.sid.text() {
                Some(sid) => Ok(Incoming::Packet {
                    sid,
                    request_id: found.short_request_id(),
                }),
                None => Err(bad("A packet has one sid, which is a string")),
            },
            Member::Text(kind) if kind.is("pong") => Ok(Incoming::Pong),
            Member::Text(kind) if kind.is("relay") && from == Side::Client => {
                found.envelope(text).map(Incoming::Relay)
            }
            _ => Err(bad("No frame of this type is taken here")),
        }
    }
}

impl<'t> Members<'t> {
    fn member(&mut self, name: &str) -> Option<&mut Member<'t>> {
        match name {
            "type" => Some(&mut self.r#type),
            "sid" => Some(&mut self.sid),
            "agent_id" => Some(&mut self.agent_id),
            "payload" => Some(&mut self.payload),
            "request_id" => Some(&mut self.request_id),
            _ => None,
        }
    }

    /// To be given back, if it is one.
    fn short_request_id(&self) -> Option<Cow<'t, str>> {
        let request_id = self.request_id.text();
        request_id.filter(|id| id.len() <= REQUEST_ID_BYTES)
    }

    fn envelope(self, text: &str) -> Result<Envelope<'t>, BadFrame> {
        let request_id = self.short_request_id();
        let bad = |why| BadFrame {
            why,
            request_id: request_id.as_deref().map(str::to_owned),
        };
        let fits = match self.request_id {
            Member::Absent => true,
            Member::Other => has_no_request_id(text),
            _ => request_id.is_some(),
        };
        if !fits {
            return Err(bad(
                "A request_id is a string of 128 bytes or less, or is left out",
            ));
        }
        let agent_id = self.agent_id.text();
        let agent_id =
            agent_id.ok_or_else(|| bad("A relay has one agent_id, which is a string"))?;
        let payload = self.payload.text();
        let payload = payload.ok_or_else(|| bad("A relay has one payload, which is a string"))?;
        Ok(Envelope {
            agent_id,
            payload,
            request_id,
        })
    }
}

/// Whether it is null, which is to leave it out.
fn has_no_request_id(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Asked {
        request_id: Option<IgnoredAny>,
    }
    serde_json::from_str(text).is_ok_and(|asked: Asked| asked.request_id.is_none())
}

impl Envelope<'_> {
    /// The session that the payload belongs to, if it says so.
    pub fn sid(&self) -> Option<Cow<'_, str>> {
        let mut sid = Member::Absent;
        let read = members(&self.payload, |key, value| {
            if key.is("sid") {
                sid.put(value);
            }
        });
        let sid = read.ok().and_then(|()| sid.text())?;
        (sid.len() <= SID_BYTES).then_some(sid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relay<'t>(agent_id: &'t str, payload: &'t str, request_id: Option<&'t str>) -> Incoming<'t> {
        Incoming::Relay(Envelope {
            agent_id: agent_id.into(),
            payload: payload.into(),
            request_id: request_id.map(Cow::Borrowed),
        })
    }

    fn packet<'t>(sid: &'t str, request_id: Option<&'t str>) -> Incoming<'t> {
        Incoming::Packet {
            sid: sid.into(),
            request_id: request_id.map(Cow::Borrowed),
        }
    }

    #[test]
    fn what_a_client_may_say() {
        for (text, expected) in [
            (r#"{"type":"pong"}"#, Incoming::Pong),
            (r#"{"type":"pong","more":[1]}"#, Incoming::Pong),
            (
                r#"{"type":"relay","payload":"x","agent_id":"WL1"}"#,
                relay("WL1", "x", None),
            ),
            (
                r#"{"agent_id":"WL\u0031","payload":"{\"sid\":\"a\"}","request_id":"X7","signature":7,"type":"relay"}"#,
                relay("WL1", r#"{"sid":"a"}"#, Some("X7")),
            ),
            (
                r#"{"v":"1.0","sid":"a1","seq":42,"p":"…"}"#,
                packet("a1", None),
            ),
            (
                r#"{"sid":"a1","request_id":"X7"}"#,
                packet("a1", Some("X7")),
            ),
            (
                r#"{"type":"relay","payload":"x","agent_id":"WL1","request_id":null,"signature":null}"#,
                relay("WL1", "x", None),
            ),
            // Nothing but the sid is looked at.
            (r#"{"v":null,"sid":"","seq":"x","p":[]}"#, packet("", None)),
        ] {
            assert_eq!(Incoming::read(Side::Client, text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_nobody_may_say() {
        for text in [
            "",
            "hello",
            "[]",
            "{}",
            r#"{"type":"ping"}"#,
            r#"{"type":"auth","api_token":"wl_x","client_type":"client"}"#,
            r#"{"type":"nonsense"}"#,
            r#"{"type":null,"sid":"a"}"#,
            r#"{"type":"pong","type":"pong"}"#,
            r#"{"sid":1}"#,
            r#"{"sid":"a","sid":"a"}"#,
            r#"{"sid":"\ud800"}"#,
            r#"{"seq":1,"p":"x"}"#,
            r#"{"type":"relay"}"#,
            r#"{"type":"relay","payload":"x"}"#,
            r#"{"type":"relay","agent_id":"WL1"}"#,
            r#"{"type":"relay","agent_id":1,"payload":"x"}"#,
            r#"{"type":"relay","agent_id":"WL1","payload":{"sid":"a"}}"#,
            r#"{"type":"relay","agent_id":"WL1","payload":"x","payload":"y"}"#,
            r#"{"type":"relay","agent_id":"WL1","payload":"\ud800"}"#,
            r#"{"type":"relay","agent_id":"WL1","payload":"x","request_id":7}"#,
        ] {
            for side in [Side::Client, Side::Device] {
                assert!(Incoming::read(side, text).is_err(), "{text}");
            }
        }
        let long = "x".repeat(REQUEST_ID_BYTES + 1);
        let text =
            format!(r#"{{"type":"relay","agent_id":"WL1","payload":"x","request_id":"{long}"}}"#);
        assert!(Incoming::read(Side::Client, &text).is_err());
    }

    #[test]
    fn a_device_sends_packets_and_no_envelopes() {
        let packet = Incoming::read(Side::Device, r#"{"sid":"a1"}"#);
        assert_eq!(packet, Ok(self::packet("a1", None)));
        let text = r#"{"type":"relay","payload":"x","agent_id":"WL1"}"#;
        assert!(Incoming::read(Side::Device, text).is_err());
    }

    #[test]
    fn a_bad_frame_is_answered_with_its_request_id() {
        for text in [
            r#"{"type":"relay","agent_id":"WL1","request_id":"X7"}"#,
            r#"{"type":"nonsense","request_id":"X7"}"#,
            r#"{"sid":1,"request_id":"X7"}"#,
        ] {
            let bad = Incoming::read(Side::Client, text).unwrap_err();
            assert_eq!(bad.request_id.as_deref(), Some("X7"), "{text}");
        }
    }

    #[test]
    fn a_payload_is_read_for_its_sid_alone() {
        let long = format!(r#"{{"sid":"{}"}}"#, "x".repeat(SID_BYTES + 1));
        for (payload, sid) in [
            (r#"{"sid":"a1","v":2,"seq":-1}"#, Some("a1")),
            (r#"{"v":"1.1","s\u0069d":"a1"}"#, Some("a1")),
            (r#"{"sid":1}"#, None),
            (r#"{"in":{"sid":"a1"}}"#, None),
            (r#"{"sid":"a1","sid":"a2"}"#, None),
            (r#"{"sid":"a1""#, None),
            ("not JSON at all", None),
            ("", None),
            (long.as_str(), None),
        ] {
            let envelope = Envelope {
                agent_id: "WL1".into(),
                payload: payload.into(),
                request_id: None,
            };
            assert_eq!(envelope.sid().as_deref(), sid, "{payload}");
        }
    }
}
