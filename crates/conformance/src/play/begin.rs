//! What a scenario is given: a run, people, and workspaces in their states.

use serde_json::{Value, json};
use trail::Micros;
use wacp::{
    Command, Principal,
    id::{EnvelopeId, WorkspaceId},
    user::Capability,
    workspace::NewRun,
};

use super::{BEGINS, Player};
use crate::{
    Outcome, broken,
    file::{Given, Start},
    order::{self, Names},
};

impl Player {
    pub(super) fn begin(&mut self, given: &Given) -> Outcome<()> {
        self.now = Micros(BEGINS);
        self.names.insert("root".into(), "w0".into());
        let taxonomy = order::taxonomy(given.taxonomy.as_ref())?;
        let registered = |names: &mut Names, list: Vec<&str>| {
            for (at, name) in list.into_iter().enumerate() {
                names.insert(name.to_owned(), format!("taxonomy/{at}"));
            }
        };
        registered(
            &mut self.names,
            taxonomy.roles.iter().map(|role| &*role.name).collect(),
        );
        registered(
            &mut self.names,
            taxonomy.envelope_types.iter().map(|name| &**name).collect(),
        );
        registered(
            &mut self.names,
            taxonomy
                .checkpoint_types
                .iter()
                .map(|name| &**name)
                .collect(),
        );
        if given.run == Start::NotStarted {
            return Ok(());
        }
        let new = NewRun {
            agent: "coordinator-1".into(),
            directive: wacp::content::Content::markdown("the goal"),
            highway: order::highway(given.highway.as_ref())?,
            limits: order::limits(given.limits.as_ref())?,
            taxonomy,
        };
        self.must(Principal::Runtime, Command::StartRun(Box::new(new)))?;
        for (at, name) in ["ann", "bob"].into_iter().enumerate() {
            self.must(
                Principal::Operator,
                Command::CreateUser { name: name.into() },
            )?;
            self.names.insert(name.into(), format!("u{at}"));
        }
        for capability in Capability::ALL {
            let user = wacp::id::UserId(1);
            self.must(
                Principal::Operator,
                Command::GrantCapability { user, capability },
            )?;
        }
        self.table(json!({"by": "root", "do": "emit", "signal": "ready"}))?;
        self.must(
            Principal::Runtime,
            Command::Acknowledge {
                workspace: WorkspaceId::ROOT,
                envelope: EnvelopeId(0),
            },
        )?;
        Ok(())
    }

    fn table(&mut self, order: Value) -> Outcome<()> {
        match order {
            Value::Object(table) => self.order(&table, true),
            _ => broken("an order is a table"),
        }
    }

    /// Brings a new worker of the root into a state.
    pub(super) fn workspace(&mut self, name: &str, state: &str) -> Outcome<()> {
        let done = json!([{"resource": format!("src/{name}"), "content": "1"}]);
        let complete = |player: &mut Player| {
            player.table(
                json!({"by": name, "do": "create_checkpoint", "artifacts": done,
                "names": {"checkpoint": format!("{name}.checkpoint")}}),
            )?;
            player.table(json!({"by": name, "do": "emit", "signal": "complete"}))
        };
        self.table(json!({"by": "coordinator", "do": "create_workspace",
            "names": {"workspace": name}}))?;
        if state == "idle" {
            return Ok(());
        }
        let directive = format!("{name}.directive");
        self.table(json!({"by": "coordinator", "do": "send", "to": name,
            "names": {"envelope": directive}}))?;
        self.table(
            json!({"by": "runtime", "do": "acknowledge", "workspace": name,
            "envelope": directive}),
        )?;
        match state {
            "active" => Ok(()),
            "blocked" => self
                .table(json!({"by": name, "do": "emit", "signal": "blocked", "reason": "waiting"})),
            "suspended" => {
                self.table(json!({"by": "coordinator", "do": "suspend", "workspace": name}))
            }
            "migrating" => {
                self.table(json!({"by": "coordinator", "do": "migrate", "workspace": name}))
            }
            "integrating" => complete(self),
            "conflicted" => {
                complete(self)?;
                self.table(
                    json!({"by": "coordinator", "do": "accept", "workspace": name,
                    "strategy": "evaluated", "conflicts": [{"type": "semantic_contradiction"}],
                    "names": {"conflict": format!("{name}.conflict")}}),
                )
            }
            "closed" => {
                complete(self)?;
                self.table(json!({"by": "coordinator", "do": "accept", "workspace": name}))
            }
            "failed" => self
                .table(json!({"by": name, "do": "emit", "signal": "failed", "reason": "it broke"})),
            other => broken(format!("no state is called `{other}`")),
        }
    }
}
