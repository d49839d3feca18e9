//! How a request may arrive. Plain HTTP is for this machine alone; behind a
//! proxy the proxy must have spoken HTTPS; everything else is refused, never
//! redirected.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Instant,
};

use axum::{
    Router,
    extract::{FromRequestParts, Request},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use tower::Service as _;

use crate::{
    App, Problem, auth, body::Lent, code::Code, crowd::Guest, metrics::Route, pages, routes,
    strangers, visit::Visit,
};

/// A browser that has reached this server by HTTPS asks for nothing without it
/// for a year (RFC 6797). Other names below this host are not ours to speak for.
const HSTS: &str = "max-age=31536000";

/// How the listener that accepted a connection protects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    Tls,
    Plain,
    /// The owner-only socket in the data directory.
    Local,
}

/// Who is at the other end.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    pub address: IpAddr,
    /// Came through the owner-only socket.
    pub local: bool,
}

impl FromRequestParts<App> for Peer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Peer, Problem> {
        Visit::peer(parts).ok_or_else(Problem::internal)
    }
}

/// What stands around the routes of one listener: whether a request may arrive,
/// how long it took, and headers that keep a browser from running, framing or
/// sniffing what is only data.
#[derive(Clone, Debug)]
pub struct Door {
    app: App,
    router: Router,
    listener: Listener,
    address: IpAddr,
    guest: Option<Arc<Guest>>,
}

impl Door {
    pub fn new(app: App, listener: Listener) -> Door {
        Door {
            router: routes::router(app.clone()),
            app,
            listener,
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            guest: None,
        }
    }

    /// The same, for a connection from `address`.
    pub fn to(&self, address: IpAddr, guest: &Arc<Guest>) -> Door {
        Door {
            address: address.to_canonical(),
            guest: Some(Arc::clone(guest)),
            ..self.clone()
        }
    }

    pub async fn answer(&self, mut request: Request) -> Response {
        let started = Instant::now();
        let key = pages::in_address::take(&mut request);
        let route = Route::of(request.uri().path());
        let lent = Lent::of(&mut request);
        let https = self.is_https(request.headers());
        let framed = one_framing(&request).and_then(|()| one_host(&request));
        let ambiguous = framed.is_err();
        let peer = framed.and_then(|()| self.peer(&request));
        let mut visit = None;
        let mut response = match peer {
            Ok(peer) => {
                let visit = visit.insert(Visit::of(peer, self.guest.as_ref()));
                self.enter(visit, peer, &request);
                request.extensions_mut().insert(visit.clone());
                self.route(request, visit).await
            }
            Err(problem) => problem.into_response(),
        };
        if let Some(key) = &key {
            response = pages::in_address::put_back(key, response).await;
        }
        if let Some(visit) = visit {
            response = visit.count(&self.app, response).await;
        }
        match lent {
            // Where such a request ends is not known.
            _ if ambiguous => {
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(header::CONNECTION, close);
            }
            Some(lent) if is_refusal(response.status()) => lent.discard().await,
            _ => {}
        }
        let headers = response.headers_mut();
        if https {
            let value = HeaderValue::from_static(HSTS);
            headers.insert(header::STRICT_TRANSPORT_SECURITY, value);
        }
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        let policy = "default-src 'none'; frame-ancestors 'none'";
        for (name, value) in [
            (header::CONTENT_SECURITY_POLICY, policy),
            (header::CACHE_CONTROL, "no-store"),
        ] {
            let value = HeaderValue::from_static(value);
            headers.entry(name).or_insert(value);
        }
        let metrics = &self.app.metrics;
        metrics.observe(route, response.status(), started.elapsed());
        response
    }

    /// Whether a request came by HTTPS: to us, or to the proxy in front.
    fn is_https(&self, headers: &HeaderMap) -> bool {
        let proxied = !self.app.settings.proxies.is_empty();
        match self.listener {
            Listener::Local => false,
            Listener::Tls => true,
            Listener::Plain => proxied && every_hop_was_https(headers),
        }
    }

    /// Behind a proxy it is requests that are counted for an address, until it
    /// is known whose they are.
    fn enter(&self, visit: &Visit, peer: Peer, request: &Request) {
        if self.app.settings.proxies.is_empty() || peer.local {
            return;
        }
        // Whoever is known does not make room for strangers.
        if !auth::is_known(request, &self.app) {
            visit.is_strangers(self.app.limits.strangers.enter(peer.address));
        }
    }

    /// The answer of the routes, unless a stranger has to make room for another.
    async fn route(&self, request: Request, visit: &Visit) -> Response {
        let leave = visit.leave();
        let answer = self.router.clone().call(request);
        let Some(leave) = leave else {
            let Ok(response) = answer.await;
            return response;
        };
        tokio::select! {
            biased;
            Ok(response) = answer => response,
            () = leave.notified() => strangers::too_many().into_response(),
        }
    }

