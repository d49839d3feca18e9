//! Each person's switchboard, with its own lock: what passes between one
//! person's devices and clients meets nobody else's.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use wakelink::{
    Frame,
    frame::AgentStatus,
    relay::{Ending, Joined, Limits, Place, SharedPace, Switchboard},
};

use super::{frames::Frames, outbox::Outbox, traffic::Traffic};

/// How a connection is reached; of a device, with its account.
#[derive(Clone, Debug)]
pub struct Handle {
    pub outbox: Arc<Outbox>,
    pub traffic: Option<Arc<Traffic>>,
}

#[derive(Debug)]
pub struct Room {
    pub owner: Arc<str>,
    board: RwLock<Switchboard<Handle>>,
    pub pace: SharedPace,
    connections: AtomicUsize,
}

impl Room {
    fn new(owner: &str, limits: &Limits) -> Room {
        Room {
            owner: owner.into(),
            board: RwLock::new(Switchboard::new(limits.sids_per_connection)),
            pace: SharedPace::new(
                limits.account_frames_per_second,
                limits.account_frames_at_once,
            ),
            connections: AtomicUsize::new(0),
        }
    }

    pub fn board(&self) -> RwLockReadGuard<'_, Switchboard<Handle>> {
        self.board.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn change(&self) -> RwLockWriteGuard<'_, Switchboard<Handle>> {
        self.board.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client comes in; says which of these devices are online. What changes
    /// from now on it is told.
    pub fn join_client<'d>(
        &self,
        place: Place,
        handle: Handle,
        devices: impl Iterator<Item = &'d str>,
        told: &mut Frames,
    ) {
        let mut board = self.change();
        board.join_client(place, handle);
        for agent_id in devices {
            told.push(&status(agent_id, board.is_online(agent_id)));
        }
    }

    /// Whether it is online only now.
    pub fn join_device(&self, agent_id: &str, place: Place, handle: Handle) -> bool {
        let mut board = self.change();
        match board.join_device(agent_id, place, handle) {
            Joined::Replaced(before) => {
                before.outbox.end(Ending::Replaced);
                false
            }
            Joined::Online => {
                tell(&board, agent_id, true);
                true
            }
        }
    }

    /// Whether it is offline now.
    pub fn leave_device(&self, agent_id: &str, place: Place) -> bool {
        let mut board = self.change();
        let left = board.leave_device(agent_id, place);
        if left {
            tell(&board, agent_id, false);
        }
        left
    }
}

/// Tells all clients, while nothing else can change.
fn tell(board: &Switchboard<Handle>, agent_id: &str, online: bool) {
    let status = status(agent_id, online);
    for client in board.clients() {
        client.outbox.push(&status);
    }
}

fn status(agent_id: &str, online: bool) -> String {
    let agent_id = agent_id.to_owned();
    Frame::AgentStatus(AgentStatus { agent_id, online }).text()
}

/// Those of people who are connected now.
#[derive(Debug, Default)]
pub struct Rooms(Mutex<HashMap<Arc<str>, Arc<Room>>>);

impl Rooms {
    /// One more connection of this person, unless there are too many.
    pub fn enter(&self, owner: &str, limits: &Limits) -> Option<Arc<Room>> {
        let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = match rooms.get(owner) {
            Some(room) => Arc::clone(room),
            None => {
                let room = Arc::new(Room::new(owner, limits));
                rooms.insert(Arc::clone(&room.owner), Arc::clone(&room));
                room
            }
        };
        if room.connections.load(Relaxed) >= limits.connections_per_account {
            return None;
        }
        room.connections.fetch_add(1, Relaxed);
        Some(room)
    }

    pub fn leave(&self, room: &Room) {
        let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if room.connections.fetch_sub(1, Relaxed) == 1 {
            rooms.remove(&room.owner);
        }
    }

    pub fn is_online(&self, owner: &str, agent_id: &str) -> bool {
        let room = {
            let rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            rooms.get(owner).cloned()
        };
        room.is_some_and(|room| room.board().is_online(agent_id))
    }
}
