//! The election core on ideal networks, where its claims are proved or come close: every interleaving of small cases, and
//! thousands of random runs of larger ones.
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
