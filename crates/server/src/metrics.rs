//! Counters in Prometheus' text form. A handful of atomics: nothing to keep up,
//! nothing that grows.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use axum::http::StatusCode;

use crate::App;

/// Upper bounds of the latency buckets, in microseconds.
const BOUNDS: [u64; 10] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 500_000, 2_500_000, 10_000_000,
];

/// Routes told apart; the rest is "other", so a stranger cannot make new series.
#[derive(Clone, Copy, Debug)]
pub enum Route {
    Deliver,
    Response,
    Responses,
    Api,
    Other,
}

impl Route {
    /// What each is called, in their order.
    const NAMES: [&str; 5] = [
        "/wake/v1/deliver",
        "/wake/v1/response/{delivery_id}",
        "/wake/v1/responses",
        "/api/v1",
        "other",
    ];

    pub fn of(path: &str) -> Route {
        match path {
            "/wake/v1/deliver" => Route::Deliver,
            "/wake/v1/responses" => Route::Responses,
            _ if path.starts_with("/wake/v1/response/") => Route::Response,
            _ if path.starts_with("/api/v1/") => Route::Api,
            _ => Route::Other,
        }
    }
}

#[derive(Debug, Default)]
pub struct Metrics {
    routes: [Answered; Route::NAMES.len()],
    pub callbacks_delivered: AtomicU64,
    pub callbacks_failed: AtomicU64,
}

#[derive(Debug, Default)]
struct Answered {
    /// By the first digit of the status: 1xx to 5xx.
    statuses: [AtomicU64; 5],
    buckets: [AtomicU64; BOUNDS.len() + 1],
    total_micros: AtomicU64,
}

impl Metrics {
    pub fn observe(&self, route: Route, status: StatusCode, took: Duration) {
        let answered = &self.routes[route as usize];
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        let bucket = BOUNDS
            .iter()
            .position(|bound| micros <= *bound)
            .unwrap_or(BOUNDS.len());
        answered.statuses[class].fetch_add(1, Relaxed);
        answered.buckets[bucket].fetch_add(1, Relaxed);
        answered.total_micros.fetch_add(micros, Relaxed);
    }
}

/// The whole page.
pub fn render(app: &App) -> String {
    let mut page = String::with_capacity(4096);
    head(
        &mut page,
        "wakeful_requests_total",
        "counter",
        "Requests by route and class of status.",
    );
    for (name, answered) in Route::NAMES.iter().zip(&app.metrics.routes) {
        for (class, count) in (1..).zip(&answered.statuses) {
            let count = count.load(Relaxed);
            if count > 0 {
                let _ = writeln!(
                    page,
                    "wakeful_requests_total{{route=\"{name}\",status=\"{class}xx\"}} {count}"
                );
            }
        }
    }
    head(
        &mut page,
        "wakeful_request_seconds",
        "histogram",
        "Time to answer, by route.",
    );
    for (name, answered) in Route::NAMES.iter().zip(&app.metrics.routes) {
        let mut below = 0;
        for (bound, count) in BOUNDS.iter().zip(&answered.buckets) {
            below += count.load(Relaxed);
            let bound = *bound as f64 / 1e6;
            let _ = writeln!(
                page,
                "wakeful_request_seconds_bucket{{route=\"{name}\",le=\"{bound}\"}} {below}"
            );
        }
        let all = below + answered.buckets[BOUNDS.len()].load(Relaxed);
        let sum = answered.total_micros.load(Relaxed) as f64 / 1e6;
        let _ = writeln!(
            page,
            "wakeful_request_seconds_bucket{{route=\"{name}\",le=\"+Inf\"}} {all}\n\
             wakeful_request_seconds_sum{{route=\"{name}\"}} {sum}\n\
             wakeful_request_seconds_count{{route=\"{name}\"}} {all}"
        );
    }
    let shared = app.shared();
    let health = &shared.health;
    let size = *shared.size().borrow();
    let degraded = u64::from(health.is_degraded());
    for (name, kind, help, value) in [
        (
            "wakeful_trail_entries",
            "gauge",
            "Entries in the log.",
            size,
        ),
        (
            "wakeful_commands_total",
            "counter",
            "Commands the writer took.",
            health.commands.load(Relaxed),
        ),
        (
            "wakeful_commits_total",
            "counter",
            "Durable commits.",
            health.commits.load(Relaxed),
        ),
        (
            "wakeful_failed_commits_total",
            "counter",
            "Commits that failed.",
            health.failed_commits.load(Relaxed),
        ),
        (
            "wakeful_degraded",
            "gauge",
            "1 while storage fails.",
            degraded,
        ),
        (
            "wakeful_link_connections",
            "gauge",
            "Connections to the relay.",
            app.link.connections() as u64,
        ),
        (
            "wakeful_event_streams",
            "gauge",
            "Live event streams that are open.",
            app.feed.watching() as u64,
        ),
        (
            "wakeful_callbacks_delivered_total",
            "counter",
            "Callbacks delivered.",
            app.metrics.callbacks_delivered.load(Relaxed),
        ),
        (
            "wakeful_callbacks_failed_total",
            "counter",
            "Attempts that failed.",
            app.metrics.callbacks_failed.load(Relaxed),
        ),
    ] {
        head(&mut page, name, kind, help);
        let _ = writeln!(page, "{name} {value}");
    }
    page
}

fn head(page: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}");
}
