//! The gateway: stores the readings of boards in one SQLite file, and passes them on from there.
//!
//! ```text
//! Source --readings--> Spool (SQLite) --rows after a cursor--> Outputs: JSONL, CSV, line protocol, MQTT
//!    ^                    |                                    Metrics: the latest values, on request
//!    +---- committed -----+
//! ```
//!
//! The database is log and spool at once. A source hears that a reading is committed only after its transaction, so a
//! board that keeps readings until then loses none, however this program ends. A reading that arrives twice has the
//! same key and is one row. Each output is a cursor into the rows and continues where it was.

pub mod args;
pub mod outputs;
pub mod reading;
pub mod run;
pub mod source;
pub mod spool;
