//! Reading: what doors and pages show, put together from rows. Nothing here
//! waits for the writer.

use std::sync::Arc;

use serde_json::value::RawValue;
use store::{
    AnswerRow, Aside, DeliveryRow, EntryQuery, EntryRow, Erased, InboxFilter, InboxQuery, Lane,
    StreamQuery, SweepQuery,
};
use trail::{
    Hash, Header, Micros, Stream,
    entry::{FACTS, commitment},
};
use uuid::Uuid;
use wake::{Status, event::DeliveryReceived, response::Response, sweep::Sweep};

use crate::{event::Event, project, shared::Shared};

/// A delivery in the words of the doors.
#[derive(Clone, Debug)]
pub struct Row {
    pub row: DeliveryRow,
    pub agent_id: Arc<str>,
}

impl Row {
    /// Whether an owner may erase its content now.
    pub fn may_be_erased(&self) -> bool {
        crate::decide::may_erase_by_hand(&self.row)
    }

    /// Whether something that an agent would be told of it is gone.
    pub fn is_erased(&self) -> bool {
        is_erased(self.status(), self.row.erased)
    }

    /// What it is called in the inbox.
    pub fn item(&self) -> inbox::ItemId {
        inbox::ItemId::Delivery(self.row.id)
    }

    pub fn standing(&self) -> inbox::Standing {
        crate::decide::standing(&self.row)
    }

    pub fn kind(&self) -> wake::Kind {
        project::kind(self.row.kind)
    }

    pub fn status(&self) -> Status {
        project::status(self.row.status)
    }

    pub fn details_format(&self) -> Option<wake::DetailsFormat> {
        self.row.details_format.and_then(project::format)
    }

    pub fn held(&self) -> Option<(&str, inbox::Verdict, Micros)> {
        let hold = self.row.hold.as_ref()?;
        Some((hold.by.as_str(), project::verdict(hold.status), hold.until))
    }
}

/// What an agent is told: whose delivery it was, whether it waits, and the bytes.
#[derive(Clone, Debug)]
pub struct Told {
    pub agent_id: Arc<str>,
    pub status: Status,
    pub body: Vec<u8>,
}

/// One page of a sweep, ready to be sent.
#[derive(Clone, Debug)]
pub struct SweepAnswer {
    /// The deliveries as JSON, with commas between them.
    pub deliveries: Vec<u8>,
    pub total: u64,
    pub has_more: bool,
    pub next_since: Option<Micros>,
}

#[derive(Clone, Debug)]
pub struct InboxAnswer {
    pub rows: Vec<Row>,
    pub next: Option<u64>,
    /// Items that belong here, were changed by someone else and are not given.
    pub changed: usize,
}

/// What an inbox request asks for.
#[derive(Clone, Debug, Default)]
pub struct InboxAsk {
    pub agent_id: Option<String>,
    pub kinds: Vec<wake::Kind>,
    pub statuses: Vec<Status>,
    pub test: Option<bool>,
    pub search: Option<String>,
    pub aside: Option<Aside>,
    pub before: Option<u64>,
    pub limit: usize,
}

impl Shared {
    pub fn row(&self, row: DeliveryRow) -> Row {
        Row {
            agent_id: self.agents().id(row.stream),
            row,
        }
    }

    pub async fn delivery(&self, id: Uuid) -> store::Result<Option<Row>> {
        Ok(self.store.delivery(id).await?.map(|row| self.row(row)))
    }

    /// Deliveries whose ids begin so, in the order of their ids.
    pub async fn deliveries_with(
        &self,
        prefix: wake::IdPrefix,
        limit: usize,
    ) -> store::Result<Vec<Row>> {
        let rows = self.store.deliveries_within(prefix.range(), limit).await?;
        Ok(rows.into_iter().map(|row| self.row(row)).collect())
    }

