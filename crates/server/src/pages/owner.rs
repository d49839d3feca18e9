//! Pages for owners: who may open them, and how they say that a change was
//! refused. What is made once, such as a key, is shown in the answer to the
//! form that asked for it: in no address, and on no page that can be opened
//! again.

use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    http::request::Parts,
    response::{IntoResponse, Response},
};
use maud::{Markup, html};

use crate::{
    App, Problem,
    auth::Admin,
    pages::{
        form::Form,
        layout::{copy_button, notice, page, token},
        session::Signed,
    },
};

/// Forms of owners are small; the largest holds certificates.
const FORM_BYTES: usize = 256 << 10;

/// An owner at a page.
#[derive(Clone, Debug)]
pub struct Owner {
    pub signed: Signed,
    pub admin: Admin,
}

impl FromRequestParts<App> for Owner {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Owner, Response> {
        let signed = Signed::from_request_parts(parts, app).await?;
        let what = format!("{} {}", parts.method, parts.uri.path());
        let admin = Admin::at_page(app, &signed, what).map_err(|problem| {
            let text = "This page is for the owners of this server. Ask one of them.";
            notice(problem.status(), "Not yours to open", text)
        })?;
        Ok(Owner { signed, admin })
    }
}

/// A form of an owner, sent from a page of their own.
#[derive(Debug)]
pub struct OwnerForm {
    pub owner: Owner,
    pub form: Form,
}

impl FromRequest<App> for OwnerForm {
    type Rejection = Response;

    async fn from_request(request: Request, app: &App) -> Result<OwnerForm, Response> {
        let (mut parts, body) = request.into_parts();
        let owner = Owner::from_request_parts(&mut parts, app).await?;
        let form = Form::read(app, &owner.signed, &parts.headers, body, FORM_BYTES).await?;
        let paid = form.pay(app, &owner.signed, parts.uri.path());
        paid.map_err(IntoResponse::into_response)?;
        Ok(OwnerForm { owner, form })
    }
}

/// A change that was refused, and what was typed for it.
#[derive(Clone, Copy, Debug)]
pub struct Tried<'a> {
    pub problem: &'a Problem,
    pub form: &'a Form,
}

/// What was typed in a field, if it was refused.
pub fn typed<'a>(tried: Option<Tried<'a>>, field: &str) -> &'a str {
    tried.map_or("", |tried| tried.form.text(field))
}

/// The same page again, with why a change was refused.
pub fn refused(problem: &Problem, mut shown: Response) -> Response {
    *shown.status_mut() = problem.status();
    shown
}

/// Why a change was refused, at the head of a page.
pub fn fault(problem: Option<&Problem>) -> Markup {
    html! {
        @if let Some(problem) = problem { p .fault role="alert" { (show::text(problem.in_form())) } }
    }
}

/// What is shown this once: each with its name.
pub fn once(signed: &Signed, here: &str, title: &str, secrets: &[(&str, &str)]) -> Response {
    let main = html! {
        h1 { (title) }
        (kept(here, secrets))
        p { a href=(here) autofocus { "Kept it" } }
    };
    page(signed, here, title, main)
}

/// Loaded again, such a page leads to `here`: nothing is made twice.
pub fn kept(here: &str, secrets: &[(&str, &str)]) -> Markup {
    html! {
        div .standing data-once=(here) {
            p { "Shown this once. Keep it now: no page will show it again." }
            dl {
                @for (name, secret) in secrets {
                    dt { (name) }
                    dd { code .copy { (secret) } " " (copy_button()) }
                }
            }
        }
    }
}

/// One button that sends one thing.
pub fn button(signed: &Signed, action: &str, field: (&str, &str), text: &str) -> Markup {
    html! {
        form method="post" action=(action) {
            (token(signed))
            input type="hidden" name=(field.0) value=(field.1);
            button .quiet { (text) }
        }
    }
}

/// The same for what cannot be taken back: it takes two steps.
pub fn sure(what: &str, consequence: &str, form: Markup) -> Markup {
    html! {
        details .sure {
            summary { (what) "…" }
            span .hint { (consequence) }
            (form)
        }
    }
}
