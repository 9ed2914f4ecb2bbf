use std::io::ErrorKind;
use std::process::Command;

use super::{Capture, ENHANCED_PACKET, NodeNumber, fcs};
use crate::air::index::RadioIndex;
use crate::air::sink::tests::SmallDisk;
use crate::air::talker::{PSDU, data_frame, room};
use crate::air::world::Watcher;

#[test]
fn the_checksum_is_that_of_the_standard() {
    // The acknowledgment that IEEE 802.15.4-2006, 7.2.1.9, works through.
    assert_eq!(fcs(&[0x02, 0x00, 0x6A]).to_le_bytes(), [0xE4, 0x79]);
    // The check value of this CRC in the usual catalogues, where it is called Kermit.
    assert_eq!(fcs(b"123456789"), 0x2189);
    assert_eq!(fcs(&[]), 0);
}

#[test]
fn a_tiny_capture_byte_for_byte() {
    let mut capture = Capture::new(Vec::new());
    capture.record(0x0001_0002_0003_0004, NodeNumber(7), &[0x02, 0x00, 0x6A, 0xAA, 0xAA]);
    assert_eq!(capture.frames(), 1);
    let bytes = capture.finish().unwrap();
    let section = [
        &[0x0A, 0x0D, 0x0D, 0x0A, 48, 0, 0, 0][..],
        &[0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0],
        &[0xFF; 8],
        &[4, 0, 10, 0],
        b"ringleader\0\0",
        &[0, 0, 0, 0, 48, 0, 0, 0],
    ]
    .concat();
    let interface = [
        &[1, 0, 0, 0, 40, 0, 0, 0][..],
        &[195, 0, 0, 0, 127, 0, 0, 0],
        &[2, 0, 3, 0],
        b"air\0",
        &[9, 0, 1, 0, 6, 0, 0, 0],
        &[0, 0, 0, 0, 40, 0, 0, 0],
    ]
    .concat();
    let packet = [
        &[6, 0, 0, 0, 76, 0, 0, 0][..],
        &[0, 0, 0, 0],
        &[2, 0, 1, 0, 4, 0, 3, 0],
        &[5, 0, 0, 0, 5, 0, 0, 0],
        &[0x02, 0x00, 0x6A, 0xE4, 0x79, 0, 0, 0],
        &[1, 0, 25, 0],
        b"node 7, 352 us on the air\0\0\0",
        &[0, 0, 0, 0, 76, 0, 0, 0],
    ]
    .concat();
    assert_eq!(section.len(), 48);
    assert_eq!(interface.len(), 40);
    assert_eq!(packet.len(), 76);
    assert_eq!(bytes, [section, interface, packet].concat());
}

#[test]
fn what_is_too_short_for_a_checksum_is_left_alone() {
    for psdu in [&[][..], &[0x42]] {
        let mut capture = Capture::new(Vec::new());
        capture.record(0, NodeNumber(0), psdu);
        assert_eq!(packets(&capture.finish().unwrap()), [(0, psdu.to_vec())]);
    }
    let mut capture = Capture::new(Vec::new());
    capture.record(0, NodeNumber(0), &[1, 2]);
    assert_eq!(packets(&capture.finish().unwrap()), [(0, vec![0, 0])], "nothing but the checksum of nothing");
}

