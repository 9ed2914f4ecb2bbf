//! The image of a board: starts the clocks, tests the core, then runs one election node.
//!
//! There is no radio in it yet. A board has no peers, so it elects itself; everything else of the core is exercised by
//! the self-test, in which two nodes on the same board elect a leader between them.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod board;
mod node;
mod self_test;

use common::rng::Rng;
use defmt_rtt as _;
use embassy_executor::Spawner;

use crate::board::Board;

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let Board { id, algorithm, seed } = Board::start();
    defmt::info!("node {} runs {}", id, algorithm);

    // A board whose core does not work must not take part: its neighbours would believe it.
    if let Err(failure) = self_test::run(algorithm, &mut Rng::new(seed)) {
        defmt::panic!("self-test of {} failed: {}", algorithm, failure);
    }
    defmt::info!("self-test passed");

    spawner.spawn(defmt::unwrap!(node::run(node::alone(id, seed, algorithm))));
}

/// Stops without a second message: the one that led here has been logged.
#[defmt::panic_handler]
fn stop() -> ! {
    panic_probe::hard_fault()
}
