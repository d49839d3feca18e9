//! One's own page: the password, and the sessions that are open.

use std::sync::LazyLock;

use account::{
    Session,
    command::Command as Ask,
    secret::{self, SecretHash},
    sign_in::sessions_of,
};
use argon2::{Algorithm, Argon2, Block, Params, PasswordHash, PasswordHasher as _, Version};
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use engine::{Refusal, command::Account};
use maud::{Markup, html};
use subtle::ConstantTimeEq as _;

use crate::{
    App, Problem,
    api::fresh,
    auth::Asks as _,
    lockout::{Rank, Who},
    pages::{
        anew::{self, Unproven},
        counted::counted,
        form::SignedForm,
        layout::{notice, page as layout, token},
        news::Done,
        session::Signed,
        when,
    },
    turns::{Memory, Turn},
};

/// Long enough that guessing is hopeless, and no rule beyond that.
pub const LEAST_CHARS: usize = 12;
const MOST_CHARS: usize = 256;
/// When too many wait for their turn.
const BUSY_SECONDS: u64 = 10;
/// Checked when there is no such person, so that it takes as long.
static NOBODY: LazyLock<Option<String>> = LazyLock::new(|| hash("nobody has this password"));

/// A session that has gone on for long may be someone else's by now.
const OLD_LINK: &str = "You came in by a link more than 15 minutes ago. To choose a password, \
    sign in with a new one: an owner makes it, or wakeful user sign-in-link NAME on the server.";

fn hash(password: &str) -> Option<String> {
    let hash = Argon2::default().hash_password(password.as_bytes());
    hash.ok().map(|hash| hash.to_string())
}

/// Whether a hash is that of a password; `None` if it cannot be read. As the
/// crate's own check, in memory that is there already.
fn fits(password: &str, hash: &str, memory: &mut Memory) -> Option<bool> {
    let hash = PasswordHash::new(hash).ok()?;
    let (salt, expected) = (hash.salt.as_ref()?, hash.hash.as_ref()?);
    let algorithm = Algorithm::try_from(hash.algorithm.as_str()).ok()?;
    let version = Version::try_from(hash.version?).ok()?;
    let params = Params::try_from(&hash).ok()?;
    memory.resize(params.block_count(), Block::default());
    let mut made = vec![0; expected.as_bytes().len()];
    let argon = Argon2::new(algorithm, version, params);
    let (password, salt) = (password.as_bytes(), salt.as_ref());
    let hashed = argon.hash_password_into_with_memory(password, salt, &mut made, &mut *memory);
    hashed.ok()?;
    Some(made.ct_eq(expected.as_bytes()).into())
}

/// Whether this is the person's password, as one try of theirs. An error says
/// how many seconds to wait before the next.
pub async fn check(app: &App, name: &str, who: Who<'_>, password: &str) -> Result<bool, u64> {
    let tries = &app.limits.sign_in;
    let rank = tries.try_one(name, who, app.shared().clock.now())?;
    let Ok(turn) = app.limits.turns.wait(rank).await else {
        tries.withdraw(name, who);
        return Err(BUSY_SECONDS);
    };
    let right = is_right(app, turn, name, password).await;
    if right {
        tries.succeeded(name, who);
    }
    Ok(right)
}

async fn is_right(app: &App, turn: Turn, name: &str, password: &str) -> bool {
    let known = app.shared().password(name).await.ok().flatten();
    let password = password.to_owned();
    let checked = turn.spend(move |memory| {
        let against = known.as_ref().or(NOBODY.as_ref())?;
        Some(fits(&password, against, memory)? && known.is_some())
    });
    checked.await.flatten().unwrap_or(false)
}

pub async fn page(State(app): State<App>, signed: Signed) -> Result<Response, Response> {
    show(&app, &signed, None).await
}

/// What a form on this page has just done.
fn told(signed: &Signed, done: Done) -> Markup {
    html! {
        div .standing role="status" {
            @match done {
                Done::PasswordSet { replaced, ended, revoked } => {
                    p { strong { @if replaced { "Your password was changed." } @else { "Your password was set." } } }
                    p { @match ended {
                        0 => "You were signed in nowhere else.",
                        _ => { (counted(ended as u64, "other session of yours has", "other sessions of yours have")) " ended." },
                    } }
                    @if revoked { (token_revoked()) } @else {
                        p { "If you have a token, it was not revoked: programs that use it go on working." }
                        form method="post" action="/you/token" { (token(signed)) button .quiet { "Revoke my token" } }
                    }
                },
                Done::TokenRevoked => (token_revoked()),
            }
            p { a href="/" autofocus { "To the inbox" } }
        }
    }
}

