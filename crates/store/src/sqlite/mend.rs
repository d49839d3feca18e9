//! Everything about the log that follows from the headers of its entries, made
//! anew: links, numbers, hashes, ends of streams, block roots, the head. What is
//! signed decides: if the headers do not give the root of the checkpoint, nothing
//! is changed, and the longest beginning that holds can be cut off instead.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use trail::{
    Checkpoint, Hash, Header, Micros,
    entry::{self, FACTS},
    merkle::{Frontier, Subtree, leaf_hash},
};

use crate::{
    Error, HeadRow, Mended, Prefix, Result, RowSeal,
    sqlite::{check, failed, records, sealed},
};

/// How a row of the log should read.
struct Right {
    position: u64,
    stream: u64,
    seq: u64,
    prev: Option<u64>,
    entry_hash: Hash,
}

/// One stream as the entries tell it.
struct Told {
    no: u64,
    next_seq: u64,
    head: Option<Hash>,
    last: Option<u64>,
}

/// What a walk along the headers found.
#[derive(Default)]
struct Walk {
    tree: Frontier,
    subtrees: Vec<Subtree>,
    streams: HashMap<String, Told>,
    wrong: Vec<Right>,
    last_time: Option<Micros>,
    /// Before the first entry whose stored hash is another: the tree, the time of
    /// the entry before it.
    before_first_wrong_hash: Option<(Frontier, Option<Micros>)>,
    /// Why it ended before the end.
    fault: Option<String>,
    /// When as many entries were passed as the checkpoint counts.
    at_signed: Option<(Frontier, Option<Micros>)>,
}

impl Walk {
    fn along(connection: &Connection, signed: Option<u64>) -> rusqlite::Result<Walk> {
        let mut walk = Walk::default();
        let mut numbers = Numbers::read(connection)?;
        let mut find = connection.prepare(
            "SELECT position, stream, seq, prev, header, entry_hash, facts_salt, facts
             FROM entries ORDER BY position",
        )?;
        let mut rows = find.query([])?;
        while let Some(row) = rows.next()? {
            let place = walk.tree.size();
            if signed == Some(place) {
                walk.at_signed = Some((walk.tree.clone(), walk.last_time));
            }
            let position = records::number(row, 0)?;
            if position != place {
                walk.fault = Some(format!("entry {place} is not there"));
                break;
            }
            let header_bytes = row.get_ref(4)?.as_bytes()?;
            let header = Header::read(header_bytes);
            let salt: Option<[u8; 32]> = row.get(6).ok();
            let facts = row.get_ref(7)?.as_bytes()?;
            let header = header.filter(|header| {
                let named = header.parts.iter().find(|part| part.name == FACTS);
                let given = salt.map(|salt| entry::commitment(&salt, facts));
                named.is_some() && named.map(|named| named.commitment) == given
            });
            let Some(header) = header else {
                walk.fault = Some(format!("entry {place} is not what was recorded"));
                break;
            };
            if walk.last_time.is_some_and(|last| header.time <= last) {
                walk.fault = Some(format!("the time of entry {place} is not later"));
                break;
            }
            let stored = row.get::<_, [u8; 32]>(5).ok().map(Hash);
            let row = (
                records::number(row, 1)?,
                records::number(row, 2)?,
                row.get::<_, Option<i64>>(3)?.map(|prev| prev as u64),
                stored,
            );
            walk.take(&header, header_bytes, row, &mut numbers);
        }
        Ok(walk)
    }

    fn take(
        &mut self,
        header: &Header<'_>,
        bytes: &[u8],
        row: (u64, u64, Option<u64>, Option<Hash>),
        numbers: &mut Numbers,
    ) {
        let position = self.tree.size();
        if !self.streams.contains_key(&*header.stream) {
            let told = Told {
                no: numbers.of(&header.stream, row.0),
                next_seq: 0,
                head: None,
                last: None,
            };
            self.streams.insert(header.stream.to_string(), told);
        }
        let Some(stream) = self.streams.get_mut(&*header.stream) else {
            return;
        };
        let local = entry::local_hash(bytes);
        let right = Right {
            position,
            stream: stream.no,
            seq: stream.next_seq,
            prev: stream.last,
            entry_hash: entry::entry_hash(stream.head, stream.next_seq, local),
        };
        if row.3 != Some(right.entry_hash) && self.before_first_wrong_hash.is_none() {
            self.before_first_wrong_hash = Some((self.tree.clone(), self.last_time));
        }
        stream.next_seq += 1;
        stream.head = Some(right.entry_hash);
        stream.last = Some(position);
        let subtrees = &mut self.subtrees;
        self.tree
            .push(leaf_hash(&right.entry_hash), |block| subtrees.push(block));
        self.last_time = Some(header.time);
        if row != (right.stream, right.seq, right.prev, Some(right.entry_hash)) {
            self.wrong.push(right);
        }
    }
}

