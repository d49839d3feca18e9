//! Permissions as types. A handler says whom it serves by what it extracts.

use account::{
    Key, Role, User,
    secret::{self, SecretHash},
};
use axum::{
    extract::{FromRequestParts, Request},
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
};
use engine::Command;
use inbox::{Person, event::Channel};

use crate::{
    App, Problem,
    pages::{self, Signed},
    transport::Peer,
    visit::{self, Visit},
};

/// An agent, by its key.
#[derive(Clone, Debug)]
pub struct Agent(pub Key);

impl Agent {
    /// Refuses a key that has stopped working since it was recognised: what
    /// waited for long asks this before it answers.
    pub fn still_works(&self, app: &App) -> Result<(), Problem> {
        let accounts = app.shared().accounts();
        match accounts.key_by_secret(&self.0.hash.0, app.shared().clock.now()) {
            Some(_) => Ok(()),
            None => Err(Problem::invalid_token()),
        }
    }
}

/// Anyone signed in.
#[derive(Clone, Debug)]
pub struct Human {
    pub user: User,
    pub channel: Channel,
    by: Proof,
}

/// What someone was recognised by.
#[derive(Clone, Copy, Debug)]
enum Proof {
    Token(SecretHash),
    Session(SecretHash),
}

impl Proof {
    /// Whom it stands for now, if it still does.
    fn user(self, app: &App) -> Option<User> {
        let accounts = app.shared().accounts();
        match self {
            Proof::Token(hash) => accounts.user_by_token(&hash).cloned(),
            Proof::Session(hash) => {
                let found = accounts.user_by_session(&hash, app.shared().clock.now());
                found.map(|(_, user)| user.clone())
            }
        }
    }
}

impl Human {
    /// Who this is at the pages; `None` for someone with a token.
    pub fn signed(&self, headers: &HeaderMap, app: &App) -> Result<Option<Signed>, Problem> {
        match self.by {
            Proof::Token(_) => Ok(None),
            // It may have ended in this very moment.
            Proof::Session(_) => match pages::by_cookie(headers, None, app) {
                None => Err(Problem::unauthenticated()),
                signed => Ok(signed),
            },
        }
    }
}

/// Someone who may answer: an active owner or reviewer, by name. No agent key
/// and no socket gives one.
#[derive(Clone, Debug)]
pub struct Decider(pub Person);

/// Someone with an account token: not a page, and not a session.
#[derive(Clone, Debug)]
pub struct TokenHolder {
    pub user: User,
    pub token_id: String,
}

/// Someone who may have devices of their own: an owner or a reviewer, by name.
#[derive(Clone, Debug)]
pub struct Keeper {
    pub name: String,
}

/// Someone who may take an agent away: its owner, whose it is must still be
/// looked at, or who administers.
#[derive(Clone, Debug)]
pub struct Remover {
    pub actor: String,
    pub administers: bool,
}

/// Someone who may administer: an owner, or the operator through the socket.
#[derive(Clone, Debug)]
pub struct Admin {
    pub actor: String,
    /// The owner's name; the operator has none.
    pub user: Option<String>,
    /// Whether a session alone shows who this is.
    pub by_session: bool,
}

impl Admin {
    /// Refuses a session: what is made here would outlast it, and whoever sits
    /// down at an open page is not thereby its owner. The pages ask for the
    /// password; a program has a token.
    pub fn outlasts_session(&self) -> Result<(), Problem> {
        match self.by_session {
            true => Err(pages::Unproven::Password.into()),
            false => Ok(()),
        }
    }

    /// Has an administrative command carried out, in the caller's name.
    pub async fn ask(&self, app: &App, command: account::Command) -> Result<(), Problem> {
        let actor = self.actor.clone();
        app.engine
            .submit(Command::Administer { actor, command })
            .await?;
        Ok(())
    }
}

/// Anyone signed in, or the operator through the socket: for reading.
#[derive(Clone, Debug)]
pub struct Reader {
    pub is_owner: bool,
    /// The operator has none.
    pub name: Option<String>,
    /// The operator has none.
    by: Option<Proof>,
}

impl Reader {
    const OPERATOR: Reader = Reader {
        is_owner: true,
        name: None,
        by: None,
    };

    fn of(user: &User, by: Proof) -> Reader {
        Reader {
            is_owner: user.role == Role::Owner,
            name: Some(user.name.clone()),
            by: Some(by),
        }
    }

    /// The same reader as the accounts are now, or `None` if the token or the
    /// session no longer opens anything.
    pub fn again(&self, app: &App) -> Option<Reader> {
        match self.by {
            None => Some(Reader::OPERATOR),
            Some(by) => by.user(app).map(|user| Reader::of(&user, by)),
        }
    }
}

