//! Every path, once: its handler and its description.

use ::wake::limits;
use axum::{
    Router,
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::{MethodRouter, delete, get, post, put},
};

use crate::{
    App, Problem,
    api::{
        agents, devices, events, inbox, keys, operations, rates, retention, sessions, trail, users,
        webhooks,
    },
    code::Code,
    link,
    openapi::{Auth, Doc, doc},
    pages, wake,
};

const LIMIT: &str = "At most so many (50 if not given)";

/// One path with one method.
#[derive(Debug)]
pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
    pub handler: MethodRouter<App>,
    pub doc: Doc,
}

fn route(method: &'static str, path: &'static str, handler: MethodRouter<App>, doc: Doc) -> Route {
    Route {
        method,
        path,
        handler,
        doc,
    }
}

/// All of them, in the order of the document.
pub fn all() -> Vec<Route> {
    let mut routes = wake_routes();
    routes.extend(inbox_routes());
    routes.extend(admin_routes());
    routes.extend(link_routes());
    routes.extend(trail_routes());
    routes.extend(operation_routes());
    routes
}

fn wake_routes() -> Vec<Route> {
    let agent = |summary| doc(summary).tag("wake").auth(Auth::Agent);
    vec![
        route(
            "post",
            "/wake/v1/deliver",
            post(wake::deliver),
            agent("Deliver work; 201 means that it is durable")
                .body("Delivery")
                .header(
                    "Idempotency-Key",
                    "The same key and body within a day give the same answer",
                )
                .answer(201, "Received")
                .errors(&[400, 408, 409, 413, 415, 422, 429]),
        ),
        route(
            "get",
            "/wake/v1/response/{delivery_id}",
            get(wake::response),
            agent("The answer to one delivery as it stands")
                .path("delivery_id", "The id that deliver returned")
                .query_number(
                    "wait",
                    0,
                    limits::WAIT_SECONDS,
                    "Wait up to so many seconds for an answer",
                )
                .answer(200, "Response")
                .errors(&[404, 422, 429]),
        ),
        route(
            "get",
            "/wake/v1/response/{delivery_id}/receipt",
            get(wake::receipt),
            agent("The proof of the agent's own answer, to be verified offline")
                .path("delivery_id", "The id that deliver returned")
                .answer(200, "Receipt")
                .errors(&[404, 429]),
        ),
        route(
            "get",
            "/wake/v1/responses",
            get(wake::responses),
            agent("Answers to many deliveries in one sweep")
                .query("agent_id", "string", "Only this agent's")
                .query(
                    "status",
                    "string",
                    "Statuses to include, separated by commas",
                )
                .query(
                    "since",
                    "string",
                    "Only what changed after this moment: next_since of the last sweep",
                )
                .query_number("limit", 1, 200, LIMIT)
                .answer(200, "Responses")
                .errors(&[422, 429]),
        ),
        route(
            "get",
            "/wake/v1/schema.json",
            get(wake::schema),
            doc("The JSON Schema of this door's payloads")
                .tag("wake")
                .content(200, "application/schema+json"),
        ),
    ]
}

fn inbox_routes() -> Vec<Route> {
    let human = |summary| doc(summary).tag("inbox").auth(Auth::Human);
    let item = |summary| human(summary).path("id", "The delivery's id");
    vec![
        route(
            "get",
            "/api/v1/inbox",
            get(inbox::index),
            human("What waits for people, and what was answered; newest first")
                .query("agent_id", "string", "Only this agent's")
                .query("type", "string", "Types to include, separated by commas")
                .query(
                    "status",
                    "string",
                    "Statuses to include, separated by commas",
                )
                .query("test", "boolean", "Only tests, or none")
                .query("q", "string", "Words that must all occur")
                .query("cursor", "string", "next_cursor of the page before")
                .query(
                    "id_prefix",
                    "string",
                    "Only items whose ids begin with these 4 to 36 characters, by id; with limit alone",
                )
                .query_number("limit", 1, 200, LIMIT)
                .answer(200, "InboxPage")
                .errors(&[422]),
        ),
        route(
            "get",
            "/api/v1/inbox/{id}",
            get(inbox::show),
            item("One item with its content")
                .answer(200, "InboxItem")
                .errors(&[404]),
        ),
        route(
            "post",
            "/api/v1/inbox/{id}/respond",
            post(inbox::respond),
            item("Answer; the first answer stands")
                .body("Answer")
                .answer(200, "Answered")
                .errors(&[400, 404, 408, 409, 413, 415, 422]),
        ),
        route(
            "post",
            "/api/v1/inbox/{id}/undo",
            post(inbox::undo),
            item("Take a held answer back")
                .empty(204)
                .errors(&[404, 409]),
        ),
        route(
            "post",
            "/api/v1/inbox/{id}/seen",
            post(inbox::seen),
            item("Note that you have seen it").empty(204).errors(&[404]),
        ),
        route(
            "delete",
            "/api/v1/inbox/{id}/content",
            delete(inbox::erase),
            doc("Erase the content of an answered item now; its proofs stay")
                .tag("inbox")
                .auth(Auth::Owner)
                .path("id", "The delivery's id")
                .empty(204)
                .errors(&[404, 409]),
        ),
        route(
            "get",
            "/api/v1/inbox/{id}/history",
            get(inbox::history),
            item("Every entry of the trail about it")
                .answer(200, "History")
                .errors(&[404]),
        ),
        route(
            "get",
            "/api/v1/inbox/{id}/receipt",
            get(inbox::receipt),
            item("The proof of its answer, to be verified offline")
                .answer(200, "Receipt")
                .errors(&[404]),
        ),
        route(
            "get",
            "/api/v1/events",
            get(events::events),
            human("The trail as it grows, as server-sent events")
                .header("Last-Event-ID", "The id of the last event received")
                .content(200, "text/event-stream"),
        ),
    ]
}

