//! The neighbour that leads, as its successors watch it: when it is missed, doubted, all but lost.

use super::neighbour::{Neighbour, eighths_of};
use super::patience::{Patience, Watch};
use crate::time::{Duration, Instant};

/// A watched leader is asked whether it is there after this many eighths of its announced hello interval without a sign of life:
/// two of its hellos are lost by then, and the third is not due yet.
const WATCH_EIGHTHS: u8 = 20;

/// How many of eight hellos of a leader must arrive at whoever watches it closely.
const WATCH_HEARD: u8 = 3;

/// How far apart attempts are to reach a watched leader that is silent: those after the first question to others, and the questions
/// between them, take the time that others have to object.
const WATCH_GAP: Duration = Duration::from_millis(6);

/// After this many attempts others are asked whether they hear it; the rest of the attempts is their time to object.
pub const DOUBT_ATTEMPTS: u8 = 4;

/// They are asked again after so many, because a question may be lost, and nobody objects to one that was not heard.
const ASK_ATTEMPTS: [u8; 3] = [DOUBT_ATTEMPTS, 6, 8];

/// After this many attempts an answer comes too late for whoever asks to be a judge. Where one in five frames is lost, six
/// questions in a row are lost once in two hours.
const BLIND_ATTEMPTS: u8 = 7;

impl Neighbour {
    /// Whether it is the leader and its loss is to be noticed soon. A link that broke lately, or over which little comes, is no
    /// judge of that. Where the leader has none that never broke, the best one is: somebody has to be.
    pub(super) fn is_watched(&self, patience: Patience) -> bool {
        let Watch { of, breaks_max, .. } = patience.watch;
        of == self.id && self.breaks <= breaks_max && self.quality.eighths() >= WATCH_HEARD
    }

    /// When a watched leader has been silent for too long.
    pub(super) fn missed_at(&self, patience: Patience) -> Instant {
        let silence = eighths_of(self.interval(), WATCH_EIGHTHS);
        self.heard_at.max(patience.watch.alive_at) + silence + patience.slack()
    }

    /// Whether it is a watched leader that was asked several times in vain.
    pub fn is_in_doubt(&self, patience: Patience) -> bool {
        self.session.is_up() && self.arq.attempts >= DOUBT_ATTEMPTS && self.is_watched(patience)
    }

    /// Whether others are to be asked for it after the last attempt.
    pub fn is_to_be_asked_for(&self, patience: Patience) -> bool {
        ASK_ATTEMPTS.contains(&self.arq.attempts) && self.is_in_doubt(patience)
    }

    /// Whether it is a watched leader that was all but given up.
    pub fn is_all_but_lost(&self, patience: Patience) -> bool {
        self.arq.attempts >= BLIND_ATTEMPTS && self.is_watched(patience)
    }

    /// The middle of the time to wait before the next attempt.
    pub fn gap(&self, now: Instant, patience: Patience) -> Duration {
        let is_missed = self.is_watched(patience) && self.missed_at(patience) <= now;
        if is_missed { WATCH_GAP.min(self.arq.gap()) } else { self.arq.gap() }
    }
}
