//! An image for the tests of the emulator: it uses every modelled peripheral through embassy's drivers, and logs what it
//! finds.
//!
//! One byte on the second channel of the debug probe makes it do something: `f` counts in flash, `h` hangs until the
//! watchdog expires, `r` requests a reset, `u` reads a register that does not exist.
#![no_std]
#![no_main]

use defmt::{info, warn};
use embassy_executor::Spawner;
use embassy_futures::select::{Either, select};
use embassy_nrf::config::{Config, HfclkSource, LfclkSource};
use embassy_nrf::gpio::{Input, Level, Output, OutputDrive, Pull};
use embassy_nrf::nvmc::Nvmc;
use embassy_nrf::radio::ieee802154::{Packet, Radio};
use embassy_nrf::uarte::Uarte;
use embassy_nrf::wdt::{self, Watchdog, WatchdogHandle};
use embassy_nrf::{bind_interrupts, pac, peripherals, radio, rng, saadc, temp, uarte};
use embassy_time::{Duration, Instant, Ticker, Timer};
use embedded_storage::nor_flash::{NorFlash, ReadNorFlash};
use panic_probe as _;
use rtt_target::ChannelMode::NoBlockSkip;
use rtt_target::{DownChannel, UpChannel, rtt_init, set_defmt_channel};

bind_interrupts!(struct Irqs {
    RADIO => radio::InterruptHandler<peripherals::RADIO>;
    RNG => rng::InterruptHandler<peripherals::RNG>;
    SAADC => saadc::InterruptHandler;
    TEMP => temp::InterruptHandler;
    UARTE0 => uarte::InterruptHandler<peripherals::UARTE0>;
});

/// The page in which restarts are counted.
const COUNTER: u32 = 0x000F_0000;
const PAGE: u32 = 4096;
/// The channel of all radios.
const CHANNEL: u8 = 20;

/// The light follows the button.
#[embassy_executor::task]
async fn button(mut button: Input<'static>, mut led: Output<'static>) {
    loop {
        button.wait_for_low().await;
        led.set_low();
        info!("pressed");
        button.wait_for_high().await;
        led.set_high();
        info!("released");
    }
}

/// Sends back what comes in on the serial line, four bytes at a time.
#[embassy_executor::task]
async fn echo(mut line: Uarte<'static>) {
    let mut bytes = [0; 4];
    while line.read(&mut bytes).await.is_ok() {
        bytes.make_ascii_uppercase();
        if line.write(&bytes).await.is_err() {
            break;
        }
    }
}

/// Executes the commands of the probe, logs them, and reloads the watchdog.
#[embassy_executor::task]
async fn commands(mut up: UpChannel, mut down: DownChannel, mut flash: Nvmc<'static>, mut dog: WatchdogHandle) {
    loop {
        let mut byte = [0];
        while down.read(&mut byte) == 1 {
            up.write(&byte);
            match byte[0] {
                b'f' => count(&mut flash),
                b'h' => loop {
                    cortex_m::asm::nop();
                },
                b'r' => cortex_m::peripheral::SCB::sys_reset(),
                // SAFETY: nothing lies there, which is what the test is about; the read has no effect on memory.
                b'u' => info!("read {}", unsafe { (0x4002_0300 as *const u32).read_volatile() }),
                _ => {}
            }
        }
        dog.pet();
        Timer::after_millis(50).await;
    }
}

/// Increments the count in flash.
fn count(flash: &mut Nvmc<'static>) {
    let mut word = [0; 4];
    if flash.read(COUNTER, &mut word).is_err() {
        return;
    }
    let number = if word == [0xFF; 4] { 0 } else { u32::from_le_bytes(word) };
    let done = flash.erase(COUNTER, COUNTER + PAGE).and_then(|()| flash.write(COUNTER, &(number + 1).to_le_bytes()));
    info!("flash {} after {}, {}", number + 1, number, done.is_ok());
}

