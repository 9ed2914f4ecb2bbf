//! The whole path without hardware: emulated boards as serial ports are provisioned, watched, recorded and collected into
//! a database and on a broker; their leader loses its power; and the recorded field, replayed, elects as the boards did.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use emulator::images;
use gateway::spool::Spool;
use host_sim::field::command::{Order, tell};
use host_sim::field::monitor::line::Endpoint;
use host_sim::field::provision::network::pan;

use super::broker::{Mosquitto, listen};
use super::support::{PATIENCE, folder, until};

/// Boards 1 to 3 are recorded; board 4 is at the gateway.
const BOARDS: u16 = 4;

const SCENARIO: &str = r#"
name = "desk"
duration = "600 s"
[topology]
kind = "grid"
nodes = 4
spacing = "8 m"
[radio]
model = "plain"
[protocol]
kind = "height"
[[fault]]
kind = "crash"
who = "leader"
at = "45 s"
"#;

/// Ends with the test.
pub struct Ended(Child);

impl Ended {
    /// As Ctrl-C does, so that it takes along what it has started.
    pub fn interrupt(mut self) {
        assert!(Command::new("kill").args(["-INT", &self.0.id().to_string()]).status().unwrap().success());
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The program `ringleader` beside this package's own, built if it is missing.
pub fn ringleader() -> PathBuf {
    let own = Path::new(env!("CARGO_BIN_EXE_ringleader-gateway"));
    let program = own.with_file_name("ringleader");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "host-sim", "--profile", "test"]);
    cargo.current_dir(images::workspace()).stdout(Stdio::null());
    assert!(cargo.status().unwrap().success() && program.exists(), "{}", program.display());
    program
}

pub struct Desk {
    pub program: PathBuf,
    pub folder: PathBuf,
}

