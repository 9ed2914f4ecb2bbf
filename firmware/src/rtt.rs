//! SEGGER RTT: two channels each way to a debug probe, in memory that the probe reads and writes while the board runs.
//!
//! Channel 0 out is the log, in the encoding of defmt. Channel 0 in, which tools use for terminal input, has no buffer.
//! Channel 1 is the host link in both directions, so that one server of the probe software carries both. Probes find the
//! control block by its id.
//!
//! Nothing here ever waits. A probe may ask for a channel that blocks when it is full, and then be unplugged, so the board
//! ignores that request. What does not fit is dropped whole and counted, and the loss is reported when there is space again.
#![expect(unsafe_code, reason = "memory that is shared with a probe")]

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering, compiler_fence};

use common::host_link::RTT_CHANNEL;
use critical_section::{CriticalSection, RestoreState};

const LOG_BYTES: usize = 2_048;
const LINK_OUT_BYTES: usize = 2_048;
const LINK_IN_BYTES: usize = 640;

/// One direction of one channel, as the probe expects it.
#[repr(C)]
struct Channel {
    name: *const u8,
    buffer: *mut u8,
    size: u32,
    /// Where the writer writes next.
    write: AtomicU32,
    /// Where the reader reads next.
    read: AtomicU32,
    /// 0: skip what does not fit. A probe may write something else, which is ignored.
    flags: AtomicU32,
}

#[repr(C)]
struct ControlBlock {
    id: [u8; 16],
    outputs: u32,
    inputs: u32,
    log: Channel,
    link_out: Channel,
    unused_in: Channel,
    link_in: Channel,
}

// The host link comes second in the control block, among the outputs and among the inputs.
const _: () = assert!(RTT_CHANNEL == 1);

// SAFETY: the pointers lead to static buffers, and the positions are atomic.
unsafe impl Sync for ControlBlock {}

struct Buffer<const N: usize>(UnsafeCell<[u8; N]>);

// SAFETY: each buffer has one writer and one reader; the positions of the channel say which of them may access a byte.
unsafe impl<const N: usize> Sync for Buffer<N> {}

static LOG: Buffer<LOG_BYTES> = Buffer(UnsafeCell::new([0; LOG_BYTES]));
static LINK_OUT: Buffer<LINK_OUT_BYTES> = Buffer(UnsafeCell::new([0; LINK_OUT_BYTES]));
static LINK_IN: Buffer<LINK_IN_BYTES> = Buffer(UnsafeCell::new([0; LINK_IN_BYTES]));

impl Channel {
    const fn new<const N: usize>(name: &'static core::ffi::CStr, buffer: &'static Buffer<N>) -> Self {
        assert!(N <= u32::MAX as usize);
        #[expect(clippy::cast_possible_truncation, reason = "checked above")]
        let size = N as u32;
        let (write, read, flags) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
        Self { name: name.as_ptr().cast(), buffer: buffer.0.get().cast(), size, write, read, flags }
    }

    /// An unused channel without a buffer.
    const fn none() -> Self {
        let (write, read, flags) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
        Self { name: core::ptr::null(), buffer: core::ptr::null_mut(), size: 0, write, read, flags }
    }

    /// The number of bytes between two positions of the ring.
    const fn distance(&self, from: u32, to: u32) -> u32 {
        if to >= from { to - from } else { to + self.size - from }
    }

    /// The position of the reader. The probe writes it, so it cannot be trusted to lie within the buffer.
    fn reader(&self) -> u32 {
        self.read.load(Ordering::Relaxed) % self.size
    }

    /// How many bytes can be written after `write`. One stays free, so that full and empty differ.
    fn space(&self, write: u32) -> u32 {
        self.size - 1 - self.distance(self.reader(), write)
    }

    /// Writes after `write`, where there must be space, without publishing it to the probe.
    fn stage(&self, mut write: u32, bytes: &[u8]) -> u32 {
        for &byte in bytes {
            // SAFETY: the position is below the size, and in the free part, which the reader does not read yet.
            unsafe { self.buffer.add(write as usize).write_volatile(byte) };
            write = if write + 1 == self.size { 0 } else { write + 1 };
        }
        write
    }

    /// Lets the probe read everything up to here.
    fn publish(&self, write: u32) {
        compiler_fence(Ordering::Release);
        self.write.store(write, Ordering::Release);
    }

