//! What the proofs share: rings, initial states of the height algorithm, the four conditions it must end in, and
//! fingerprints of states.

#[path = "../../../../common/tests/support/fold.rs"]
pub mod fold;
pub mod oriented;
pub mod ring;
