//! Permissions as types. A handler says whom it serves by what it extracts.

use account::{
    Actor, Denied, Key, Owner, Presented, Reviewer, Role, User,
    secret::{self, SecretHash},
};
use axum::{
    extract::{FromRequestParts, Request},
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
};
use engine::{Command, command::Account};
use inbox::{Person, event::Channel};

use crate::{
    App, Problem,
    code::Code,
    limits::Holder,
    pages::{self, Signed},
    transport::Peer,
    visit::{self, Visit},
};

/// Someone who gives commands, and what shows that they may.
pub trait Asks {
    /// The secret they came with. The operator and the server itself have none.
    fn presented(&self) -> Option<Presented>;

    /// A command of theirs, which is refused if the secret is no longer theirs
    /// when it is decided.
    fn asks(&self, command: impl Into<Command>) -> Command {
        match self.presented() {
            Some(presented) => Command::by(presented, command),
            None => command.into(),
        }
    }
}

impl Asks for Human {
    fn presented(&self) -> Option<Presented> {
        Some(self.by)
    }
}

impl Asks for Signed {
    fn presented(&self) -> Option<Presented> {
        Some(Signed::presented(self))
    }
}

impl Asks for Keeper {
    fn presented(&self) -> Option<Presented> {
        Some(self.0.by())
    }
}

impl Asks for Remover {
    fn presented(&self) -> Option<Presented> {
        self.reviewer.as_ref().map(Reviewer::by)
    }
}

impl Asks for Admin {
    fn presented(&self) -> Option<Presented> {
        self.owner.as_ref().map(Owner::by)
    }
}

impl Asks for Acting {
    fn presented(&self) -> Option<Presented> {
        self.by
    }
}

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
    by: Presented,
    holder: Holder,
}

impl Human {
    /// Who this is at the pages; `None` for someone with a token.
    pub fn signed(&self, headers: &HeaderMap, app: &App) -> Result<Option<Signed>, Problem> {
        match self.by {
            Presented::Token(_) => Ok(None),
            // It may have ended in this very moment.
            Presented::Session(_) => match pages::by_cookie(headers, None, app) {
                None => Err(Problem::unauthenticated()),
                signed => Ok(signed),
            },
        }
    }
}

/// Someone who may answer: an active owner or reviewer, by name. No agent key
/// and no socket gives one.
#[derive(Clone, Debug)]
pub struct Decider(Person);

/// Someone with an account token: not a page, and not a session.
#[derive(Clone, Debug)]
pub struct TokenHolder {
    pub user: User,
    pub token_id: String,
}

/// Someone who may have devices of their own: an owner or a reviewer.
#[derive(Clone, Debug)]
pub struct Keeper(Reviewer);

/// Someone who may take an agent away: its owner, whose it is must still be
/// looked at, or who administers.
#[derive(Clone, Debug)]
pub struct Remover {
    /// `None` is the operator.
    reviewer: Option<Reviewer>,
    administers: bool,
}

/// Someone who may administer: an owner, or the operator through the socket.
#[derive(Clone, Debug)]
pub struct Admin {
    /// `None` is the operator.
    owner: Option<Owner>,
    /// Whether a session alone shows who this is.
    by_session: bool,
}

impl Admin {
    /// The operator, at the socket.
    const OPERATOR: Admin = Admin {
        owner: None,
        by_session: false,
    };

    /// An owner at a page who asked for `what`.
    pub fn at_page(app: &App, signed: &Signed, what: String) -> Result<Admin, Problem> {
        Admin::of(app, signed.presented(), what)
    }

    fn of(app: &App, presented: Presented, what: String) -> Result<Admin, Problem> {
        let (accounts, now) = (app.shared().accounts(), app.shared().clock.now());
        let owner = Owner::recognise(&accounts, presented, now);
        Ok(Admin {
            owner: Some(
                owner
                    .map_err(|denied| denied_as(app, denied, what, "Only an owner may do this."))?,
            ),
            by_session: matches!(presented, Presented::Session(_)),
        })
    }

    /// The owner's name; the operator has none.
    pub fn user(&self) -> Option<&str> {
        self.owner.as_ref().map(Owner::name)
    }

    pub fn actor(&self) -> Actor {
        self.user().map_or(Actor::Operator, Actor::person)
    }

