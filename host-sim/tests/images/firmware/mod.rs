//! The very image that is flashed, on emulated boards in an ideal air: what a person, a cable, a probe, the air and a bad
//! supply can do to it.

pub mod bench;
mod configuration;
mod controls;
mod crashes;
mod endurance;
mod erasing;
mod fleet;
mod holding;
mod hostile_air;
mod journal;
mod logs;
mod orders;
mod power_cuts;
mod prefilled;
mod readings;
mod serial_line;
mod slow_parts;
mod stack;
mod starting;
mod succession;
mod turnaround;
