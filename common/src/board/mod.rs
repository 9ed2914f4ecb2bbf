//! What a board needs besides the node, as logic without hardware: the firmware holds only the wiring.
//!
//! Nothing in here touches a register or reads a clock, so all of it is tested on a PC: the map of the flash
//! ([`flash_map`]), what of it survives a loss of power ([`storage`]), the readings in it ([`block_store`], [`block_log`], both a
//! [`flash_queue`]), which configuration counts ([`config_source`],
//! [`demo`]), what is remembered of earlier runs and what follows from it ([`history`], [`weibull_fit`], [`reset`]), what is
//! left in memory for the boot after a crash ([`retained`]), how loaded the board is ([`load`]), how strong a frame was
//! ([`rssi`]), what its lights and buttons mean ([`lights`], [`button`]), whether its supply runs low ([`supply`]), what its
//! climate sensor reports ([`climate`]), and when its watchdog is fed ([`watchdog`]).

pub mod block_log;
pub mod block_store;
pub mod button;
pub mod climate;
pub mod config_source;
pub mod demo;
pub mod flash_map;
pub mod flash_queue;
pub mod history;
#[cfg(feature = "journal")]
pub mod journal;
pub mod lights;
pub mod load;
pub mod reset;
pub mod retained;
pub mod rssi;
pub mod storage;
pub mod supply;
pub mod watchdog;
pub mod weibull_fit;
