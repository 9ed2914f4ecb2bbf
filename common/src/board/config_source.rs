//! Which configuration a board runs with: the one from the cable, the one a probe wrote, or the demo network's.

use crate::board::demo;
use crate::board::storage::Override;
use crate::config::Config;
use crate::config::page::{self, PageError};

/// Where a configuration came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Source {
    /// The configuration page, written by a probe.
    Page,
    Cable,
    /// The board was never provisioned.
    Demo,
    /// The configuration is invalid for this reason, so the board joins the demo network.
    DemoInstead(PageError),
}

/// The configuration of a board with this configuration page, this configuration from the cable and this chip.
pub fn choose(page_bytes: &[u8], stored: Option<Override<'_>>, device: u64) -> (Config, Source) {
    let demo = |source| (demo::config(device), source);
    let current = page::checksum(page_bytes);
    let (bytes, source) = match stored.filter(|stored| stored.replaces == current) {
        Some(Override { page: Some(bytes), .. }) => (bytes, Source::Cable),
        Some(Override { page: None, .. }) => return demo(Source::Demo),
        None => (page_bytes, Source::Page),
    };
    match page::decode(bytes) {
        Ok(config) => (config, source),
        Err(PageError::Blank) => demo(Source::Demo),
        Err(error) => demo(Source::DemoInstead(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Source, choose};
    use crate::board::storage::Override;
    use crate::config::page::{self, PAGE_MAX, PageError};
    use crate::config::{Config, IdSource, Protection};
    use crate::types::NodeId;

    fn page(id: u16) -> [u8; PAGE_MAX] {
        let mut bytes = [0xFF; PAGE_MAX];
        page::encode(&Config::ad_hoc(NodeId(id), 7, Protection::Open), &mut bytes).expect("it fits");
        bytes
    }

    fn chosen(page: &[u8], stored: Option<Override<'_>>) -> (u16, Source) {
        let (config, source) = choose(page, stored, 1);
        let id = if config.id_source == IdSource::Chip { 0 } else { config.id.0 };
        (id, source)
    }

    #[test]
    fn the_cable_counts_until_a_probe_writes_another_page() {
        let (first, second, cable) = (page(1), page(2), page(3));
        let stored = Override { replaces: page::checksum(&first), page: Some(&cable) };
        assert_eq!(chosen(&first, None), (1, Source::Page));
        assert_eq!(chosen(&first, Some(stored)), (3, Source::Cable));
        assert_eq!(chosen(&second, Some(stored)), (2, Source::Page));
        let blank = [0xFF; 64];
        assert_eq!(chosen(&blank, Some(Override { replaces: None, ..stored })), (3, Source::Cable));
        assert_eq!(chosen(&blank, Some(stored)), (0, Source::Demo), "the page it replaced is gone");
    }

    #[test]
    fn a_board_can_be_sent_back_to_the_demo_network() {
        let first = page(1);
        let stored = Override { replaces: page::checksum(&first), page: None };
        assert_eq!(chosen(&first, Some(stored)), (0, Source::Demo));
    }

    #[test]
    fn damage_is_told() {
        let mut torn = page(1);
        torn[9] ^= 1;
        assert_eq!(chosen(&torn, None), (0, Source::DemoInstead(PageError::Checksum)));
        assert_eq!(chosen(&[0xFF; 64], None), (0, Source::Demo));
    }
}
