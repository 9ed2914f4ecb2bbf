//! What a board needs besides the node, as logic without hardware: the firmware holds only the wiring.
//!
//! Nothing in here touches a register or reads a clock, so all of it is tested on a PC: what lies in flash and what of it
//! survives a loss of power ([`storage`]), which configuration counts ([`choice`], [`demo`]), what is remembered of earlier runs and what follows from it ([`history`],
//! [`weibull_fit`], [`reset`]), what is left in memory for the boot after a crash ([`retained`]), how loaded the board is
//! ([`load`]), what its lights and buttons mean ([`lights`], [`button`]), when its watchdog is fed ([`vigil`]), and
//! how its radio gets on the air ([`csma`]).

pub mod button;
pub mod choice;
pub mod csma;
pub mod demo;
pub mod history;
pub mod lights;
pub mod load;
pub mod reset;
pub mod retained;
pub mod storage;
pub mod vigil;
pub mod weibull_fit;
