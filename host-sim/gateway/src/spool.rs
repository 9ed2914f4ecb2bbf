//! The database: every reading once, and how far each output has got.
//!
//! Its tables are readings, unique by their key; the latest value of each quantity, for outputs that ask now; and
//! cursors. Rows are numbered in the order in which they were committed and never change, so an output can continue
//! after a number. The database keeps a write-ahead log and syncs at every commit.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use host_sim::field::utc::Utc;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::reading::{Gap, Key, Reading};

/// Long enough for any lock to be released: a second connection writes only cursors, which takes moments.
const BUSY_WAIT: Duration = Duration::from_secs(10);

/// More sensors than a field has. Ids that a board makes up must not fill the memory of whoever asks for the latest values.
pub const LATEST_MAX: usize = 20_000;

/// Raised whenever the tables change.
const VERSION: i64 = 2;

/// The first version's tables.
const SCHEMA: &str = "
CREATE TABLE readings (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    network TEXT NOT NULL,
    node INTEGER NOT NULL,
    device INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    quantity TEXT NOT NULL,
    value REAL NOT NULL,
    unit TEXT NOT NULL,
    time_us INTEGER NOT NULL,
    UNIQUE (network, node, device, epoch, seq, quantity)
);
CREATE TABLE latest (
    network TEXT NOT NULL,
    node INTEGER NOT NULL,
    quantity TEXT NOT NULL,
    value REAL NOT NULL,
    unit TEXT NOT NULL,
    time_us INTEGER NOT NULL,
    PRIMARY KEY (network, node, quantity)
) WITHOUT ROWID;
CREATE TABLE cursors (
    output TEXT PRIMARY KEY,
    row INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) WITHOUT ROWID;
";

/// What the second version adds: whether a time is exact or only the latest possible, and what nodes have lost.
const SINCE_2: &str = "
ALTER TABLE readings ADD COLUMN time_known INTEGER NOT NULL DEFAULT 1;
CREATE TABLE gaps (
    network TEXT NOT NULL,
    node INTEGER NOT NULL,
    device INTEGER NOT NULL,
    first INTEGER NOT NULL,
    end INTEGER NOT NULL,
    PRIMARY KEY (network, node, device, first, end)
) WITHOUT ROWID;
";

const INSERT: &str = "INSERT OR IGNORE INTO readings \
    (network, node, device, epoch, seq, quantity, value, unit, time_us, time_known) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

const INSERT_GAP: &str = "INSERT OR IGNORE INTO gaps (network, node, device, first, end) VALUES (?1, ?2, ?3, ?4, ?5)";

/// An earlier reading that arrives late does not replace a later one.
const RENEW: &str = "INSERT INTO latest (network, node, quantity, value, unit, time_us) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
    ON CONFLICT DO UPDATE SET value = excluded.value, unit = excluded.unit, time_us = excluded.time_us \
    WHERE excluded.time_us >= latest.time_us";

/// A reading and the number of its row.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    pub row: i64,
    pub reading: Reading,
}

/// How far an output has got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The last row that it has.
    pub row: i64,
    /// The length of its file at that row.
    pub bytes: u64,
}

/// The latest value of a quantity at a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Latest {
    pub network: String,
    pub node: u16,
    pub quantity: String,
    pub value: f64,
    pub unit: String,
    pub time: Utc,
}

#[derive(Debug)]
pub struct Spool {
    database: Connection,
}

/// Keeps a second gateway away, since both would move the same cursors. The lock ends when it is dropped or the program
/// ends.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held, not read")] File);

impl Lock {
    pub fn take(database: &Path) -> anyhow::Result<Self> {
        let path = PathBuf::from(format!("{}.lock", database.display()));
        let file = File::options().create(true).append(true).open(&path);
        let file = file.with_context(|| format!("cannot open {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(std::fs::TryLockError::WouldBlock) => bail!("another gateway writes to {}", database.display()),
            Err(std::fs::TryLockError::Error(error)) => Err(error).context(format!("cannot lock {}", path.display())),
        }
    }
}

impl Spool {
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        Self::open_database(path).with_context(|| format!("cannot use the database {}", path.display()))
    }

