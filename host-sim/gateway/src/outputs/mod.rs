//! Where readings go. Each output is a cursor into the database.

pub mod lines;
pub mod metrics;
pub mod mqtt;
pub mod text_file;
pub mod topics;