#[test]
fn errors_come_out_at_the_end() {
    for room in [0, 50, 90, 150] {
        let mut capture = Capture::new(SmallDisk { room, ..SmallDisk::default() });
        capture.record(5, NodeNumber(0), &[1, 2, 3, 4, 5]);
        assert_eq!(capture.finish().unwrap_err().kind(), ErrorKind::StorageFull, "{room} bytes");
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Walks through the blocks as a reader would, and gives the time and the bytes of every packet.
fn packets(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let length = usize::try_from(word(bytes, 4)).unwrap();
        assert_eq!(length % 4, 0, "blocks are whole words");
        assert_eq!(word(bytes, length - 4), word(bytes, 4), "a block says its length at both ends");
        if word(bytes, 0) == ENHANCED_PACKET {
            let captured = usize::try_from(word(bytes, 20)).unwrap();
            let time = u64::from(word(bytes, 12)) << 32 | u64::from(word(bytes, 16));
            found.push((time, bytes[28..28 + captured].to_vec()));
        }
        bytes = &bytes[length..];
    }
    found
}

/// A watcher that writes into a list, to compare with.
#[derive(Default)]
struct Plain(Vec<(u64, RadioIndex, Vec<u8>)>);

impl<S> Watcher<S> for Plain {
    fn frame(&mut self, world_us: u64, from: RadioIndex, psdu: &[u8]) {
        self.0.push((world_us, from, psdu.to_vec()));
    }
}

#[test]
fn every_frame_of_a_run_is_recorded_with_its_checksum() {
    let mut capture = Capture::new(Vec::new());
    room(4, &mut capture).run_until(3_000_000, &mut capture);
    let mut plain = Plain::default();
    room(4, &mut plain).run_until(3_000_000, &mut plain);
    assert_eq!(plain.0.len(), 12, "four stations, three seconds");
    assert_eq!(capture.frames(), 12);
    let recorded = packets(&capture.finish().unwrap());
    for ((time, bytes), (start, _, psdu)) in recorded.iter().zip(&plain.0) {
        assert_eq!((time, &bytes[..PSDU - 2]), (start, &psdu[..PSDU - 2]));
        assert_eq!(fcs(bytes), 0, "a frame with its right checksum leaves nothing over");
    }
    assert_eq!(recorded.len(), plain.0.len());
}

/// What Wireshark's command-line tool makes of a capture: the chosen fields of every frame; none if it is not installed.
fn tshark(capture: &[u8], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let file = std::env::temp_dir().join(format!("ringleader-{}.pcapng", std::process::id()));
    std::fs::write(&file, capture).unwrap();
    let output = Command::new("tshark")
        .arg("-r")
        .arg(&file)
        .args(["-o", "wpan.fcs_format:ITU-T CRC-16", "-T", "fields", "-E", "separator=|"])
        .args(fields.iter().flat_map(|field| ["-e", field]))
        .output();
    std::fs::remove_file(&file).unwrap();
    let output = match output {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => panic!("tshark does not start: {error}"),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect())
}

#[test]
fn wireshark_decodes_the_frames() {
    let mut capture = Capture::new(Vec::new());
    let frames = [
        (1_000_000, 3, data_frame(1, 0x1234, 0xFFFF, *b"abc")),
        (1_002_500, 0, data_frame(2, 0x0001, 0x1234, *b"xyz")),
        (5_000_000_000_001, 11, data_frame(3, 0xFFFD, 0x0001, [0, 0xFF, 0x80])),
    ];
    for (time, from, psdu) in &frames {
        capture.record(*time, NodeNumber(*from), &[&psdu[..], &[0; 2]].concat());
    }
    let bytes = capture.finish().unwrap();
    let recorded = packets(&bytes);
    assert_eq!(recorded.len(), frames.len());
    for ((time, got), (start, _, psdu)) in recorded.iter().zip(&frames) {
        assert_eq!((time, &got[..PSDU - 2], fcs(got)), (start, &psdu[..PSDU - 2], 0));
    }
    let addresses = ["frame.time_epoch", "wpan.seq_no", "wpan.dst_pan", "wpan.src16", "wpan.dst16", "frame.comment"];
    let Some(decoded) = tshark(&bytes, &addresses) else {
        println!("tshark is not installed: skipping the decode, the bytes are checked");
        return;
    };
    assert_eq!(
        decoded,
        [
            ["1.000000000", "1", "0xbeef", "0x1234", "0xffff", "node 3, 640 us on the air"],
            ["1.002500000", "2", "0xbeef", "0x0001", "0x1234", "node 0, 640 us on the air"],
            ["5000000.000001000", "3", "0xbeef", "0xfffd", "0x0001", "node 11, 640 us on the air"],
        ]
    );
    for verdict in tshark(&bytes, &["frame.protocols", "wpan.fcs_ok"]).unwrap() {
        // What it guesses the payload to be does not matter. Versions differ in how they say yes.
        assert_eq!(verdict[0].split(':').next(), Some("wpan"), "{verdict:?}");
        assert!(["1", "True"].contains(&verdict[1].as_str()), "the checksum is wrong: {verdict:?}");
    }
}