    fn peer(&self, request: &Request) -> Result<Peer, Problem> {
        let address = self.address;
        match self.listener {
            Listener::Local => Ok(Peer {
                address,
                local: true,
            }),
            _ if !self.app.settings.proxies.is_empty() => {
                behind_proxy(&self.app, address, request.headers())
            }
            Listener::Tls => Ok(Peer {
                address,
                local: false,
            }),
            Listener::Plain => plain(address, request),
        }
    }
}

/// Whether a request may have been refused before its body was read. One that
/// was too slow has had its time.
fn is_refusal(status: StatusCode) -> bool {
    (status.is_client_error() || status.is_server_error()) && status != StatusCode::REQUEST_TIMEOUT
}

/// Headers by which proxies say that they stand in between, beside those that
/// start with `x-forwarded-`.
const FORWARDING: [&str; 6] = [
    "forwarded",
    "via",
    "x-real-ip",
    "x-client-ip",
    "true-client-ip",
    "cf-connecting-ip",
];

fn is_forwarding(name: &HeaderName) -> bool {
    name.as_str().starts_with("x-forwarded-") || FORWARDING.contains(&name.as_str())
}

fn plain(address: IpAddr, request: &Request) -> Result<Peer, Problem> {
    let forwarded = request.headers().keys().any(is_forwarding);
    match address.is_loopback() && !forwarded && names_loopback(request) {
        true => Ok(Peer {
            address,
            local: false,
        }),
        false => Err(insecure()),
    }
}

/// RFC 9112, 6.1: a request has a length or is chunked, once. hyper takes a list
/// of codings that ends in `chunked`; a proxy may read the same list another way,
/// and what one of the two takes for a body is a request to the other.
fn one_framing(request: &Request) -> Result<(), Problem> {
    let mut codings = request.headers().get_all(header::TRANSFER_ENCODING).iter();
    let is_chunked = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"chunked");
    match codings.next().is_none_or(is_chunked) && codings.next().is_none() {
        true => Ok(()),
        false => {
            let detail = "Send a Content-Length, or \"Transfer-Encoding: chunked\" once.";
            Err(Problem::new(
                StatusCode::BAD_REQUEST,
                Code::AmbiguousLength,
                detail,
            ))
        }
    }
}

/// RFC 9112, 3.2: of two names for the same server one is a lie.
fn one_host(request: &Request) -> Result<(), Problem> {
    match request.headers().get_all(header::HOST).iter().count() {
        0 | 1 => Ok(()),
        _ => {
            let detail = "The request has more than one Host header. Send one.";
            let problem = Problem::new(StatusCode::BAD_REQUEST, Code::TwoHosts, detail);
            Err(problem.field(Some("Host")))
        }
    }
}

/// A page on another site can make a browser here send requests; the name it
/// used shows in `Host`.
fn names_loopback(request: &Request) -> bool {
    let from_header = request
        .headers()
        .get(header::HOST)
        .map(|host| host.to_str().unwrap_or_default());
    let authority = request
        .uri()
        .authority()
        .map(|authority| authority.as_str());
    // Each of those that are there: they are for different readers.
    let mut names = from_header.into_iter().chain(authority).peekable();
    names.peek().is_some() && names.all(is_loopback)
}

/// Whether a name and perhaps a port, read to the last byte, is this machine.
fn is_loopback(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, "")) => (address.parse().map(IpAddr::V6), None),
            Some((address, rest)) => (address.parse().map(IpAddr::V6), Some(rest)),
            None => return false,
        },
        None => match host.split_once(':') {
            Some((name, _)) => (name.parse().map(IpAddr::V4), Some(&host[name.len()..])),
            None => (host.parse().map(IpAddr::V4), None),
        },
    };
    let is_port = |port: &str| {
        let digits = port.strip_prefix(':').unwrap_or_default();
        digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u16>().is_ok()
    };
    let is_localhost = || {
        let name = host.split(':').next().unwrap_or_default();
        name.eq_ignore_ascii_case("localhost")
    };
    port.is_none_or(is_port) && name.map_or_else(|_| is_localhost(), |name| name.is_loopback())
}

fn behind_proxy(app: &App, address: IpAddr, headers: &HeaderMap) -> Result<Peer, Problem> {
    let is_proxy = |address: IpAddr| app.settings.proxies.iter().any(|net| net.contains(address));
    let secret = app.settings.proxy_secret.as_ref();
    if !is_proxy(address) || !secret.is_none_or(|secret| secret.is_proved(headers)) {
        let detail = "Requests must come through this server's proxy.";
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            Code::NotThroughProxy,
            detail,
        ));
    }
    if !every_hop_was_https(headers) {
        return Err(insecure());
    }
    let client = client(address, headers, is_proxy);
    Ok(Peer {
        address: client.to_canonical(),
        local: false,
    })
}

