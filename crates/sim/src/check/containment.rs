//! What a child may see, change and use is part of what its parent may
//! (WACP §6.5).

use std::sync::Arc;

use wacp::{
    Entry, Event, Principal, Run,
    id::WorkspaceId,
    query::access,
    role::Text,
    workspace::{
        Seen,
        budget::{Budget, Dimension},
        visibility::sees,
    },
};

use super::{Checker, Verdict, View, ensure};

#[derive(Debug)]
struct Node {
    parent: Option<WorkspaceId>,
    sees: Vec<Seen>,
    changes: Vec<Text>,
    budget: Budget,
}

#[derive(Debug, Default)]
pub struct Containment {
    /// By number.
    nodes: Vec<Node>,
}

fn within(outer: &str, inner: &str) -> bool {
    inner == outer || (outer.ends_with('/') && inner.starts_with(outer))
}

impl Containment {
    fn node(&self, id: WorkspaceId) -> Result<&Node, String> {
        let node = self.nodes.get(id.0 as usize);
        node.ok_or_else(|| format!("{id} was never created"))
    }

    /// The root may everything.
    fn parent_of(&self, id: WorkspaceId) -> Result<Option<(WorkspaceId, &Node)>, String> {
        match self.node(id)?.parent {
            None | Some(WorkspaceId::ROOT) => Ok(None),
            Some(parent) => Ok(Some((parent, self.node(parent)?))),
        }
    }

    fn stands_under(&self, id: WorkspaceId, above: WorkspaceId) -> bool {
        let mut at = Some(id);
        while let Some(id) = at {
            if id == above {
                return true;
            }
            at = self.nodes.get(id.0 as usize).and_then(|node| node.parent);
        }
        false
    }

    fn check_sight(&self, id: WorkspaceId, seen: &[Seen]) -> Verdict {
        let Some((above, parent)) = self.parent_of(id)? else {
            return Ok(());
        };
        for seen in seen {
            let listed = parent.sees.iter().any(|known| match (known, seen) {
                (Seen::Resource(outer), Seen::Resource(inner)) => within(outer, inner),
                _ => known == seen,
            });
            let otherwise = match seen {
                Seen::Workspace(target) => self.stands_under(*target, above),
                // Authority is over one's own; a list is over everyone's.
                Seen::Resource(_) => false,
            };
            ensure(listed || otherwise, || {
                format!("{id} sees {seen:?} and its parent {above} does not")
            })?;
        }
        Ok(())
    }

    fn check_authority(&self, id: WorkspaceId, changes: &[Text]) -> Verdict {
        let Some((above, parent)) = self.parent_of(id)? else {
            return Ok(());
        };
        for inner in changes {
            let held = parent.changes.iter().any(|outer| within(outer, inner));
            ensure(held, || {
                format!("{id} may change {inner} and its parent {above} may not")
            })?;
        }
        Ok(())
    }

    fn check_budget(&self, id: WorkspaceId) -> Verdict {
        let Some((above, parent)) = self.parent_of(id)? else {
            return Ok(());
        };
        let own = self.node(id)?.budget;
        for dimension in Dimension::ALL {
            let (limit, outer) = (own.limit(dimension), parent.budget.limit(dimension));
            let fits = outer.is_none_or(|outer| limit.is_some_and(|limit| limit <= outer));
            ensure(fits, || {
                format!("{id} may use {limit:?} of {dimension:?}, its parent {above} {outer:?}")
            })?;
        }
        Ok(())
    }

    /// Whether it sees a workspace by the lists, each of which counts as far
    /// as the one above it.
    fn has_sight(&self, id: WorkspaceId, target: WorkspaceId) -> bool {
        id == WorkspaceId::ROOT
            || self.stands_under(target, id)
            || self.node(id).is_ok_and(|node| {
                node.sees.contains(&Seen::Workspace(target))
                    && node
                        .parent
                        .is_none_or(|above| self.has_sight(above, target))
            })
    }

    /// Whatever moved since: who reads a workspace has a parent that may.
    fn check_reading(&self, run: &Run, id: WorkspaceId) -> Verdict {
        let Some((above, _)) = self.parent_of(id)? else {
            return Ok(());
        };
        for seen in &self.node(id)?.sees {
            if let Seen::Workspace(target) = seen {
                let reads = sees(run, id, *target)
                    || access::scope(run, Principal::Agent(id)).contains(run, Some(*target));
                ensure(
                    !reads || *target == id || self.has_sight(above, *target),
                    || format!("{id} reads {target} and its parent {above} does not"),
                )?;
            }
        }
        Ok(())
    }

