//! Two boards with one id. A board whose id comes from its chip's number takes another; a board whose id was configured only
//! reports the conflict.

use crate::config::{Boot, Config, IdSource};

#[derive(Clone, Debug)]
pub struct Twins {
    device: u16,
    id_source: IdSource,
    /// Another board has this node's id, and this node may take another. It does so after one more hello, from which the
    /// other board learns of the conflict.
    is_found: bool,
    must_rename: bool,
}

impl Twins {
    pub fn new(config: &Config, boot: Boot) -> Self {
        Self { device: boot.device, id_source: config.id_source, is_found: false, must_rename: false }
    }

    /// A piece of this board's serial number.
    pub fn device(&self) -> u16 {
        self.device
    }

    /// Another board has this node's id. True where this node may take another.
    pub fn find(&mut self) -> bool {
        self.is_found |= self.id_source == IdSource::Chip;
        self.is_found
    }

    /// A hello was sent, which showed the twin this board's serial number.
    pub fn hello_sent(&mut self) {
        self.must_rename |= self.is_found;
    }

    pub fn must_rename(&self) -> bool {
        self.must_rename
    }

    pub fn renamed(&mut self) {
        (self.is_found, self.must_rename) = (false, false);
    }
}
