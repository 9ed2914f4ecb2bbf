//! Ctrl-C: the first one asks a command to end and report what it has so far; the second ends the program at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};

/// The exit code of a command that was interrupted and would have succeeded otherwise, as shells know it.
pub const EXIT_CODE: u8 = 130;

/// Set once somebody has asked the program to end. Until [`Interrupt::listen`] such a request ends it at once.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on a request is only noted, the first time.
    pub fn listen() -> Self {
        let interrupt = Self::default();
        for signal in [SIGINT, SIGTERM] {
            // In this order: the second request is the one that finds the flag set. If this fails, the first one ends the
            // program, as without it.
            let _ = signal_hook::flag::register_conditional_shutdown(signal, EXIT_CODE.into(), interrupt.0.clone())
                .and_then(|_| signal_hook::flag::register(signal, interrupt.0.clone()));
        }
        interrupt
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Asks for the end from inside.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }
}
