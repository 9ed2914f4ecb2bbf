//! The gateway: readings of boards into one SQLite file, and from there to everybody who wants them.
//!
//! ```text
//! Source --readings--> Spool (SQLite) --rows after a cursor--> Outputs: JSONL, CSV, line protocol, MQTT
//!    ^                    |                                    Metrics: the latest values, on request
//!    +---- committed -----+
//! ```
//!
//! The database is log and spool at once. A source is told that a reading is committed only after the transaction that holds
//! it, so whoever keeps readings until then loses none, whatever ends this program. The same reading twice is one row: its
//! key says so. Each output is a cursor into the rows and goes on where it was.

pub mod args;
pub mod outputs;
pub mod reading;
pub mod run;
pub mod source;
pub mod spool;
