//! One person's devices and clients, and which sessions run between them. Each
//! person has a switchboard of their own, so nothing can pass from one to
//! another, and what one does holds nobody else up.
//!
//! `H` is how the server reaches a connection; here it is only handed on.

use std::collections::{BTreeMap, VecDeque};

use crate::relay::Code;

/// One connection, of all that there ever were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place(pub u64);

#[derive(Debug)]
pub struct Switchboard<H> {
    clients: BTreeMap<Place, Client<H>>,
    devices: BTreeMap<Box<str>, Device<H>>,
    sids: BTreeMap<Box<str>, Bound<H>>,
    sids_per_client: usize,
}

#[derive(Debug)]
struct Client<H> {
    handle: H,
    /// The sessions that it has begun, oldest first.
    sids: VecDeque<Box<str>>,
}

#[derive(Debug)]
struct Device<H> {
    place: Place,
    handle: H,
}

/// The two ends of a session.
#[derive(Debug)]
struct Bound<H> {
    client: Place,
    client_handle: H,
    device: Place,
    device_handle: H,
}

/// What became of a device that joined.
#[derive(Debug, PartialEq, Eq)]
pub enum Joined<H> {
    /// Its owner's clients are to be told.
    Online,
    /// It was connected already; that connection is to be closed, and nobody
    /// needs to know.
    Replaced(H),
}

/// Where an envelope goes.
#[derive(Debug, PartialEq, Eq)]
pub struct Passage<'b, H> {
    pub to: &'b H,
    /// The session is new, and is to be bound first.
    pub binds: bool,
}

/// Why it goes nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such device, or it is somebody else's.
    UnknownAgent,
    Offline,
    /// The session is somebody else's, or there is none.
    UnknownSession,
}

impl Refusal {
    pub fn code(self) -> Code {
        match self {
            Refusal::UnknownAgent => Code::UnknownAgent,
            Refusal::Offline => Code::AgentOffline,
            Refusal::UnknownSession => Code::UnknownSession,
        }
    }
}

impl<H: Clone> Switchboard<H> {
    pub fn new(sids_per_client: usize) -> Switchboard<H> {
        Switchboard {
            clients: BTreeMap::new(),
            devices: BTreeMap::new(),
            sids: BTreeMap::new(),
            sids_per_client: sids_per_client.max(1),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.clients.is_empty() && self.devices.is_empty()
    }

    pub fn is_online(&self, agent_id: &str) -> bool {
        self.devices.contains_key(agent_id)
    }

    /// All who are told when a device comes or goes.
    pub fn clients(&self) -> impl Iterator<Item = &H> {
        self.clients.values().map(|client| &client.handle)
    }

    pub fn join_client(&mut self, place: Place, handle: H) {
        let client = Client {
            handle,
            sids: VecDeque::new(),
        };
        self.clients.insert(place, client);
    }

    pub fn join_device(&mut self, agent_id: &str, place: Place, handle: H) -> Joined<H> {
        let device = Device { place, handle };
        match self.devices.insert(agent_id.into(), device) {
            None => Joined::Online,
            Some(before) => {
                self.unbind_device(before.place);
                Joined::Replaced(before.handle)
            }
        }
    }

    pub fn leave_client(&mut self, place: Place) {
        if let Some(client) = self.clients.remove(&place) {
            for sid in client.sids {
                self.sids.remove(&sid);
            }
        }
    }

    /// Whether the device is offline now: not if another connection of it has
    /// taken this one's place.
    pub fn leave_device(&mut self, agent_id: &str, place: Place) -> bool {
        let is_it = self
            .devices
            .get(agent_id)
            .is_some_and(|device| device.place == place);
        if is_it {
            self.devices.remove(agent_id);
            self.unbind_device(place);
        }
        is_it
    }

    fn unbind_device(&mut self, place: Place) {
        let clients = &mut self.clients;
        self.sids.retain(|sid, bound| {
            let stays = bound.device != place;
            if !stays && let Some(client) = clients.get_mut(&bound.client) {
                client.sids.retain(|own| own != sid);
            }
            stays
        });
    }

    /// Where a client's envelope goes. Whether the device is registered is
    /// asked only if it is not connected.
    pub fn relay(
        &self,
        from: Place,
        agent_id: &str,
        sid: Option<&str>,
        is_registered: impl FnOnce() -> bool,
    ) -> Result<Passage<'_, H>, Refusal> {
        let Some(device) = self.devices.get(agent_id) else {
            return Err(match is_registered() {
                true => Refusal::Offline,
                false => Refusal::UnknownAgent,
            });
        };
        let binds = match sid.map(|sid| self.sids.get(sid)) {
            None => false,
            Some(None) => true,
            Some(Some(bound)) if bound.client == from && bound.device == device.place => false,
            Some(Some(_)) => return Err(Refusal::UnknownSession),
        };
        Ok(Passage {
            to: &device.handle,
            binds,
        })
    }

    /// Binds a session to a client's connection and a device's. One that is
    /// bound already, or has lost an end meanwhile, stays as it is.
    pub fn bind(&mut self, client: Place, agent_id: &str, sid: &str) {
        let (Some(own), Some(device)) = (self.clients.get_mut(&client), self.devices.get(agent_id))
        else {
            return;
        };
        if self.sids.contains_key(sid) {
            return;
        }
        if own.sids.len() >= self.sids_per_client
            && let Some(oldest) = own.sids.pop_front()
        {
            self.sids.remove(&oldest);
        }
        own.sids.push_back(sid.into());
        let bound = Bound {
            client,
            client_handle: own.handle.clone(),
            device: device.place,
            device_handle: device.handle.clone(),
        };
        self.sids.insert(sid.into(), bound);
    }