/// Who is asking, before what they ask is looked at.
enum Caller {
    Agent(Box<Key>),
    Human(Box<Human>),
    Operator,
}

/// Who is asking; what they ask for is within what they may have at once.
async fn caller(parts: &Parts, app: &App) -> Result<Caller, Problem> {
    let caller = recognise(parts, app)?;
    match &caller {
        Caller::Agent(key) => visit::is_agent(parts, &key.key_id)?,
        Caller::Human(human) => {
            let name = &human.user.name;
            visit::is_person(parts, app, name).await?;
            visit::pays(parts, app, name)?;
        }
        Caller::Operator => {}
    }
    Ok(caller)
}

/// Whether a request carries a key, a token or a session that works: whoever
/// asks is looked at again where it is decided what they may do.
pub fn is_known(request: &Request, app: &App) -> bool {
    let headers = request.headers();
    match headers.get(header::AUTHORIZATION) {
        Some(authorization) => {
            let (is_bearer, hash) = sent(authorization);
            let accounts = app.shared().accounts();
            let key = accounts.key_by_secret(&hash, app.shared().clock.now());
            is_bearer && (key.is_some() || accounts.user_by_token(&hash).is_some())
        }
        None => pages::by_cookie(headers, None, app).is_some(),
    }
}

/// Whether a secret was sent as a bearer's, and its hash.
fn sent(authorization: &HeaderValue) -> (bool, SecretHash) {
    let text = authorization.to_str().unwrap_or_default();
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    let is_bearer = scheme.eq_ignore_ascii_case("bearer");
    (is_bearer, secret::hash(token.trim_start()))
}

fn recognise(parts: &Parts, app: &App) -> Result<Caller, Problem> {
    let peer = Visit::peer(parts);
    let Some(authorization) = parts.headers.get(header::AUTHORIZATION) else {
        if peer.is_some_and(|peer| peer.local) {
            return Ok(Caller::Operator);
        }
        return by_session(parts, app).ok_or_else(|| fail(app, peer, Problem::unauthenticated()));
    };
    // The same steps for every secret, known or not: hash it, look it up twice.
    let (is_bearer, hash) = sent(authorization);
    let accounts = app.shared().accounts();
    let key = accounts.key_by_secret(&hash, app.shared().clock.now());
    let user = accounts.user_by_token(&hash);
    match (is_bearer, key, user) {
        (true, Some(key), _) => {
            // With the rate that applies to it now.
            let rate = accounts.rate_of(key);
            let key = key.clone();
            Ok(Caller::Agent(Box::new(Key { rate, ..key })))
        }
        (true, None, Some(user)) => {
            let channel = match parts.headers.get("wakeful-channel") {
                Some(value) if value == "terminal" => Channel::Terminal,
                _ => Channel::Api,
            };
            Ok(Caller::Human(Box::new(Human {
                user: user.clone(),
                channel,
                by: Proof::Token(hash),
            })))
        }
        _ => Err(fail(app, peer, Problem::invalid_token())),
    }
}

/// Someone at a page. What changes anything must carry the page key: another
/// site can make a browser send the cookie, and another port of this host is
/// sent it, but only our own page knows the key.
fn by_session(parts: &Parts, app: &App) -> Option<Caller> {
    let signed = pages::by_cookie(&parts.headers, None, app)?;
    (parts.method.is_safe() || signed.key.is_some()).then(|| {
        Caller::Human(Box::new(Human {
            user: signed.user,
            channel: Channel::Page,
            by: Proof::Session(signed.session.hash.0),
        }))
    })
}

fn fail(app: &App, peer: Option<Peer>, problem: Problem) -> Problem {
    if let Some(peer) = peer {
        app.failures.count(peer.address);
    }
    problem
}

/// A recognised caller asked for what is not theirs: refused, and on the trail.
fn deny(
    app: &App,
    who: String,
    stream: String,
    parts: &Parts,
    code: &'static str,
    detail: &str,
) -> Problem {
    let what = format!("{} {}", parts.method, parts.uri.path());
    record_denial(app, who, stream, what, code);
    Problem::new(StatusCode::FORBIDDEN, code, detail)
}

/// Records a denial, unless the same caller has filled its allowance of them.
/// Nobody waits for it: how long an answer takes must not tell what exists.
pub fn record_denial(app: &App, actor: String, stream: String, what: String, code: &str) {
    if !app
        .limits
        .may_record_denial(&actor, app.shared().clock.now())
    {
        return;
    }
    let what = what.chars().take(200).collect();
    let command = Command::Deny {
        actor,
        stream,
        what,
        code: code.to_owned(),
    };
    let app = app.clone();
    tokio::spawn(async move {
        if let Err(refusal) = app.engine.submit(command).await {
            tracing::warn!(%refusal, "a denial could not be recorded");
        }
    });
}

