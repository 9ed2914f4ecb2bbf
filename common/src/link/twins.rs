//! Two boards with one id. A board whose id was made from its chip's number takes another; one whose id was configured only
//! tells of it.

use crate::config::{Boot, Config, IdSource};

#[derive(Clone, Debug)]
pub struct Twins {
    device: u16,
    id_source: IdSource,
    /// Another board has this node's id, and this node may take another: as soon as it has said hello once more, so that
    /// the other one learns of it, too.
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

    /// Another board has this node's id; whether this node may take another.
    pub fn find(&mut self) -> bool {
        self.is_found |= self.id_source == IdSource::Chip;
        self.is_found
    }

    /// A hello was sent: the twin has been shown this board's serial number, so that it knows as well.
    pub fn hello_sent(&mut self) {
        self.must_rename |= self.is_found;
    }

    /// Whether this node is to take another id now.
    pub fn must_rename(&self) -> bool {
        self.must_rename
    }

    /// It has.
    pub fn renamed(&mut self) {
        (self.is_found, self.must_rename) = (false, false);
    }
}