/// Numbers of streams: those of their rows, as far as they fit.
struct Numbers {
    known: HashMap<String, u64>,
    taken: HashSet<u64>,
}

impl Numbers {
    fn read(connection: &Connection) -> rusqlite::Result<Numbers> {
        let known = connection
            .prepare("SELECT name, no FROM streams")?
            .query_map([], |row| Ok((row.get(0)?, records::number(row, 1)?)))?
            .collect::<rusqlite::Result<HashMap<String, u64>>>()?;
        let taken = HashSet::new();
        Ok(Numbers { known, taken })
    }

    /// The number of a stream whose first entry says that it is `said`.
    fn of(&mut self, name: &str, said: u64) -> u64 {
        let wanted = self.known.get(name).copied().unwrap_or(said);
        let mut no = wanted;
        while !self.taken.insert(no) {
            no += 1;
        }
        no
    }
}

/// The longest beginning of the log that holds, if not all of it does.
pub fn sound_prefix(connection: &Connection) -> Result<Option<Prefix>> {
    let end = check::log_end(connection).map_err(failed)?;
    let signed = end.and_then(|end| Checkpoint::unsigned(&end.head.note));
    let walk = Walk::along(connection, signed.as_ref().map(|signed| signed.size));
    let walk = walk.map_err(failed)?;
    let is_signed = |tree: &Frontier| {
        let found = Some((tree.size(), tree.root()));
        signed.as_ref().map(|signed| (signed.size, signed.root)) == found
    };
    if walk.fault.is_none() && is_signed(&walk.tree) {
        return Ok(None);
    }
    let (tree, last_time, reason) = match (walk.at_signed, walk.before_first_wrong_hash, walk.fault)
    {
        (Some((tree, time)), _, _) if is_signed(&tree) => (
            tree,
            time,
            "entries follow that no checkpoint counts".to_owned(),
        ),
        (_, Some((tree, time)), _) => {
            let reason = format!(
                "entry {} does not give the hash stored with it",
                tree.size()
            );
            (tree, time, reason)
        }
        (_, None, Some(fault)) => (walk.tree, walk.last_time, fault),
        (_, None, None) => {
            return Err(Error::Damaged(
                "the entries do not give the root that was signed, and nothing says which of \
                 them is false; restore a backup"
                    .to_owned(),
            ));
        }
    };
    Ok(Some(Prefix {
        size: tree.size(),
        root: tree.root(),
        last_time: last_time.unwrap_or(Micros(0)),
        last_note: None,
        reason,
    }))
}

pub fn log(connection: &mut Connection, seal: &RowSeal) -> Result<Mended> {
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed)?;
    let Some(end) = check::log_end(&transaction).map_err(failed)? else {
        return Ok(Mended::default());
    };
    let walk = Walk::along(&transaction, None).map_err(failed)?;
    if let Some(fault) = walk.fault {
        return Err(Error::Broken(fault));
    }
    let signed = Checkpoint::unsigned(&end.head.note);
    let Some(signed) =
        signed.filter(|signed| (signed.size, signed.root) == (walk.tree.size(), walk.tree.root()))
    else {
        return Err(Error::Broken(
            "its entries do not give the root that was signed".to_owned(),
        ));
    };
    let mut changed = write_all(&transaction, &walk, &end.head, signed.size).map_err(failed)?;
    // What was signed proves them.
    let resealed = sealed::seal_entries(&transaction, seal).map_err(failed)?;
    if resealed > 0 && walk.wrong.is_empty() {
        changed.push("entries".to_owned());
    }
    transaction.commit().map_err(failed)?;
    Ok(Mended { changed })
}

