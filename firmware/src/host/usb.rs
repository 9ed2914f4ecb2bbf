//! The host link over the USB of the chip, as a serial port (CDC-ACM). The peripheral stays untouched until there is a
//! voltage on the bus.

use embassy_futures::join::join3;
use embassy_futures::select::select;
use embassy_nrf::pac::POWER;
use embassy_nrf::peripherals::USBD;
use embassy_nrf::usb::vbus_detect::{self, HardwareVbusDetect};
use embassy_nrf::usb::{self, Driver};
use embassy_nrf::{Peri, bind_interrupts};
use embassy_time::{Duration, Timer, with_timeout};
use embassy_usb::class::cdc_acm::{CdcAcmClass, Receiver, Sender, State};
use embassy_usb::driver::EndpointError;
use embassy_usb::{Builder, Config, UsbDevice};
use static_cell::{ConstStaticCell, StaticCell};

use super::USB;
use super::line::CommandDecoder;
use super::usb_link::{self as link, Watcher};

bind_interrupts!(struct Interrupts {
    USBD => usb::InterruptHandler<USBD>;
    CLOCK_POWER => vbus_detect::InterruptHandler;
});

type Bus = Driver<'static, HardwareVbusDetect>;

/// Identifiers that pid.codes reserves for tests; a product needs its own.
const VENDOR: u16 = 0x1209;
const PRODUCT: u16 = 0x0001;

/// The packet size, the largest at full speed.
const PACKET: u16 = 64;

/// How often an unplugged board checks for a voltage on the bus.
const POLL_EVERY: Duration = Duration::from_secs(1);

/// How long a host that has opened the port may leave a packet unread before it counts as gone.
const PATIENCE: Duration = Duration::from_secs(1);

#[embassy_executor::task]
pub async fn run(peripheral: Peri<'static, USBD>, serial_number: &'static str) -> ! {
    while !has_power() {
        Timer::after(POLL_EVERY).await;
    }
    let (device, class) = build(peripheral, serial_number);
    let (sender, receiver) = class.split();
    // The device comes first: what it learns of the bus, the other two see before they do anything.
    join3(attend(device), send(sender), receive(receiver)).await.0
}

fn has_power() -> bool {
    POWER.usbregstatus().read().vbusdetect()
}

/// Runs the device. A cable that is pulled in the middle of a request leaves embassy waiting, awake, for the rest of it, so
/// that it is made to look at the bus again.
async fn attend(mut device: UsbDevice<'static, Bus>) -> ! {
    loop {
        let abandoned = async {
            Timer::after(POLL_EVERY).await;
            while !link::is_enabled() || has_power() {
                Timer::after(POLL_EVERY).await;
            }
        };
        select(abandoned, device.run()).await;
    }
}

fn build(
    peripheral: Peri<'static, USBD>,
    serial_number: &'static str,
) -> (UsbDevice<'static, Bus>, CdcAcmClass<'static, Bus>) {
    static DESCRIPTORS: ConstStaticCell<[u8; 128]> = ConstStaticCell::new([0; 128]);
    static OBJECTS: ConstStaticCell<[u8; 16]> = ConstStaticCell::new([0; 16]);
    static CONTROL: ConstStaticCell<[u8; 64]> = ConstStaticCell::new([0; 64]);
    static CLASS: StaticCell<State<'static>> = StaticCell::new();
    static WATCHER: ConstStaticCell<Watcher> = ConstStaticCell::new(Watcher);
    let mut config = Config::new(VENDOR, PRODUCT);
    config.manufacturer = Some("Ringleader");
    config.product = Some("Ringleader node");
    config.serial_number = Some(serial_number);
    let driver = Driver::new(peripheral, Interrupts, HardwareVbusDetect::new(Interrupts));
    let mut builder = Builder::new(driver, config, DESCRIPTORS.take(), OBJECTS.take(), &mut [], CONTROL.take());
    let class = CdcAcmClass::new(&mut builder, CLASS.init(State::new()), PACKET);
    builder.handler(WATCHER.take());
    (builder.build(), class)
}

async fn send(mut sender: Sender<'static, Bus>) -> ! {
    loop {
        sender.wait_connection().await;
        link::until(|| sender.dtr()).await;
        USB.set_open(true);
        super::say_hello();
        // Whatever the reason, the host has to open the port again, or to wake up.
        let _: Result<(), EndpointError> = carry(&mut sender).await;
        USB.set_open(false);
        Timer::after(Duration::from_millis(100)).await;
    }
}

async fn carry(sender: &mut Sender<'static, Bus>) -> Result<(), EndpointError> {
    let mut bytes = [0; PACKET as usize];
    while sender.dtr() {
        let length = link::while_up(USB.collect(&mut bytes)).await.ok_or(EndpointError::Disabled)?;
        write(sender, bytes.get(..length).unwrap_or_default()).await?;
        if length == usize::from(PACKET) {
            // A full packet announces more data; an empty one ends the transfer.
            write(sender, &[]).await?;
        }
    }
    Ok(())
}

async fn write(sender: &mut Sender<'static, Bus>, packet: &[u8]) -> Result<(), EndpointError> {
    // Otherwise the board would wait for ever for a host that does not read.
    let written = link::while_up(with_timeout(PATIENCE, sender.write_packet(packet))).await;
    written.and_then(Result::ok).unwrap_or(Err(EndpointError::Disabled))
}

async fn receive(mut receiver: Receiver<'static, Bus>) -> ! {
    let mut commands = CommandDecoder::new();
    let mut bytes = [0; PACKET as usize];
    loop {
        receiver.wait_connection().await;
        link::until(|| true).await;
        while let Some(Ok(length)) = link::while_up(receiver.read_packet(&mut bytes)).await {
            commands.accept(bytes.get(..length).unwrap_or_default());
        }
    }
}
