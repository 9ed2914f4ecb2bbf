//! The host link over a serial line: 115200 baud, 8 bits, no parity, no flow control. Without a listener the bytes are lost;
//! nothing waits.

use embassy_futures::join::join;
use embassy_nrf::buffered_uarte::{BufferedUarte, BufferedUarteRx, BufferedUarteTx, InterruptHandler};
use embassy_nrf::peripherals::{PPI_CH2, PPI_CH3, PPI_GROUP0, TIMER1, UARTE0};
use embassy_nrf::uarte::{Baudrate, Config, Parity};
use embassy_nrf::{Peri, bind_interrupts};
use embassy_time::{Duration, Timer};
use static_cell::ConstStaticCell;

use super::UART;
use super::line::CommandDecoder;
use crate::boards::Serial;

bind_interrupts!(struct Interrupts {
    UARTE0 => InterruptHandler<UARTE0>;
});

/// Bytes that wait within the driver, in each direction.
const BUFFER: usize = 256;

pub struct Parts {
    pub uarte: Peri<'static, UARTE0>,
    /// Counts received bytes.
    pub timer: Peri<'static, TIMER1>,
    /// Connect the serial port to the timer.
    pub wires: (Peri<'static, PPI_CH2>, Peri<'static, PPI_CH3>, Peri<'static, PPI_GROUP0>),
}

#[embassy_executor::task]
pub async fn run(parts: Parts, pins: Serial) -> ! {
    static RECEIVE: ConstStaticCell<[u8; BUFFER]> = ConstStaticCell::new([0; BUFFER]);
    static SEND: ConstStaticCell<[u8; BUFFER]> = ConstStaticCell::new([0; BUFFER]);
    let mut config = Config::default();
    config.baudrate = Baudrate::Baud115200;
    config.parity = Parity::Excluded;
    let (first, second, group) = parts.wires;
    let line = BufferedUarte::new(
        parts.uarte,
        parts.timer,
        first,
        second,
        group,
        pins.receive,
        pins.send,
        Interrupts,
        config,
        RECEIVE.take(),
        SEND.take(),
    );
    let (receiver, sender) = line.split();
    UART.set_open(true);
    join(receive(receiver), send(sender)).await.0
}

async fn send(mut sender: BufferedUarteTx<'static>) -> ! {
    let mut bytes = [0; 64];
    loop {
        let length = UART.collect(&mut bytes).await;
        let mut rest = bytes.get(..length).unwrap_or_default();
        while !rest.is_empty() {
            // The driver reports no errors when it sends.
            let Ok(sent) = sender.write(rest).await else { break };
            rest = rest.get(sent..).unwrap_or_default();
        }
    }
}

async fn receive(mut receiver: BufferedUarteRx<'static>) -> ! {
    let mut commands = CommandDecoder::new();
    let mut bytes = [0; 64];
    loop {
        if let Ok(length) = receiver.read(&mut bytes).await {
            commands.accept(bytes.get(..length).unwrap_or_default());
        } else {
            // A floating line produces errors without end.
            Timer::after(Duration::from_millis(10)).await;
        }
    }
}
