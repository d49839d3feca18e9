//! The switchboard: each command goes to the room that knows it.

mod account;
mod callback;
mod deliver;
mod erase;
mod inbox;
mod wake;

pub use self::account::{
    SIGN_IN_TRIES, agent_of_secret, device_name, is_password, password_name, secret_name,
};
pub use self::callback::{DELIVERED, GAVE_UP, OWED, owed as owed_callback};
pub use self::erase::may_erase_by_hand;
pub use self::inbox::standing;

use store::Needs;
use trail::Stream;

use crate::{
    command::{Command, Reply},
    core::Core,
    log::Unsealed,
    refusal::Refusal,
    stage::Stage,
};

impl From<Unsealed> for Refusal {
    fn from(_: Unsealed) -> Refusal {
        Refusal::Unavailable
    }
}

/// The rows that a command needs, unless they are in memory already.
pub fn needs(core: &Core, command: &Command, needs: &mut Needs) {
    match command {
        Command::By(_, command) => self::needs(core, command, needs),
        Command::Wake(command) => wake::needs(core, command, needs),
        Command::Inbox(command) => inbox::needs(command, needs),
        Command::Account(command) => account::needs(core, command, needs),
    }
}

/// The end of a stream, and an agent's lanes.
pub fn need_stream(core: &Core, stream: &Stream, needs: &mut Needs) {
    let name = stream.name();
    let streams = &mut needs.log.streams;
    if !core.log.streams.contains_key(&*name) && !streams.iter().any(|needed| *needed == name) {
        streams.push(name.into_owned());
    }
    let lanes = &mut needs.wake.lanes;
    if let Stream::Agent(agent_id) = stream
        && let Some(no) = core.agents.stream(agent_id)
        && !core.lanes.contains_key(&no)
        && !lanes.contains(&no)
    {
        lanes.push(no);
    }
}

pub fn decide(stage: &mut Stage<'_>, command: Command) -> Result<Reply, Refusal> {
    match command {
        Command::By(presented, command) => {
            let user = presented.user(&stage.core.accounts, stage.now);
            user.ok_or(Refusal::PersonGone)?;
            decide(stage, *command)
        }
        Command::Wake(command) => wake::decide(stage, command),
        Command::Inbox(command) => inbox::decide(stage, command),
        Command::Account(command) => account::decide(stage, command),
    }
}
