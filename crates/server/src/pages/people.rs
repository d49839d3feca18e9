//! People: who they are, what they may do, and how they come in.

use std::ops::Bound;

use account::{Role, User, UserState, command::Command as Ask, secret, sign_in::sessions_of};
use axum::{
    extract::{RawQuery, State},
    response::{IntoResponse, Redirect, Response},
};
use maud::{Markup, html};
use trail::Micros;

use crate::{
    App, Problem,
    api::{fresh, users},
    pages::{
        anew,
        form::{Form, pairs},
        layout::{page as layout, token},
        owner::{Owner, OwnerForm, Tried, button, fault, once, refused, sure, typed},
        session::Signed,
        when,
    },
};

const PEOPLE: usize = 100;

pub async fn page(State(app): State<App>, owner: Owner, RawQuery(query): RawQuery) -> Response {
    let after = pairs(&query).find(|(name, _)| name == "after");
    show(&app, &owner.signed, after.map(|(_, after)| after), None)
}

fn show(app: &App, signed: &Signed, after: Option<String>, tried: Option<Tried<'_>>) -> Response {
    let accounts = app.shared().accounts();
    let now = app.shared().clock.now();
    let from = after.map_or(Bound::Unbounded, Bound::Excluded);
    let mut users = accounts.users.range::<String, _>((from, Bound::Unbounded));
    let shown: Vec<&User> = users.by_ref().map(|(_, user)| user).take(PEOPLE).collect();
    let next = users.next().and(shown.last());
    let main = html! {
        h1 { "People" }
        (fault(tried.map(|tried| tried.problem)))
        ul .plain {
            @for user in &shown {
                (person(user, sessions_of(&accounts, &user.name).filter(|open| now < open.expires_at).count(), signed, now))
            }
        }
        @if let Some(last) = next {
            p { a rel="next" href=(format!("/people?after={}", last.name)) { "More" } }
        }
        section aria-labelledby="new-title" {
            h2 #new-title { "Someone new" }
            form .narrow method="post" action="/people" {
                (token(signed))
                label for="name" { "Name " span .hint { "lowercase letters, digits, - and _" } }
                input #name name="name" value=(typed(tried, "name")) autocomplete="off" autocapitalize="none" spellcheck="false"
                    pattern="[a-z][a-z0-9_\\-]{0,63}" required;
                label for="role" { "Role" }
                (roles("role", Role::parse(typed(tried, "role")).unwrap_or(Role::Reviewer)))
                button .main { "Create" }
            }
            p .hint { "A viewer reads. A reviewer also answers. An owner also does what these pages do." }
        }
    };
    layout(signed, "/people", "People", main)
}

fn roles(id: &str, now: Role) -> Markup {
    html! {
        select id=(id) name="role" {
            @for role in Role::ALL {
                option value=(role.as_str()) selected[role == now] { (role.as_str()) }
            }
        }
    }
}

fn person(user: &User, open: usize, signed: &Signed, now: Micros) -> Markup {
    let name = user.name.as_str();
    let by_name = ("name", name);
    let to = |state: UserState, text: &str| {
        html! {
            form method="post" action="/people/state" {
                (token(signed))
                input type="hidden" name="name" value=(name);
                button .quiet name="state" value=(state.as_str()) { (text) }
            }
        }
    };
    html! {
        li data-name=(name) {
            strong { (name) } " "
            span .mark { (user.role.as_str()) } " "
            @if user.state != UserState::Active { span .mark { (user.state.as_str()) } " " }
            span .about {
                "added " (when::ago(user.created_at, now))
                @if open > 0 { "; signed in at " (open) @if open == 1 { " place" } @else { " places" } }
            }
            @if name == signed.user.name {
                p .hint { "This is you. What you may do, another owner decides. " a href="/you" { "Your password and sessions" } }
            } @else if user.state != UserState::Deactivated {
                div .controls {
                    form method="post" action="/people/role" {
                        (token(signed))
                        input type="hidden" name="name" value=(name);
                        label .unseen-title for=(format!("role-{name}")) { "Role of " (name) }
                        (roles(&format!("role-{name}"), user.role)) " "
                        button .quiet { "Change role" }
                    }
                    @if user.state == UserState::Active {
                        (button(signed, "/people/link", by_name, "New sign-in link"))
                        @if open > 0 { (button(signed, "/people/sessions", by_name, "Sign out everywhere")) }
                        (to(UserState::Suspended, "Suspend"))
                    } @else {
                        (to(UserState::Active, "Resume"))
                    }
                    (sure("Deactivate", "They can never come back under this name.", to(UserState::Deactivated, "Deactivate for good")))
                }
            }
        }
    }
}