    /// Takes the next byte from the probe.
    fn take(&self) -> Option<u8> {
        let (write, read) = (self.write.load(Ordering::Acquire) % self.size, self.reader());
        if write == read {
            return None;
        }
        // SAFETY: the position is below the size, and the probe has written there.
        let byte = unsafe { self.buffer.add(read as usize).read_volatile() };
        self.read.store(if read + 1 == self.size { 0 } else { read + 1 }, Ordering::Release);
        Some(byte)
    }
}

#[unsafe(export_name = "_SEGGER_RTT")]
static CONTROL: ControlBlock = ControlBlock {
    id: *b"SEGGER RTT\0\0\0\0\0\0",
    outputs: 2,
    inputs: 2,
    log: Channel::new(c"defmt", &LOG),
    link_out: Channel::new(c"ringleader", &LINK_OUT),
    unused_in: Channel::none(),
    link_in: Channel::new(c"ringleader", &LINK_IN),
};

/// Writes a frame of the host link. Returns false if it does not fit as a whole.
pub fn send(frame: &[u8]) -> bool {
    let channel = &CONTROL.link_out;
    let write = channel.write.load(Ordering::Relaxed);
    let fits = u32::try_from(frame.len()).is_ok_and(|length| length <= channel.space(write));
    if fits {
        channel.publish(channel.stage(write, frame));
    }
    fits
}

/// Takes the next byte from the host.
pub fn receive() -> Option<u8> {
    CONTROL.link_in.take()
}

/// The log takes one frame at a time, and only whole ones.
struct Log {
    /// The frame that is being written.
    frame: UnsafeCell<Frame>,
}

struct Frame {
    restore: RestoreState,
    encoder: defmt::Encoder,
    write: u32,
    is_open: bool,
    is_lost: bool,
    lost: u32,
}

// SAFETY: the frame is only accessed within a critical section.
unsafe impl Sync for Log {}

static THE_LOG: Log = Log {
    frame: UnsafeCell::new(Frame {
        restore: RestoreState::invalid(),
        encoder: defmt::Encoder::new(),
        write: 0,
        is_open: false,
        is_lost: false,
        lost: 0,
    }),
};

/// Log frames that were dropped since the last call.
pub fn take_lost_log_frames() -> u32 {
    critical_section::with(|cs| core::mem::take(&mut frame(cs).lost))
}

/// Drops a frame that a crash has interrupted, so that the crash can be logged.
pub fn abandon_log_frame() {
    critical_section::with(|cs| frame(cs).is_open = false);
}

fn frame(_within: CriticalSection<'_>) -> &mut Frame {
    // SAFETY: no two references exist at once. There is one core, in a critical section, and every caller gives up its
    // reference before it calls anything that takes another.
    unsafe { &mut *THE_LOG.frame.get() }
}

fn stage(write: &mut u32, is_lost: &mut bool, bytes: &[u8]) {
    let channel = &CONTROL.log;
    if *is_lost || bytes.len() > channel.space(*write) as usize {
        *is_lost = true;
    } else {
        *write = channel.stage(*write, bytes);
    }
}

#[defmt::global_logger]
struct Logger;

// SAFETY: `acquire` begins a critical section and `release` ends it; everything in between has exclusive access.
unsafe impl defmt::Logger for Logger {
    fn acquire() {
        // SAFETY: `release` ends it.
        let restore = unsafe { critical_section::acquire() };
        // SAFETY: it has just begun.
        let Frame { restore: kept, encoder, write, is_open, is_lost, .. } = frame(unsafe { CriticalSection::new() });
        *kept = restore;
        // A formatter that itself logs would write into the middle of a frame; drop that frame instead.
        *is_lost = core::mem::replace(is_open, true);
        *write = CONTROL.log.write.load(Ordering::Relaxed);
        encoder.start_frame(|bytes| stage(write, is_lost, bytes));
    }

    unsafe fn flush() {
        // Without a probe, nobody would ever empty the buffer.
    }

    unsafe fn write(bytes: &[u8]) {
        // SAFETY: within the critical section that `acquire` began.
        let Frame { encoder, write, is_lost, .. } = frame(unsafe { CriticalSection::new() });
        encoder.write(bytes, |bytes| stage(write, is_lost, bytes));
    }

    unsafe fn release() {
        // SAFETY: within the critical section that `acquire` began.
        let Frame { restore, encoder, write, is_open, is_lost, lost } = frame(unsafe { CriticalSection::new() });
        encoder.end_frame(|bytes| stage(write, is_lost, bytes));
        *is_open = false;
        if *is_lost {
            *lost = lost.saturating_add(1);
        } else {
            CONTROL.log.publish(*write);
        }
        let restore = *restore;
        // SAFETY: it is the one that `acquire` began.
        unsafe { critical_section::release(restore) };
    }
}
