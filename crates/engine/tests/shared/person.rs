//! People who may answer, as accounts recognise them that know nobody else. The
//! engine looks again whether they still may.

use account::{Presented, Reviewer};
use inbox::{Person, event::Channel};
use trail::Micros;

pub fn person(name: &str, channel: Channel) -> Person {
    let token = account::secret::hash(name);
    let create = account::Command::CreateUser {
        name: name.to_owned(),
        role: None,
        token_id: "t".to_owned(),
        token_hash: token,
    };
    let (mut state, now) = (account::State::default(), Micros(1));
    for event in account::decide(&state, &create, now).unwrap() {
        state.apply(&event, now);
    }
    let reviewer = Reviewer::recognise(&state, Presented::Token(token), now);
    Person::new(reviewer.unwrap(), channel)
}