fn admin_routes() -> Vec<Route> {
    let read = |summary| doc(summary).tag("administration").auth(Auth::Human);
    let change = |summary| doc(summary).tag("administration").auth(Auth::Owner);
    let body_errors: &[u16] = &[400, 408, 413, 415, 422];
    let kinds = ::wake::Kind::ALL.map(::wake::Kind::as_str);
    let key_kinds = account::KeyKind::ALL.map(account::KeyKind::as_str);
    vec![
        route(
            "get",
            "/api/v1/me",
            get(users::me),
            read("Who this token belongs to").answer(200, "User"),
        ),
        route(
            "get",
            "/api/v1/users",
            get(users::index),
            read("People").answer(200, "Users"),
        ),
        route(
            "post",
            "/api/v1/users",
            post(users::create),
            change("Add a person; the token is shown this once")
                .body("NewUser")
                .answer(201, "UserToken")
                .errors(body_errors)
                .errors(&[409]),
        ),
        route(
            "patch",
            "/api/v1/users/{name}",
            axum::routing::patch(users::change),
            change("Change a person's role or state")
                .path("name", "The person's name")
                .body("UserChange")
                .empty(204)
                .errors(body_errors)
                .errors(&[404, 409]),
        ),
        route(
            "post",
            "/api/v1/users/{name}/token",
            post(users::token),
            change("A new token, which replaces the old one")
                .path("name", "The person's name")
                .answer(201, "UserToken")
                .errors(&[404, 409]),
        ),
        route(
            "post",
            "/api/v1/users/{name}/sign-in-link",
            post(users::sign_in_link),
            change("A link to sign in with, once")
                .path("name", "The person's name")
                .answer(201, "SignInLink")
                .errors(&[404, 409]),
        ),
        route(
            "get",
            "/api/v1/agents",
            get(agents::index),
            read("Agents").answer(200, "Agents"),
        ),
        route(
            "get",
            "/api/v1/agents/{agent_id}/prompt",
            get(agents::prompt),
            read("The system prompt for an agent")
                .path("agent_id", "The agent")
                .query(
                    "for",
                    "string",
                    "The framework it is for: claude, openai, gemini, langgraph, crewai or autogen",
                )
                .content(200, "text/plain; charset=utf-8")
                .errors(&[404, 422]),
        ),
        route(
            "post",
            "/api/v1/agents/{agent_id}/webhook-secret",
            post(agents::secret),
            change("A new webhook secret; the old one overlaps for a day")
                .path("agent_id", "The agent")
                .answer(201, "WebhookSecret")
                .errors(&[404]),
        ),
        route(
            "get",
            "/api/v1/keys",
            get(keys::index),
            read("Agents' keys, without the keys themselves").answer(200, "Keys"),
        ),
        route(
            "post",
            "/api/v1/keys",
            post(keys::create),
            change("A key for an agent, which is made if it is new; shown this once")
                .body("NewKey")
                .answer(201, "CreatedKey")
                .errors(body_errors)
                .errors(&[404, 409]),
        ),
        route(
            "delete",
            "/api/v1/keys/{key_id}",
            delete(keys::revoke),
            change("Revoke a key at once")
                .path("key_id", "The key's id")
                .empty(204)
                .errors(&[404]),
        ),
        route(
            "post",
            "/api/v1/keys/{key_id}/rotate",
            post(keys::rotate),
            change("A successor; the old key works a while longer")
                .path("key_id", "The key's id")
                .body("KeyRotation")
                .answer(201, "CreatedKey")
                .errors(body_errors)
                .errors(&[404, 409]),
        ),
        route(
            "get",
            "/api/v1/webhooks/allowlist",
            get(webhooks::allowlist),
            read("Hosts that callbacks may go to").answer(200, "Allowlist"),
        ),
        route(
            "post",
            "/api/v1/webhooks/allowlist",
            post(webhooks::allow),
            change("Allow a host")
                .body("NewAllowRule")
                .answer(201, "AllowRule")
                .errors(body_errors)
                .errors(&[409]),
        ),
        route(
            "delete",
            "/api/v1/webhooks/allowlist/{pattern}",
            delete(webhooks::remove),
            change("Allow a host no longer")
                .path("pattern", "The entry's pattern")
                .empty(204)
                .errors(&[404]),
        ),
        route(
            "get",
            "/api/v1/webhooks/callbacks",
            get(webhooks::callbacks),
            read("Callbacks, newest first")
                .query("cursor", "string", "next_cursor of the page before")
                .query_number("limit", 1, 200, LIMIT)
                .answer(200, "Callbacks")
                .errors(&[422]),
        ),
        route(
            "post",
            "/api/v1/webhooks/callbacks/{id}/replay",
            post(webhooks::replay),
            change("Send a callback again")
                .path("id", "The callback's id")
                .empty(202)
                .errors(&[404]),
        ),
        route(
            "get",
            "/api/v1/rates",
            get(rates::index),
            read("What keys may deliver that have no rate of their own").answer(200, "Rates"),
        ),
        route(
            "put",
            "/api/v1/rates/{keys}",
            put(rates::set),
            change("Set the usual rate of live or of test keys, at once")
                .path_of("keys", &key_kinds, "Which keys")
                .body("RateRule")
                .empty(204)
                .errors(body_errors)
                .errors(&[404]),
        ),
        route(
            "get",
            "/api/v1/retention",
            get(retention::index),
            read("Days that content is kept, by type").answer(200, "Retention"),
        ),
        route(
            "put",
            "/api/v1/retention/{type}",
            put(retention::set),
            change("Keep content of a type for so many days")
                .path_of("type", &kinds, "The type of delivery")
                .body("RetentionRule")
                .empty(204)
                .errors(body_errors),
        ),
        route(
            "post",
            "/api/v1/retention/run",
            post(retention::run),
            change("Erase now what the rules say").answer(200, "Erased"),
        ),
    ]
}

