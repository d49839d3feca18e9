//! Being in: a device is online from the moment it joins to the moment it
//! leaves, however it leaves.

use std::sync::Arc;

use wakelink::relay::Place;

use super::{
    frames::Frames,
    rooms::{Handle, Room},
    seats::Seat,
    traffic::Traffic,
};
use crate::App;

/// A place on the switchboard, until it is dropped.
pub struct Membership {
    pub app: App,
    place: Place,
    /// Of a device.
    agent_id: Option<Arc<str>>,
    /// Of a device: its own account.
    pub traffic: Option<Arc<Traffic>>,
    pub room: Arc<Room>,
}

impl Membership {
    /// Comes in; a client is told of its devices.
    pub fn join(
        app: App,
        seat: &Seat,
        agent_id: Option<Arc<str>>,
        room: Arc<Room>,
        told: &mut Frames,
    ) -> Membership {
        let clock = app.shared().clock.now();
        let traffic = agent_id
            .as_ref()
            .map(|agent_id| app.link.traffic.of(agent_id, &room.owner, clock));
        let handle = Handle {
            outbox: Arc::clone(&seat.outbox),
            traffic: traffic.clone(),
        };
        match &agent_id {
            Some(agent_id) => {
                if room.join_device(agent_id, seat.place, handle) {
                    app.link.note_presence(&room.owner, agent_id, true);
                }
            }
            None => {
                let accounts = app.shared().accounts();
                let devices = accounts.devices_of(&room.owner);
                room.join_client(seat.place, handle, devices, told);
            }
        }
        let membership = Membership {
            app,
            place: seat.place,
            agent_id,
            traffic,
            room,
        };
        membership.seen();
        membership
    }

    fn seen(&self) {
        if let Some(traffic) = &self.traffic {
            traffic.saw(self.app.shared().clock.now());
        }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.seen();
        match &self.agent_id {
            None => self.room.change().leave_client(self.place),
            Some(agent_id) => {
                if self.room.leave_device(agent_id, self.place) {
                    let link = &self.app.link;
                    link.note_presence(&self.room.owner, agent_id, false);
                }
            }
        }
        self.app.link.rooms.leave(&self.room);
    }
}
