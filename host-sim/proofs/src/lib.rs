//! Evidence for the election core's claims, on ideal networks: every interleaving of small cases, and thousands of random
//! runs of larger ones.
//!
//! There is nothing here but tests: `cargo test --package proofs`.

#[cfg(test)]
mod hierarchy_model;
#[cfg(test)]
mod hierarchy_stress;
#[cfg(test)]
mod interleavings;
#[cfg(test)]
mod support;
#[cfg(test)]
mod sweeps;
