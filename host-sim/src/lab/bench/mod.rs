//! What the core and the simulator cost in time and memory.

pub mod air_bench;
pub mod board_bench;
pub mod core_bench;
pub mod elections;
pub mod growth;
pub mod machine;
pub mod node_bench;
pub mod speed;
pub(crate) mod text;
