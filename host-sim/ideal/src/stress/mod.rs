//! Random stress: thousands of runs, each of which can be played again from its number.

pub mod hierarchy;