    /// All of it, as it stands.
    fn check(&self, id: WorkspaceId) -> Verdict {
        let node = self.node(id)?;
        self.check_sight(id, &node.sees)?;
        self.check_authority(id, &node.changes)?;
        self.check_budget(id)
    }

    fn change(&mut self, id: WorkspaceId, change: impl FnOnce(&mut Node)) -> Verdict {
        match self.nodes.get_mut(id.0 as usize) {
            Some(node) => {
                change(node);
                Ok(())
            }
            None => Err(format!("{id} was never created")),
        }
    }
}

impl Checker for Containment {
    fn claim(&self) -> &'static str {
        "a child sees, changes and uses no more than its parent"
    }

    fn interval(&mut self, view: &View<'_>) -> Verdict {
        let ids = (0..self.nodes.len() as u32).map(WorkspaceId);
        for id in ids.filter(|id| view.run.open(*id).is_some()) {
            self.check_reading(view.run, id)?;
        }
        Ok(())
    }

    fn entry(&mut self, entry: &Entry) -> Verdict {
        match &entry.event {
            Event::WorkspaceCreated(e) => {
                self.nodes.push(Node {
                    parent: e.parent,
                    sees: e.visibility.to_vec(),
                    changes: Arc::clone(&e.authority).to_vec(),
                    budget: e.budget,
                });
                self.check(e.workspace)
            }
            Event::VisibilityGranted(e) => {
                self.check_sight(e.workspace, &e.targets)?;
                self.check_authority(e.workspace, &e.authority)?;
                self.change(e.workspace, |node| {
                    node.sees.extend(e.targets.iter().cloned());
                    node.changes.extend(e.authority.iter().cloned());
                })
            }
            Event::BudgetModified(e) => {
                let limit = Some(e.new_limit);
                self.change(e.workspace, |node| {
                    *node.budget.limit_mut(e.dimension) = limit
                })?;
                self.check_budget(e.workspace)
            }
            Event::WorkspaceReparented(e) => {
                self.change(e.workspace, |node| node.parent = Some(e.new_parent))?;
                self.check(e.workspace)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::history, *};
    use wacp::event::WorkspaceCreated;

    /// Changes the first workspace created below another than the root.
    fn created(change: fn(&mut WorkspaceCreated)) {
        history::objects::<Containment>(|entry| match &mut entry.event {
            Event::WorkspaceCreated(e) if e.parent.is_some_and(|id| id != WorkspaceId::ROOT) => {
                change(e);
                true
            }
            _ => false,
        });
    }

    #[test]
    fn a_child_with_more_than_its_parent_is_seen() {
        created(|e| e.authority = Arc::from([Text::from("/")]));
        created(|e| e.visibility = Arc::from([Seen::Workspace(WorkspaceId(u32::MAX))]));
        created(|e| e.visibility = Arc::from([Seen::Resource(Text::from("keys/"))]));
    }

    #[test]
    fn a_child_without_its_parents_limit_is_seen() {
        history::doctored::<Containment>(|entries| {
            let child = entries.iter().find_map(|entry| match &entry.event {
                Event::WorkspaceCreated(e) => e.parent.filter(|id| *id != WorkspaceId::ROOT),
                _ => None,
            });
            for entry in entries {
                if let Event::WorkspaceCreated(e) = &mut entry.event
                    && Some(e.workspace) == child
                {
                    e.budget.cost_limit_micros = Some(0);
                    return true;
                }
            }
            false
        });
    }

    #[test]
    fn a_grant_of_more_than_the_parent_has_is_seen() {
        let mut checker = Containment::default();
        let deep = |id: &WorkspaceId| *id != WorkspaceId::ROOT;
        let world = history::such(400, |world| {
            let mut slots = world.run.workspaces.iter();
            slots.any(|slot| slot.parent().as_ref().is_some_and(deep))
        });
        for entry in world.log.iter() {
            assert_eq!(checker.entry(entry), Ok(()));
        }
        let below = checker.nodes.iter().position(|node| {
            node.parent
                .is_some_and(|parent| parent != WorkspaceId::ROOT)
        });
        let id = WorkspaceId(below.unwrap() as u32);
        assert!(checker.check_authority(id, &[Text::from("/")]).is_err());
        assert!(
            checker
                .check_sight(id, &[Seen::Workspace(WorkspaceId(u32::MAX))])
                .is_err()
        );
    }
}
