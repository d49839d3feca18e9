//! The body that starts a run.

use serde_json::{Value, json};
use wacp::{
    Principal, Run, escalation,
    gate::config::{Fallback, Highway},
    role::Taxonomy,
    wire::{
        Context, Defaults,
        names::Anything,
        start::{self, LIMITS, Start},
    },
};

use super::door::Cellar;

fn read(body: Value) -> Result<Start, String> {
    let (body, contents) = start::prepare(body).map_err(|fault| fault.to_string())?;
    let mut cellar = Cellar::default();
    cellar.keep(contents);
    let context = Context {
        run: &Run::default(),
        by: Principal::Runtime,
        names: &Anything,
        shelf: &cellar,
        defaults: Defaults {
            limits: LIMITS,
            ..Defaults::default()
        },
    };
    start::read(&context, "planner", &body).map_err(|fault| fault.to_string())
}

#[test]
fn little_need_be_said_and_the_rest_is_recommended() {
    let started = read(json!({"directive": "Recommend one."})).unwrap();
    assert_eq!(&*started.run.agent, "planner");
    assert_eq!(started.run.highway, Highway::supervised());
    assert_eq!(started.run.limits, LIMITS);
    assert_eq!(started.run.taxonomy, Taxonomy::base());
    assert_eq!(
        (started.name, started.owner, started.meter),
        (None, None, None)
    );
    for preset in ["autonomous", "supervised", "gated"] {
        let body = json!({"directive": "x", "highway": preset, "name": preset});
        let table = json!({"directive": "x", "highway": {"preset": preset}, "name": preset});
        assert_eq!(read(body), read(table));
    }
}

#[test]
fn a_table_changes_what_it_names() {
    let started = read(json!({"directive": "x", "owner": "ann", "meter": "counter",
        "limits": {"idle_timeout": "5m", "max_open_workspaces": 7},
        "taxonomy": {"id": "mine", "checkpoint_types": ["review"], "roles": [{"name": "critic",
            "extends": "worker", "add": ["read_assigned", {"create": "review"}],
            "remove": [{"send": "query"}]}]},
        "highway": {"preset": "supervised",
            "integration": {"timeout": "4h", "fallback": "reject"},
            "workspace_abort": {"timeout": null},
            "escalation": {"timeout": "1h", "fallback": "delegate"},
            "injection": true, "visibility": false}}))
    .unwrap();
    let highway = started.run.highway;
    assert_eq!(highway.integration.timeout_us, Some(4 * 3_600_000_000));
    assert_eq!(highway.integration.fallback, Fallback::Reject);
    assert!(highway.workspace_abort.enabled && highway.workspace_abort.timeout_us.is_none());
    assert_eq!(highway.task_approval, Highway::supervised().task_approval);
    let escalation = highway.escalation;
    assert_eq!(
        escalation.fallback,
        escalation::Fallback::DelegateToCoordinator
    );
    assert!(highway.injection && !highway.visibility);
    assert_eq!(started.run.limits.idle_timeout_us, 300_000_000);
    assert_eq!(started.run.limits.max_open_workspaces, 7);
    assert_eq!(
        started.run.limits.redelivery_base_us,
        LIMITS.redelivery_base_us
    );
    assert!(started.run.taxonomy.resolve().is_ok());
    assert_eq!(started.run.taxonomy.roles[0].add.len(), 2);
    assert_eq!(started.owner.as_deref(), Some("ann"));
    assert_eq!(started.meter.as_deref(), Some("counter"));
}

#[test]
fn what_no_run_starts_with_is_refused_with_its_place() {
    for (body, says) in [
        (json!([]), "an object"),
        (json!({"highway": "gated"}), "\"directive\" is missing"),
        (json!({"directive": "x", "goal": "x"}), "\"goal\""),
        (
            json!({"directive": "x", "highway": "open"}),
            "\"highway\" must be one of autonomous",
        ),
        (
            json!({"directive": "x", "highway": {"budget": {}}}),
            "\"budget\"",
        ),
        (
            json!({"directive": "x", "highway": {"integration": {"fallback": "wait"}}}),
            "\"highway/integration/fallback\" must be one of approve",
        ),
        (
            json!({"directive": "x", "limits": {"states": 1}}),
            "\"states\"",
        ),
        (
            json!({"directive": "x", "taxonomy": {"roles": [{"name": "a"}]}}),
            "\"extends\" is missing",
        ),
        (
            json!({"directive": "x", "taxonomy": {"roles": [{"name": "a", "extends": "worker",
            "add": [{"emit": "bored"}]}]}}),
            "taxonomy/roles/0/add/0",
        ),
    ] {
        let fault = read(body.clone()).unwrap_err();
        assert!(fault.contains(says), "{body}: {fault}");
    }
    let keys: Vec<_> = start::keys().iter().map(|key| key.name).collect();
    assert_eq!(
        keys,
        [
            "name",
            "directive",
            "highway",
            "limits",
            "taxonomy",
            "owner",
            "meter"
        ]
    );
}
