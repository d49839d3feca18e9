//! The very first page: whoever started the server chooses a name and a
//! password, and is its owner. The link is printed once at the start, while
//! there is nobody yet.

use account::{Actor, Role, command::Command as Ask, secret};
use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::Response,
};
use engine::command::Account;
use maud::{Markup, html};

use crate::{
    App, Problem,
    api::fresh,
    pages::{
        form::Form,
        layout::{notice, plain},
        mark, password, sign_in,
    },
    path::Path,
    transport::Peer,
    visit::Visit,
};

/// Whether this is the link of this start, and there is still nobody.
fn is_open(app: &App, link: &str) -> bool {
    let nobody = app.shared().accounts().users.is_empty();
    nobody
        && app
            .settings
            .setup
            .is_some_and(|hash| hash == secret::hash(link))
}

fn closed() -> Response {
    let text = "It is for the first person alone, and only until there is one. \
                Restarting a server that nobody owns prints a new link.";
    notice(StatusCode::NOT_FOUND, "This link does not work", text)
}

pub async fn page(State(app): State<App>, Path(link): Path) -> Result<Response, Response> {
    if !is_open(&app, &link) {
        return Err(closed());
    }
    Ok(plain(StatusCode::OK, "Welcome", form("", None)))
}

fn form(name: &str, fault: Option<&str>) -> Markup {
    html! {
        h1 { "Welcome" }
        p { "You are the first here, and will own this server." }
        @if let Some(fault) = fault { p .fault role="alert" { (fault) } }
        form .narrow method="post" data-opens {
            (sign_in::without_scripts())
            label for="name" { "Your name " span .hint { "lowercase letters, digits, - and _" } }
            input #name name="name" value=(name) autocomplete="username" autocapitalize="none"
                spellcheck="false" pattern="[a-z][a-z0-9_\\-]{0,63}" required autofocus;
            label for="new" { "A password of " (password::LEAST_CHARS) " characters or more" }
            input #new name="new" type="password" autocomplete="new-password"
                minlength=(password::LEAST_CHARS) required;
            button .main { "Begin" }
        }
    }
}

pub async fn found(
    State(app): State<App>,
    peer: Peer,
    visit: Visit,
    Path(link): Path,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Response> {
    let sent = Form::of_stranger(&app, peer, &visit, &headers, body).await?;
    if !is_open(&app, &link) {
        return Err(closed());
    }
    let (name, new) = (sent.text("name").trim(), sent.text("new"));
    let again = |fault: &str| {
        plain(
            StatusCode::UNPROCESSABLE_ENTITY,
            "Welcome",
            form(name, Some(fault)),
        )
    };
    if let Some(fault) = password::fault(new) {
        return Err(again(&fault));
    }
    create(&app, name)
        .await
        .map_err(|problem| again(problem.detail()))?;
    password::keep(&app, name, new, None, false).await?;
    let opened = sign_in::open(&app, &headers, &sent, name, app.shared().clock.now())
        .await
        .ok_or_else(closed)?;
    let mut response = opened.lead_to("/connect");
    mark::leave(&app, name, &mut response);
    Ok(response)
}

/// The token that every person has is drawn and told to nobody; a new one can
/// be made whenever it is wanted.
async fn create(app: &App, name: &str) -> Result<(), Problem> {
    let (_, token_hash) = fresh::draw(secret::Kind::User)?;
    let command = Ask::CreateUser {
        name: name.to_owned(),
        role: Some(Role::Owner),
        token_id: fresh::short_id("tok")?,
        token_hash,
    };
    let actor = Actor::Operator;
    app.engine
        .submit(Account::Administer { actor, command })
        .await?;
    Ok(())
}