fn link_routes() -> Vec<Route> {
    let human = |summary| doc(summary).tag("link").auth(Auth::Human);
    let device = |summary| human(summary).path("agent_id", "The agent");
    vec![
        route(
            "get",
            "/wss",
            get(link::open::open),
            doc("The relay's WebSocket; what is said on it is in docs/wakelink.md")
                .tag("link")
                .header("Upgrade", "websocket")
                .empty(101)
                .errors(&[426, 429]),
        ),
        route(
            "post",
            "/api/v1/auth/session",
            post(sessions::open),
            human("A session token for the relay, from a wl_ token; shown this once")
                .answer(201, "LinkSession"),
        ),
        route(
            "post",
            "/api/v1/auth/session/end",
            post(sessions::end),
            human("End a session token of your own; it opens nothing from then on")
                .body("SessionEnd")
                .empty(204)
                .errors(&[400, 408, 413, 415, 422]),
        ),
        route(
            "post",
            "/api/v1/me/token",
            post(sessions::rotate),
            human("A new token for yourself, which replaces the old one and ends its sessions; a page's session must send its person's password")
                .answer(201, "UserToken")
                .errors(&[400, 403, 404, 408, 409, 413, 415, 422, 429]),
        ),
        route(
            "post",
            "/api/v1/agents",
            post(devices::create),
            human("A new agent of yours that is a device, with its token")
                .body("NewDevice")
                .answer(201, "DeviceToken")
                .errors(&[400, 404, 408, 409, 413, 415, 422]),
        ),
        route(
            "get",
            "/api/v1/agents/{agent_id}",
            get(agents::show),
            device("One agent").answer(200, "Agent").errors(&[404]),
        ),
        route(
            "delete",
            "/api/v1/agents/{agent_id}",
            delete(devices::remove),
            device("Take an agent away; nothing opens with it from now on")
                .empty(204)
                .errors(&[404, 409]),
        ),
        route(
            "get",
            "/api/v1/agents/{agent_id}/export",
            get(devices::export),
            device("The device token of an agent of yours; that it was read is on the trail")
                .answer(200, "DeviceToken")
                .errors(&[404, 409]),
        ),
        route(
            "post",
            "/api/v1/agents/{agent_id}/rotate-token",
            post(devices::rotate),
            device("A new device token for an agent of yours; the old one is out at once")
                .answer(201, "DeviceToken")
                .errors(&[404, 409]),
        ),
    ]
}

