//! The log is for people: what it prints can be read, pasted and compared.

use common::config::Config;
use common::host_link::ToBoard;
use emulator::images;

use super::bench::{Bench, any, config, provisioned};

/// The first sixteen digits of the build id as `readelf -n` prints it: they follow the header of the note and the name "GNU".
fn build_id(elf: &[u8]) -> String {
    let header = [4_u32, 20, 3].map(u32::to_le_bytes).concat();
    let note = [&header[..], b"GNU\0"].concat();
    let at = elf.windows(note.len()).position(|bytes| bytes == note).expect("the linker wrote a build id");
    let id = elf[at + note.len()..].first_chunk().expect("eight of its twenty bytes");
    format!("{:016x}", u64::from_be_bytes(*id))
}

#[test]
fn the_first_line_names_the_image_the_board_and_the_reason() {
    let mut bench = Bench::new(vec![provisioned(0x00C0_FFEE, &config(1))]);
    bench.run_ms(1_000);
    let log = bench.log(0);
    let first = log.iter().find(|line| line.contains("Ringleader")).unwrap_or_else(|| panic!("{log:?}"));
    let id = build_id(&images::elf("firmware").expect("the image builds"));
    assert!(first.contains(&format!("build {id}, chip 0000000000c0ffee")), "{first}; {id}");
    assert!(first.contains("on nRF52840-DK") && first.ends_with("started by software"), "{first}");
    assert!(any(&log, "node 1 of network 0x5eed on channel 15: Height, boot 1"), "{log:?}");
}

#[test]
fn no_line_is_for_machines() {
    // Two of them have one id.
    let boards: [Config; 4] = [config(1), config(2), config(3), config(3)];
    let boards = boards.iter().zip(1..).map(|(config, chip)| provisioned(chip, config)).collect();
    let mut bench = Bench::new(boards);
    bench.run_ms(8_000);
    bench.tell(0, &ToBoard::Elect);
    bench.network.power_off(1);
    bench.run_ms(12_000);
    bench.network.board(2).reset();
    bench.run_ms(3_000);
    let lines: Vec<String> = (0..4).flat_map(|number| bench.log(number)).collect();
    let names = ["Some(", "None", "NodeId", "LinkUp", "LinkDown", "Twin", "Nrf52840", "Software", "Height {", "[", "]"];
    for line in &lines {
        assert!(names.iter().all(|name| !line.contains(name)), "{line}");
    }
    let expected = ["link to 2 up", "link to 2 down: ", "also has the id 3", "leader ", "started by the reset button"];
    for part in expected {
        assert!(any(&lines, part), "nothing says {part:?}: {lines:#?}");
    }
}