impl Desk {
    fn command(&self, args: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args.split_whitespace()).current_dir(&self.folder);
        command
    }

    pub fn run(&self, args: &str) -> Output {
        self.command(args).output().unwrap()
    }

    pub fn start(&self, args: &str) -> Ended {
        Ended(self.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Starts a program, and hears every line that it prints.
    pub fn listen(&self, args: &str) -> (Ended, Receiver<String>) {
        let mut child = self.command(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (tell, lines) = channel();
        let said = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || said.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
        (Ended(child), lines)
    }

    /// How long each of many runs takes to elect after its last change, in milliseconds, from the shortest on.
    fn elections(&self, scenario: &str) -> Vec<f64> {
        let swept = self.run(&format!("sweep {scenario} --seeds 0..60 --json"));
        let outcome: serde_json::Value = serde_json::from_slice(&swept.stdout).unwrap();
        assert!(swept.status.success(), "{outcome}");
        let last = |row: &serde_json::Value| row["changes"].as_array().unwrap().last().unwrap().clone();
        let changes: Vec<_> = outcome["rows"].as_array().unwrap().iter().map(last).collect();
        assert!(changes.iter().all(|change| change["what"].as_str().unwrap().contains("off")), "{changes:?}");
        let mut times: Vec<f64> = changes.iter().map(|change| change["agreed_after_ms"].as_f64().unwrap()).collect();
        times.sort_by(f64::total_cmp);
        times
    }

    /// Holds the links of the recording to those of the air, which are so strong that noise takes nothing.
    fn compare_links(&self) {
        let links: serde_json::Value = serde_json::from_slice(&self.run("links field.jsonl --json").stdout).unwrap();
        let links = links["links"].as_array().unwrap();
        assert_eq!(links.len(), 9, "three boards hear three others each: {links:?}");
        for link in links {
            let at = |end: &str| {
                let number = link[end].as_u64().unwrap() - 1;
                (8 * (number % 2), 8 * (number / 2))
            };
            let (from, to) = (at("from"), at("to"));
            let is_side = from.0 == to.0 || from.1 == to.1;
            // What the model says of 8 m, and of the diagonal.
            let expected = if is_side { -67.3 } else { -71.8 };
            let off = link["strength_dbm"].as_f64().unwrap() - expected;
            assert!(off.abs() <= 1.5, "{off:.1} dB: {link}");
        }
    }

    fn provision(&self, id: u16) {
        let args = format!("provision --id {id} --network garden --key-file garden.key --port ports/node-{id}");
        // A machine with more to do than it can leaves boards no time to answer.
        assert!((0..3).any(|_| self.run(&args).status.success()), "{:?}", self.run(&args));
        // It starts again with it.
        let port = Endpoint::Serial(self.folder.join(format!("ports/node-{id}")));
        let moved = || tell(&port, Order::Identify).is_ok_and(|board| board.pan == pan("garden"));
        until("it is in its new network", moved);
    }
}

/// Who follows whom, by what a monitor prints.
#[derive(Default)]
struct Field {
    ids: BTreeMap<u64, u64>,
    /// Whom each follows, and since when, by the monitor's clock.
    follows: BTreeMap<u64, (u64, u64)>,
    /// The first that lost its power.
    off: Option<(u64, u64)>,
    now_us: u64,
}

impl Field {
    /// Reads on until something is so.
    fn until(&mut self, lines: &Receiver<String>, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self) {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = lines.recv_timeout(left).unwrap_or_else(|_| panic!("never: {what}; {:?}", self.follows));
            self.hear(&serde_json::from_str(&line).unwrap());
        }
    }

    fn hear(&mut self, record: &serde_json::Value) {
        self.now_us = record["time_us"].as_u64().unwrap();
        let Some(node) = record["node"].as_u64() else { return };
        match record["event"].as_str().unwrap() {
            "id" => drop(self.ids.insert(node, record["id"].as_u64().unwrap())),
            "leader" => match record["leader"].as_u64() {
                Some(leader) => drop(self.follows.insert(node, (leader, self.now_us))),
                None => drop(self.follows.remove(&node)),
            },
            "power_off" => {
                self.follows.remove(&node);
                self.off.get_or_insert((self.ids[&node], self.now_us));
            }
            _ => {}
        }
    }

    /// How long the others took to follow another, if so many do.
    fn healed_us(&self, others: usize) -> Option<u64> {
        let (lost, off_us) = self.off?;
        let leaders: BTreeSet<u64> = self.follows.values().map(|(leader, _)| *leader).collect();
        let is_healed = self.follows.len() == others && leaders.len() == 1 && !leaders.contains(&lost);
        let newest_us = self.follows.values().map(|(_, since)| *since).max()?;
        is_healed.then(|| newest_us.saturating_sub(off_us))
    }
}

/// Milliseconds that the boards were behind real time at most, which is how far times taken at their ports may be off.
fn behind_ms(boards: &Ended, lines: &Receiver<String>) -> f64 {
    assert!(Command::new("kill").args(["-INT", &boards.0.id().to_string()]).status().unwrap().success());
    let said: Vec<String> = lines.iter().collect();
    let behind = said.iter().find_map(|line| line.strip_prefix("At most ")?.strip_suffix(" s behind real time"));
    // To the tenth of a second.
    behind.unwrap_or_else(|| panic!("{said:?}")).parse::<f64>().unwrap() * 1_000.0 + 50.0
}

#[test]
fn from_boards_to_a_database_a_broker_and_a_replay() {
    let folder = folder("rehearsal");
    let Some(mosquitto) = Mosquitto::start(&folder) else { return };
    let heard = listen(mosquitto.port, "dashboard");
    std::fs::write(folder.join("desk.toml"), SCENARIO).unwrap();
    std::fs::write(folder.join("image.elf"), images::elf("firmware").expect("the image builds")).unwrap();
    let desk = Desk { program: ringleader(), folder };
    let (boards, boards_say) = desk.listen("board desk.toml --elf image.elf --pty=ports --for 600");
    let ports = || (1..=BOARDS).all(|id| desk.folder.join(format!("ports/node-{id}")).exists());
    until("the ports are there", ports);

    // Provisioned, and one that will be recorded is made the leader.
    assert!(desk.run("key new garden.key").status.success());
    std::thread::scope(|scope| {
        for id in 1..=BOARDS {
            let desk = &desk;
            scope.spawn(move || desk.provision(id));
        }
    });
    assert!((0..3).any(|_| desk.run("elect --port ports/node-2").status.success()));

    // Watched and recorded; collected.
    let watched = "--port ports/node-1 --port ports/node-2 --port ports/node-3";
    let (monitor, lines) =
        desk.listen(&format!("monitor {watched} --frames --cable-is-power --json --record field.jsonl"));
    let broker = format!("mqtt://127.0.0.1:{}", mosquitto.port);
    let _gateway = desk.start(&format!(
        "gateway --port ports/node-4 --db readings.sqlite --network garden --mqtt {broker} --home-assistant"
    ));
    let mut topics = BTreeSet::new();
    while !topics.contains("ringleader/garden/4/supply") {
        topics.insert(heard.recv_timeout(PATIENCE).expect("readings are on the broker").0);
    }
    assert!(topics.iter().any(|topic| topic.starts_with("homeassistant/sensor/ringleader_garden_4_")), "{topics:?}");
    assert!(Spool::open(&desk.folder.join("readings.sqlite")).unwrap().last_row().unwrap() > 0);

    // The leader loses its power, and the others elect.
    let mut field = Field::default();
    field.until(&lines, "all three follow somebody", |field| field.follows.len() == 3);
    field.until(&lines, "it loses its power, and two others follow another", |field| field.healed_us(2).is_some());
    let healed_us = field.healed_us(2).unwrap();
    // Long enough after it for the check to call it lasting.
    let until_us = field.now_us + 5_000_000;
    field.until(&lines, "they go on", |field| field.now_us > until_us);
    drop(monitor);
    let behind_ms = behind_ms(&boards, &boards_say);

    // The recording is checked, its links are known, and the field elects again on the simulated air.
    let within = 15.0 + behind_ms / 1_000.0;
    let checked = desk.run(&format!("check field.jsonl --within {within:.0} --json"));
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    let replayed = desk.run("replay field.jsonl --out field.toml --report report.html");
    assert!(replayed.status.success(), "{}", String::from_utf8_lossy(&replayed.stderr));
    // Nobody is told to lead there, so the one that leads loses its power, in place of the one that was told to here.
    let replayed = std::fs::read_to_string(desk.folder.join("field.toml")).unwrap();
    let (before, fault) = replayed.rsplit_once("nodes = [").expect("somebody loses its power");
    let (_, after) = fault.split_once(']').unwrap();
    std::fs::write(desk.folder.join("field.toml"), format!("{before}who = \"leader\"{after}")).unwrap();
    std::fs::write(desk.folder.join("simulated.toml"), SCENARIO.replace("600 s", "75 s")).unwrap();
    let (truth, elections) = (desk.elections("simulated.toml"), desk.elections("field.toml"));
    for percent in [50, 90] {
        let [truth, replayed] = [&truth, &elections].map(|times| times[times.len() * percent / 100]);
        assert!((replayed - truth).abs() <= truth / 10.0, "p{percent}: {truth} ms simulated, {replayed} ms replayed");
    }
    // One election in the field, among many that the field could have had.
    #[expect(clippy::cast_precision_loss, reason = "a minute is far below 2^52 microseconds")]
    let field_ms = healed_us as f64 / 1_000.0;
    let (first, last) = (elections[0], elections[elections.len() - 1]);
    let is_like_it = first / 2.0 - behind_ms <= field_ms && field_ms <= last * 2.0 + behind_ms;
    assert!(is_like_it, "{field_ms} ms in the field, up to {behind_ms} ms behind; replayed {elections:?} ms");
    desk.compare_links();
}

#[test]
fn a_scenario_stands_in_for_boards() {
    let folder = folder("scenario");
    std::fs::write(folder.join("desk.toml"), SCENARIO).unwrap();
    std::fs::write(folder.join("image.elf"), images::elf("firmware").expect("the image builds")).unwrap();
    let desk = Desk { program: ringleader(), folder };
    let gateway = desk.start("gateway --scenario desk.toml --elf image.elf --db try.sqlite");
    let database = desk.folder.join("try.sqlite");
    let nodes = || -> BTreeSet<u16> {
        let stored = Spool::open(&database).and_then(|spool| spool.latest()).unwrap_or_default();
        stored.iter().map(|latest| latest.node).collect()
    };
    until("every node has measured something", || database.exists() && nodes().len() == usize::from(BOARDS));
    // Asked to end, it takes its boards along.
    let ports_of = |pid| std::env::temp_dir().join(format!("ringleader-gateway-{pid}"));
    let ports = ports_of(gateway.0.id());
    gateway.interrupt();
    assert!(!ports.exists());
    // Killed, it cannot; they notice.
    let gateway = desk.start("gateway --scenario desk.toml --elf image.elf --db again.sqlite");
    let ports = ports_of(gateway.0.id());
    until("its boards have ports", || ports.join("node-1").exists());
    drop(gateway);
    until("its boards have ended", || !ports.exists());
}
