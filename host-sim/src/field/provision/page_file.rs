//! A configuration page as a file that can be flashed.

use std::fmt::Write as _;

use anyhow::Context;
use common::board::flash_map::FlashMap;
use common::config::page::{self, PAGE_MAX};
use common::config::{Config, ConfigError};
use common::names::Board;

use super::target::Format;

/// Checks a configuration and encodes its page.
pub fn page_bytes(config: &Config) -> anyhow::Result<Vec<u8>> {
    config.check().map_err(|ConfigError { field, must }| anyhow::anyhow!("`{field}` must be {must}"))?;
    let mut buf = [0; PAGE_MAX];
    let page = page::encode(config, &mut buf).ok().context("a page has room for every configuration")?;
    Ok(page.to_vec())
}

pub fn contents(page: &[u8], board: Board, format: Format) -> Vec<u8> {
    match format {
        Format::Binary => page.to_vec(),
        Format::Hex => intel_hex(FlashMap::of(board).config_page(), page).into_bytes(),
    }
}

/// Intel HEX: each line has a count, a 16-bit address, a type, data and a checksum that makes the sum zero.
fn intel_hex(address: u32, bytes: &[u8]) -> String {
    const DATA: u8 = 0;
    const END: u8 = 1;
    const UPPER_ADDRESS: u8 = 4;
    let [upper_high, upper_low, ..] = address.to_be_bytes();
    let mut text = String::new();
    hex_line(&mut text, 0, UPPER_ADDRESS, &[upper_high, upper_low]);
    // A page lies within one 64 KiB block, so the upper half of the address is constant.
    for (chunk, at) in bytes.chunks(16).zip((address..).step_by(16)) {
        let [.., high, low] = at.to_be_bytes();
        hex_line(&mut text, u16::from_be_bytes([high, low]), DATA, chunk);
    }
    hex_line(&mut text, 0, END, &[]);
    text
}

fn hex_line(text: &mut String, address: u16, kind: u8, data: &[u8]) {
    let [high, low] = address.to_be_bytes();
    let count = u8::try_from(data.len()).unwrap_or(u8::MAX);
    let line: Vec<u8> = [count, high, low, kind].iter().chain(data).copied().collect();
    let sum = line.iter().fold(0_u8, |sum, byte| sum.wrapping_sub(*byte));
    text.push(':');
    for byte in line.iter().chain([&sum]) {
        let _ = write!(text, "{byte:02X}");
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::intel_hex;

    #[test]
    fn intel_hex_is_as_its_makers_describe_it() {
        let data: Vec<u8> = (0..18).collect();
        assert_eq!(
            intel_hex(0xD_F000, &data),
            ":02000004000DED\n:10F00000000102030405060708090A0B0C0D0E0F88\n:02F010001011DD\n:00000001FF\n"
        );
    }
}
