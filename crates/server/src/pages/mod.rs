//! The pages: HTML made here that works without JavaScript, and a small script
//! that makes it quick. A page does what the API does, through the same
//! commands, in the name of the person who is signed in.
//!
//! Whatever an agent wrote passes through `show`; nothing else is ever put
//! into a page unescaped. A page may load its own style and script and nothing
//! more (see [`layout::POLICY`]).

mod agents;
mod anew;
mod assets;
mod by_agent;
mod connect;
mod counted;
mod delivery;
mod devices;
mod filter;
mod form;
mod here;
pub mod in_address;
mod inbox;
mod item;
mod layout;
mod mark;
mod news;
mod owner;
mod password;
mod people;
mod session;
mod settings;
mod setup;
mod sign_in;
mod trail;
mod verify;
mod webhooks;
mod when;

use axum::{
    Router,
    middleware::map_response,
    routing::{get, post},
};

use crate::App;

pub use anew::{Unproven, proves};
pub use layout::in_words;
pub use news::News;
pub use session::{Signed, TOKEN_HEADER, by_cookie};
pub use sign_in::LINK_SECONDS;

pub fn router() -> Router<App> {
    Router::new()
        .route("/", get(inbox::needs_you))
        .route("/done", get(inbox::done))
        .route("/items/{id}", get(item::show))
        .route("/items/{id}/raw", get(delivery::raw))
        .route("/items/{id}/answer", get(item::back_to).post(item::answer))
        .route("/items/{id}/undo", get(item::back_to).post(item::undo))
        .route("/items/{id}/preview", post(delivery::previewed))
        .route("/items/{id}/snooze", post(item::snooze))
        .route("/items/{id}/erase", post(delivery::erase))
        .route("/answers", get(item::to_inbox).post(item::many))
        .route("/answers/undo", get(item::to_inbox).post(item::undo_many))
        .route("/next", get(inbox::onward))
        .route("/sign-in", get(sign_in::page).post(sign_in::with_password))
        .route(
            "/sign-in/{secret}",
            get(sign_in::link).post(sign_in::with_link),
        )
        .route("/setup/{secret}", get(setup::page).post(setup::found))
        .route("/sign-out", post(sign_in::out))
        .route("/you", get(password::page).post(password::set))
        .route("/you/sessions", post(password::end_session))
        .route("/you/token", post(password::revoke_token))
        .route("/agents", get(agents::page))
        .route("/agents/keys", post(agents::create))
        .route("/agents/keys/rotate", post(agents::rotate))
        .route("/agents/devices/rotate", post(devices::rotate))
        .route("/agents/devices/remove", post(devices::remove))
        .route("/agents/keys/revoke", post(agents::revoke))
        .route("/agents/{id}/prompt", get(agents::prompt))
        .route("/connect", get(connect::page).post(connect::connect))
        .route("/trail", get(trail::page))
        .route("/trail/verify", get(verify::page).post(verify::start))
        .route("/trail/export", post(verify::export))
        .route("/webhooks", get(webhooks::page))
        .route("/webhooks/allow", post(webhooks::allow))
        .route("/webhooks/remove", post(webhooks::remove))
        .route("/webhooks/replay", post(webhooks::replay))
        .route("/webhooks/secret", post(webhooks::secret))
        .route("/people", get(people::page).post(people::create))
        .route("/people/role", post(people::role))
        .route("/people/state", post(people::set_state))
        .route("/people/link", post(people::link))
        .route("/people/sessions", post(people::end_sessions))
        .route("/settings", get(settings::page))
        .route("/settings/retention", post(settings::retain))
        .route("/settings/rates", post(settings::set_rate))
        .layer(map_response(layout::in_words))
        .route("/assets/{name}", get(assets::serve))
}