fn deny_agent(app: &App, key: &Key, parts: &Parts) -> Problem {
    let stream = format!("agent/{}", key.agent_id);
    let detail = "An agent's key opens /wake/v1 only. People use their own token.";
    deny(
        app,
        stream.clone(),
        stream,
        parts,
        "agent_key_refused",
        detail,
    )
}

fn deny_human(app: &App, human: &Human, parts: &Parts, detail: &str) -> Problem {
    let name = human.user.name.clone();
    deny(
        app,
        name.clone(),
        format!("account/{name}"),
        parts,
        "role_refused",
        detail,
    )
}

impl FromRequestParts<App> for Agent {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Agent, Problem> {
        match caller(parts, app).await? {
            Caller::Agent(key) => Ok(Agent(*key)),
            Caller::Human(human) => {
                // Told the same as any stranger, and on the trail all the same.
                let name = human.user.name;
                let stream = format!("account/{name}");
                let what = format!("{} {}", parts.method, parts.uri.path());
                record_denial(app, name, stream, what, "person_token_refused");
                Err(match human.by {
                    Proof::Token(_) => Problem::invalid_token(),
                    Proof::Session(_) => Problem::unauthenticated(),
                })
            }
            Caller::Operator => Err(Problem::unauthenticated()),
        }
    }
}

impl FromRequestParts<App> for Human {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Human, Problem> {
        match caller(parts, app).await? {
            Caller::Human(human) => Ok(*human),
            Caller::Agent(key) => Err(deny_agent(app, &key, parts)),
            Caller::Operator => Err(Problem::new(
                StatusCode::FORBIDDEN,
                "person_required",
                "This needs a person's own token: set WAKEFUL_TOKEN.",
            )),
        }
    }
}

impl FromRequestParts<App> for Decider {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Decider, Problem> {
        let human = Human::from_request_parts(parts, app).await?;
        if !human.user.role.may_answer() {
            let detail = "A viewer reads and does not answer. Ask an owner for the role reviewer.";
            return Err(deny_human(app, &human, parts, detail));
        }
        Ok(Decider(Person {
            name: human.user.name,
            channel: human.channel,
        }))
    }
}

impl FromRequestParts<App> for TokenHolder {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<TokenHolder, Problem> {
        let human = Human::from_request_parts(parts, app).await?;
        let token_id = match human.by {
            Proof::Session(_) => None,
            Proof::Token(hash) => app.shared().accounts().token_id(&hash).map(str::to_owned),
        };
        // It may have been replaced in this very moment.
        let token_id = token_id.ok_or_else(Problem::unauthenticated)?;
        Ok(TokenHolder {
            user: human.user,
            token_id,
        })
    }
}

impl FromRequestParts<App> for Keeper {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Keeper, Problem> {
        let human = Human::from_request_parts(parts, app).await?;
        if !human.user.role.may_answer() {
            let detail = "A viewer reads and has no devices. Ask an owner for the role reviewer.";
            return Err(deny_human(app, &human, parts, detail));
        }
        Ok(Keeper {
            name: human.user.name,
        })
    }
}

impl FromRequestParts<App> for Remover {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Remover, Problem> {
        match caller(parts, app).await? {
            Caller::Operator => Ok(Remover {
                actor: "operator".to_owned(),
                administers: true,
            }),
            Caller::Human(human) if human.user.role.may_answer() => Ok(Remover {
                administers: human.user.role == Role::Owner,
                actor: human.user.name,
            }),
            Caller::Human(human) => {
                let detail = "A viewer reads and takes nothing away.";
                Err(deny_human(app, &human, parts, detail))
            }
            Caller::Agent(key) => Err(deny_agent(app, &key, parts)),
        }
    }
}

impl FromRequestParts<App> for Admin {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Admin, Problem> {
        match caller(parts, app).await? {
            Caller::Operator => Ok(Admin {
                actor: "operator".to_owned(),
                user: None,
                by_session: false,
            }),
            Caller::Human(human) if human.user.role == Role::Owner => Ok(Admin {
                actor: human.user.name.clone(),
                user: Some(human.user.name),
                by_session: matches!(human.by, Proof::Session(_)),
            }),
            Caller::Human(human) => {
                Err(deny_human(app, &human, parts, "Only an owner may do this."))
            }
            Caller::Agent(key) => Err(deny_agent(app, &key, parts)),
        }
    }
}

impl FromRequestParts<App> for Reader {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Reader, Problem> {
        match caller(parts, app).await? {
            Caller::Operator => Ok(Reader::OPERATOR),
            Caller::Human(human) => Ok(Reader::of(&human.user, human.by)),
            Caller::Agent(key) => Err(deny_agent(app, &key, parts)),
        }
    }
}
