//! `ringleader monitor`: boards on cables, live.

pub mod line;
