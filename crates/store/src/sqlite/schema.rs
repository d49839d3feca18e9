//! Tables, and the steps from one version of them to the next.

use rusqlite::{Connection, TransactionBehavior};

use crate::{
    Error, Result, RowSeal,
    sqlite::{failed, sealed},
};

/// Each step is applied once, in order, in one transaction with its number.
const STEPS: &[Step] = &[
    Step::plain(FIRST),
    Step::plain(ERAS),
    Step::plain(RELAYED),
    Step {
        sql: SEALED,
        seals: &[
            "secrets",
            "buckets",
            "idempotency",
            "callbacks",
            "snoozed",
            "seen",
        ],
    },
    Step {
        sql: SEALED_WHEN_READ,
        seals: &[
            "accounts",
            sealed::DELIVERIES,
            sealed::PARTS,
            sealed::ENTRIES,
        ],
    },
    Step::plain(UNANSWERED),
    Step::plain(VERSION),
    Step {
        sql: ROOMS,
        seals: &["idempotency"],
    },
    Step::plain(ENDED_KEYS),
];

struct Step {
    sql: &'static str,
    /// Tables whose rows get their codes in this step (see `sealed.rs`).
    seals: &'static [&'static str],
}

impl Step {
    const fn plain(sql: &'static str) -> Step {
        Step { sql, seals: &[] }
    }
}

const FIRST: &str = "
-- The log. Its columns are fixed by the trail format; facts are never erased.
CREATE TABLE entries (
    position   INTEGER PRIMARY KEY,
    stream     INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    -- The entry before it in its stream: a stream is read along these links,
    -- newest first, and needs no index.
    prev       INTEGER,
    header     BLOB NOT NULL,
    entry_hash BLOB NOT NULL,
    facts_salt BLOB NOT NULL,
    facts      BLOB NOT NULL
);

-- What may be erased: no = position * 16 + place in the header. The only copy
-- of agents' and people's content, outside the full-text index.
CREATE TABLE parts (
    no    INTEGER PRIMARY KEY,
    name  TEXT NOT NULL,
    salt  BLOB NOT NULL,
    bytes BLOB NOT NULL
);

CREATE TABLE streams (
    no       INTEGER PRIMARY KEY,
    name     TEXT NOT NULL UNIQUE,
    next_seq INTEGER NOT NULL,
    head     BLOB,
    last     INTEGER,
    lanes    BLOB NOT NULL
);

CREATE TABLE subtrees (
    level INTEGER NOT NULL,
    idx   INTEGER NOT NULL,
    hash  BLOB NOT NULL,
    PRIMARY KEY (level, idx)
) WITHOUT ROWID;

CREATE TABLE head (
    one       INTEGER PRIMARY KEY CHECK (one = 1),
    size      INTEGER NOT NULL,
    last_time INTEGER NOT NULL,
    note      TEXT NOT NULL
);

-- Views.
CREATE TABLE deliveries (
    no              INTEGER PRIMARY KEY,
    id              BLOB NOT NULL,
    stream          INTEGER NOT NULL,
    kind            INTEGER NOT NULL,
    status          INTEGER NOT NULL,
    test            INTEGER NOT NULL,
    provider        TEXT NOT NULL,
    headline        TEXT NOT NULL,
    summary         TEXT NOT NULL,
    details_format  INTEGER,
    created_at      INTEGER NOT NULL,
    changed_at      INTEGER NOT NULL,
    lane_no         INTEGER NOT NULL,
    pending_no      INTEGER NOT NULL,
    timeout_at      INTEGER,
    timed_out       INTEGER NOT NULL,
    callback        TEXT,
    answered_by     TEXT,
    answer_position INTEGER,
    hold_by         TEXT,
    hold_channel    INTEGER,
    hold_status     INTEGER,
    hold_until      INTEGER,
    erased          INTEGER NOT NULL,
    due_at          INTEGER
);
CREATE INDEX deliveries_by_lane ON deliveries (stream, status, changed_at, lane_no, kind, test);
CREATE INDEX deliveries_by_kind ON deliveries (status, kind, changed_at, test);
-- Answered and still whole: what a retention rule looks through.
CREATE INDEX deliveries_erasable ON deliveries (kind, changed_at) WHERE erased = 0 AND status > 0;
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE due_at IS NOT NULL;

