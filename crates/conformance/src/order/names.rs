//! The words of a file, and what they stand for in the run.

use std::{borrow::Cow, collections::BTreeMap, str::FromStr};

use trail::Hash;
use wacp::{Principal, content::Content, id::WorkspaceId, wire};

use crate::{Outcome, Trouble, broken};

/// What the words of a file stand for in the run: `w1` → the spelling of an id.
pub type Names = BTreeMap<String, String>;

/// Words that stand for something that does not exist.
const UNKNOWN: &str = "unknown";

fn spelled(names: &Names, name: &str, prefix: &str) -> Option<String> {
    match name {
        UNKNOWN => Some(format!("{prefix}999999")),
        _ => names.get(name).cloned(),
    }
}

pub fn id<T: FromStr>(names: &Names, name: &str, prefix: &str) -> Outcome<T> {
    let Some(spelled) = spelled(names, name, prefix) else {
        return broken(format!("nothing is called `{name}`"));
    };
    spelled
        .parse()
        .map_err(|_| Trouble::Broken(format!("`{name}` is something else")))
}

/// The names of a file, for the reader of orders.
#[derive(Debug)]
pub(crate) struct Words<'a>(pub &'a Names);

impl wire::names::Names for Words<'_> {
    fn spelled<'a>(&self, thing: wire::kind::Thing, word: &'a str) -> Option<Cow<'a, str>> {
        spelled(self.0, word, thing.prefix()).map(Cow::Owned)
    }
}

/// The hash that stands for an artifact's content.
pub fn artifact_hash(content: &str) -> Hash {
    Content::markdown(content).hash
}

pub fn principal(names: &Names, by: &str) -> Outcome<Principal> {
    match by {
        "runtime" => return Ok(Principal::Runtime),
        "meter" => return Ok(Principal::Meter),
        "coordinator" => return Ok(Principal::Coordinator),
        "operator" => return Ok(Principal::Operator),
        "unknown_agent" => return Ok(Principal::Agent(WorkspaceId(999_999))),
        "unknown_person" => return Ok(Principal::User(wacp::id::UserId(999_999))),
        _ => {}
    }
    let spelled = names
        .get(by)
        .ok_or_else(|| Trouble::Broken(format!("nobody is called `{by}`")))?;
    match (spelled.parse(), spelled.parse()) {
        (Ok(workspace), _) => Ok(Principal::Agent(workspace)),
        (_, Ok(user)) => Ok(Principal::User(user)),
        _ => broken(format!("`{by}` cannot ask for anything")),
    }
}
