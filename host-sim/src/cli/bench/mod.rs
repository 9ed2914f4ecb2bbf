//! `ringleader bench`: what the core, the simulator and the emulator cost in time and memory.

mod air;
mod boards;
mod core;
mod elections;
mod nodes;

use std::process::ExitCode;

/// Arguments of `bench`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Measure the election core: a ring of a million, time per message, growth with n, memory
    ///
    /// Four measurements of the code that the boards run, none of them of a radio:
    ///
    /// 1. One HS election on a ring of a million nodes: messages, seconds, peak memory.
    /// 2. Nanoseconds per handled message of every algorithm, without and with encoding.
    /// 3. Messages against the number of nodes, with the law that fits them best.
    /// 4. Bytes of state, message and engine, as the board has them.
    ///
    /// Counts depend on the seed alone. Times depend on the machine and on what else it does: compare the ratios, and
    /// run it twice. It takes about half a minute and uses one core.
    #[command(verbatim_doc_comment)]
    Core(core::Args),
    /// Measure the air: everybody broadcasts once a second on a grid
    ///
    /// Every node of a square grid broadcasts a 40-byte payload once a second, at a random phase, with unslotted CSMA-CA;
    /// path-loss exponent 3 with 40.2 dB at one metre, 0 dBm, no shadowing. It is a workload that other simulators can
    /// run too. Without --nodes it runs the rows of the committed table.
    #[command(verbatim_doc_comment)]
    Air(air::Args),
    /// Measure how long whole nodes are without a leader, and what that costs
    ///
    /// Rings of 8 to 64 (HS) and grids of 16 to 36 (heights) with 0, 10 and 20 % of all frames lost: the leader fails, and the
    /// table shows how long it takes until that is noticed, until all agree on another, how many frames were sent, and how
    /// many times longer than the radio alone would need that is. A hundred seeds of every row take some minutes.
    #[command(verbatim_doc_comment)]
    Elections(elections::Args),
    /// Measure the emulated boards: times real time, and how much an idle board works
    ///
    /// The image that is flashed runs on sixteen, five and one emulated boards that are all in reach of each other. What is
    /// measured begins after 20 s, when they have elected. It takes about a minute and uses one core; build with --release.
    #[command(verbatim_doc_comment)]
    Boards(boards::Args),
    /// Measure whole nodes: discovery, links, authentication and election on a grid
    ///
    /// Simulates a network of whole nodes, with everything on that a board runs, and tells how much faster than real time
    /// that was on one core, what each reception cost, and how much memory a node takes. Counts depend on the seed alone;
    /// times depend on the machine and on what else it does.
    #[command(verbatim_doc_comment)]
    Nodes(nodes::Args),
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.what {
        What::Core(args) => core::run(args),
        What::Air(args) => air::run(args),
        What::Elections(args) => elections::run(args),
        What::Boards(args) => boards::run(args),
        What::Nodes(args) => nodes::run(args),
    }
}
