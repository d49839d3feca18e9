//! Forms: read whole, within a limit, and only from a page of this session.

use axum::{
    body::Body,
    extract::{FromRequest, FromRequestParts as _, Request},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::{
    App, Problem,
    body::{self, Sender},
    pages::{
        layout::{self, notice},
        session::{Signed, is_from_here},
    },
    transport::Peer,
    visit::Visit,
};

/// Names and values, in the order of the page.
#[derive(Debug, Default)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Reads a form from a page of this server, whoever sent it.
    pub async fn open(
        app: &App,
        sender: Sender<'_>,
        headers: &HeaderMap,
        body: Body,
        limit: usize,
    ) -> Result<Form, Response> {
        let kind = headers.get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.starts_with("application/x-www-form-urlencoded") || !is_from_here(headers) {
            return Err(refused());
        }
        let bytes = body::read_any(&app.bodies, sender, body, limit).await;
        let bytes = bytes.map_err(|problem| {
            let what = "That was too long, or did not arrive whole.";
            notice(problem.status(), "Not sent", what)
        })?;
        let pairs = url::form_urlencoded::parse(&bytes);
        Ok(Form(
            pairs
                .map(|(name, value)| (name.into_owned(), lines(&value)))
                .collect(),
        ))
    }

    /// Reads a form of someone who is not known yet: for signing in.
    pub async fn of_stranger(
        app: &App,
        peer: Peer,
        visit: &Visit,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Form, Response> {
        let sender = Sender::Stranger(peer.address);
        let form = Form::open(app, sender, headers, body, STRANGERS).await?;
        visit.said_all();
        Ok(form)
    }

    /// Reads a form of someone signed in.
    pub async fn read(
        app: &App,
        signed: &Signed,
        headers: &HeaderMap,
        body: Body,
        limit: usize,
    ) -> Result<Form, Response> {
        let holder = signed.holder();
        let sender = Sender::of(&holder);
        let form = Form::open(app, sender, headers, body, limit).await?;
        match signed.session.is_page_key(form.text("token")) {
            true => Ok(form),
            false if form.text("token").is_empty() => Err(read_only()),
            false => Err(refused()),
        }
    }

    /// Pays for what the form changes. Only once it is known that a page of the
    /// person's own sent it: others must not use up what the person may do.
    pub fn pay(&self, app: &App, signed: &Signed, path: &str) -> Result<(), Problem> {
        let (count, now) = (self.all("id").count(), app.shared().clock.now());
        app.limits.take_write(&signed.user.name, path, count, now)
    }

    /// A field's value; empty if it is not there.
    pub fn text(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(field, _)| field == name);
        found.map_or("", |(_, value)| value)
    }

    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let pairs = self.0.iter();
        pairs.filter_map(move |(field, value)| (field == name).then_some(value.as_str()))
    }
}

/// Forms that sign someone in hold a name and a password.
pub const STRANGERS: usize = 8 << 10;

/// Most forms hold a few words; the largest of them names 200 deliveries.
const SMALL: usize = 64 << 10;

/// A form of someone signed in, who is known before anything of it is read.
#[derive(Debug)]
pub struct SignedForm<const BYTES: usize = SMALL> {
    pub signed: Signed,
    pub form: Form,
}

impl<const BYTES: usize> FromRequest<App> for SignedForm<BYTES> {
    type Rejection = Response;

    async fn from_request(request: Request, app: &App) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let signed = Signed::from_request_parts(&mut parts, app).await?;
        let form = Form::read(app, &signed, &parts.headers, body, BYTES).await?;
        let paid = form.pay(app, &signed, parts.uri.path());
        paid.map_err(IntoResponse::into_response)?;
        Ok(SignedForm { signed, form })
    }
}

/// What an address asks for, as far as it can be read: an address is not a form.
pub fn pairs(query: &Option<String>) -> impl Iterator<Item = (String, String)> {
    let query = query.as_deref().unwrap_or_default();
    url::form_urlencoded::parse(query.as_bytes())
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
}

/// Forms send line ends of two characters; people typed one.
fn lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// A page that was opened by the cookie alone and has no script to fill the
/// key in.
fn read_only() -> Response {
    let what = "This page can only be read: it was opened by its plain address, in a browser \
                that runs no scripts. Sign in again, and act from the page that leads to.";
    layout::notice(StatusCode::FORBIDDEN, "Not sent", what)
}

pub fn refused() -> Response {
    let what = "This form did not come from a page of yours here, or the page is too old. \
                Go back, reload it, and send it again.";
    layout::notice(StatusCode::FORBIDDEN, "Not sent", what)
}
