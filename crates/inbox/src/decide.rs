//! First answer wins; a held answer can be undone by its author alone; a timer
//! makes it final.

use account::Reviewer;
use trail::Micros;

use crate::{
    ItemId, Verdict,
    answer::Request,
    breaks::{self, Break},
    event::{AnswerHeld, AnswerUndone, Channel, DeliveryAnswered, Event},
};

/// Someone who may answer, and the way they came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    by: Reviewer,
    channel: Channel,
}

impl Person {
    pub fn new(by: Reviewer, channel: Channel) -> Person {
        Person { by, channel }
    }

    pub fn name(&self) -> &str {
        self.by.name()
    }

    /// Whether the secret they came with still says so.
    pub fn is_still(&self, accounts: &account::State, now: Micros) -> bool {
        self.by.is_still(accounts, now)
    }
}

/// Where an item stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    Open,
    Held {
        by: String,
        channel: Channel,
        verdict: Verdict,
        until: Micros,
    },
    Answered {
        by: String,
        verdict: Verdict,
        at: Micros,
    },
}

/// Why a decision cannot be taken any more, or by this person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    #[error("{by} already answered this: {}. The first answer stands.", .verdict.as_str())]
    AlreadyAnswered {
        by: String,
        verdict: Verdict,
        at: Micros,
    },
    #[error("{by} is answering this: {}. It becomes final at {until}.", .verdict.as_str())]
    HeldByAnother {
        by: String,
        verdict: Verdict,
        until: Micros,
    },
    #[error("You have answered this: {}. Undo it before you answer otherwise.", .verdict.as_str())]
    HeldByYou { verdict: Verdict, until: Micros },
    #[error("There is nothing to undo: no answer is being held.")]
    NothingHeld,
    #[error(
        "It waits for an answer. Once that is final, or its time is over, its content can be erased."
    )]
    StillOpen,
}

impl Rejection {
    pub fn code(&self) -> &'static str {
        match self {
            Rejection::AlreadyAnswered { .. } => "already_answered",
            Rejection::HeldByAnother { .. } => "held_by_another",
            Rejection::HeldByYou { .. } => "held_by_you",
            Rejection::NothingHeld => "nothing_held",
            Rejection::StillOpen => "still_open",
        }
    }
}

/// A person answers: at once, or held for a while.
pub fn respond(
    item: ItemId,
    standing: &Standing,
    person: &Person,
    request: &Request,
    now: Micros,
) -> Result<Event, Rejection> {
    refuse_unless_open(standing, person)?;
    let ItemId::Delivery(delivery_id) = item;
    let (by, channel) = (person.name().to_owned(), person.channel);
    let status = request.answer.verdict;
    Ok(match request.hold_seconds {
        0 => DeliveryAnswered {
            by,
            channel,
            delivery_id,
            held: false,
            status,
        }
        .into(),
        seconds => {
            let until = now.plus_seconds(seconds);
            AnswerHeld {
                by,
                channel,
                delivery_id,
                status,
                until,
            }
            .into()
        }
    })
}

fn refuse_unless_open(standing: &Standing, person: &Person) -> Result<(), Rejection> {
    match standing.clone() {
        Standing::Open => Ok(()),
        Standing::Answered { .. } if breaks::is_on(Break::SecondAnswer) => Ok(()),
        Standing::Held { .. } if breaks::is_on(Break::AnswerOverHold) => Ok(()),
        Standing::Held {
            by, verdict, until, ..
        } if by == person.name() => Err(Rejection::HeldByYou { verdict, until }),
        Standing::Held {
            by, verdict, until, ..
        } => Err(Rejection::HeldByAnother { by, verdict, until }),
        Standing::Answered { by, verdict, at } => {
            Err(Rejection::AlreadyAnswered { by, verdict, at })
        }
    }
}

/// The author takes a held answer back, as long as it is not final.
pub fn undo(item: ItemId, standing: &Standing, person: &Person) -> Result<Event, Rejection> {
    let ItemId::Delivery(delivery_id) = item;
    match standing {
        Standing::Held { by, .. } if *by == person.name() || breaks::is_on(Break::UndoByAnyone) => {
            Ok(AnswerUndone {
                by: by.clone(),
                delivery_id,
            }
            .into())
        }
        Standing::Open => Err(Rejection::NothingHeld),
        _ => refuse_unless_open(standing, person).and(Err(Rejection::NothingHeld)),
    }
}

