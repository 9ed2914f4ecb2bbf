//! Runs the image of a board on a PC: the very ELF file that is flashed, on a model of an nRF52.
//!
//! [`elf`] reads the file and [`loader`] flashes it into [`memory`]. [`cpu`] executes it and reaches the peripherals in
//! [`soc`] through the [`io`] trait. [`board`] puts these together, and [`network`] runs several boards on one air, to which
//! their radios talk through [`phy`]. [`usb`] is a PC at the other end of a board's USB cable.

pub mod board;
pub mod cpu;
pub mod elf;
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
pub mod usb;