-- Deliveries by id, up to a number; those of later ones are held in memory.
CREATE TABLE ids (id BLOB PRIMARY KEY, no INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE settled (one INTEGER PRIMARY KEY CHECK (one = 1), next INTEGER NOT NULL);
INSERT INTO settled VALUES (1, 0);

CREATE TABLE blocks (
    stream INTEGER NOT NULL,
    level  INTEGER NOT NULL,
    block  INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    PRIMARY KEY (stream, level, block)
) WITHOUT ROWID;

CREATE TABLE history (
    delivery INTEGER NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (delivery, position)
) WITHOUT ROWID;

CREATE TABLE accounts (
    kind TEXT NOT NULL,
    id   TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (kind, id)
) WITHOUT ROWID;

-- Has a row while the views are being rebuilt.
CREATE TABLE rebuilding (one INTEGER PRIMARY KEY CHECK (one = 1));

-- Without contentless_delete, which would only mark words as deleted: what was
-- indexed is told to the index again, and secure-delete removes it from its pages.
CREATE VIRTUAL TABLE search USING fts5 (
    agent, headline, summary, details,
    content = '', tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);
-- Deliveries whose details are in the index.
CREATE TABLE detailed (no INTEGER PRIMARY KEY);
CREATE TABLE indexed (one INTEGER PRIMARY KEY CHECK (one = 1), next INTEGER NOT NULL);
INSERT INTO indexed VALUES (1, 0);

-- Kept state.
CREATE TABLE callbacks (
    no          INTEGER PRIMARY KEY,
    delivery_id BLOB NOT NULL,
    webhook_id  TEXT NOT NULL,
    attempts    INTEGER NOT NULL,
    state       INTEGER NOT NULL,
    next_at     INTEGER,
    last_error  TEXT
);
CREATE INDEX callbacks_due ON callbacks (next_at) WHERE next_at IS NOT NULL;

CREATE TABLE secrets (name TEXT PRIMARY KEY, sealed BLOB NOT NULL) WITHOUT ROWID;

CREATE TABLE buckets (
    key_id TEXT PRIMARY KEY,
    level  INTEGER NOT NULL,
    at     INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE idempotency (
    key_id          TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    digest          BLOB NOT NULL,
    delivery_id     BLOB NOT NULL,
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (key_id, idempotency_key)
) WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (created_at);

CREATE TABLE snoozed (
    name     TEXT NOT NULL,
    delivery INTEGER NOT NULL,
    until    INTEGER NOT NULL,
    PRIMARY KEY (name, delivery)
) WITHOUT ROWID;

CREATE TABLE seen (
    name     TEXT NOT NULL,
    delivery BLOB NOT NULL,
    PRIMARY KEY (name, delivery)
) WITHOUT ROWID;
";

/// The full-text index in eras, each in a table of its own (see `search.rs`); it
/// is made anew.
const ERAS: &str = "
DROP TABLE search;
CREATE TABLE eras (no INTEGER PRIMARY KEY);
DELETE FROM detailed;
UPDATE indexed SET next = 0;
";

/// What passed between devices and their owners' clients.
const RELAYED: &str = "
CREATE TABLE relayed (
    owner             TEXT NOT NULL,
    agent_id          TEXT NOT NULL,
    seen_at           INTEGER,
    to_device         INTEGER NOT NULL,
    to_device_bytes   INTEGER NOT NULL,
    from_device       INTEGER NOT NULL,
    from_device_bytes INTEGER NOT NULL,
    refused           INTEGER NOT NULL,
    PRIMARY KEY (owner, agent_id)
) WITHOUT ROWID;
";

/// Codes of rows that no entry proves (see `sealed.rs`). The rows there are get
/// theirs in the same transaction, so that no database of this version has any
/// without.
const SEALED: &str = "
ALTER TABLE secrets     ADD COLUMN mac BLOB NOT NULL DEFAULT x'';
ALTER TABLE buckets     ADD COLUMN mac BLOB NOT NULL DEFAULT x'';
ALTER TABLE idempotency ADD COLUMN mac BLOB NOT NULL DEFAULT x'';
ALTER TABLE callbacks   ADD COLUMN mac BLOB NOT NULL DEFAULT x'';
ALTER TABLE snoozed     ADD COLUMN mac BLOB NOT NULL DEFAULT x'';
ALTER TABLE seen        ADD COLUMN mac BLOB NOT NULL DEFAULT x'';
CREATE TABLE row_seal (one INTEGER PRIMARY KEY CHECK (one = 1), proof BLOB NOT NULL);
";

/// Rows that are acted on as they are read, without looking at the trail: who may
/// do what, what waits and what was answered, and the texts of an answer.
const SEALED_WHEN_READ: &str = "
ALTER TABLE accounts   ADD COLUMN mac  BLOB NOT NULL DEFAULT x'';
ALTER TABLE deliveries ADD COLUMN mac  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN told INTEGER NOT NULL DEFAULT 0;
ALTER TABLE parts      ADD COLUMN mac  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE entries    ADD COLUMN mac  INTEGER NOT NULL DEFAULT 0;
-- Whatever the views said before, the trail decides (see `Store::was_migrated`).
INSERT OR IGNORE INTO rebuilding SELECT 1 FROM head;
";

/// What a retention rule looks through: also what was answered after its content
/// was erased, what nobody answered in time, and updates that nobody answered.
const UNANSWERED: &str = "
DROP INDEX deliveries_erasable;
CREATE INDEX deliveries_erasable ON deliveries (kind, changed_at) WHERE erased <> 1 AND status > 0;
DROP INDEX IF EXISTS deliveries_timed_out;
CREATE INDEX deliveries_timed_out ON deliveries (kind, timeout_at)
    WHERE erased <> 1 AND status = 0 AND timed_out = 1;
DROP INDEX IF EXISTS deliveries_updates;
CREATE INDEX deliveries_updates ON deliveries (created_at)
    WHERE erased <> 1 AND status = 0 AND kind = 0;
";

/// How many batches were appended: fences a writer that decided on an older state.
const VERSION: &str = "
ALTER TABLE head ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
";

/// Lanes leave the streams, most of which will have none. A record of an idempotency
/// key keeps the answer as it was sent, so that every door can give it again; until
/// now each was of a delivery, whose 201 is written here as `wake` writes it. Records
/// that somebody changed are left behind.
const ROOMS: &str = "
CREATE TABLE lanes (
    stream  INTEGER PRIMARY KEY,
    numbers BLOB NOT NULL
);
INSERT INTO lanes SELECT no, lanes FROM streams WHERE name GLOB 'agent/*';

ALTER TABLE streams RENAME TO former_streams;
CREATE TABLE streams (
    no       INTEGER PRIMARY KEY,
    name     TEXT NOT NULL UNIQUE,
    next_seq INTEGER NOT NULL,
    head     BLOB,
    last     INTEGER
);
INSERT INTO streams SELECT no, name, next_seq, head, last FROM former_streams;
DROP TABLE former_streams;

ALTER TABLE idempotency RENAME TO former_idempotency;
CREATE TABLE idempotency (
    key_id          TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    digest          BLOB NOT NULL,
    status          INTEGER NOT NULL,
    body            BLOB NOT NULL,
    created_at      INTEGER NOT NULL,
    mac             BLOB NOT NULL,
    PRIMARY KEY (key_id, idempotency_key)
) WITHOUT ROWID;
INSERT INTO idempotency
    SELECT key_id, idempotency_key, digest, 201, CAST(
        '{\"delivery_id\":\"' || substr(id, 1, 8) || '-' || substr(id, 9, 4) || '-'
        || substr(id, 13, 4) || '-' || substr(id, 17, 4) || '-' || substr(id, 21)
        || '\",\"status\":\"received\",\"created_at\":\"'
        || strftime('%Y-%m-%dT%H:%M:%S', created_at / 1000000, 'unixepoch')
        || printf('.%06dZ', created_at % 1000000) || '\"}' AS BLOB), created_at, x''
    FROM (SELECT *, lower(hex(delivery_id)) AS id FROM former_idempotency)
    WHERE mac = row_mac('idempotency', key_id, idempotency_key, digest, delivery_id, created_at);
DROP TABLE former_idempotency;
CREATE INDEX idempotency_by_age ON idempotency (created_at);
";

/// Of keys that no longer work an agent keeps ten. Which a replay forgets is known to
/// a replay alone, so where an agent has had more keys than that, the views are made
/// anew.
const ENDED_KEYS: &str = "
INSERT OR IGNORE INTO rebuilding
    SELECT 1 FROM accounts WHERE kind = 'key'
    GROUP BY json_extract(CASE WHEN json_valid(body) THEN body END, '$.agent_id')
    HAVING count(*) > 10 LIMIT 1;
";

/// The first version in which every table of `sealed.rs` has its codes.
const SEALED_VERSION: i64 = 5;

/// Tables that a rebuild empties and fills again.
pub const VIEWS: &[&str] = &[
    "deliveries",
    "lanes",
    "blocks",
    "history",
    "accounts",
    "relayed",
];

/// The rows of each view in a fixed order, without their codes, to compare a
/// rebuilt one with a live one.
pub const VIEW_ROWS: &[(&str, &str)] = &[
    ("lanes", "SELECT * FROM lanes ORDER BY stream"),
    (
        "deliveries",
        "SELECT no, id, stream, kind, status, test, provider, headline, summary, details_format,
            created_at, changed_at, lane_no, pending_no, timeout_at, timed_out, callback,
            answered_by, answer_position, hold_by, hold_channel, hold_status, hold_until, erased,
            due_at
         FROM deliveries ORDER BY no",
    ),
    // A block that emptied within one batch was never written.
    (
        "blocks",
        "SELECT * FROM blocks WHERE n <> 0 ORDER BY stream, level, block",
    ),
    (
        "history",
        "SELECT * FROM history ORDER BY delivery, position",
    ),
    (
        "accounts",
        "SELECT kind, id, body FROM accounts ORDER BY kind, id",
    ),
    ("relayed", "SELECT * FROM relayed ORDER BY owner, agent_id"),
];

/// Brings a database to the newest version; gives whether it was older. The
/// connection must know `row_mac`.
pub fn migrate(connection: &mut Connection, seal: &RowSeal) -> Result<bool> {
    let known = STEPS.len() as i64;
    let found = version(connection).map_err(failed)?;
    if found > known {
        return Err(Error::TooNew { found, known });
    }
    for (number, step) in (1_i64..).zip(STEPS).skip(found as usize) {
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Exclusive)
            .map_err(failed)?;
        transaction.execute_batch(step.sql).map_err(failed)?;
        transaction
            .pragma_update(None, "user_version", number)
            .map_err(failed)?;
        if !step.seals.is_empty() {
            sealed::seal(&transaction, seal, step.seals).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
    }
    Ok((1..known).contains(&found))
}

/// Whether steps are due to a database whose rows carry codes already.
pub fn is_older_and_sealed(connection: &Connection) -> Result<bool> {
    Ok((SEALED_VERSION..STEPS.len() as i64).contains(&version(connection).map_err(failed)?))
}

/// Whether the rows of this database carry codes.
pub fn is_sealed(connection: &Connection) -> Result<bool> {
    Ok(version(connection).map_err(failed)? >= SEALED_VERSION)
}

/// What the schema of a database of this version is, apart from the full-text
/// index, whose tables come and go.
pub fn objects(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    // FTS5 keeps an index in tables of these names, and in no other things.
    let own = "SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema
        WHERE name NOT GLOB 'sqlite_*' AND NOT (type = 'table' AND name GLOB 'search_[0-9]*'
            AND ltrim(substr(name, 8), '0123456789') IN ('', '_data', '_idx', '_docsize', '_config'))
        ORDER BY type, name";
    let mut find = connection.prepare(own)?;
    let rows = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// The same of one that was just made in the version that this one says it has.
pub fn expected_of(connection: &Connection) -> Result<Vec<(String, String)>> {
    let version = version(connection).map_err(failed)?;
    let version = usize::try_from(version).unwrap_or_default();
    expected_after(&STEPS[..version.min(STEPS.len())])
}

fn expected_after(steps: &[Step]) -> Result<Vec<(String, String)>> {
    let fresh = Connection::open_in_memory().map_err(failed)?;
    sealed::register(&fresh, None).map_err(failed)?;
    for step in steps {
        fresh.execute_batch(step.sql).map_err(failed)?;
    }
    objects(&fresh).map_err(failed)
}

pub fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}