    /// The answer to a delivery as it stands.
    pub async fn response(&self, id: Uuid) -> store::Result<Option<Told>> {
        let Some(row) = self.store.response(id).await? else {
            return Ok(None);
        };
        let mut body = Vec::with_capacity(192);
        self.write_response(&row, &mut body)?;
        Ok(Some(Told {
            agent_id: self.agents().id(row.stream),
            status: project::status(row.status),
            body,
        }))
    }

    /// The one place where an answer becomes the bytes that an agent gets.
    fn write_response(&self, answer: &AnswerRow, body: &mut Vec<u8>) -> store::Result<()> {
        let status = project::status(answer.status);
        let position = answer.answer_position.unwrap_or_default();
        let feedback = self.text(position, "feedback", &answer.feedback)?;
        let edited = self.text(position, "edited_content", &answer.edited_content)?;
        Response {
            delivery_id: answer.id,
            status,
            feedback: feedback.as_deref(),
            edited_content: edited.as_deref(),
            responded_at: (status != Status::Pending).then_some(answer.changed_at),
            content_erased: is_erased(status, answer.erased),
        }
        .write(body);
        Ok(())
    }

    /// Opens a stored text; it is JSON, exactly as it was received.
    fn text(&self, position: u64, name: &str, stored: &Option<Vec<u8>>) -> store::Result<Text> {
        let Some(stored) = stored else {
            return Ok(None);
        };
        let plain = self.vault.open_part(position, name, stored);
        let text = plain.and_then(|bytes| String::from_utf8(bytes.into_owned()).ok());
        let value = text.and_then(|text| RawValue::from_string(text).ok());
        let damaged = || store::Error::Damaged(format!("part {name} of entry {position}"));
        value.map(Some).ok_or_else(damaged)
    }

    /// An erasable part, opened; `None` if it was erased or never there.
    pub async fn part(&self, position: u64, name: &str) -> store::Result<Text> {
        match self.store.entry(position).await? {
            Some(entry) => self.part_of(&entry, name),
            None => Ok(None),
        }
    }

    /// Everything that was written at length about a delivery: what a person sees
    /// before they decide. None of it is missing that was not erased.
    pub async fn content(&self, row: &DeliveryRow) -> store::Result<Content> {
        let entry = self.entry_at(row.no).await?;
        let mut content = Content {
            received: received(&entry)?,
            details: None,
            feedback: None,
            edited_content: None,
        };
        match row.erased {
            Erased::All => return Ok(content),
            Erased::BeforeAnswer => {}
            Erased::Nothing => content.details = self.whole_part(&entry, "details")?,
        }
        if let Some(position) = row.answer_position {
            let answer = self.entry_at(position).await?;
            content.feedback = self.whole_part(&answer, "feedback")?;
            content.edited_content = self.whole_part(&answer, "edited_content")?;
        }
        Ok(content)
    }

    async fn entry_at(&self, position: u64) -> store::Result<EntryRow> {
        let found = self.store.entry(position).await?;
        found.ok_or_else(|| not_recorded(&format!("entry {position}")))
    }

    /// A part that is there if its entry has one.
    fn whole_part(&self, entry: &EntryRow, name: &str) -> store::Result<Text> {
        let damaged = || not_recorded(&format!("{name} of entry {}", entry.position));
        Header::read(&entry.header).ok_or_else(damaged)?;
        let part = self.part_of(entry, name)?;
        match part.is_none() && committed(entry, name).is_some() {
            true => Err(damaged()),
            false => Ok(part),
        }
    }

    /// A part that is still there, and is what its entry committed to.
    fn part_of(&self, entry: &EntryRow, name: &str) -> store::Result<Text> {
        let Some(part) = entry.parts.iter().find(|part| part.name == name) else {
            return Ok(None);
        };
        let plain = self.vault.open_part(entry.position, name, &part.bytes);
        let given = plain.map(|plain| commitment(&part.salt, &plain));
        if given.is_none() || given != committed(entry, name) {
            return Err(not_recorded(&format!("{name} of entry {}", entry.position)));
        }
        self.text(entry.position, name, &Some(part.bytes.clone()))
    }

