//! RTT: channels between a program and the debug probe, in the RAM of the program.
//!
//! A control block describes rings that the program fills and the probe empties, and others that the probe fills. This is
//! the probe. It finds the block by its symbol, or by its first bytes.

use std::collections::VecDeque;

use crate::io::Width;
use crate::memory::{Memory, RAM_START};

const MAGIC: &[u8; 16] = b"SEGGER RTT\0\0\0\0\0\0";
/// Offsets in the control block.
const UP_COUNT: u32 = 16;
const DOWN_COUNT: u32 = 20;
const HEADER: u32 = 24;
/// The size of a ring descriptor, and offsets in it.
const DESCRIPTOR: u32 = 24;
const BUFFER: u32 = 4;
const SIZE: u32 = 8;
const WRITE: u32 = 12;
const READ: u32 = 16;
const MODE: u32 = 20;
/// A control block that claims more channels is damaged.
const CHANNELS_MAX: u32 = 16;
/// Bytes that wait for the reader, or for space on the board. More are lost and counted.
const QUEUE_MAX: usize = 1 << 20;
/// Searching all of RAM is slow, so only one in this many polls does it.
const SEARCH_EVERY: u32 = 256;

#[derive(Clone, Debug, Default)]
pub struct Rtt {
    symbol: Option<u32>,
    block: Option<u32>,
    polls: u32,
    up: Vec<VecDeque<u8>>,
    down: Vec<VecDeque<u8>>,
    lost: u64,
}

/// A ring in RAM, whose descriptor lies at `at`.
#[derive(Clone, Copy, Debug)]
struct Ring {
    at: u32,
    buffer: u32,
    size: u32,
    write: u32,
    read: u32,
}

impl Ring {
    fn at(memory: &Memory, at: u32) -> Option<Self> {
        let word = |offset| memory.read(at + offset, Width::Word);
        let ring = Self { at, buffer: word(BUFFER)?, size: word(SIZE)?, write: word(WRITE)?, read: word(READ)? };
        (ring.size > 0 && ring.write < ring.size && ring.read < ring.size).then_some(ring)
    }

    fn drain(mut self, memory: &mut Memory, into: &mut VecDeque<u8>) {
        while self.read != self.write {
            let Some(byte) = memory.read(self.buffer.wrapping_add(self.read), Width::Byte) else { return };
            into.push_back(u8::try_from(byte).unwrap_or(0));
            self.read = (self.read + 1) % self.size;
        }
        let _in_ram = memory.write_ram(self.at + READ, Width::Word, self.read);
    }

    fn fill(mut self, memory: &mut Memory, from: &mut VecDeque<u8>) {
        while (self.write + 1) % self.size != self.read
            && let Some(byte) = from.pop_front()
        {
            let _in_ram = memory.write_ram(self.buffer.wrapping_add(self.write), Width::Byte, u32::from(byte));
            self.write = (self.write + 1) % self.size;
        }
        let _in_ram = memory.write_ram(self.at + WRITE, Width::Word, self.write);
    }
}

impl Rtt {
    /// Without the address of the control block, the probe searches for it.
    pub fn new(symbol: Option<u32>) -> Self {
        Self { symbol, ..Self::default() }
    }

    /// After a reset of the board there is no control block until the program has written it again.
    pub fn reset(&mut self) {
        self.block = None;
        self.polls = 0;
    }

    /// Empties and fills the rings.
    pub fn poll(&mut self, memory: &mut Memory) {
        let Some(block) = self.find(memory) else { return };
        let channels = |offset| memory.read(block + offset, Width::Word).filter(|&count| count <= CHANNELS_MAX);
        let (Some(up), Some(down)) = (channels(UP_COUNT), channels(DOWN_COUNT)) else { return };
        self.up.resize_with(self.up.len().max(up as usize), VecDeque::new);
        self.down.resize_with(self.down.len().max(down as usize), VecDeque::new);
        for (n, queue) in (0..up).zip(&mut self.up) {
            if let Some(ring) = Ring::at(memory, block + HEADER + n * DESCRIPTOR)
                && ring.read != ring.write
            {
                ring.drain(memory, queue);
                let excess = queue.len().saturating_sub(QUEUE_MAX);
                queue.drain(..excess);
                self.lost += excess as u64;
            }
        }
        for (n, queue) in (0..down).zip(&mut self.down) {
            if !queue.is_empty()
                && let Some(ring) = Ring::at(memory, block + HEADER + (up + n) * DESCRIPTOR)
            {
                ring.fill(memory, queue);
            }
        }
    }

    /// What the program wrote to a channel since the last call.
    pub fn take(&mut self, channel: usize) -> Vec<u8> {
        self.up.get_mut(channel).map(|queue| queue.drain(..).collect()).unwrap_or_default()
    }

