//! Envelopes, with their types and the rights they carry.

use serde_json::{Value, json};
use wacp::{
    Principal, Run,
    envelope::{self, NewEnvelope},
    integrity::Check,
    role::EnvelopeType,
};

use super::{args::Args, proof, setting::taxonomy_of};
use crate::{Outcome, Trouble};

pub(crate) fn envelope_type(run: &Run, args: &Args<'_>) -> Outcome<EnvelopeType> {
    let name = args.string("type")?.unwrap_or("directive");
    let unregistered = EnvelopeType::Registered(u16::MAX);
    Ok(taxonomy_of(run).envelope_type(name).unwrap_or(unregistered))
}

pub(crate) fn new_envelope(run: &Run, by: Principal, args: &Args<'_>) -> Outcome<Box<NewEnvelope>> {
    let rights = args.tables("rights")?.into_iter().map(|table| {
        let right = Args::new(table, args.names);
        let kind = right.word("kind")?;
        let pair = (right.need("kind", kind)?, right.workspace("target")?);
        right.all_used()?;
        Ok(pair)
    });
    let mut payload = args.content("payload", "words")?;
    if let Some(bytes) = args.number("bytes")? {
        payload.bytes = bytes;
    }
    if let Some(attachments) = args.number("attachments")? {
        payload.attachments = u32::try_from(attachments).unwrap_or(u32::MAX);
    }
    // An address is a workspace's, and neither a role's nor an agent's.
    if let Some(Value::Object(address)) = args.get("to") {
        return Err(Trouble::Malformed(format!("to = {}", json!(address))));
    }
    let mut new = NewEnvelope {
        check: Check::Valid,
        envelope_type: envelope_type(run, args)?,
        in_reply_to: args.id("in_reply_to", "e")?,
        payload,
        priority: args
            .word::<envelope::Priority>("priority")?
            .unwrap_or_default(),
        proof: None,
        rights: rights.collect::<Outcome<Vec<_>>>()?.into(),
        to: args.workspace("to")?,
    };
    proof::of_envelope(by, &mut new, args)?;
    Ok(Box::new(new))
}
