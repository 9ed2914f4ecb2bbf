//! The host link over the USB of the chip, as a serial port (CDC-ACM). The peripheral stays untouched until there is a
//! voltage on the bus.

use embassy_futures::join::join3;
use embassy_nrf::pac::POWER;
use embassy_nrf::peripherals::USBD;
use embassy_nrf::usb::vbus_detect::{self, HardwareVbusDetect};
use embassy_nrf::usb::{self, Driver};
use embassy_nrf::{Peri, bind_interrupts};
use embassy_time::{Duration, Timer, with_timeout};
use embassy_usb::class::cdc_acm::{CdcAcmClass, ControlChanged, Receiver, Sender, State};
use embassy_usb::driver::EndpointError;
use embassy_usb::{Builder, Config, UsbDevice};
use static_cell::{ConstStaticCell, StaticCell};

use super::USB;
use super::line::CommandDecoder;

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
    while !POWER.usbregstatus().read().vbusdetect() {
        Timer::after(POLL_EVERY).await;
    }
    let (mut device, class) = build(peripheral, serial_number);
    let (sender, receiver, control) = class.split_with_control();
    join3(device.run(), send(sender, control), receive(receiver)).await.0
}

fn build(
    peripheral: Peri<'static, USBD>,
    serial_number: &'static str,
) -> (UsbDevice<'static, Bus>, CdcAcmClass<'static, Bus>) {
    static DESCRIPTORS: ConstStaticCell<[u8; 128]> = ConstStaticCell::new([0; 128]);
    static OBJECTS: ConstStaticCell<[u8; 16]> = ConstStaticCell::new([0; 16]);
    static CONTROL: ConstStaticCell<[u8; 64]> = ConstStaticCell::new([0; 64]);
    static CLASS: StaticCell<State<'static>> = StaticCell::new();
    let mut config = Config::new(VENDOR, PRODUCT);
    config.manufacturer = Some("Ringleader");
    config.product = Some("Ringleader node");
    config.serial_number = Some(serial_number);
    let driver = Driver::new(peripheral, Interrupts, HardwareVbusDetect::new(Interrupts));
    let mut builder = Builder::new(driver, config, DESCRIPTORS.take(), OBJECTS.take(), &mut [], CONTROL.take());
    let class = CdcAcmClass::new(&mut builder, CLASS.init(State::new()), PACKET);
    (builder.build(), class)
}

async fn send(mut sender: Sender<'static, Bus>, control: ControlChanged<'static>) -> ! {
    loop {
        sender.wait_connection().await;
        while !sender.dtr() {
            control.control_changed().await;
        }
        USB.set_open(true);
        super::say_hello();
        // Whatever the reason, the host has to open the port again.
        let _: Result<(), EndpointError> = carry(&mut sender).await;
        USB.set_open(false);
        Timer::after(Duration::from_millis(100)).await;
    }
}

async fn carry(sender: &mut Sender<'static, Bus>) -> Result<(), EndpointError> {
    let mut bytes = [0; PACKET as usize];
    while sender.dtr() {
        let length = USB.collect(&mut bytes).await;
        let packet = bytes.get(..length).unwrap_or_default();
        // Otherwise the board would wait for ever for a host that does not read.
        with_timeout(PATIENCE, sender.write_packet(packet)).await.unwrap_or(Err(EndpointError::Disabled))?;
        if length == usize::from(PACKET) {
            // A full packet announces more data; an empty one ends the transfer.
            with_timeout(PATIENCE, sender.write_packet(&[])).await.unwrap_or(Err(EndpointError::Disabled))?;
        }
    }
    Ok(())
}

async fn receive(mut receiver: Receiver<'static, Bus>) -> ! {
    let mut commands = CommandDecoder::new();
    let mut bytes = [0; PACKET as usize];
    loop {
        receiver.wait_connection().await;
        while let Ok(length) = receiver.read_packet(&mut bytes).await {
            commands.accept(bytes.get(..length).unwrap_or_default());
        }
    }
}