    /// Where a packet goes: to the other end of its session.
    pub fn packet(&self, from: Place, sid: &str) -> Result<&H, Refusal> {
        match self.sids.get(sid) {
            Some(bound) if bound.client == from => Ok(&bound.device_handle),
            Some(bound) if bound.device == from => Ok(&bound.client_handle),
            _ => Err(Refusal::UnknownSession),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHONE: Place = Place(1);
    const LAPTOP: Place = Place(2);
    const LAMP: Place = Place(3);
    const DOOR: Place = Place(4);

    /// Two clients and two devices, each reached by its name.
    fn house() -> Switchboard<&'static str> {
        let mut board = Switchboard::new(2);
        board.join_client(PHONE, "phone");
        board.join_client(LAPTOP, "laptop");
        assert_eq!(board.join_device("lamp", LAMP, "lamp"), Joined::Online);
        assert_eq!(board.join_device("door", DOOR, "door"), Joined::Online);
        board
    }

    fn send(
        board: &mut Switchboard<&'static str>,
        from: Place,
        to: &str,
        sid: Option<&str>,
    ) -> Result<&'static str, Refusal> {
        let passage = board.relay(from, to, sid, || to == "attic")?;
        let (to_handle, binds) = (*passage.to, passage.binds);
        if binds {
            board.bind(from, to, sid.unwrap());
        }
        Ok(to_handle)
    }

    #[test]
    fn an_envelope_goes_to_the_device_it_names() {
        let mut board = house();
        for (to, expected) in [
            ("lamp", Ok("lamp")),
            ("door", Ok("door")),
            ("attic", Err(Refusal::Offline)),
            ("elsewhere", Err(Refusal::UnknownAgent)),
        ] {
            assert_eq!(send(&mut board, PHONE, to, None), expected, "{to}");
        }
    }

    #[test]
    fn the_first_payload_with_a_sid_binds_it_and_packets_then_go_both_ways() {
        let mut board = house();
        for place in [PHONE, LAPTOP, LAMP, DOOR] {
            assert_eq!(board.packet(place, "s"), Err(Refusal::UnknownSession));
        }
        assert_eq!(send(&mut board, PHONE, "lamp", Some("s")), Ok("lamp"));
        for (from, expected) in [
            (PHONE, Ok(&"lamp")),
            (LAMP, Ok(&"phone")),
            (LAPTOP, Err(Refusal::UnknownSession)),
            (DOOR, Err(Refusal::UnknownSession)),
        ] {
            assert_eq!(board.packet(from, "s"), expected, "{from:?}");
        }
        // The same again is the same session.
        assert_eq!(send(&mut board, PHONE, "lamp", Some("s")), Ok("lamp"));
    }

    #[test]
    fn a_sid_that_is_bound_elsewhere_is_nobody_elses() {
        let mut board = house();
        send(&mut board, PHONE, "lamp", Some("s")).unwrap();
        for (from, to) in [(LAPTOP, "lamp"), (LAPTOP, "door"), (PHONE, "door")] {
            let sent = send(&mut board, from, to, Some("s"));
            assert_eq!(sent, Err(Refusal::UnknownSession));
        }
        assert_eq!(board.packet(LAMP, "s"), Ok(&"phone"));
    }

    #[test]
    fn a_binding_ends_with_either_end() {
        let mut board = house();
        send(&mut board, PHONE, "lamp", Some("s")).unwrap();
        board.leave_client(PHONE);
        assert_eq!(board.packet(LAMP, "s"), Err(Refusal::UnknownSession));
        // And is free for another.
        assert_eq!(send(&mut board, LAPTOP, "lamp", Some("s")), Ok("lamp"));
        assert!(board.leave_device("lamp", LAMP));
        assert_eq!(board.packet(LAPTOP, "s"), Err(Refusal::UnknownSession));
        assert!(board.sids.is_empty());
        let sent = send(&mut board, LAPTOP, "lamp", Some("s"));
        assert_eq!(sent, Err(Refusal::UnknownAgent));
    }

    #[test]
    fn a_device_that_connects_again_replaces_itself() {
        let mut board = house();
        send(&mut board, PHONE, "lamp", Some("s")).unwrap();
        let again = Place(9);
        let joined = board.join_device("lamp", again, "lamp again");
        assert_eq!(joined, Joined::Replaced("lamp"));
        assert_eq!(board.packet(PHONE, "s"), Err(Refusal::UnknownSession));
        assert!(!board.leave_device("lamp", LAMP), "it is still there");
        assert!(board.is_online("lamp"));
        assert_eq!(send(&mut board, PHONE, "lamp", Some("s")), Ok("lamp again"));
        assert!(board.leave_device("lamp", again));
        assert!(!board.is_online("lamp"));
    }

    #[test]
    fn a_client_has_so_many_sessions_and_the_oldest_makes_room() {
        let mut board = house();
        for sid in ["a", "b", "c"] {
            send(&mut board, PHONE, "lamp", Some(sid)).unwrap();
        }
        assert_eq!(board.packet(PHONE, "a"), Err(Refusal::UnknownSession));
        assert_eq!(board.packet(LAMP, "b"), Ok(&"phone"));
        assert_eq!(board.packet(LAMP, "c"), Ok(&"phone"));
        assert_eq!(board.sids.len(), 2);
    }

    #[test]
    fn all_clients_are_told_and_nothing_is_left_when_all_are_gone() {
        let mut board = house();
        let mut told: Vec<_> = board.clients().copied().collect();
        told.sort_unstable();
        assert_eq!(told, ["laptop", "phone"]);
        board.leave_client(PHONE);
        board.leave_client(LAPTOP);
        board.leave_device("lamp", LAMP);
        assert!(!board.is_empty());
        board.leave_device("door", DOOR);
        assert!(board.is_empty());
    }
}
