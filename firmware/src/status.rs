//! Lights and buttons: what the board shows, and what a person at the board asks for.

use core::cell::Cell;

use common::board::button::{DEBOUNCE, Wish, wish_of_press};
use common::board::lights::{Condition, STEP_MS};
use common::protocol::Signal;
use embassy_nrf::Peri;
use embassy_nrf::gpio::{AnyPin, Input, Level, Output, OutputDrive, Pull};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time::{Duration, Instant, Timer};

use crate::{clock, node, settings};

/// How long a board identifies itself, in seconds.
const IDENTIFY_S: u32 = 10;

pub struct Lights {
    status: Output<'static>,
    fault: Option<Output<'static>>,
    /// Held at its level while the lights are in use.
    _common: Option<Output<'static>>,
    lit: Level,
}

impl Lights {
    /// All lights are off at first.
    pub fn new(
        status: Peri<'static, AnyPin>,
        fault: Option<Peri<'static, AnyPin>>,
        common: Option<(Peri<'static, AnyPin>, Level)>,
        lit: Level,
    ) -> Self {
        let dark = if lit == Level::High { Level::Low } else { Level::High };
        let output = |pin, level| Output::new(pin, level, OutputDrive::Standard);
        Self {
            status: output(status, dark),
            fault: fault.map(|pin| output(pin, dark)),
            _common: common.map(|(pin, level)| output(pin, level)),
            lit,
        }
    }

    fn show(&mut self, condition: Condition, step: u32) {
        let level = |is_on: bool| if is_on == (self.lit == Level::High) { Level::High } else { Level::Low };
        let is_routine = matches!(condition, Condition::Searching | Condition::Member | Condition::Leader);
        let is_shown = settings::lights() || !is_routine;
        let (is_on, is_fault) = (is_shown && condition.is_on(step), condition == Condition::Fault);
        let (status, fault) = (level(is_on), level(is_on && is_fault));
        self.status.set_level(status);
        if let Some(light) = &mut self.fault {
            light.set_level(fault);
        }
    }
}

/// What takes precedence over the condition of the node.
#[derive(Clone, Copy, Default)]
struct Overrides {
    is_holding_off: bool,
    has_fault: bool,
    has_twin: bool,
    identify_until_s: u32,
}

static OVERRIDES: Mutex<CriticalSectionRawMutex, Cell<Overrides>> =
    Mutex::new(Cell::new(Overrides { is_holding_off: false, has_fault: false, has_twin: false, identify_until_s: 0 }));

fn change(how: impl FnOnce(&mut Overrides)) {
    OVERRIDES.lock(|cell| {
        let mut overrides = cell.get();
        how(&mut overrides);
        cell.set(overrides);
    });
}

/// Whether the board stays off the air after a reset loop.
pub fn set_holding_off(is_holding_off: bool) {
    change(|overrides| overrides.is_holding_off = is_holding_off);
}

/// Shows from now on that something needs attention.
pub fn set_fault() {
    change(|overrides| overrides.has_fault = true);
}

/// Whether another board has the id of this one.
pub fn set_twin(has_twin: bool) {
    change(|overrides| overrides.has_twin = has_twin);
}

/// Shows for some seconds which board this is.
pub fn identify() {
    defmt::info!("identifying");
    let until = clock::uptime_s().saturating_add(IDENTIFY_S);
    change(|overrides| overrides.identify_until_s = until);
}

fn condition() -> Condition {
    let overrides = OVERRIDES.lock(Cell::get);
    if clock::uptime_s() < overrides.identify_until_s {
        Condition::Identify
    } else if overrides.has_fault || overrides.has_twin {
        Condition::Fault
    } else if overrides.is_holding_off {
        Condition::HoldingOff
    } else {
        node::snapshot().as_ref().map_or(Condition::Searching, Condition::of)
    }
}

#[embassy_executor::task]
pub async fn show(mut lights: Lights) -> ! {
    let mut step = 0_u32;
    loop {
        lights.show(condition(), step);
        step = step.wrapping_add(1);
        Timer::after(Duration::from_millis(STEP_MS)).await;
    }
}

/// Watches a button of which a short press has this meaning.
#[embassy_executor::task(pool_size = 2)]
pub async fn watch(pin: Peri<'static, AnyPin>, short: Wish, is_only: bool) -> ! {
    let mut button = Input::new(pin, Pull::Up);
    loop {
        button.wait_for_low().await;
        let pressed = Instant::now();
        button.wait_for_high().await;
        let held = common::time::Duration::from_micros(pressed.elapsed().as_micros());
        match wish_of_press(held, short, is_only) {
            Some(Wish::Elect) => node::tell(node::Told::Signal(Signal::Elect)),
            Some(Wish::StepDown) => node::tell(node::Told::Signal(Signal::StepDown)),
            Some(Wish::Identify) => identify(),
            None => {}
        }
        Timer::after(Duration::from_micros(DEBOUNCE.as_micros())).await;
    }
}