/// Each proxy may say it in a header of its own or at the end of a list.
fn every_hop_was_https(headers: &HeaderMap) -> bool {
    let mut schemes = headers.get_all("x-forwarded-proto").iter().peekable();
    let https = |scheme: &str| scheme.trim().eq_ignore_ascii_case("https");
    schemes.peek().is_some()
        && schemes.all(|list| list.to_str().is_ok_and(|list| list.split(',').all(https)))
}

/// The rightmost address that is not ours: what is left of it anyone can
/// write. A hop that cannot be read ends the search, or whoever wrote it could
/// hide behind what is left of it.
fn client(peer: IpAddr, headers: &HeaderMap, is_proxy: impl Fn(IpAddr) -> bool) -> IpAddr {
    let lists = headers.get_all("x-forwarded-for").iter().rev();
    let hops = lists.flat_map(|list| list.to_str().unwrap_or_default().rsplit(','));
    let mut client = peer;
    for hop in hops {
        match address(hop.trim()) {
            Some(hop) => client = hop,
            None => break,
        }
        if !is_proxy(client) {
            break;
        }
    }
    client
}

/// An address, which some proxies write with the port.
fn address(hop: &str) -> Option<IpAddr> {
    let with_port = || hop.parse().map(|socket: SocketAddr| socket.ip());
    let bracketed = || hop.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    hop.parse().or_else(|_| with_port()).ok().or_else(bracketed)
}

fn insecure() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        Code::HttpsRequired,
        "Use https://. Plain HTTP is accepted only from this machine itself, by a loopback name.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_name_of_this_machine_is_loopback() {
        for host in [
            "localhost",
            "LocalHost:1",
            "127.0.0.1",
            "127.255.0.9:65535",
            "[::1]",
            "[0:0:0:0:0:0:0:1]:7377",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            ":",
            ":80",
            "[::1",
            "[::1].evil.com",
            "[::1]:",
            "[::1]:80@evil.com",
            "[]",
            "[localhost]",
            "[127.0.0.1]",
            "[::ffff:127.0.0.1]",
            "[::1%lo]",
            "::1",
            "localhost:1@evil.com",
            "localhost:",
            "localhost:+1",
            "localhost:65536",
            "localhost:1:1",
            "localhost.",
            " localhost",
            "localhost.evil.com",
            "127.0.0.1.evil.com",
            "127.1",
            "evil.com@127.0.0.1",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    fn headers(name: &'static str, values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn the_client_is_the_last_hop_that_is_no_proxy_and_nobody_hides_behind_nonsense() {
        let peer: IpAddr = "10.0.0.1".parse().unwrap();
        let ours = |address: IpAddr| address.to_string().starts_with("10.");
        for (values, expected) in [
            (&[][..], "10.0.0.1"),
            (&["203.0.113.7"], "203.0.113.7"),
            (&["6.6.6.6, 203.0.113.7:4444"], "203.0.113.7"),
            (&["6.6.6.6", "203.0.113.7, 10.1.1.1"], "203.0.113.7"),
            (&["6.6.6.6, [2001:db8::7]:4444, 10.1.1.1:80"], "2001:db8::7"),
            (&["6.6.6.6, [2001:db8::7]"], "2001:db8::7"),
            (&["6.6.6.6, unknown, 10.1.1.1"], "10.1.1.1"),
            (&["6.6.6.6, unknown"], "10.0.0.1"),
            (&["6.6.6.6,"], "10.0.0.1"),
            (&["6.6.6.6", ""], "10.0.0.1"),
            (&["10.2.2.2, 10.1.1.1"], "10.2.2.2"),
        ] {
            let headers = headers("x-forwarded-for", values);
            let found = client(peer, &headers, ours);
            assert_eq!(found.to_string(), expected, "{values:?}");
        }
    }

    #[test]
    fn every_proxy_must_have_been_reached_by_https() {
        for (values, expected) in [
            (&[][..], false),
            (&["https"], true),
            (&["HTTPS"], true),
            (&["https, https"], true),
            (&["https", "https"], true),
            (&["http"], false),
            (&["https, http"], false),
            (&["http, https"], false),
            (&["https", "http"], false),
            (&["http", "https"], false),
            (&["https,"], false),
            (&[""], false),
        ] {
            let headers = headers("x-forwarded-proto", values);
            assert_eq!(every_hop_was_https(&headers), expected, "{values:?}");
        }
    }
}
