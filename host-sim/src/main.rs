//! `ringleader`: elections on a PC, with the code that runs on the boards.

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use common::orders::Action;
use host_sim::cli::{
    bench, board, check, conform, demo, dissector, flash, fleet, gateway, hierarchy, join, journal, key, links, manual,
    merge, monitor, provision, replay, run, scenarios, schema, set, size, stress, study, swarm, sweep, table, tell,
    uf2, view,
};
use host_sim::field::command::Order;
use host_sim::{note, output};

/// Leader election for wireless sensor rings: the core that runs on nRF52 boards, driven on a PC.
///
/// Without a command it runs the demo: an election on a ring with HS, then a changing ad hoc network with heights.
#[derive(Debug, Parser)]
#[command(name = "ringleader", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the demo (the default command)
    Demo(demo::Args),
    /// Run a scenario on the simulated air and check the outcome
    Run(run::Args),
    /// Run a scenario on emulated boards that execute the real firmware image
    ///
    /// Nodes that the scenario marks with `kind = "board"` are emulated nRF52 boards; the others are simulated on the same
    /// air. If the scenario marks none, every node is a board. The image is built first if it is missing or older than its
    /// sources. Exit codes are those of `run`: 0 if everything held, 1 for bad input, 2 if safety was violated (a board that
    /// crashed counts too), 3 if there was no agreement in time.
    Board(board::Args),
    /// Run a scenario with many seeds; print percentiles and the seeds that fail
    Sweep(sweep::Args),
    /// Draw networks that nothing was tuned to, run them, and report every one that breaks a promise
    Swarm(swarm::Args),
    /// Join the shards of a sweep
    Merge(merge::Args),
    /// Watch a scenario or a trace in the browser, and act on it
    View(view::Args),
    /// List the built-in scenarios
    Scenarios(scenarios::Args),
    /// Replay golden vectors against the core and report every mismatch
    Conform(conform::Args),
    /// Reproduce the published tables of message and time costs by running the core
    Table(table::Args),
    /// Build a hierarchy of leaders, change the network, and show who leads whom and at what cost
    Hierarchy(hierarchy::Args),
    /// Stress algorithms with random faults and report every run that ends wrongly
    Stress(stress::Args),
    /// Measure height elections by network size and diameter, with both kinds of clock
    Study(study::Args),
    /// Measure the speed and memory use of the core, the simulator and the emulator
    Bench(bench::Args),
    /// Measure the flash and RAM that a firmware image takes, and check them against a budget
    Size(size::Args),
    /// Make the UF2 file of an image, to be copied to the drive of a board's bootloader
    Uf2(uf2::Args),
    /// Create a network key
    Key(key::Args),
    /// Give boards their id, network and key, as a page to flash or over a cable
    Provision(provision::Args),
    /// Flash the right image and page to every board of a fleet, and verify them
    Flash(flash::Args),
    /// Watch boards on cables live, and record a trace
    Monitor(monitor::Args),
    /// Collect the readings of boards in a database, files, an MQTT broker and metrics
    Gateway(gateway::Args),
    /// Print a dissector for Wireshark, which shows and decrypts the frames of a capture
    Dissector(dissector::Args),
    /// Set a register of the whole network through a board on a cable
    Set(set::Args),
    /// List all nodes of a network through a board on a cable: leader, links, supply, build, counters
    Fleet(fleet::Args),
    /// Make a board blink so that you can find it
    Identify(tell::Args),
    /// Make a board ask for an election
    Elect(tell::Args),
    /// Restart a board
    Restart(tell::Args),
    /// Rank a board in the hierarchy by hand
    Rank(tell::RankArgs),
    /// Read what a board without a cable has kept of a field test
    Journal(journal::Args),
    /// Join recordings of several laptops, and export their readings
    Join(join::Args),
    /// Show who hears whom in a trace, and how well
    Links(links::Args),
    /// Make a scenario of a recorded field, and measure its radio
    Replay(replay::Args),
    /// Check traces of boards or of the simulator: who led when, how long elections took
    Check(check::Args),
    /// Print the JSON schema of what a command prints with --json
    Schema(schema::Args),
    /// Print what a shell needs to complete commands and options
    Completions(manual::CompletionsArgs),
    /// Print the manual page, or write one for each command
    Man(manual::ManArgs),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Bad input exits with 1 everywhere; help and version are not errors.
            let printed = error.print();
            if error.use_stderr() {
                return ExitCode::FAILURE;
            }
            return finish(output::written(printed).map(|()| ExitCode::SUCCESS));
        }
    };
    let result = match cli.command {
        None => demo::run(&demo::Args::default()),
        Some(Command::Demo(args)) => demo::run(&args),
        Some(Command::Run(args)) => run::run(&args),
        Some(Command::Board(args)) => board::run(&args),
        Some(Command::Sweep(args)) => sweep::run(&args),
        Some(Command::Swarm(args)) => swarm::run(&args),
        Some(Command::Merge(args)) => merge::run(&args),
        Some(Command::View(args)) => view::run(&args),
        Some(Command::Scenarios(args)) => scenarios::run(&args),
        Some(Command::Conform(args)) => conform::run(&args),
        Some(Command::Table(args)) => table::run(&args),
        Some(Command::Hierarchy(args)) => hierarchy::run(&args),
        Some(Command::Stress(args)) => stress::run(&args),
        Some(Command::Study(args)) => study::run(&args),
        Some(Command::Bench(args)) => bench::run(&args),
        Some(Command::Size(args)) => size::run(&args),
        Some(Command::Uf2(args)) => uf2::run(&args),
        Some(Command::Key(args)) => key::run(&args),
        Some(Command::Provision(args)) => provision::run(&args),
        Some(Command::Flash(args)) => flash::run(&args),
        Some(Command::Monitor(args)) => monitor::run(&args),
        Some(Command::Gateway(args)) => gateway::run(&args),
        Some(Command::Dissector(args)) => dissector::run(&args),
        Some(Command::Set(args)) => set::run(&args),
        Some(Command::Fleet(args)) => fleet::run(&args),
        Some(Command::Identify(args)) => tell::run(&args, Order::Identify, Action::Identify),
        Some(Command::Elect(args)) => tell::run(&args, Order::Elect, Action::Elect),
        Some(Command::Restart(args)) => tell::run(&args, Order::Restart, Action::Restart),
        Some(Command::Rank(args)) => tell::rank(&args),
        Some(Command::Journal(args)) => journal::run(&args),
        Some(Command::Join(args)) => join::run(&args),
        Some(Command::Links(args)) => links::run(&args),
        Some(Command::Replay(args)) => replay::run(&args),
        Some(Command::Check(args)) => check::run(&args),
        Some(Command::Schema(args)) => schema::run(&args),
        Some(Command::Completions(args)) => manual::completions(&args, Cli::command()),
        Some(Command::Man(args)) => manual::man(&args, Cli::command()),
    };
    finish(result)
}

fn finish(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        note!("error: {error:#}");
        ExitCode::FAILURE
    })
}