    /// One sweep over the agents that a key may read.
    pub async fn sweep(&self, sweep: &Sweep, key: &account::Key) -> store::Result<SweepAnswer> {
        let agents = self.agents();
        let all = std::iter::once(&key.agent_id).chain(&key.orchestrates);
        let mut streams: Vec<u64> = all
            .filter(|agent_id| {
                sweep
                    .agent_id
                    .as_ref()
                    .is_none_or(|asked| asked == *agent_id)
            })
            .filter_map(|agent_id| agents.stream(agent_id))
            .collect();
        streams.sort_unstable();
        streams.dedup();
        let lanes = streams.iter().flat_map(|stream| {
            let statuses = sweep
                .statuses
                .iter()
                .map(|status| project::status_code(*status));
            statuses.map(|status| Lane {
                stream: *stream,
                status,
            })
        });
        let query = SweepQuery {
            lanes: lanes.collect(),
            since: sweep.since,
            limit: sweep.limit,
        };
        let page = self.store.sweep(query).await?;
        let mut deliveries = Vec::with_capacity(200 * page.rows.len());
        for (place, row) in page.rows.iter().enumerate() {
            if place > 0 {
                deliveries.push(b',');
            }
            self.write_response(row, &mut deliveries)?;
        }
        Ok(SweepAnswer {
            has_more: page.total > page.rows.len() as u64,
            next_since: page.rows.last().map(|row| row.changed_at).or(sweep.since),
            total: page.total,
            deliveries,
        })
    }

    pub async fn inbox(&self, ask: InboxAsk) -> store::Result<InboxAnswer> {
        let stream = match &ask.agent_id {
            None => None,
            Some(agent_id) => match self.agents().stream(agent_id) {
                Some(stream) => Some(stream),
                None => {
                    return Ok(InboxAnswer {
                        rows: Vec::new(),
                        next: None,
                        changed: 0,
                    });
                }
            },
        };
        let filter = InboxFilter {
            stream,
            kinds: ask.kinds.into_iter().map(project::kind_code).collect(),
            statuses: ask.statuses.into_iter().map(project::status_code).collect(),
            test: ask.test,
            search: ask.search,
            aside: ask.aside,
        };
        let query = InboxQuery {
            filter,
            before: ask.before,
            limit: ask.limit,
        };
        let page = self.store.inbox(query).await?;
        let rows = page.rows.into_iter().map(|row| self.row(row)).collect();
        Ok(InboxAnswer {
            rows,
            next: page.next,
            changed: page.changed,
        })
    }

    /// Entries about one delivery, by its number. Each is what was recorded, and
    /// about this one: people look at them before they decide. (Whoever looks
    /// through the whole trail has it verified.)
    pub async fn history(&self, delivery: u64) -> store::Result<Vec<Entry>> {
        let rows = self.store.history(delivery).await?;
        let id = rows.first().and_then(received_id);
        let id = id.map(|id| id.to_string()).unwrap_or_default();
        let proven = rows.into_iter().map(|row| {
            let given = commitment(&row.facts_salt, &row.facts);
            let entry = match committed(&row, FACTS) == Some(given) {
                true => self.entry(row)?,
                false => return Err(not_recorded(&format!("entry {}", row.position))),
            };
            match !id.is_empty() && entry.facts.get().contains(&id) {
                true => Ok(entry),
                false => Err(store::Error::Damaged(format!(
                    "history: entry {} is not about delivery {delivery}; run `wakeful trail rebuild`",
                    entry.position
                ))),
            }
        });
        proven.collect()
    }

    pub async fn entries(&self, query: EntryQuery) -> store::Result<Vec<Entry>> {
        self.store
            .entries(query)
            .await?
            .into_iter()
            .map(|row| self.entry(row))
            .collect()
    }

