//! What a trace shows: who led when, how long elections took, and whether all nodes agreed in time. Traces of the simulator
//! and recordings of boards are read alike.

mod earlier;
pub mod history;
mod links;
pub mod trace_file;
