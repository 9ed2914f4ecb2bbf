//! What a protocol's handler asks for: sends, timers, events.

use heapless::Vec;

use crate::limits::OUTBOX_MAX;
use crate::notice::Event;
use crate::peers::PeerSet;
use crate::time::Duration;
use crate::timer::TimerKey;
use crate::types::NodeId;

/// Where a message goes. Sets are named, not listed: a radio reaches them with one broadcast, and the outbox stays
/// small however many neighbours there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dest {
    /// One peer, whose link must be up.
    One(NodeId),
    /// Every peer whose link is up.
    All,
    /// Every such peer with a higher id than this node.
    Higher,
    /// Every such peer with a lower id than this node.
    Lower,
    /// The peers at these indices of [`Cx::peers`](crate::protocol::Cx::peers).
    Peers(PeerSet),
}

/// Takes what a handler asks for, timers by their index. Whatever wraps the messages of one algorithm in those of another type
/// passes the rest on as it is.
pub trait Commands<M> {
    fn send(&mut self, to: Dest, msg: M);
    fn set_timer(&mut self, index: usize, after: Duration);
    fn stop_timer(&mut self, index: usize);
    fn note(&mut self, event: Event);
}

/// One thing a handler asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Command<M, T> {
    Send(Dest, M),
    /// Arm a timer this long from now.
    SetTimer(T, Duration),
    StopTimer(T),
    /// Tell observers what was done.
    Note(Event),
}

/// The commands of one handler call. A handler that issues more than [`OUTBOX_MAX`] has a bug: the outbox
/// remembers that and none of its commands is applied, since half of them would be worse than none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Outbox<M, T> {
    commands: Vec<Command<M, T>, OUTBOX_MAX, u8>,
    overflowed: bool,
}

impl<M, T> Default for Outbox<M, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M, T> Outbox<M, T> {
    pub const fn new() -> Self {
        Self { commands: Vec::new(), overflowed: false }
    }

    /// Adds a command, or remembers that there were too many.
    pub fn push(&mut self, command: Command<M, T>) {
        if self.commands.push(command).is_err() {
            self.overflowed = true;
        }
    }

    /// Whether a handler issued more commands than fit.
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// What has been asked for so far.
    pub fn commands(&self) -> &[Command<M, T>] {
        &self.commands
    }

    /// Empties the outbox: the commands in order, or nothing at all where they overflowed.
    pub fn drain(&mut self) -> impl Iterator<Item = Command<M, T>> + use<M, T> {
        let taken = core::mem::take(&mut self.commands);
        let keep = if core::mem::take(&mut self.overflowed) { 0 } else { OUTBOX_MAX };
        taken.into_iter().take(keep)
    }
}

impl<M, T: TimerKey> Commands<M> for Outbox<M, T> {
    fn send(&mut self, to: Dest, msg: M) {
        self.push(Command::Send(to, msg));
    }

    fn set_timer(&mut self, index: usize, after: Duration) {
        if let Some(&timer) = T::ALL.get(index) {
            self.push(Command::SetTimer(timer, after));
        }
    }

    fn stop_timer(&mut self, index: usize) {
        if let Some(&timer) = T::ALL.get(index) {
            self.push(Command::StopTimer(timer));
        }
    }

    fn note(&mut self, event: Event) {
        self.push(Command::Note(event));
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, Outbox};
    use crate::limits::OUTBOX_MAX;
    use crate::time::Duration;

    #[test]
    fn an_overflowed_outbox_applies_nothing() {
        let mut out = Outbox::<(), u8>::new();
        for _ in 0..=OUTBOX_MAX {
            out.push(Command::SetTimer(0, Duration::ZERO));
        }
        assert!(out.overflowed());
        assert_eq!(out.drain().count(), 0);
        assert!(!out.overflowed(), "draining makes it usable again");
        out.push(Command::StopTimer(1));
        assert!(out.drain().eq([Command::StopTimer(1)]));
    }
}
