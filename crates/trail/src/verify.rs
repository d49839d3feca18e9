//! The streaming verifier, for a database and for an export alike.
//!
//! Entries arrive in log order and are held against what they must follow:
//! the position, the time, their stream's chain, their workspace's chain. Each
//! becomes a leaf of the Merkle tree, whose root is compared with checkpoints:
//! the last one in [`Verifier::finish`], and older ones that someone kept, as
//! the tree passes their size. Memory grows with the number of streams and
//! workspaces, never with the number of entries.

use crate::{
    Hash, Micros,
    checkpoint::{Checkpoint, CheckpointFault},
    digest::{Digested, Digests, LocalLink, Names, StoredEntry},
    entry,
    erasure::Erasures,
    fault::{Fault, Reason},
    key::VerifierKey,
    merkle::{Frontier, Subtree, leaf_hash},
    rotation::Keyring,
    turn::Trust,
};

/// What was found when everything holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub checkpoint: Checkpoint,
    pub streams: u64,
    /// All parts that headers commit to, and how many of them were erased.
    pub parts: u64,
    pub erased: u64,
    pub first_time: Option<Micros>,
    pub last_time: Option<Micros>,
    /// How many kept checkpoints the log agrees with.
    pub kept: u64,
}

/// Where one stream ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamEnd {
    pub name: String,
    pub next_seq: u64,
    pub head: Option<Hash>,
    /// The position of its last entry.
    pub last: Option<u64>,
}

/// What a store must keep beside entries that hold: where each stream ends, and
/// the roots of complete blocks of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub streams: Vec<StreamEnd>,
    /// For each level from 1 on, what [`block_digest`] gives over its roots.
    pub blocks: Vec<Hash>,
}

/// Adds the root of the next complete block to a digest of its level's roots,
/// which starts as [`Hash::ZERO`].
pub fn block_digest(before: Hash, index: u64, root: &Hash) -> Hash {
    Hash::of(
        "wakeful/blocks/1",
        &[&before.0, &index.to_be_bytes(), &root.0],
    )
}

/// Checks a whole log from position 0.
#[derive(Debug, Default)]
pub struct Verifier {
    tree: Frontier,
    names: Names,
    streams: Vec<Stream>,
    /// Checkpoints that someone kept, the smallest last.
    kept: Vec<Checkpoint>,
    agreed: u64,
    /// Positions below this are vouched for by a kept checkpoint.
    vouched: u64,
    parts: u64,
    erased: u64,
    times: Option<(Micros, Micros)>,
    origins: Vec<String>,
    erasures: Erasures,
    /// For each level from 1 on, a digest of the roots of its complete blocks.
    blocks: Vec<Hash>,
    trust: Trust,
}

#[derive(Debug, Default)]
struct Stream {
    chain: Chain,
    workspaces: Names,
    locals: Vec<Chain>,
}

/// How far one chain has come.
#[derive(Clone, Copy, Debug, Default)]
struct Chain {
    next: u64,
    head: Option<Hash>,
    /// The position of its last entry.
    last: Option<u64>,
}

impl Verifier {
    pub fn new() -> Verifier {
        Verifier::default()
    }

    /// Whoever trusts one of these keys trusts those it hands the log over to.
    /// Without any, [`Verifier::open`] trusts the key that the log names last.
    pub fn trust(&mut self, keys: Keyring) {
        self.trust.ring = Some(keys);
    }

    pub fn trusts(&self, key: &VerifierKey) -> bool {
        let ring = self.trust.ring.as_ref();
        ring.is_some_and(|ring| ring.keys().contains(key))
    }

    /// Opens a note of this log, after its entries were linked.
    pub fn open(&self, note: &str) -> Result<Checkpoint, CheckpointFault> {
        self.trust.open(note)
    }

    /// Registers a checkpoint that was kept elsewhere: the log must still begin
    /// with it. Its signature is the caller's to check. Call before any entry.
    pub fn expect(&mut self, kept: Checkpoint) {
        let at = self.kept.partition_point(|other| other.size > kept.size);
        if !self.origins.contains(&kept.origin) {
            self.origins.push(kept.origin.clone());
        }
        self.kept.insert(at, kept);
    }

    /// How many entries hold so far, which is the position expected next.
    pub fn size(&self) -> u64 {
        self.tree.size()
    }

    pub fn root(&self) -> Hash {
        self.tree.root()
    }

    /// What a store keeps beside the entries linked so far.
    pub fn kept(&self) -> Kept {
        let streams = self.names.names().iter().zip(&self.streams);
        let end = |(name, stream): (&std::sync::Arc<str>, &Stream)| StreamEnd {
            name: name.to_string(),
            next_seq: stream.chain.next,
            head: stream.chain.head,
            last: stream.chain.last,
        };
        Kept {
            streams: streams.map(end).collect(),
            blocks: self.blocks.clone(),
        }
    }

    /// Checks the next entry: digest and link in one.
    pub fn entry(&mut self, entry: &StoredEntry<'_>) -> Result<(), Fault> {
        let mut batch = Digests::new();
        batch.push(entry);
        self.link(&batch)
    }

