//! The live view: a page, what it shows, and who serves it.
//!
//! [`page`] puts the page together from its parts, [`module`] is the simulator that a page carries along, [`serve`] plays runs
//! for a page on this machine, [`live`] watches boards for it, and [`http`] is as much of that protocol as it takes.

pub mod http;
pub mod live;
pub mod module;
pub mod network;
pub mod page;
pub mod serve;
