//! From the clocks to a running node: how the last run ended, which configuration applies, how long to wait, and then the
//! node itself.

use common::board::config_source::{Source, choose};
use common::board::demo::tag;
use common::board::history::{History, Run};
use common::board::reset;
use common::board::retained::{CrashRecord, LastRun};
use common::board::storage::Begun;
use common::board::watchdog::Part;
use common::config::{Boot, Config};
use common::host_link::{CrashKind, Hello, ResetReason, ToHost, Warning};
use common::rng::Rng;
use embassy_executor::{SendSpawner, Spawner};
use embassy_nrf::Peri;
use embassy_nrf::peripherals::NVMC;
use embassy_time::Timer;
use static_cell::StaticCell;

use crate::boards::board::BOARD;
use crate::radio::Settings;
use crate::sensors::{DieTemperature, Supply};
use crate::{clock, host, identity, node, progress, radio, record, sensors, status, storage};

pub struct Parts {
    pub flash: Peri<'static, NVMC>,
    /// What the last run left in memory.
    pub last_run: Option<LastRun>,
    pub reset: ResetReason,
    /// Random at every start.
    pub seed: u64,
    pub sensors: (DieTemperature, Supply),
    /// The executor of the radio task.
    pub radio: SendSpawner,
    /// The executor of the node task.
    pub node: SendSpawner,
}

/// Boots the node. A failure that the node cannot run without is a panic; any other is reported and shown.
#[embassy_executor::task]
pub async fn run(spawner: Spawner, parts: Parts) {
    let Parts { flash, last_run, reset, seed, sensors, radio: radio_spawner, node: node_spawner } = parts;
    let last_run = last_run.unwrap_or_default();
    let crash = crash_of(&last_run, reset);
    let before = Run { lasted_s: last_run.uptime_s, ending: reset::ending(reset, crash.is_some()) };

    let mut store = defmt::unwrap!(storage::open(flash));
    // A board that has to wait asks for its epoch when it joins, as one whose flash has failed does again and again.
    let Begun { history, epoch } = store.begin_boot(before).await.unwrap_or_else(|error| {
        defmt::error!("without an epoch this board only listens");
        storage::warn(error);
        status::set_fault();
        Begun { history: History::default(), epoch: None }
    });
    let chip = identity::chip();
    let (config, source) = match store.config_override().await {
        Ok(stored) => choose(storage::config_page(), stored, chip),
        Err(error) => {
            storage::warn(error);
            choose(storage::config_page(), None, chip)
        }
    };
    tell_source(source);
    storage::recover_orders(&mut store, &config).await;
    let crash = crash.map(|crash| {
        tell_crash(&crash, last_run.uptime_s);
        crash.report(last_run.uptime_s, history.quick_ends)
    });
    host::introduce(Hello {
        at_us: clock::now().as_micros(),
        build: identity::build(),
        board: BOARD,
        chip,
        id: config.id,
        epoch,
        pan: config.pan,
        channel: config.channel,
        algorithm: config.algorithm,
        demo: matches!(source, Source::Demo | Source::DemoInstead(_)),
        reset,
        crash,
    });
    record::set(last_run.record_calls);
    let mut rng = Rng::new(seed);
    let boot = Boot { epoch, seed: rng.next_u64(), device: tag(chip) };
    let settings = Settings { channel: config.channel, power_dbm: config.power_dbm, seed: rng.next_u64() };
    let name = u16::try_from(rng.below(1 << 16)).unwrap_or(0);
    let config = settle(config, epoch);
    // The flash is served from now on, while the board may have to wait. All that is in this task, whose memory is static.
    let join = async {
        hold_off(&history).await;
        node_spawner.spawn(defmt::unwrap!(node::run(config, boot)));
        radio_spawner.spawn(defmt::unwrap!(radio::run(settings)));
        let (temperature, supply) = sensors;
        spawner.spawn(defmt::unwrap!(sensors::run(temperature, supply, history)));
    };
    embassy_futures::join::join(storage::run(&mut store, name), join).await;
}

/// Checks the configuration, and keeps it for the node. It was checked when it was stored, so a failure is a defect.
fn settle(config: Config, epoch: Option<u16>) -> &'static Config {
    static CONFIG: StaticCell<Config> = StaticCell::new();
    if let Err(error) = config.check() {
        defmt::panic!("{}", error);
    }
    let Config { id, pan, channel, algorithm, .. } = config;
    if let Some(epoch) = epoch {
        defmt::info!(
            "node {} of network {=u16:#06x} on channel {=u8}: {}, boot {=u16}",
            id,
            pan,
            channel,
            algorithm,
            epoch
        );
    } else {
        defmt::warn!(
            "node {} of network {=u16:#06x} on channel {=u8}: {}, only listening",
            id,
            pan,
            channel,
            algorithm
        );
    }
    CONFIG.init(config)
}

/// Why the last run crashed, if it did. A board that the watchdog resets without warning leaves no record.
fn crash_of(last_run: &LastRun, reset: ResetReason) -> Option<CrashRecord> {
    match reset {
        ResetReason::Watchdog => Some(last_run.crash.clone().unwrap_or_else(|| CrashRecord::stuck(Part::Thread))),
        ResetReason::Lockup => Some(last_run.crash.clone().unwrap_or_else(|| CrashRecord::of(CrashKind::HardFault))),
        _ => last_run.crash.clone(),
    }
}

fn tell_crash(crash: &CrashRecord, uptime_s: u32) {
    let message = crash.message.as_str();
    defmt::error!(
        "the run before ended after {=u32} s with {}{=str}{=str}, pc {=u32:#010x}, lr {=u32:#010x}, sp {=u32:#010x}, \
         cfsr {=u32:#010x}",
        uptime_s,
        crash.kind,
        if message.is_empty() { "" } else { ": " },
        message,
        crash.pc,
        crash.lr,
        crash.sp,
        crash.cfsr
    );
}

fn tell_source(source: Source) {
    match source {
        Source::Page => defmt::info!("configured by the page that a probe wrote"),
        Source::Cable => defmt::info!("configured over the cable"),
        Source::Demo => {
            defmt::warn!("DEMO NETWORK: not provisioned, and its key is public. See `ringleader provision --help`");
            host::say(ToHost::Warning(Warning::DemoNetwork));
        }
        Source::DemoInstead(error) => {
            defmt::error!("DEMO NETWORK: the configuration is damaged ({})", error);
            status::set_fault();
            host::say(ToHost::Warning(Warning::BadConfig));
        }
    }
}

/// Stays off the air for a while after a reset loop.
async fn hold_off(history: &History) {
    let wait = history.hold_off();
    if wait.is_zero() {
        return;
    }
    defmt::warn!(
        "reset loop: keeping quiet for {=u64} s after {=u8} in a row; to join at once, press reset or pull the plug",
        wait.as_micros() / 1_000_000,
        history.quick_ends
    );
    host::say(ToHost::Warning(Warning::ResetLoop));
    status::set_holding_off(true);
    let until = clock::now() + wait;
    while clock::now() < until {
        // Radio and node have not started, so they cannot show progress themselves.
        progress::tick(Part::Radio);
        progress::tick(Part::Node);
        Timer::after(embassy_time::Duration::from_millis(500)).await;
    }
    status::set_holding_off(false);
}
