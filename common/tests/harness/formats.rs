//! What a fuzzer does with the formats that are read from outside: configuration pages and frames of the host link.
//!
//! Bytes are tried as they are, and again behind a checksum that fits them: otherwise hardly any would get past it.

use common::config::page::{self, MAGIC, PAGE_MAX, PageError, VERSION};
use common::host_link::{Decoder, FRAME_BYTES_MAX, Message, ToBoard, ToHost, encode};

/// Reads bytes as a configuration page, and as the body of one. What is accepted is sound and survives being written again. How
/// many pages were accepted.
pub fn config_page(bytes: &[u8]) -> u32 {
    let mut sealed: Vec<u8> = MAGIC.into();
    sealed.extend([VERSION, 0]);
    sealed.extend(u16::try_from(bytes.len()).unwrap_or(u16::MAX).to_le_bytes());
    sealed.extend(bytes);
    sealed.extend(crc32(&sealed).to_le_bytes());
    u32::from(is_page(bytes)) + u32::from(is_page(&sealed))
}

fn is_page(bytes: &[u8]) -> bool {
    match page::decode(bytes) {
        Ok(config) => {
            config.check().expect("an accepted page is sound");
            let mut buf = [0; PAGE_MAX];
            let written = page::encode(&config, &mut buf).expect("the largest page fits");
            assert_eq!(page::decode(written), Ok(config), "what was written is read again");
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty() && page::checksum(&[]).is_none());
            assert!(error != PageError::Blank || bytes.starts_with(&[0xFF; 8]));
            false
        }
    }
}

/// Feeds bytes to the decoders of both ends of the host link, and again as the body of a frame each way. Whatever they were, the
/// next frame is understood. How many messages were.
pub fn host_link(bytes: &[u8]) -> u32 {
    messages(bytes, &ToBoard::Ping(7)) + messages(bytes, &ToHost::Pong(7))
}

fn messages<M: Message>(bytes: &[u8], known: &M) -> u32 {
    let mut buf = [0; FRAME_BYTES_MAX];
    let good = encode(known, &mut buf).expect("it fits").to_vec();
    let mut decoder = Decoder::<M>::new();
    let mut count = 0;
    let mut feed = |bytes: &[u8]| {
        let mut last = None;
        for message in bytes.iter().filter_map(|&byte| decoder.push(byte)) {
            let mut buf = [0; FRAME_BYTES_MAX];
            let again = encode(&message, &mut buf).expect("what was understood fits");
            let mut fresh = Decoder::<M>::new();
            let back = again.iter().find_map(|&byte| fresh.push(byte));
            assert_eq!(back.as_ref(), Some(&message), "what was written is read again");
            count += 1;
            last = Some(message);
        }
        last
    };
    feed(bytes);
    // A zero ends whatever the bytes began.
    feed(&[0]);
    assert_eq!(feed(&good).as_ref(), Some(known), "the next frame is understood");
    feed(&framed(bytes, &good));
    assert_eq!(feed(&good).as_ref(), Some(known), "the next frame is understood");
    count
}

/// Bytes as the message of a frame that has everything else right; version and direction are those of a good frame.
fn framed(bytes: &[u8], good: &[u8]) -> Vec<u8> {
    // The first byte of a good frame is the code of its first block, and version and direction are not zero.
    let mut body: Vec<u8> = good.iter().skip(1).take(2).copied().collect();
    body.extend(bytes);
    body.extend(crc16(&body).to_le_bytes());
    let mut frame = vec![0; 2 * body.len() + 2];
    let length = stuff(&body, &mut frame);
    frame.truncate(length);
    frame.push(0);
    frame
}

/// Consistent overhead byte stuffing: every run without zeros behind its length plus one; how much of `out` was used.
fn stuff(body: &[u8], out: &mut [u8]) -> usize {
    let mut used = 0;
    let runs: Vec<&[u8]> = body.split(|&byte| byte == 0).collect();
    for run in runs {
        let mut pieces = run.chunks(254).peekable();
        if pieces.peek().is_none() {
            out[used] = 1;
            used += 1;
        }
        for piece in pieces {
            out[used] = u8::try_from(piece.len() + 1).unwrap_or(u8::MAX);
            out[used + 1..used + 1 + piece.len()].copy_from_slice(piece);
            used += piece.len() + 1;
        }
    }
    used
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| sum >> 1 ^ if sum & 1 == 1 { 0xEDB8_8320 } else { 0 })
    })
}

fn crc16(bytes: &[u8]) -> u16 {
    !bytes.iter().fold(u16::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u16::from(byte), |sum, _| sum >> 1 ^ if sum & 1 == 1 { 0x8408 } else { 0 })
    })
}
