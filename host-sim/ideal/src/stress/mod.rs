//! Random stress: thousands of runs, each of which can be repeated by its number.

pub mod hierarchy;
