//! Who somebody is, by the first frame they send.

use std::{net::IpAddr, sync::Arc};

use account::secret;
use wakelink::{
    Side,
    frame::{Auth, AuthResponse, ClientType, TOO_MANY_CONNECTIONS},
    relay::{Code, Session},
};

use super::{
    rooms::Room,
    seats::{Right, Seat},
};
use crate::App;

/// Somebody who may come in.
#[derive(Debug)]
pub struct Admitted {
    pub side: Side,
    /// Of a device.
    pub agent_id: Option<Arc<str>>,
    pub room: Arc<Room>,
    pub session: Arc<Session>,
    /// What they are told.
    pub session_token: String,
}

/// Who they are, before it is looked whether there is room for them.
struct Known {
    right: Right,
    owner: Arc<str>,
    session: Arc<Session>,
    session_token: String,
}

/// Lets somebody in, or says what they are told instead.
pub async fn authenticate(app: &App, seat: &Seat, auth: &Auth) -> Result<Admitted, AuthResponse> {
    let (link, now) = (&app.link, app.link.now());
    if let Some(wait) = link.lockout(|lockout| lockout.wait_seconds(seat.address, now)) {
        app.failures.count(seat.address);
        return Err(failed("Too many failures: try again later", Some(wait)));
    }
    let known = match know(app, auth).await {
        Ok(known) => known,
        Err(Unknown::Ended) => {
            let code = Code::SessionExpired;
            return Err(refused(code.sentence(), code.as_str()));
        }
        Err(Unknown::Nobody) => return Err(fail(app, seat.address)),
    };
    if let Right::Device { agent_id, .. } = &known.right {
        let clock = app.shared().clock.now();
        let traffic = link.traffic.of(agent_id, &known.owner, clock);
        if !traffic.may_enter(now, link.limits.device_entries_per_minute) {
            let sentence = "This device comes in too often: try again in a minute";
            return Err(refused(sentence, TOO_MANY_CONNECTIONS));
        }
    }
    let Some(room) = link.rooms.enter(&known.owner, &link.limits) else {
        let sentence = "This account has too many connections";
        return Err(refused(sentence, TOO_MANY_CONNECTIONS));
    };
    let (side, agent_id) = match &known.right {
        Right::Client { .. } => (Side::Client, None),
        Right::Device { agent_id, .. } => (Side::Device, Some(Arc::clone(agent_id))),
    };
    seat.sit_by(known.right.clone());
    // Revoked in this very moment: whoever looks through the seats after that
    // finds it, and who looked before published first.
    if !known.right.still_holds(&app.shared().accounts()) {
        link.rooms.leave(&room);
        return Err(fail(app, seat.address));
    }
    Ok(Admitted {
        side,
        agent_id,
        room,
        session: known.session,
        session_token: known.session_token,
    })
}

/// Why somebody is not let in.
enum Unknown {
    /// With a session that is over. A token of 256 random bits is not guessed:
    /// one that is spelled as we spell them and not known was good once, before
    /// a restart perhaps, and is no failure of the house it comes from.
    Ended,
    Nobody,
}

/// A person's token or session as a client, a device's own token or the session
/// that it was given as that device; anything else is nobody. With both tokens
/// the session's decides.
async fn know(app: &App, auth: &Auth) -> Result<Known, Unknown> {
    let kind = ClientType::parse(&auth.client_type).ok_or(Unknown::Nobody)?;
    let device = match kind {
        ClientType::Client => None,
        ClientType::Device | ClientType::Firmware => {
            Some(auth.agent_id.as_deref().ok_or(Unknown::Nobody)?)
        }
    };
    match (&auth.session_token, &auth.api_token, device) {
        (Some(session), _, device) => by_session(app, session, device).await,
        (None, Some(token), None) => by_token(app, token).await.ok_or(Unknown::Nobody),
        (None, Some(token), Some(agent_id)) => by_device_token(app, token, agent_id)
            .await
            .ok_or(Unknown::Nobody),
        (None, None, _) => Err(Unknown::Nobody),
    }
}

async fn by_token(app: &App, token: &str) -> Option<Known> {
    let hash = secret::hash(token);
    let accounts = app.shared().accounts();
    let user = accounts.user_by_token(&hash)?;
    let owner: Arc<str> = user.name.as_str().into();
    let right = Right::Client {
        name: Arc::clone(&owner),
        token_id: accounts.token_id(&hash)?.into(),
    };
    open(app, owner, right).await
}

async fn by_device_token(app: &App, token: &str, agent_id: &str) -> Option<Known> {
    let accounts = app.shared().accounts();
    let agent = accounts.device_by_token(&secret::hash(token))?;
    let device = agent.link.as_ref()?;
    if agent.agent_id != agent_id {
        return None;
    }
    let right = Right::Device {
        agent_id: agent_id.into(),
        token_id: device.token_id.as_str().into(),
    };
    open(app, agent.owner.as_str().into(), right).await
}

/// A session that nobody asked for, with which they may come back.
async fn open(app: &App, owner: Arc<str>, right: Right) -> Option<Known> {
    let opened = app
        .link
        .open_session(Arc::clone(&owner), right.clone(), true)
        .await
        .ok()?;
    Some(Known {
        right,
        owner,
        session: opened.session,
        session_token: opened.token,
    })
}

/// A session that is live, of a client or of this device.
async fn by_session(app: &App, token: &str, device: Option<&str>) -> Result<Known, Unknown> {
    let Some(held) = app.link.sessions.find(&secret::hash(token)).await else {
        let is_ours = secret::Kind::LinkSession.is_spelled(token);
        return Err(if is_ours {
            Unknown::Ended
        } else {
            Unknown::Nobody
        });
    };
    let of_device = match &held.right {
        Right::Client { .. } => None,
        Right::Device { agent_id, .. } => Some(&**agent_id),
    };
    if of_device != device {
        return Err(Unknown::Nobody);
    }
    let lasts = held.session.lasts(app.link.now());
    if !lasts || !held.right.still_holds(&app.shared().accounts()) {
        return Err(Unknown::Ended);
    }
    Ok(Known {
        right: held.right,
        owner: held.owner,
        session: held.session,
        session_token: token.to_owned(),
    })
}

/// Not let in, for a reason that is no failure.
fn refused(error: &str, code: &str) -> AuthResponse {
    AuthResponse::Failed {
        error: error.to_owned(),
        code: Some(code.to_owned()),
        retry_after: None,
    }
}

/// A failure counts against the address it came from.
fn fail(app: &App, address: IpAddr) -> AuthResponse {
    app.failures.count(address);
    let (limits, now) = (&app.link.limits, app.link.now());
    let wait = app
        .link
        .lockout(|lockout| lockout.fail(limits, address, now));
    failed("Invalid token", wait)
}

fn failed(error: &str, retry_after: Option<u64>) -> AuthResponse {
    AuthResponse::Failed {
        error: error.to_owned(),
        code: None,
        retry_after,
    }
}