    fn open_database(path: &Path) -> anyhow::Result<Self> {
        let mut database = Connection::open(path)?;
        database.busy_timeout(BUSY_WAIT)?;
        database.pragma_update(None, "journal_mode", "WAL")?;
        database.pragma_update(None, "synchronous", "FULL")?;
        let change = database.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        match change.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))? {
            VERSION => {}
            1 => change.execute_batch(SINCE_2)?,
            0 => {
                let tables: i64 = change.query_row("SELECT COUNT(*) FROM sqlite_schema", [], |row| row.get(0))?;
                anyhow::ensure!(tables == 0, "it is a database of something else: choose another name");
                change.execute_batch(SCHEMA)?;
                change.execute_batch(SINCE_2)?;
            }
            other => bail!("it has version {other}; this program knows version {VERSION}"),
        }
        change.pragma_update(None, "user_version", VERSION)?;
        change.commit()?;
        Ok(Self { database })
    }

    /// Stores readings in one transaction and returns how many of them were new. When it returns they are on the disk.
    pub fn store(&mut self, readings: &[Reading]) -> anyhow::Result<usize> {
        self.store_all(readings, &[])
    }

    /// Like [`Self::store`], together with what nodes report as lost.
    pub fn store_all(&mut self, readings: &[Reading], gaps: &[Gap]) -> anyhow::Result<usize> {
        let change = self.database.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let mut new = 0;
        {
            let (mut insert, mut renew) = (change.prepare_cached(INSERT)?, change.prepare_cached(RENEW)?);
            for Reading { key, quantity, value, unit, time, is_known } in readings {
                let Key { network, node, device, epoch, seq } = key;
                let seq = i64::try_from(*seq).unwrap_or(i64::MAX);
                let row = params![network, node, device, epoch, seq, quantity, value, unit, time.0, is_known];
                let stored = insert.execute(row)?;
                if stored > 0 {
                    renew.execute(params![network, node, quantity, value, unit, time.0])?;
                }
                new += stored;
            }
            let mut lose = change.prepare_cached(INSERT_GAP)?;
            for Gap { network, node, device, first, end } in gaps {
                lose.execute(params![network, node, device, first, end])?;
            }
        }
        change.commit()?;
        Ok(new)
    }

    /// Rows after this one, in order.
    pub fn after(&self, row: i64, at_most: usize) -> anyhow::Result<Vec<Stored>> {
        let mut query = self.database.prepare_cached(
            "SELECT row, network, node, device, epoch, seq, quantity, value, unit, time_us, time_known \
             FROM readings WHERE row > ?1 ORDER BY row LIMIT ?2",
        )?;
        let rows = query.query_map(params![row, i64::try_from(at_most)?], stored)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The blocks of a store that are here or lost for good, in order. A block has up to so many numbers of
    /// readings.
    pub fn blocks(&self, network: &str, node: u16, device: u16, readings_each: u64) -> anyhow::Result<Vec<Range<u32>>> {
        let mut query = self.database.prepare_cached(
            "SELECT DISTINCT seq / ?4, seq / ?4 + 1 FROM readings WHERE network = ?1 AND node = ?2 AND device = ?3 \
             UNION SELECT first, end FROM gaps WHERE network = ?1 AND node = ?2 AND device = ?3 ORDER BY 1",
        )?;
        let numbers = params![network, node, device, i64::try_from(readings_each)?];
        let rows = query.query_map(numbers, |row| Ok(row.get::<_, i64>(0)?..row.get::<_, i64>(1)?))?;
        let in_range = |range: Range<i64>| Some(u32::try_from(range.start).ok()?..u32::try_from(range.end).ok()?);
        Ok(rows.collect::<Result<Vec<_>, _>>()?.into_iter().filter_map(in_range).collect())
    }

    /// Everything that nodes report as lost.
    pub fn gaps(&self) -> anyhow::Result<Vec<Gap>> {
        let mut query = self.database.prepare_cached(
            "SELECT network, node, device, first, end FROM gaps ORDER BY network, node, device, first",
        )?;
        let rows = query.query_map([], |row| {
            let (network, node, device) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(Gap { network, node, device, first: row.get(3)?, end: row.get(4)? })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The last row.
    pub fn last_row(&self) -> anyhow::Result<i64> {
        Ok(self.database.query_row("SELECT COALESCE(MAX(row), 0) FROM readings", [], |row| row.get(0))?)
    }

    /// The latest value of each quantity, of at most [`LATEST_MAX`].
    pub fn latest(&self) -> anyhow::Result<Vec<Latest>> {
        let mut query = self.database.prepare_cached(
            "SELECT network, node, quantity, value, unit, time_us FROM latest ORDER BY quantity, network, node LIMIT ?1",
        )?;
        let rows = query.query_map([i64::try_from(LATEST_MAX)?], |row| {
            Ok(Latest {
                network: row.get(0)?,
                node: row.get(1)?,
                quantity: row.get(2)?,
                value: row.get(3)?,
                unit: row.get(4)?,
                time: Utc(row.get(5)?),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// How far an output has got; none if it is new.
    pub fn cursor(&self, output: &str) -> anyhow::Result<Option<Cursor>> {
        let mut query = self.database.prepare_cached("SELECT row, bytes FROM cursors WHERE output = ?1")?;
        let cursor = query.query_row([output], |row| {
            Ok(Cursor { row: row.get(0)?, bytes: row.get::<_, i64>(1)?.try_into().unwrap_or(0) })
        });
        Ok(cursor.optional()?)
    }

    pub fn set_cursor(&self, output: &str, cursor: Cursor) -> anyhow::Result<()> {
        let mut change =
            self.database.prepare_cached("INSERT OR REPLACE INTO cursors (output, row, bytes) VALUES (?1, ?2, ?3)")?;
        change.execute(params![output, cursor.row, i64::try_from(cursor.bytes)?])?;
        Ok(())
    }

    /// All outputs that ever had a cursor, each with its cursor.
    pub fn cursors(&self) -> anyhow::Result<Vec<(String, i64)>> {
        let mut query = self.database.prepare_cached("SELECT output, row FROM cursors ORDER BY output")?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let key = Key {
        network: row.get(1)?,
        node: row.get(2)?,
        device: row.get(3)?,
        epoch: row.get(4)?,
        seq: row.get::<_, i64>(5)?.try_into().unwrap_or(0),
    };
    let (quantity, value, unit, time) = (row.get(6)?, row.get(7)?, row.get(8)?, Utc(row.get(9)?));
    let is_known = row.get(10)?;
    Ok(Stored { row: row.get(0)?, reading: Reading { key, quantity, value, unit, time, is_known } })
}
