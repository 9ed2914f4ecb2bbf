use std::println;

use super::RingKeeper;

#[test]
fn memory_is_small() {
    println!("{} bytes", core::mem::size_of::<RingKeeper>());
}
