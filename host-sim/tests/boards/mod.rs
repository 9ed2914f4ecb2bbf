//! The real firmware image on emulated boards that share the simulated air: elections, faults, attacks, and the proof that
//! a board runs the same code as the simulator.

mod answers;
mod collecting;
mod elections;
mod flash;
mod hostile;
mod same_bytes;
mod same_decisions;
mod support;
