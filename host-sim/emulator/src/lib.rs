//! Runs the image of a board on a PC: the very ELF that is flashed, on a model of an nRF52.
//!
//! [`io`] is the seam between the processor and everything around it: [`cpu`] executes what [`loader`] put into
//! [`memory`].

pub mod board;
pub mod cpu;
pub mod ideal;
pub mod images;
pub mod io;
pub mod loader;
pub mod log;
pub mod memory;
pub mod network;
pub mod phy;
pub mod profile;
pub mod program;
pub mod rtt;
pub mod soc;
pub mod turnaround;