    /// Checks how the next entries follow those before.
    pub fn link(&mut self, batch: &Digests) -> Result<(), Fault> {
        self.compare_kept()?;
        let places = self.places(batch);
        let mut turns = batch.turns.iter().peekable();
        for (n, digested) in batch.entries.iter().enumerate() {
            let (stream, locals) = &places[digested.stream];
            let place = self.size();
            let turn = turns.next_if(|(at, _)| *at == n);
            let before = turn.map(|(_, turn)| (turn, self.root()));
            let linked = self.link_one(digested, *stream, locals);
            let taken = linked.and_then(|()| match before {
                None => Ok(()),
                Some((turn, root)) => self.trust.take(turn, place, root),
            });
            taken.map_err(|reason| Fault {
                position: place,
                stream: Some(batch.streams.names()[digested.stream].to_string()),
                seq: Some(digested.seq),
                reason,
            })?;
            self.compare_kept()?;
        }
        self.erasures.add(&batch.erasures);
        match &batch.fault {
            None => Ok(()),
            Some(fault) if fault.position == self.size() => Err(fault.clone()),
            Some(fault) => Err(Fault {
                reason: Reason::OutOfPlace {
                    found: fault.position,
                },
                position: self.size(),
                ..fault.clone()
            }),
        }
    }

    /// Our numbers for the streams and workspaces that a batch numbered.
    fn places(&mut self, batch: &Digests) -> Vec<(usize, Vec<usize>)> {
        let named = batch.streams.names().iter().zip(&batch.workspaces);
        named
            .map(|(name, workspaces)| {
                let number = self.names.number(name);
                if number == self.streams.len() {
                    self.streams.push(Stream::default());
                }
                let stream = &mut self.streams[number];
                let names = workspaces.names().iter();
                let locals = names.map(|name| stream.workspaces.number(name)).collect();
                let known = stream.workspaces.names().len();
                stream.locals.resize(known, Chain::default());
                (number, locals)
            })
            .collect()
    }

    fn link_one(
        &mut self,
        entry: &Digested,
        stream: usize,
        locals: &[usize],
    ) -> Result<(), Reason> {
        if entry.position != self.tree.size() {
            return Err(Reason::OutOfPlace {
                found: entry.position,
            });
        }
        let stream = &mut self.streams[stream];
        let chain = &mut stream.chain;
        if entry.seq != chain.next {
            return Err(Reason::SeqBroken {
                expected: chain.next,
            });
        }
        if entry.prev_hash.is_some_and(|prev| prev != chain.head) {
            return Err(Reason::PrevHashDiffers);
        }
        if let Some(found) = entry.prev.filter(|prev| *prev != chain.last) {
            return Err(Reason::PrevDiffers {
                found,
                expected: chain.last,
            });
        }
        let hash = entry::entry_hash(chain.head, entry.seq, entry.local_hash);
        if let Some(stored) = entry.entry_hash.filter(|stored| *stored != hash) {
            return Err(Reason::EntryHashDiffers { stored });
        }
        if let Some((_, after)) = self.times.filter(|(_, last)| entry.time <= *last) {
            return Err(Reason::TimeNotLater { after });
        }
        if let Some(local) = &entry.local {
            stream.locals[locals[local.workspace]].link(local, entry.local_hash)?;
        }
        *chain = Chain {
            next: entry.seq + 1,
            head: Some(hash),
            last: Some(entry.position),
        };
        self.times = Some((self.times.map_or(entry.time, |times| times.0), entry.time));
        self.parts += u64::from(entry.parts);
        self.erased += u64::from(entry.erased);
        let blocks = &mut self.blocks;
        self.tree.push(leaf_hash(&hash), |block| {
            let Subtree { level, index, hash } = block;
            let place = usize::from(level) - 1;
            if blocks.len() <= place {
                blocks.resize(place + 1, Hash::ZERO);
            }
            blocks[place] = block_digest(blocks[place], index, &hash);
        });
        Ok(())
    }

    /// Compares kept checkpoints of exactly the present size.
    fn compare_kept(&mut self) -> Result<(), Fault> {
        let size = self.tree.size();
        while let Some(kept) = self.kept.pop_if(|kept| kept.size == size) {
            if kept.root != self.tree.root() {
                return Err(Reason::Rewritten { size }.at(self.vouched));
            }
            self.agreed += 1;
            self.vouched = size;
        }
        Ok(())
    }

    /// The log is over: it must be the one of this checkpoint, whose signature
    /// is the caller's to check.
    pub fn finish(mut self, checkpoint: &Checkpoint) -> Result<Report, Fault> {
        let foreign = |origin: &&String| **origin != checkpoint.origin;
        if let Some(origin) = self.origins.iter().find(foreign) {
            return Err(Reason::OtherOrigin(origin.clone()).at(0));
        }
        self.compare_kept()?;
        let size = self.tree.size();
        if size < checkpoint.size {
            return Err(Reason::Missing {
                size: checkpoint.size,
            }
            .at(size));
        }
        if size > checkpoint.size {
            return Err(Reason::Extra {
                size: checkpoint.size,
            }
            .at(checkpoint.size));
        }
        if let Some(kept) = self.kept.last() {
            return Err(Reason::RolledBack { size: kept.size }.at(size));
        }
        if self.tree.root() != checkpoint.root {
            return Err(Reason::RootDiffers.at(self.vouched));
        }
        if let Some(position) = self.erasures.first_cut() {
            return Err(Reason::ContentCut.at(position));
        }
        Ok(Report {
            checkpoint: checkpoint.clone(),
            streams: self.streams.len() as u64,
            parts: self.parts,
            erased: self.erased,
            first_time: self.times.map(|times| times.0),
            last_time: self.times.map(|times| times.1),
            kept: self.agreed,
        })
    }
}

impl Chain {
    /// A workspace's chain links the hashes of headers.
    fn link(&mut self, local: &LocalLink, hash: Hash) -> Result<(), Reason> {
        if local.seq != self.next {
            return Err(Reason::LocalSeqBroken {
                expected: self.next,
            });
        }
        if local.prev != self.head {
            return Err(Reason::LocalPrevDiffers);
        }
        *self = Chain {
            next: local.seq + 1,
            head: Some(hash),
            last: None,
        };
        Ok(())
    }
}