/// An answer that was held and has become final.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Final {
    /// Whose answer it is.
    pub by: String,
    pub event: Event,
}

/// The timer: a hold whose time is over becomes the answer, whoever is watching.
pub fn finish(item: ItemId, standing: &Standing, now: Micros) -> Option<Final> {
    let ItemId::Delivery(delivery_id) = item;
    match standing {
        Standing::Held {
            by,
            channel,
            verdict,
            until,
        } if *until <= now.plus_seconds(i64::from(breaks::is_on(Break::HoldEndsEarly))) => {
            let event = DeliveryAnswered {
                by: by.clone(),
                channel: *channel,
                delivery_id,
                held: true,
                status: *verdict,
            };
            Some(Final {
                by: by.clone(),
                event: event.into(),
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;

    const NOW: Micros = Micros(1_000_000);
    const ITEM: ItemId = ItemId::Delivery(uuid::Uuid::nil());

    fn person(name: &str) -> Person {
        let token = account::secret::hash(name);
        let create = account::Command::CreateUser {
            name: name.to_owned(),
            role: None,
            token_id: "t".to_owned(),
            token_hash: token,
        };
        let mut state = account::State::default();
        for event in account::decide(&state, &create, NOW).unwrap() {
            state.apply(&event, NOW);
        }
        let presented = account::Presented::Token(token);
        let reviewer = Reviewer::recognise(&state, presented, NOW).unwrap();
        Person::new(reviewer, Channel::Api)
    }

    fn request(verdict: Verdict, hold_seconds: i64) -> Request {
        Request {
            answer: Answer {
                verdict,
                feedback: None,
                edited_content: None,
            },
            hold_seconds,
        }
    }

    fn held(by: &str) -> Standing {
        Standing::Held {
            by: by.to_owned(),
            channel: Channel::Api,
            verdict: Verdict::Rejected,
            until: NOW.plus_seconds(5),
        }
    }

    #[test]
    fn the_first_answer_stands_and_a_later_one_is_told_whose_it_is() {
        let answered = Standing::Answered {
            by: "ann".into(),
            verdict: Verdict::Approved,
            at: Micros(1),
        };
        for name in ["ann", "bob"] {
            assert_eq!(
                respond(
                    ITEM,
                    &answered,
                    &person(name),
                    &request(Verdict::Rejected, 0),
                    NOW
                ),
                Err(Rejection::AlreadyAnswered {
                    by: "ann".into(),
                    verdict: Verdict::Approved,
                    at: Micros(1)
                })
            );
        }
    }

    #[test]
    fn a_held_answer_keeps_others_out_and_only_its_author_may_undo_it() {
        let ask = request(Verdict::Approved, 0);
        let other = respond(ITEM, &held("ann"), &person("bob"), &ask, NOW).unwrap_err();
        assert_eq!(other.code(), "held_by_another");
        let own = respond(ITEM, &held("ann"), &person("ann"), &ask, NOW).unwrap_err();
        assert_eq!(own.code(), "held_by_you");
        assert_eq!(
            undo(ITEM, &held("ann"), &person("bob")).unwrap_err().code(),
            "held_by_another"
        );
        assert!(undo(ITEM, &held("ann"), &person("ann")).is_ok());
        assert_eq!(
            undo(ITEM, &Standing::Open, &person("ann")),
            Err(Rejection::NothingHeld)
        );
    }

    #[test]
    fn a_hold_becomes_final_when_its_time_is_over_and_not_before() {
        assert_eq!(finish(ITEM, &held("ann"), NOW), None);
        let answered = finish(ITEM, &held("ann"), NOW.plus_seconds(5)).unwrap();
        assert_eq!(answered.by, "ann");
        assert!(matches!(answered.event, Event::DeliveryAnswered(facts) if facts.held));
        assert_eq!(finish(ITEM, &Standing::Open, NOW), None);
    }
}
