//! How a request may arrive. Plain HTTP is for this machine alone; behind a
//! proxy the proxy must have spoken HTTPS; everything else is refused, never
//! redirected.

use std::{
    net::{IpAddr, Ipv4Addr},
    time::Instant,
};

use axum::{
    Router,
    extract::Request,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use tower::Service as _;

use crate::{App, Problem, body::Lent, metrics::Route, routes};

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

/// What stands around the routes of one listener: whether a request may arrive,
/// how long it took, and headers that keep a browser from running, framing or
/// sniffing what is only data.
#[derive(Clone, Debug)]
pub struct Door {
    app: App,
    router: Router,
    listener: Listener,
    address: IpAddr,
}

impl Door {
    pub fn new(app: App, listener: Listener) -> Door {
        Door {
            router: routes::router(app.clone()),
            app,
            listener,
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        }
    }

    /// The same, for a connection from `address`.
    pub fn to(&self, address: IpAddr) -> Door {
        Door {
            address: address.to_canonical(),
            ..self.clone()
        }
    }

    pub async fn answer(mut self, mut request: Request) -> Response {
        let started = Instant::now();
        let route = Route::of(request.uri().path());
        let lent = Lent::of(&mut request);
        let mut response = match self.peer(&request) {
            Ok(peer) => {
                request.extensions_mut().insert(peer);
                let Ok(response) = self.router.call(request).await;
                response
            }
            Err(problem) => problem.into_response(),
        };
        match lent {
            Some(lent) if is_refusal(response.status()) => lent.discard().await,
            _ => {}
        }
        let headers = response.headers_mut();
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        headers.insert(
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
        );
        headers
            .entry(header::CACHE_CONTROL)
            .or_insert(HeaderValue::from_static("no-store"));
        let metrics = &self.app.metrics;
        metrics.observe(route, response.status(), started.elapsed());
        response
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

const FORWARDING: [&str; 4] = [
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-proto",
    "x-real-ip",
];

fn plain(address: IpAddr, request: &Request) -> Result<Peer, Problem> {
    let forwarded = FORWARDING
        .iter()
        .any(|name| request.headers().contains_key(*name));
    match address.is_loopback() && !forwarded && names_loopback(request) {
        true => Ok(Peer {
            address,
            local: false,
        }),
        false => Err(insecure()),
    }
}

/// A page on another site can make a browser here send requests; the name it
/// used shows in `Host`.
fn names_loopback(request: &Request) -> bool {
    let from_header = request
        .headers()
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let authority = request
        .uri()
        .authority()
        .map(|authority| authority.as_str());
    let Some(host) = authority.or(from_header) else {
        return false;
    };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

fn behind_proxy(app: &App, address: IpAddr, headers: &HeaderMap) -> Result<Peer, Problem> {
    let is_proxy = |address: IpAddr| app.settings.proxies.iter().any(|net| net.contains(address));
    if !is_proxy(address) {
        let detail = "Requests must come through this server's proxy.";
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "not_through_proxy",
            detail,
        ));
    }
    let scheme = headers
        .get("x-forwarded-proto")
        .and_then(|proto| proto.to_str().ok());
    if scheme != Some("https") {
        return Err(insecure());
    }
    // The rightmost address that is not ours: what is left of it anyone can write.
    let hops = headers
        .get_all("x-forwarded-for")
        .iter()
        .filter_map(|hops| hops.to_str().ok());
    let hops: Vec<IpAddr> = hops
        .flat_map(|hops| hops.split(','))
        .filter_map(|hop| hop.trim().parse().ok())
        .collect();
    let client = hops
        .into_iter()
        .rev()
        .find(|hop| !is_proxy(*hop))
        .unwrap_or(address);
    Ok(Peer {
        address: client.to_canonical(),
        local: false,
    })
}

fn insecure() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "https_required",
        "Use https://. Plain HTTP is accepted only from this machine itself, by a loopback name.",
    )
}