    /// The name in whose share of memory their bodies count.
    pub fn share(&self) -> &str {
        self.user().unwrap_or("operator")
    }

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
        let actor = self.actor();
        let command = self.asks(Account::Administer { actor, command });
        app.engine.submit(command).await?;
        Ok(())
    }

    pub fn acting(&self) -> Acting {
        Acting {
            actor: self.actor(),
            by: self.presented(),
        }
    }
}

/// In whose name something is done, and the secret that must still be theirs when
/// it is.
#[derive(Clone, Debug)]
pub struct Acting {
    pub actor: Actor,
    by: Option<Presented>,
}

impl Acting {
    /// The server itself.
    pub fn system() -> Acting {
        Acting {
            actor: Actor::System,
            by: None,
        }
    }

    pub fn operator() -> Acting {
        Acting {
            actor: Actor::Operator,
            by: None,
        }
    }
}

/// Anyone signed in, or the operator through the socket: for reading.
#[derive(Clone, Debug)]
pub struct Reader {
    pub is_owner: bool,
    /// The operator has none.
    pub name: Option<String>,
    /// Whose share the reading counts in; the operator has none.
    pub holder: Option<Holder>,
    /// The operator has none.
    by: Option<Presented>,
}

impl Reader {
    const OPERATOR: Reader = Reader {
        is_owner: true,
        name: None,
        holder: None,
        by: None,
    };

    fn of(user: &User, by: Presented, holder: Option<Holder>) -> Reader {
        Reader {
            is_owner: user.role == Role::Owner,
            name: Some(user.name.clone()),
            holder,
            by: Some(by),
        }
    }

    /// The same reader as the accounts are now, or `None` if the token or the
    /// session no longer opens anything.
    pub fn again(&self, app: &App) -> Option<Reader> {
        match self.by {
            None => Some(Reader::OPERATOR),
            Some(by) => {
                let accounts = app.shared().accounts();
                let user = by.user(&accounts, app.shared().clock.now());
                user.map(|user| Reader::of(user, by, self.holder.clone()))
            }
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
            visit::is_person(parts, app, &human.holder).await?;
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
                by: Presented::Token(hash),
                holder: Holder::Person(user.name.clone()),
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
            by: signed.presented(),
            holder: signed.holder(),
            user: signed.user,
            channel: Channel::Page,
        }))
    })
}

fn fail(app: &App, peer: Option<Peer>, problem: Problem) -> Problem {
    if let Some(peer) = peer {
        app.failures.count(peer.address);
    }
    problem
}