fn trail_routes() -> Vec<Route> {
    let read = |summary| doc(summary).tag("trail").auth(Auth::Human);
    let owner = |summary| doc(summary).tag("trail").auth(Auth::Owner);
    vec![
        route(
            "get",
            "/api/v1/trail",
            get(trail::index),
            read("Entries of the trail, newest first")
                .query("agent_id", "string", "Only this agent's stream")
                .query("stream", "string", "Only this stream, such as admin")
                .query("event_type", "string", "Only this type")
                .query("actor", "string", "Only what this one did")
                .query(
                    "q",
                    "string",
                    "A delivery's id, or a text that the entry holds",
                )
                .query("since", "string", "Not before this moment")
                .query("until", "string", "Before this moment")
                .query("cursor", "string", "next_cursor of the page before")
                .query_number("limit", 1, 200, LIMIT)
                .answer(200, "TrailPage")
                .errors(&[422]),
        ),
        route(
            "get",
            "/api/v1/trail/{position}/proof",
            get(trail::proof),
            read("The proof of one entry")
                .path("position", "Its place in the log")
                .answer(200, "Receipt")
                .errors(&[404]),
        ),
        route(
            "get",
            "/api/v1/trail/consistency",
            get(trail::consistency),
            read("That an older log is the beginning of this one")
                .query("from", "integer", "The older log's size")
                .answer(200, "Consistency")
                .errors(&[404, 422]),
        ),
        route(
            "get",
            "/api/v1/trail/verification",
            get(trail::verification),
            owner("How far a verification of the log is, and how the last one ended")
                .answer(200, "Verification"),
        ),
        route(
            "post",
            "/api/v1/trail/verification",
            post(trail::verify),
            owner("Verify the whole log, unless that is being done")
                .answer(202, "Verification")
                .errors(&[409]),
        ),
        route(
            "post",
            "/api/v1/trail/export",
            post(trail::export),
            owner("The whole log with all content, to be verified offline")
                .content(200, "application/jsonl")
                .errors(&[409]),
        ),
        route(
            "get",
            "/checkpoint",
            get(trail::checkpoint),
            doc("The log's signed checkpoint")
                .tag("trail")
                .content(200, "text/plain; charset=utf-8")
                .errors(&[404]),
        ),
        route(
            "get",
            "/checkpoint/key",
            get(trail::key),
            doc("The key that checkpoints are verified with")
                .tag("trail")
                .content(200, "text/plain; charset=utf-8"),
        ),
        route(
            "get",
            "/presence",
            get(trail::presence),
            doc("Proof that this server holds the log's key")
                .tag("trail")
                .query(
                    "nonce",
                    "string",
                    "32 random bytes as 64 hex digits; zeros if not given",
                )
                .content(200, "text/plain; charset=utf-8")
                .errors(&[422]),
        ),
    ]
}

fn operation_routes() -> Vec<Route> {
    let open = |summary| doc(summary).tag("operations");
    vec![
        route(
            "get",
            "/healthz",
            get(operations::healthz),
            open("The process answers").content(200, "text/plain; charset=utf-8"),
        ),
        route(
            "get",
            "/readyz",
            get(operations::readyz),
            open("It can do its work").content(200, "text/plain; charset=utf-8"),
        ),
        route(
            "get",
            "/metrics",
            get(operations::metrics),
            open("Counters for Prometheus")
                .content(200, "text/plain; version=0.0.4; charset=utf-8"),
        ),
        route(
            "get",
            "/openapi.json",
            get(operations::openapi),
            open("This document").content(200, "application/json"),
        ),
    ]
}

pub fn router(app: App) -> Router {
    let mut router = Router::new();
    for route in all() {
        router = router.route(route.path, route.handler);
    }
    router
        .merge(pages::router())
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
        .with_state(app)
}

async fn not_found(uri: Uri, headers: HeaderMap) -> Response {
    let astray = wake::astray::problem(uri.path());
    to_whom(&headers, astray.unwrap_or_else(Problem::not_found)).await
}

async fn wrong_method(headers: HeaderMap) -> Response {
    let detail = "This address does not take that method. See /openapi.json.";
    let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, Code::WrongMethod, detail);
    to_whom(&headers, problem).await
}

/// A browser shows a page; a program reads a problem.
async fn to_whom(headers: &HeaderMap, problem: Problem) -> Response {
    let accepts = headers.get(header::ACCEPT);
    let accepts = accepts.and_then(|accepts| accepts.to_str().ok());
    match accepts.is_some_and(|accepts| accepts.contains("text/html")) {
        true => pages::in_words(problem.into_response()).await,
        false => problem.into_response(),
    }
}
