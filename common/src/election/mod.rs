//! The election algorithms, and the choice between them at run time.

#[cfg(feature = "comparison")]
pub mod abraham;
pub mod bully;
pub mod circle;
mod dispatch;
pub mod frlle;
pub mod frlle_message;
pub mod height;
pub mod height_core;
pub mod height_tuple;
pub mod hierarchy;
pub mod hierarchy_update;
pub mod hs;
pub mod lcr;
#[cfg(feature = "comparison")]
pub mod modified_bully;
pub mod ring;
#[cfg(feature = "comparison")]
pub mod timer_based;
mod uid;

pub use crate::names::Algorithm;
pub use dispatch::{Election, ElectionConfig, ElectionMsg, ElectionTimer, Timing};