/// Sends a frame twice a second and receives what others send.
async fn talk(mut radio: Radio<'static>, id: u32) -> ! {
    let (mut received, mut sent) = (Packet::new(), Packet::new());
    let mut ticker = Ticker::every(Duration::from_millis(500));
    let mut number = 0_u32;
    loop {
        match select(radio.receive(&mut received), ticker.next()).await {
            Either::First(Ok(())) => {
                let word = |at: usize| {
                    let bytes = received.get(at..).and_then(|rest| rest.first_chunk());
                    bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
                };
                let (from, number) = (word(0), word(4));
                info!("heard {} from {}, {} bytes, quality {}", number, from, received.len(), received.lqi());
            }
            Either::First(Err(error)) => warn!("heard {}", error),
            Either::Second(()) => {
                let mut payload = [0; 20];
                payload[..4].copy_from_slice(&id.to_le_bytes());
                payload[4..8].copy_from_slice(&number.to_le_bytes());
                sent.copy_from_slice(&payload);
                match radio.try_send(&mut sent).await {
                    Ok(()) => info!("sent {} at {} us", number, Instant::now().as_micros()),
                    Err(error) => warn!("not sent {}: {}", number, error),
                }
                number += 1;
            }
        }
    }
}

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let channels = rtt_init! {
        up: {
            0: { size: 2048, mode: NoBlockSkip, name: "defmt" }
            1: { size: 256, mode: NoBlockSkip, name: "link" }
        }
        down: {
            0: { size: 16, name: "unused" }
            1: { size: 256, name: "link" }
        }
    };
    set_defmt_channel(channels.up.0);
    let reasons = pac::POWER.resetreas().read().0;
    pac::POWER.resetreas().write(|w| w.0 = u32::MAX);

    let mut config = Config::default();
    config.hfclk_source = HfclkSource::ExternalXtal;
    config.lfclk_source = LfclkSource::ExternalXtal;
    config.dcdc.reg1 = true;
    let p = embassy_nrf::init(config);
    let id = pac::FICR.deviceid(0).read();
    info!("boot {}, reset reasons {}", id, reasons);

    let mut dog = wdt::Config::default();
    dog.timeout_ticks = 32_768;
    let Ok((_, [dog])) = Watchdog::try_new(p.WDT, dog) else { defmt::panic!("the watchdog runs otherwise") };
    let led = Output::new(p.P0_13, Level::High, OutputDrive::Standard);
    spawner.spawn(defmt::unwrap!(button(Input::new(p.P0_11, Pull::Up), led)));
    let mut line = uarte::Config::default();
    line.baudrate = uarte::Baudrate::Baud115200;
    spawner.spawn(defmt::unwrap!(echo(Uarte::new(p.UARTE0, p.P0_08, p.P0_06, Irqs, line))));
    spawner.spawn(defmt::unwrap!(commands(channels.up.1, channels.down.1, Nvmc::new(p.NVMC), dog)));

    let mut random = [0; 4];
    rng::Rng::new(p.RNG, Irqs).fill_bytes(&mut random).await;
    let degrees = temp::Temp::new(p.TEMP, Irqs).read().await.to_num::<f32>();
    let mut supply = [0; 1];
    let channel = saadc::ChannelConfig::single_ended(saadc::VddInput);
    saadc::Saadc::new(p.SAADC, Irqs, saadc::Config::default(), [channel]).sample(&mut supply).await;
    info!("random {=[u8]}, {=f32} degrees, supply {=i16}", random, degrees, supply[0]);

    let mut radio = Radio::new(p.RADIO, Irqs);
    radio.set_channel(CHANNEL);
    // The driver switches carrier sense off; see the register's description.
    pac::RADIO.ccactrl().write(|w| {
        w.set_ccamode(pac::radio::vals::Ccamode::CarrierOrEdMode);
        w.set_ccaedthres(17);
        w.set_ccacorrthres(45);
        w.set_ccacorrcnt(2);
    });
    Timer::after_millis(u64::from(random[0])).await;
    talk(radio, id).await
}