    /// Sends bytes to the program. They arrive as soon as there is space for them.
    pub fn send(&mut self, channel: usize, bytes: &[u8]) {
        let wanted = (channel + 1).min(CHANNELS_MAX as usize);
        self.down.resize_with(self.down.len().max(wanted), VecDeque::new);
        if let Some(queue) = self.down.get_mut(channel) {
            let space = QUEUE_MAX - queue.len();
            queue.extend(bytes.iter().take(space));
            self.lost += bytes.len().saturating_sub(space) as u64;
        }
    }

    /// Writes the mode of a channel, as debug tools do: 2 asks the program to wait when the channel is full.
    pub fn set_mode(&mut self, memory: &mut Memory, channel: u32, mode: u32) {
        if let Some(block) = self.find(memory) {
            let _in_ram = memory.write_ram(block + HEADER + channel * DESCRIPTOR + MODE, Width::Word, mode);
        }
    }

    /// Bytes that were lost because a queue was full.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    fn find(&mut self, memory: &Memory) -> Option<u32> {
        if self.block.is_none() {
            let is_block = |at: &u32| {
                let start = at.wrapping_sub(RAM_START) as usize;
                memory.ram().get(start..).is_some_and(|from| from.starts_with(MAGIC))
            };
            self.block = self.symbol.filter(is_block);
            if self.symbol.is_none() && self.polls.is_multiple_of(SEARCH_EVERY) {
                let end = RAM_START + u32::try_from(memory.ram().len()).unwrap_or(0);
                self.block = (RAM_START..end).step_by(4).find(is_block);
            }
            self.polls = self.polls.wrapping_add(1);
        }
        self.block
    }
}

#[cfg(test)]
mod tests {
    use super::{MAGIC, Rtt};
    use crate::io::Width;
    use crate::memory::{Memory, RAM_START};

    const BLOCK: u32 = RAM_START + 0x40;
    const UP: u32 = BLOCK + 24;
    const DOWN: u32 = UP + 24;

    /// A control block with one ring of 8 bytes each way.
    fn program() -> Memory {
        let mut memory = Memory::new(4096, 512);
        memory.dma_write(BLOCK, MAGIC).unwrap();
        let words = [(BLOCK + 16, 1), (BLOCK + 20, 1)];
        let ring = |at, buffer| [(at, 0), (at + 4, buffer), (at + 8, 8), (at + 12, 0), (at + 16, 0), (at + 20, 0)];
        for (at, value) in words.into_iter().chain(ring(UP, RAM_START + 0x100)).chain(ring(DOWN, RAM_START + 0x120)) {
            assert!(memory.write_ram(at, Width::Word, value));
        }
        memory
    }

    #[test]
    fn rings_are_emptied_across_their_end() {
        for symbol in [Some(BLOCK), None] {
            let (mut memory, mut rtt) = (program(), Rtt::new(symbol));
            memory.dma_write(RAM_START + 0x100, b"cd....ab").unwrap();
            assert!(memory.write_ram(UP + 16, Width::Word, 6) && memory.write_ram(UP + 12, Width::Word, 2));
            rtt.poll(&mut memory);
            assert_eq!(rtt.take(0), b"abcd");
            assert_eq!(memory.read(UP + 16, Width::Word), Some(2), "the program sees that it was read");
            assert!(rtt.take(0).is_empty() && rtt.take(7).is_empty());
        }
    }

    #[test]
    fn bytes_that_do_not_fit_wait_for_space() {
        let (mut memory, mut rtt) = (program(), Rtt::new(Some(BLOCK)));
        rtt.send(0, b"0123456789");
        rtt.poll(&mut memory);
        assert_eq!((&memory.ram()[0x120..0x127], memory.read(DOWN + 12, Width::Word)), (&b"0123456"[..], Some(7)));
        assert!(memory.write_ram(DOWN + 16, Width::Word, 7));
        rtt.poll(&mut memory);
        assert_eq!(memory.read(DOWN + 12, Width::Word), Some(2), "three more bytes");
    }

    #[test]
    fn a_damaged_block_is_left_alone() {
        let (mut memory, mut rtt) = (program(), Rtt::new(Some(BLOCK)));
        assert!(memory.write_ram(UP + 12, Width::Word, 9), "beyond the ring");
        rtt.poll(&mut memory);
        assert!(rtt.take(0).is_empty());
        assert!(memory.write_ram(BLOCK, Width::Word, 0));
        rtt.reset();
        rtt.send(0, b"x");
        rtt.poll(&mut memory);
        assert_eq!(memory.read(DOWN + 12, Width::Word), Some(0));
    }
}
