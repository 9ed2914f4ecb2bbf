//! `ringleader bench`: what the core, the simulator and the emulator cost in time and memory.

mod air;
mod boards;
mod core;
mod elections;
mod nodes;

use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Measure the election core: a ring of a million nodes, time per message, growth with n, memory
    ///
    /// Takes four measurements of the code that the boards run, none of which involves a radio:
    ///
    /// 1. One HS election on a ring of a million nodes: messages, seconds, peak memory.
    /// 2. Nanoseconds per handled message for every algorithm, without and with encoding.
    /// 3. Messages by number of nodes, with the law that fits them best.
    /// 4. Bytes of state, message and engine, as on the board.
    ///
    /// Counts depend on the seed alone. Times depend on the machine and its load: compare the ratios, and run it twice.
    /// It takes about half a minute and uses one core.
    #[command(verbatim_doc_comment)]
    Core(core::Args),
    /// Measure the simulated air: every node of a grid broadcasts once a second
    ///
    /// Every node of a square grid broadcasts a 40-byte payload once a second, at a random phase, with unslotted CSMA-CA.
    /// The path-loss exponent is 3, with 40.2 dB at one metre; transmit power is 0 dBm; there is no shadowing. Other
    /// simulators can run the same workload. Without --nodes the rows of the committed table are run.
    #[command(verbatim_doc_comment)]
    Air(air::Args),
    /// Measure how long whole nodes go without a leader, and what an election costs
    ///
    /// The leader fails on rings of 8 to 64 (HS) and grids of 16 to 64 (heights) that lose 0, 10 and 20 % of all frames. The
    /// table shows how long it takes to detect the failure, to let go of the leader and to agree on another, the least that
    /// each can take, how many frames were sent, and how many times longer the wave took than the radio alone would need. A
    /// hundred seeds per row take a few minutes.
    #[command(verbatim_doc_comment)]
    Elections(elections::Args),
    /// Measure emulated boards: speed relative to real time, and the load of an idle board
    ///
    /// Runs the real firmware image on sixteen, five and one emulated boards, all in range of each other. Measuring begins
    /// after 20 s, once they have elected a leader. It takes about a minute and uses one core; build with --release.
    #[command(verbatim_doc_comment)]
    Boards(boards::Args),
    /// Measure whole nodes: discovery, links, authentication and election on a grid
    ///
    /// Simulates a network of whole nodes, with everything that a board runs. Reports how much faster than real time it ran
    /// on one core, what each reception cost, and how much memory a node takes. Counts depend on the seed alone; times
    /// depend on the machine and its load.
    #[command(verbatim_doc_comment)]
    Nodes(nodes::Args),
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.what {
        What::Core(args) => core::run(args),
        What::Air(args) => air::run(args),
        What::Elections(args) => elections::run(args),
        What::Boards(args) => boards::run(args),
        What::Nodes(args) => nodes::run(args),
    }
}