fn token_revoked() -> Markup {
    html! { p { "No token of yours works any more: programs that used one stop working." } }
}

async fn show(app: &App, signed: &Signed, fault: Option<&str>) -> Result<Response, Response> {
    let known = app.shared().password(&signed.user.name).await;
    let has = known.map_err(|error| Problem::from(error).into_response())?;
    let main = html! {
        h1 { (signed.user.name) ", " (signed.user.role.as_str()) }
        @if let Some(done) = app.news.take(&signed.session.session_id) { (told(signed, done)) }
        section aria-labelledby="password-title" {
            h2 #password-title { @if has.is_some() { "Change your password" } @else { "Choose a password" } }
            @if has.is_none() && !signed.by_fresh_link { p { (OLD_LINK) } }
            @else if has.is_none() { p { "You came in by a link, which does not work again. Next time you need this." } }
            @else if signed.by_fresh_link { p { "You have just come in by a link, so the old one is not asked for. That you set a new one is on the trail." } }
            @if let Some(fault) = fault { p .fault role="alert" { (fault) } }
            form .narrow method="post" action="/you" {
                (token(signed))
                input type="hidden" name="username" value=(signed.user.name) autocomplete="username";
                @if has.is_some() && !signed.by_fresh_link {
                    label for="old" { "Your password now" }
                    input #old name="old" type="password" autocomplete="current-password" required;
                }
                label for="new" { "A new one, of " (LEAST_CHARS) " characters or more" }
                input #new name="new" type="password" autocomplete="new-password" minlength=(LEAST_CHARS) required;
                label .check {
                    input type="checkbox" name="revoke" value="yes" checked[has.is_some()]; " "
                    "Revoke my token too, if I have one: programs that use it stop working"
                }
                p .hint { "Wherever else you are signed in, the session ends." }
                button .main { "Set password" }
            }
        }
        (sessions(app, signed))
    };
    Ok(layout(signed, "/you", "You", main))
}

/// The person's sessions that are open.
fn open_sessions(app: &App, signed: &Signed) -> Vec<Session> {
    let accounts = app.shared().accounts();
    let now = app.shared().clock.now();
    sessions_of(&accounts, &signed.user.name)
        .filter(|session| now < session.expires_at)
        .cloned()
        .collect()
}

fn sessions(app: &App, signed: &Signed) -> Markup {
    let now = app.shared().clock.now();
    let mut own = open_sessions(app, signed);
    own.sort_unstable_by_key(|session| std::cmp::Reverse(session.created_at));
    html! {
        section aria-labelledby="sessions-title" {
            h2 #sessions-title { "Where you are signed in" }
            ul .plain {
                @for session in own {
                    li {
                        @if let Some(browser) = &session.browser { (browser) ", signed in " } @else { "Signed in " }
                        (when::ago(session.created_at, now))
                        @if session.session_id == signed.session.session_id { ", here" }
                        @else {
                            form method="post" action="/you/sessions" {
                                (token(signed))
                                input type="hidden" name="session" value=(session.session_id);
                                button .quiet { "End it" }
                            }
                        }
                    }
                }
            }
        }
    }
}

pub async fn set(
    State(app): State<App>,
    SignedForm { signed, form }: SignedForm,
) -> Result<Response, Response> {
    let name = signed.user.name.clone();
    let has = app.shared().password(&name).await.ok().flatten().is_some();
    // A link is made for whoever has forgotten it.
    if !(has && signed.by_fresh_link)
        && let Err(unproven) = anew::proves(&app, &signed, form.text("old")).await
    {
        let fault = match unproven {
            Unproven::Password => "That is not your password now.",
            Unproven::Busy => "Too many passwords were tried. Wait a minute, then try again.",
            Unproven::Link => OLD_LINK,
        };
        return show(&app, &signed, Some(fault)).await;
    }
    let new = form.text("new");
    if let Some(fault) = fault(new) {
        return show(&app, &signed, Some(&fault)).await;
    }
    let revoked = form.text("revoke") == "yes";
    let before = open_sessions(&app, &signed).len();
    keep(&app, &name, new, Some(&signed), revoked).await?;
    let done = Done::PasswordSet {
        replaced: has,
        ended: before.saturating_sub(open_sessions(&app, &signed).len()),
        revoked,
    };
    Ok(led_back(&app, &signed, done))
}