/// Records a denial, unless the same caller has filled its allowance of them.
/// Nobody waits for it: how long an answer takes must not tell what exists.
pub fn record_denial(app: &App, actor: Actor, what: String, code: &str) {
    if !app
        .limits
        .may_record_denial(&actor.name(), app.shared().clock.now())
    {
        return;
    }
    let what = what.chars().take(200).collect();
    let command = Account::Deny {
        actor,
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
    let (code, actor) = (Code::AgentKeyRefused, Actor::agent(&key.agent_id));
    record_denial(app, actor, asked(parts), code.as_str());
    let detail = "An agent's key opens /wake/v1 only. People use their own token.";
    Problem::new(StatusCode::FORBIDDEN, code, detail)
}

/// Someone's role does not allow what they asked for.
fn deny_role(app: &App, name: String, what: String, detail: &str) -> Problem {
    record_denial(app, Actor::Person(name), what, Code::RoleRefused.as_str());
    Problem::new(StatusCode::FORBIDDEN, Code::RoleRefused, detail)
}

fn asked(parts: &Parts) -> String {
    format!("{} {}", parts.method, parts.uri.path())
}

/// Someone who may answer, by the secret they presented. A viewer is refused with
/// `detail`, and what they asked for is on the trail, whether at a page or over
/// the API.
fn reviewer(
    app: &App,
    presented: Presented,
    what: String,
    detail: &str,
) -> Result<Reviewer, Problem> {
    let (accounts, now) = (app.shared().accounts(), app.shared().clock.now());
    let recognised = Reviewer::recognise(&accounts, presented, now);
    recognised.map_err(|denied| denied_as(app, denied, what, detail))
}

fn denied_as(app: &App, denied: Denied, what: String, detail: &str) -> Problem {
    match denied {
        Denied::Role { name } => deny_role(app, name, what, detail),
        // It worked a moment ago.
        Denied::Nobody => Problem::unauthenticated(),
    }
}

impl Decider {
    pub fn into_person(self) -> Person {
        self.0
    }

    /// Someone at a page who asked for `what`.
    pub fn at_page(app: &App, signed: &Signed, what: String) -> Result<Decider, Problem> {
        let presented = signed.presented();
        Decider::of(app, presented, Channel::Page, what)
    }

    fn of(
        app: &App,
        presented: Presented,
        channel: Channel,
        what: String,
    ) -> Result<Decider, Problem> {
        let detail = "A viewer reads and does not answer. Ask an owner for the role reviewer.";
        let reviewer = reviewer(app, presented, what, detail)?;
        Ok(Decider(Person::new(reviewer, channel)))
    }
}

impl Remover {
    /// Someone at a page who asked for `what`.
    pub fn at_page(app: &App, signed: &Signed, what: String) -> Result<Remover, Problem> {
        Remover::of(app, signed.presented(), what)
    }

    fn of(app: &App, presented: Presented, what: String) -> Result<Remover, Problem> {
        let detail = "A viewer reads and takes nothing away. Ask an owner for the role reviewer.";
        let reviewer = reviewer(app, presented, what, detail)?;
        let (accounts, now) = (app.shared().accounts(), app.shared().clock.now());
        Ok(Remover {
            administers: Owner::recognise(&accounts, presented, now).is_ok(),
            reviewer: Some(reviewer),
        })
    }

    pub fn actor(&self) -> Actor {
        let name = self.reviewer.as_ref().map(Reviewer::name);
        name.map_or(Actor::Operator, Actor::person)
    }

    pub fn administers(&self) -> bool {
        self.administers
    }
}

impl Keeper {
    /// Someone at a page who asked for `what`.
    pub fn at_page(app: &App, signed: &Signed, what: String) -> Result<Keeper, Problem> {
        Keeper::of(app, signed.presented(), what)
    }

    fn of(app: &App, presented: Presented, what: String) -> Result<Keeper, Problem> {
        let detail = "A viewer reads and has no devices. Ask an owner for the role reviewer.";
        reviewer(app, presented, what, detail).map(Keeper)
    }

    pub fn name(&self) -> &str {
        self.0.name()
    }
}

impl FromRequestParts<App> for Agent {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Agent, Problem> {
        match caller(parts, app).await? {
            Caller::Agent(key) => Ok(Agent(*key)),
            Caller::Human(human) => {
                // Told the same as any stranger, and on the trail all the same.
                let actor = Actor::Person(human.user.name);
                record_denial(app, actor, asked(parts), Code::PersonTokenRefused.as_str());
                Err(match human.by {
                    Presented::Token(_) => Problem::invalid_token(),
                    Presented::Session(_) => Problem::unauthenticated(),
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
                Code::PersonRequired,
                "This needs a person's own token: set WAKEFUL_TOKEN.",
            )),
        }
    }
}

impl FromRequestParts<App> for Decider {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Decider, Problem> {
        let human = Human::from_request_parts(parts, app).await?;
        Decider::of(app, human.by, human.channel, asked(parts))
    }
}

impl FromRequestParts<App> for TokenHolder {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<TokenHolder, Problem> {
        let human = Human::from_request_parts(parts, app).await?;
        let token_id = match human.by {
            Presented::Session(_) => None,
            Presented::Token(hash) => app.shared().accounts().token_id(&hash).map(str::to_owned),
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
        Keeper::of(app, human.by, asked(parts))
    }
}

impl FromRequestParts<App> for Remover {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Remover, Problem> {
        match caller(parts, app).await? {
            Caller::Operator => Ok(Remover {
                reviewer: None,
                administers: true,
            }),
            Caller::Human(human) => Remover::of(app, human.by, asked(parts)),
            Caller::Agent(key) => Err(deny_agent(app, &key, parts)),
        }
    }
}

impl FromRequestParts<App> for Admin {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Admin, Problem> {
        match caller(parts, app).await? {
            Caller::Operator => Ok(Admin::OPERATOR),
            Caller::Human(human) => Admin::of(app, human.by, asked(parts)),
            Caller::Agent(key) => Err(deny_agent(app, &key, parts)),
        }
    }
}

impl FromRequestParts<App> for Reader {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Reader, Problem> {
        match caller(parts, app).await? {
            Caller::Operator => Ok(Reader::OPERATOR),
            Caller::Human(human) => Ok(Reader::of(&human.user, human.by, Some(human.holder))),
            Caller::Agent(key) => Err(deny_agent(app, &key, parts)),
        }
    }
}
