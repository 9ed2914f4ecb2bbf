//! A gateway that is killed at any moment loses nothing that it confirmed, and has nothing twice.
//!
//! The gateway is this very test program, started again as another process. Its source is a board that keeps every reading
//! until it is told that it is committed, as nodes do, and that lives in the test.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use gateway::outputs::lines::Format;
use gateway::outputs::text_file::TextFile;
use gateway::run::run;
use gateway::source::{Batch, Source};
use gateway::spool::{Lock, Spool};
use host_sim::interrupt::Interrupt;

use super::support::{folder, reading};

const KILLS: usize = 100;

/// How many a gateway may confirm before it is killed.
const ENOUGH_MAX: u64 = 120;

/// More than all those that are killed can confirm, so that each of them is in the middle of something.
const READINGS: u64 = 2 * KILLS as u64 * ENOUGH_MAX;

/// How many a board sends before it waits for an answer.
const WINDOW: usize = 97;

/// Set where this program is the gateway.
const ADDRESS: &str = "GATEWAY_TEST_ADDRESS";
const FOLDER: &str = "GATEWAY_TEST_FOLDER";

fn lines(numbers: impl Iterator<Item = u64>) -> String {
    numbers.map(|number| number.to_string() + "\n").collect()
}

struct Socket {
    numbers: BufReader<TcpStream>,
    answers: TcpStream,
    is_over: bool,
}

impl Source for Socket {
    fn read(&mut self, at_most: Duration) -> anyhow::Result<Batch> {
        self.answers.set_read_timeout(Some(at_most.max(Duration::from_millis(1))))?;
        let mut line = String::new();
        match self.numbers.read_line(&mut line) {
            Ok(0) => self.is_over = true,
            Ok(_) => return Ok(line.trim().parse().map(reading).into_iter().collect::<Vec<_>>().into()),
            Err(_) => {}
        }
        Ok(Batch::default())
    }

    fn committed(&mut self, batch: &Batch) -> anyhow::Result<()> {
        Ok(self.answers.write_all(lines(batch.readings.iter().map(|reading| reading.key.seq)).as_bytes())?)
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

/// The gateway's side. Without its variables it is no test and has nothing to do.
#[test]
fn the_gateway_that_is_killed() {
    let (Ok(address), Ok(folder)) = (std::env::var(ADDRESS), std::env::var(FOLDER)) else { return };
    let folder = PathBuf::from(folder);
    let database = folder.join("readings.sqlite");
    let _lock = Lock::take(&database).unwrap();
    let mut spool = Spool::open(&database).unwrap();
    let mut files = [("all.jsonl", Format::Jsonl), ("all.csv", Format::Csv)]
        .map(|(name, format)| TextFile::open(&folder.join(name), format, &spool).unwrap());
    let stream = TcpStream::connect(address).unwrap();
    let mut source = Socket { numbers: BufReader::new(stream.try_clone().unwrap()), answers: stream, is_over: false };
    run(&mut source, &database, &mut spool, &mut files, &Interrupt::default(), None).unwrap();
}

fn start(folder: &Path, listener: &TcpListener) -> (Child, TcpStream) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "killed::the_gateway_that_is_killed", "--nocapture"]);
    command.env(ADDRESS, listener.local_addr().unwrap().to_string()).env(FOLDER, folder);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    (child, listener.accept().unwrap().0)
}

/// A board: sends what is not committed, and hears what is. Ends when `enough` have been confirmed in this life of the
/// gateway, or all are.
fn serve(stream: &TcpStream, confirmed: &mut BTreeSet<u64>, mut enough: usize) {
    let mut answers = BufReader::new(stream);
    let open: Vec<u64> = (0..READINGS).filter(|number| !confirmed.contains(number)).collect();
    for window in open.chunks(WINDOW) {
        if (&*stream).write_all(lines(window.iter().copied()).as_bytes()).is_err() {
            return;
        }
        for _ in window {
            if enough == 0 {
                return;
            }
            let mut line = String::new();
            answers.read_line(&mut line).unwrap();
            confirmed.insert(line.trim().parse().unwrap());
            enough -= 1;
        }
    }
}

fn rows(database: &Path) -> Vec<u64> {
    let spool = Spool::open(database).unwrap();
    spool
        .after(0, usize::try_from(READINGS).unwrap() * 2)
        .unwrap()
        .iter()
        .map(|stored| stored.reading.key.seq)
        .collect()
}

#[test]
fn nothing_is_lost_and_nothing_is_twice() {
    let folder = folder("killed");
    let database = folder.join("readings.sqlite");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut confirmed = BTreeSet::new();
    let mut chance = common::rng::Rng::stream(7, 0);
    for kill in 0..KILLS {
        let (mut gateway, stream) = start(&folder, &listener);
        // Anywhere: before the first transaction, in the middle of one, between one and its files.
        serve(&stream, &mut confirmed, usize::try_from(chance.next_u64() % ENOUGH_MAX).unwrap());
        gateway.kill().unwrap();
        gateway.wait().unwrap();
        let stored: BTreeSet<u64> = rows(&database).into_iter().collect();
        assert!((stored.len() as u64) < READINGS, "nothing was left to lose at kill {kill}");
        assert!(confirmed.is_subset(&stored), "confirmed and gone: {:?}", confirmed.difference(&stored));
    }
    let (mut gateway, stream) = start(&folder, &listener);
    serve(&stream, &mut confirmed, usize::MAX);
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(gateway.wait().unwrap().success());
    let all: Vec<u64> = (0..READINGS).collect();
    let sorted = |mut numbers: Vec<u64>| {
        numbers.sort_unstable();
        numbers
    };
    assert_eq!(sorted(rows(&database)), all, "the database");
    let jsonl = std::fs::read_to_string(folder.join("all.jsonl")).unwrap();
    let numbers = jsonl.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["seq"].as_u64());
    assert_eq!(sorted(numbers.map(Option::unwrap).collect()), all, "the JSON lines");
    let csv = std::fs::read_to_string(folder.join("all.csv")).unwrap();
    assert!(csv.starts_with(Format::Csv.header()));
    let numbers = csv.lines().skip(1).map(|line| line.split(',').nth(5).unwrap().parse().unwrap());
    assert_eq!(sorted(numbers.collect()), all, "the CSV file");
}
