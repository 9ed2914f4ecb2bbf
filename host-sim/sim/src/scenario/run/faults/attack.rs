//! An attacker's frames.

use common::mac::phy::{FCS_BYTES, FRAME_MAX, PSDU_MAX, fcs};
use common::rng::Rng;

use crate::air::world::RawFrame;
use crate::scenario::input::plan::{FaultIndex, Harm, Trick};
use crate::scenario::run::agenda::{Action, exponential};
use crate::scenario::run::drive::Run;

/// A length byte has seven bits; an attacker may set the eighth as well.
const LENGTH_FLAG: u8 = 128;

impl Run<'_> {
    /// The attacker of a fault sends its next frame.
    pub(in crate::scenario) fn attack(&mut self, now: u64, fault: FaultIndex) {
        let (Harm::Attack(attack), Some(attacker)) =
            (&self.scenario.faults[fault.0].harm, self.faults.outsiders.attackers.get_mut(&fault))
        else {
            return;
        };
        if now >= attacker.until_us {
            attacker.is_sending = false;
            return;
        }
        let radio = attacker.radio;
        let lot = self.faults.rng.below(u32::try_from(attack.tricks.len()).unwrap_or(0)) as usize;
        let heard = u32::try_from(self.world.overheard(radio).len()).unwrap_or(0);
        let pick = self.faults.rng.below(heard) as usize;
        let model = self.world.overheard(radio).nth(pick).map(<[u8]>::to_vec);
        if let Some(frame) = attack.tricks.get(lot).and_then(|&trick| make(trick, model, &mut self.faults.rng)) {
            self.world.inject(radio, frame, &mut self.observer);
        }
        let next = now + exponential(&mut self.faults.rng, attack.interval_us).max(1_000);
        attacker.is_sending = next < attacker.until_us;
        if attacker.is_sending {
            self.agenda.add(next, Action::Attack(fault));
        }
    }
}

/// A frame of this kind; none if it needs another that was heard, and none was. Its radio computes the checksum, which is
/// therefore right.
fn make(trick: Trick, heard: Option<Vec<u8>>, rng: &mut Rng) -> Option<RawFrame> {
    let body = match trick {
        Trick::Random => {
            let length = 1 + rng.below(u32::try_from(FRAME_MAX).unwrap_or(0));
            (0..length).map(|_| byte(rng)).collect()
        }
        Trick::Replay => return Some(RawFrame::honest(heard?)),
        Trick::Flip => {
            let mut body = without_checksum(heard?);
            for _ in 0..=rng.below(4) {
                let bit = rng.below(u32::try_from(body.len() * 8).unwrap_or(0)) as usize;
                if let Some(byte) = body.get_mut(bit / 8) {
                    *byte ^= 1 << (bit % 8);
                }
            }
            body
        }
        Trick::Truncate => {
            let mut body = without_checksum(heard?);
            body.truncate(rng.below(u32::try_from(body.len()).unwrap_or(0)) as usize);
            body
        }
        Trick::Length => {
            let length = match rng.below(3) {
                0 => 0,
                1 => 1,
                _ => LENGTH_FLAG + byte(rng) / 2,
            };
            let psdu = (0..usize::from(length) & PSDU_MAX).map(|_| byte(rng)).collect();
            return Some(RawFrame { length, psdu });
        }
    };
    let check = fcs(&body).to_le_bytes();
    Some(RawFrame::honest([&body[..], &check].concat()))
}

fn without_checksum(mut psdu: Vec<u8>) -> Vec<u8> {
    psdu.truncate(psdu.len().saturating_sub(FCS_BYTES));
    psdu
}

fn byte(rng: &mut Rng) -> u8 {
    let [byte, ..] = rng.next_u32().to_le_bytes();
    byte
}

#[cfg(test)]
mod tests {
    use common::rng::Rng;

    use super::{Trick, fcs, make};

    #[test]
    fn every_trick_makes_what_it_says() {
        let mut rng = Rng::new(3);
        let body: Vec<u8> = (0..30).collect();
        let heard = [&body[..], &fcs(&body).to_le_bytes()].concat();
        for _ in 0..500 {
            for trick in [Trick::Random, Trick::Flip, Trick::Truncate, Trick::Replay] {
                let frame = make(trick, Some(heard.clone()), &mut rng).unwrap();
                assert!(
                    frame.has_good_length() && usize::from(frame.length) == frame.psdu.len(),
                    "{trick:?} {frame:?}"
                );
                assert_eq!(fcs(&frame.psdu), 0, "the attacker's radio computes checksums as well");
                // Two flips of one bit leave the frame as it was, now and then.
                assert!(
                    trick == Trick::Flip || (trick == Trick::Replay) == (frame.psdu == heard),
                    "{trick:?} {frame:?}"
                );
            }
            let lie = make(Trick::Length, None, &mut rng).unwrap();
            assert!(!lie.has_good_length(), "{lie:?}");
        }
        assert_eq!(make(Trick::Replay, None, &mut rng), None);
    }
}