/// To this page, which says what was done.
fn led_back(app: &App, signed: &Signed, done: Done) -> Response {
    let accounts = app.shared().accounts();
    app.news.keep(&accounts, &signed.session.session_id, done);
    Redirect::to("/you").into_response()
}

/// Puts a token that nobody is told in the place of the one there is.
pub async fn revoke_token(
    State(app): State<App>,
    SignedForm { signed, .. }: SignedForm,
) -> Result<Response, Response> {
    let (token_id, token_hash) = nobodys().map_err(|_| failed())?;
    let command = Ask::IssueToken {
        name: signed.user.name.clone(),
        token_id,
        token_hash,
    };
    let command = signed.asks(Account::Enter { command });
    let submitted = app.engine.submit(command).await;
    submitted.map_err(refused)?;
    Ok(led_back(&app, &signed, Done::TokenRevoked))
}

/// Why a password cannot be one.
pub fn fault(password: &str) -> Option<String> {
    let fits = (LEAST_CHARS..=MOST_CHARS).contains(&password.chars().count());
    (!fits).then(|| format!("Use {LEAST_CHARS} to {MOST_CHARS} characters for the password."))
}

/// Keeps a new password; the person's sessions end, but for the one they ask by,
/// and so does their token if they say so.
pub async fn keep(
    app: &App,
    name: &str,
    new: &str,
    by: Option<&Signed>,
    revoke: bool,
) -> Result<(), Response> {
    let turn = app.limits.turns.wait(Rank::FIRST).await;
    let turn = turn.map_err(|_| failed())?;
    let new = new.to_owned();
    let hashed = turn.spend(move |_| hash(&new)).await;
    let hashed = hashed.flatten().ok_or_else(failed)?;
    let sealed = app.shared().seal_password(name, &hashed);
    let command = Account::SetPassword {
        name: name.to_owned(),
        keep: by.map(|signed| signed.session.session_id.clone()),
        sealed: sealed.map_err(|_| failed())?,
        revoke: revoke.then(nobodys).transpose().map_err(|_| failed())?,
    };
    let command = match by {
        Some(signed) => signed.asks(command),
        None => command.into(),
    };
    app.engine.submit(command).await.map_err(refused)?;
    Ok(())
}

/// Whose session has ended meanwhile is told so.
fn refused(refusal: Refusal) -> Response {
    match refusal {
        Refusal::PersonGone => Problem::from(refusal).into_response(),
        _ => failed(),
    }
}

/// A token that nobody is told, in place of the one there is.
fn nobodys() -> Result<(String, SecretHash), Problem> {
    let token_id = fresh::short_id("tok")?;
    let (_, hash) = fresh::draw(secret::Kind::User)?;
    Ok((token_id, hash))
}

pub async fn end_session(
    State(app): State<App>,
    SignedForm { signed, form }: SignedForm,
) -> Result<Response, Response> {
    let session_id = form.text("session").to_owned();
    let accounts = app.shared().accounts();
    let own =
        sessions_of(&accounts, &signed.user.name).any(|session| session.session_id == session_id);
    if own {
        let command = account::Command::CloseSession { session_id };
        let command = signed.asks(Account::Enter { command });
        app.engine.submit(command).await.map_err(refused)?;
    }
    Ok(Redirect::to("/you").into_response())
}

fn failed() -> Response {
    let text = "The server could not do that just now. Try again shortly.";
    notice(StatusCode::SERVICE_UNAVAILABLE, "Not done", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_fits_its_own_hash_in_memory_of_any_other() {
        let kept = hash("correct horse battery").unwrap();
        let mut memory = Memory::new();
        for (password, right) in [
            ("correct horse battery", true),
            ("correct horse batter", false),
            ("", false),
            ("correct horse battery", true),
        ] {
            assert_eq!(
                fits(password, &kept, &mut memory),
                Some(right),
                "{password}"
            );
            let argon = argon2::PasswordVerifier::verify_password(
                &Argon2::default(),
                password.as_bytes(),
                kept.as_str(),
            );
            assert_eq!(argon.is_ok(), right, "{password}");
        }
        assert_eq!(fits("x", "not a hash", &mut memory), None);
    }
}