    /// Entries of one stream, newest first, and where the next page starts.
    pub async fn stream_entries(
        &self,
        stream: u64,
        from: Option<u64>,
        limit: usize,
    ) -> store::Result<(Vec<Entry>, Option<u64>)> {
        let query = StreamQuery {
            stream,
            from,
            limit,
        };
        let rows = self.store.stream_entries(query).await?;
        let next = rows
            .last()
            .filter(|_| rows.len() == limit)
            .and_then(|row| row.prev);
        let entries = rows
            .into_iter()
            .map(|row| self.entry(row))
            .collect::<store::Result<_>>()?;
        Ok((entries, next))
    }

    fn entry(&self, row: EntryRow) -> store::Result<Entry> {
        let damaged = || not_recorded(&format!("entry {}", row.position));
        let header = Header::read(&row.header).ok_or_else(damaged)?;
        let facts = std::str::from_utf8(&row.facts).map_err(|_| damaged())?;
        let facts = RawValue::from_string(facts.to_owned()).map_err(|_| damaged())?;
        Ok(Entry {
            position: row.position,
            stream: header.stream.clone().into_owned(),
            seq: row.seq,
            time: header.time,
            actor: header.actor.clone().into_owned(),
            event_type: header.event_type.clone().into_owned(),
            entry_hash: row.entry_hash,
            facts,
        })
    }

    /// The hash of someone's password, if they have set one.
    pub async fn password(&self, name: &str) -> store::Result<Option<String>> {
        let name = crate::decide::password_name(name);
        let Some(sealed) = self.store.secret(&name).await? else {
            return Ok(None);
        };
        let plain = self.vault.open_secret(&name, &sealed);
        let text = plain.and_then(|plain| String::from_utf8(plain).ok());
        let damaged = || store::Error::Damaged(format!("the secret {name}"));
        text.map(Some).ok_or_else(damaged)
    }

    pub fn seal_password(&self, name: &str, hash: &str) -> std::io::Result<Vec<u8>> {
        let name = crate::decide::password_name(name);
        self.vault.seal_secret(&name, hash.as_bytes())
    }

    /// Counts of wrong passwords from before the last stop, if they can be opened.
    pub async fn sign_in_tries(&self) -> store::Result<Option<Vec<u8>>> {
        let name = crate::decide::SIGN_IN_TRIES;
        let sealed = self.store.secret(name).await?;
        Ok(sealed.and_then(|sealed| self.vault.open_secret(name, &sealed)))
    }

    pub fn seal_sign_in_tries(&self, tries: &[u8]) -> std::io::Result<Vec<u8>> {
        self.vault.seal_secret(crate::decide::SIGN_IN_TRIES, tries)
    }

    /// What passed to and from devices, as far as it is on the trail.
    pub async fn relayed(&self) -> store::Result<Vec<store::RelayedRow>> {
        self.store.relayed().await
    }

    /// A device's token, if there is one and it can still be opened.
    pub async fn device_token(
        &self,
        agent_id: &str,
    ) -> store::Result<Option<zeroize::Zeroizing<String>>> {
        let name = crate::decide::device_name(agent_id);
        let sealed = self.store.secret(&name).await?;
        let Some(sealed) = sealed.filter(|sealed| !sealed.is_empty()) else {
            return Ok(None);
        };
        let plain = self.vault.open_secret(&name, &sealed);
        let text = plain.and_then(|plain| String::from_utf8(plain).ok());
        let damaged = || store::Error::Damaged(format!("the token of {agent_id}"));
        text.map(|text| Some(zeroize::Zeroizing::new(text)))
            .ok_or_else(damaged)
    }

    pub fn seal_device_token(&self, agent_id: &str, token: &str) -> std::io::Result<Vec<u8>> {
        let name = crate::decide::device_name(agent_id);
        self.vault.seal_secret(&name, token.as_bytes())
    }

    /// An agent's webhook secrets: the current one, and one being phased out.
    pub async fn webhook_secrets(&self, agent_id: &str) -> store::Result<Option<WebhookSecrets>> {
        let name = crate::decide::secret_name(agent_id);
        let Some(sealed) = self.store.secret(&name).await? else {
            return Ok(None);
        };
        let damaged = || store::Error::Damaged(format!("the webhook secret of {agent_id}"));
        let plain = self.vault.open_secret(&name, &sealed).ok_or_else(damaged)?;
        serde_json::from_slice(&plain)
            .map(Some)
            .map_err(|_| damaged())
    }