fn write_all(
    transaction: &Transaction<'_>,
    walk: &Walk,
    head: &HeadRow,
    size: u64,
) -> rusqlite::Result<Vec<String>> {
    let mut changed = Vec::new();
    if !walk.wrong.is_empty() {
        changed.push("entries".to_owned());
        let mut mend = transaction.prepare(
            "UPDATE entries SET stream = ?2, seq = ?3, prev = ?4, entry_hash = ?5
             WHERE position = ?1",
        )?;
        for right in &walk.wrong {
            mend.execute(params![
                right.position as i64,
                right.stream as i64,
                right.seq as i64,
                right.prev.map(|prev| prev as i64),
                right.entry_hash.0,
            ])?;
        }
    }
    if streams(transaction, &walk.streams)? {
        changed.push("streams".to_owned());
    }
    if subtrees(transaction, &walk.subtrees)? {
        changed.push("subtrees".to_owned());
    }
    let last_time = walk.last_time.unwrap_or(head.last_time);
    if (head.size, head.last_time) != (size, last_time) {
        changed.push("head".to_owned());
        let mend = "UPDATE head SET size = ?1, last_time = ?2";
        transaction.execute(mend, params![size as i64, last_time.0])?;
    }
    for (table, count) in sealed::remove_changed(transaction)? {
        tracing::error!(table, count, "rows that were changed are removed");
        changed.push(table.to_owned());
    }
    Ok(changed)
}

/// Writes the ends of all streams; true if a row was another.
fn streams(transaction: &Transaction<'_>, told: &HashMap<String, Told>) -> rusqlite::Result<bool> {
    let mut found = HashMap::new();
    let mut find = transaction.prepare("SELECT name, no, next_seq, head, last FROM streams")?;
    let mut rows = find.query([])?;
    while let Some(row) = rows.next()? {
        let end = (
            records::number(row, 1)?,
            records::number(row, 2)?,
            row.get::<_, Option<[u8; 32]>>(3)?.map(Hash),
            row.get::<_, Option<i64>>(4)?.map(|last| last as u64),
        );
        found.insert(row.get::<_, String>(0)?, end);
    }
    drop(rows);
    let told: HashMap<String, _> = told
        .iter()
        .map(|(name, told)| {
            let end = (told.no, told.next_seq, told.head, told.last);
            (name.clone(), end)
        })
        .collect();
    if told == found {
        return Ok(false);
    }
    transaction.execute("DELETE FROM streams", [])?;
    let mut insert = transaction.prepare(
        "INSERT INTO streams (no, name, next_seq, head, last) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for (name, (no, next_seq, head, last)) in told {
        insert.execute(params![
            no as i64,
            name,
            next_seq as i64,
            head.map(|hash| hash.0),
            last.map(|last| last as i64),
        ])?;
    }
    Ok(true)
}

/// Writes the roots of complete blocks; true if one was another.
fn subtrees(transaction: &Transaction<'_>, right: &[Subtree]) -> rusqlite::Result<bool> {
    let mut right: Vec<_> = right
        .iter()
        .map(|block| (i64::from(block.level), block.index as i64, block.hash.0))
        .collect();
    right.sort_unstable();
    let found = transaction
        .prepare("SELECT level, idx, hash FROM subtrees ORDER BY level, idx")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<rusqlite::Result<Vec<(i64, i64, Vec<u8>)>>>()?;
    let same = found.len() == right.len()
        && found
            .iter()
            .zip(&right)
            .all(|(found, right)| (found.0, found.1, &found.2[..]) == (right.0, right.1, &right.2));
    if same {
        return Ok(false);
    }
    transaction.execute("DELETE FROM subtrees", [])?;
    let mut insert =
        transaction.prepare("INSERT INTO subtrees (level, idx, hash) VALUES (?1, ?2, ?3)")?;
    for (level, index, hash) in right {
        insert.execute(params![level, index, hash])?;
    }
    Ok(true)
}

/// Drops what comes after the first `size` entries. Views are to be made anew.
pub fn cut(connection: &mut Connection, size: u64, head: &HeadRow) -> Result<()> {
    let cut = |transaction: &Transaction<'_>| -> rusqlite::Result<()> {
        let size = size as i64;
        // What was recorded with an entry has its time.
        let forget = "DELETE FROM idempotency WHERE created_at > ?1";
        transaction.execute(forget, [head.last_time.0])?;
        for statement in [
            "DELETE FROM seen WHERE delivery IN (SELECT id FROM deliveries WHERE no >= ?1)",
            "DELETE FROM callbacks WHERE no >= ?1",
            "DELETE FROM snoozed WHERE delivery >= ?1",
            "DELETE FROM entries WHERE position >= ?1",
            "DELETE FROM parts WHERE no >= ?1 * 16",
        ] {
            transaction.execute(statement, [size])?;
        }
        transaction.execute(
            "INSERT OR REPLACE INTO head (one, size, last_time, note, version)
             VALUES (1, ?1, ?2, ?3, coalesce((SELECT version FROM head), 0))",
            params![size, head.last_time.0, head.note],
        )?;
        Ok(())
    };
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed)?;
    cut(&transaction).map_err(failed)?;
    transaction.commit().map_err(failed)
}