fn again(app: &App, owner: &Owner, form: &Form, problem: &Problem) -> Response {
    let shown = show(app, &owner.signed, None, Some(Tried { problem, form }));
    refused(problem, shown)
}

/// Back to the list, or why not.
fn done(app: &App, owner: &Owner, asked: Result<(), Problem>) -> Response {
    match asked {
        Ok(()) => Redirect::to("/people").into_response(),
        Err(problem) => again(app, owner, &Form::default(), &problem),
    }
}

/// The token that every person has is drawn and told to nobody.
pub async fn create(State(app): State<App>, OwnerForm { owner, form }: OwnerForm) -> Response {
    let asked = anew::asked(&app, &owner.signed, &form, "/people", &["name", "role"]).await;
    if let Err(page) = asked {
        return page;
    }
    let name = form.text("name").trim().to_owned();
    let role = Role::parse(form.text("role"));
    match introduce(&app, &owner, name.clone(), role).await {
        Ok(()) => shown_link(&app, &owner, name).await,
        Err(problem) => again(&app, &owner, &form, &problem),
    }
}

async fn introduce(
    app: &App,
    owner: &Owner,
    name: String,
    role: Option<Role>,
) -> Result<(), Problem> {
    let (_, token_hash) = fresh::draw(secret::Kind::User)?;
    let command = Ask::CreateUser {
        name,
        role,
        token_id: fresh::short_id("tok")?,
        token_hash,
    };
    owner.admin.ask(app, command).await
}

async fn shown_link(app: &App, owner: &Owner, name: String) -> Response {
    match users::make_link(app, &owner.admin, name).await {
        Ok(link) => {
            let title = format!("A link for {}", link.name);
            let what = "Opens this server once, within a day";
            once(&owner.signed, "/people", &title, &[(what, &link.url)])
        }
        Err(problem) => again(app, owner, &Form::default(), &problem),
    }
}

pub async fn link(State(app): State<App>, OwnerForm { owner, form }: OwnerForm) -> Response {
    match anew::asked(&app, &owner.signed, &form, "/people/link", &["name"]).await {
        Ok(()) => shown_link(&app, &owner, form.text("name").to_owned()).await,
        Err(page) => page,
    }
}

pub async fn role(State(app): State<App>, OwnerForm { owner, form }: OwnerForm) -> Response {
    let name = form.text("name").to_owned();
    let asked = match Role::parse(form.text("role")) {
        Some(role) => owner.admin.ask(&app, Ask::SetRole { name, role }).await,
        None => Err(Problem::not_found()),
    };
    done(&app, &owner, asked)
}

pub async fn set_state(State(app): State<App>, OwnerForm { owner, form }: OwnerForm) -> Response {
    let name = form.text("name").to_owned();
    let asked = match UserState::parse(form.text("state")) {
        Some(state) => owner.admin.ask(&app, users::put_in(state, name)).await,
        None => Err(Problem::not_found()),
    };
    done(&app, &owner, asked)
}

pub async fn end_sessions(
    State(app): State<App>,
    OwnerForm { owner, form }: OwnerForm,
) -> Response {
    let name = form.text("name").to_owned();
    let asked = owner.admin.ask(&app, Ask::CloseSessions { name }).await;
    done(&app, &owner, asked)
}