    pub fn seal_webhook_secrets(
        &self,
        agent_id: &str,
        secrets: &WebhookSecrets,
    ) -> std::io::Result<Vec<u8>> {
        let plain = zeroize::Zeroizing::new(serde_json::to_vec(secrets)?);
        self.vault
            .seal_secret(&crate::decide::secret_name(agent_id), &plain)
    }
}

/// Whether something that an agent would be told is gone: the texts of an answer,
/// or, while there is none, what it delivered.
fn is_erased(status: Status, erased: Erased) -> bool {
    match status {
        Status::Pending => erased != Erased::Nothing,
        _ => erased == Erased::All,
    }
}

/// JSON as it was received.
pub type Text = Option<Box<RawValue>>;

/// A delivery as it was received, and what was written at length about it, as far
/// as there is any. A field that no list needs has no column: it is read here.
#[derive(Debug)]
pub struct Content {
    pub received: DeliveryReceived,
    pub details: Text,
    pub feedback: Text,
    pub edited_content: Text,
}

fn not_recorded(what: &str) -> store::Error {
    store::Error::Damaged(format!(
        "{what} is not what was recorded; run `wakeful trail verify`"
    ))
}

/// What an entry says was received, and committed to.
fn received(row: &EntryRow) -> store::Result<DeliveryReceived> {
    let damaged = || not_recorded(&format!("entry {}", row.position));
    let given = commitment(&row.facts_salt, &row.facts);
    match committed(row, FACTS) == Some(given) {
        true => serde_json::from_slice(&row.facts).map_err(|_| damaged()),
        false => Err(damaged()),
    }
}

/// The delivery that an entry received.
fn received_id(row: &EntryRow) -> Option<Uuid> {
    #[derive(serde::Deserialize)]
    struct Received {
        delivery_id: Uuid,
    }
    let received: Received = serde_json::from_slice(&row.facts).ok()?;
    Some(received.delivery_id)
}

/// What an entry's header says of a part.
fn committed(entry: &EntryRow, name: &str) -> Option<Hash> {
    let header = Header::read(&entry.header)?;
    let part = header.parts.iter().find(|part| part.name == name)?;
    Some(part.commitment)
}

/// An entry as people read it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Entry {
    pub position: u64,
    pub stream: String,
    pub seq: u64,
    pub time: Micros,
    pub actor: String,
    pub event_type: String,
    pub entry_hash: trail::Hash,
    pub facts: Box<RawValue>,
}

impl Entry {
    /// What it says, if it is of a kind that this version knows.
    pub fn event(&self) -> Option<Event> {
        let stream = Stream::parse(&self.stream)?;
        Event::read(&stream, &self.event_type, self.facts.get().as_bytes()).ok()
    }
}

/// The old secret signs beside the new one for a day after a rotation.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
pub struct WebhookSecrets {
    pub current: String,
    pub previous: Option<(String, Micros)>,
}

impl std::fmt::Debug for WebhookSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WebhookSecrets(…)")
    }
}

impl WebhookSecrets {
    pub const OVERLAP_SECONDS: i64 = 24 * 3600;

    pub fn new(secret: String) -> WebhookSecrets {
        WebhookSecrets {
            current: secret,
            previous: None,
        }
    }

    pub fn rotate(self, secret: String, now: Micros) -> WebhookSecrets {
        let until = now.plus_seconds(Self::OVERLAP_SECONDS);
        WebhookSecrets {
            current: secret,
            previous: Some((self.current, until)),
        }
    }

    /// The secrets that sign now, the current one first.
    pub fn signing(&self, now: Micros) -> impl Iterator<Item = &str> {
        let previous = self.previous.as_ref().filter(|(_, until)| now < *until);
        std::iter::once(self.current.as_str()).chain(previous.map(|(secret, _)| secret.as_str()))
    }
}
