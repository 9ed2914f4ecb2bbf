//! The whole path without hardware: emulated boards as serial ports are provisioned, watched, recorded and collected into
//! a database and on a broker; their leader loses its power; and the recorded field, replayed, elects as the boards did.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use emulator::images;
use gateway::spool::Spool;
use host_sim::field::command::{Order, tell};
use host_sim::field::monitor::line::Endpoint;
use host_sim::field::provision::network::pan;

use super::broker::{Mosquitto, listen};
use super::support::{folder, until};

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
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The program `ringleader` beside this package's own, built if it is missing.
fn ringleader() -> PathBuf {
    let own = Path::new(env!("CARGO_BIN_EXE_ringleader-gateway"));
    let program = own.with_file_name("ringleader");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "host-sim", "--profile", "test"]);
    cargo.current_dir(images::workspace()).stdout(Stdio::null());
    assert!(cargo.status().unwrap().success() && program.exists(), "{}", program.display());
    program
}

struct Desk {
    program: PathBuf,
    folder: PathBuf,
}

impl Desk {
    fn command(&self, args: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args.split_whitespace()).current_dir(&self.folder);
        command
    }

    fn run(&self, args: &str) -> Output {
        self.command(args).output().unwrap()
    }

    fn start(&self, args: &str) -> Ended {
        Ended(self.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn recorded(&self) -> String {
        std::fs::read_to_string(self.folder.join("field.jsonl")).unwrap_or_default()
    }
}

#[test]
fn from_boards_to_a_database_a_broker_and_a_replay() {
    let folder = folder("rehearsal");
    let Some(mosquitto) = Mosquitto::start(&folder) else { return };
    let heard = listen(mosquitto.port, "dashboard");
    std::fs::write(folder.join("desk.toml"), SCENARIO).unwrap();
    std::fs::write(folder.join("image.elf"), images::elf("firmware").expect("the image builds")).unwrap();
    let desk = Desk { program: ringleader(), folder };
    let _boards = desk.start("board desk.toml --elf image.elf --pty=ports --for 600");
    let ports = || (1..=BOARDS).all(|id| desk.folder.join(format!("ports/node-{id}")).exists());
    until("the ports are there", ports);

    // Provisioned.
    assert!(desk.run("key new garden.key").status.success());
    for id in 1..=BOARDS {
        let args = format!("provision --id {id} --network garden --key-file garden.key --port ports/node-{id}");
        // A machine with more to do than it can leaves boards no time to answer.
        assert!((0..3).any(|_| desk.run(&args).status.success()), "{:?}", desk.run(&args));
    }

    // They start again with it.
    for id in 1..=BOARDS {
        let port = Endpoint::Serial(desk.folder.join(format!("ports/node-{id}")));
        let moved = || tell(&port, Order::Identify).is_ok_and(|board| board.pan == pan("garden"));
        until("it is in its new network", moved);
    }

    // Watched and recorded; collected.
    let watched = "--port ports/node-1 --port ports/node-2 --port ports/node-3";
    let monitor = desk.start(&format!("monitor {watched} --frames --cable-is-power --record field.jsonl"));
    let broker = format!("mqtt://127.0.0.1:{}", mosquitto.port);
    let _gateway = desk.start(&format!(
        "gateway --port ports/node-4 --db readings.sqlite --network garden --mqtt {broker} --home-assistant"
    ));
    let database = desk.folder.join("readings.sqlite");
    let stored =
        || if database.exists() { Spool::open(&database).map_or(0, |spool| spool.last_row().unwrap()) } else { 0 };
    until("readings are stored", || stored() >= 10);
    let mut topics = Vec::new();
    until("they are on the broker", || {
        topics.extend(heard.try_iter().map(|(topic, _)| topic));
        topics.iter().any(|topic| topic == "ringleader/garden/4/supply")
    });
    assert!(topics.iter().any(|topic| topic.starts_with("homeassistant/sensor/ringleader_garden_4_")), "{topics:?}");

    // The leader loses its power, and the others elect.
    let leaders = || desk.recorded().lines().filter(|line| line.contains("\"event\":\"leader\"")).count();
    until("everybody who is recorded follows somebody", || leaders() >= 3);
    let is_over = || {
        let text = desk.recorded();
        let off = text
            .find("\"event\":\"power_off\"")
            .map(|at| text[at..].matches("\"event\":\"leader\",\"leader\":").count());
        off.is_some_and(|after| after >= 2)
    };
    until("it loses its power, and two others follow another", is_over);
    // Long enough after it for the check to call it lasting.
    let seen = desk.recorded().lines().count();
    until("they go on", || desk.recorded().lines().count() > seen + 60);
    drop(monitor);

    // The recording is checked, its links are known, and the field elects again on the simulated air.
    let checked = desk.run("check field.jsonl --within 15 --json");
    let found: serde_json::Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert!(checked.status.success(), "{found}");
    let field_ms = found[0]["disagreements"].as_array().unwrap().last().unwrap()["lasted_ms"].as_u64().unwrap();
    let replayed = desk.run("replay field.jsonl --out field.toml --report report.html");
    assert!(replayed.status.success(), "{}", String::from_utf8_lossy(&replayed.stderr));
    let run = desk.run("run field.toml --json");
    let outcome: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    assert!(run.status.success(), "{outcome}");
    let last = outcome["changes"].as_array().unwrap().last().unwrap();
    assert!(last["what"].as_str().unwrap().contains("off"), "{last}");
    let agreed_ms = last["agreed_after_ms"].as_u64().unwrap();
    // One election each: how close many of them come is for the tests of `replay`.
    assert!(
        agreed_ms < field_ms * 2 && field_ms < agreed_ms * 2,
        "{field_ms} ms in the field, replayed {agreed_ms} ms"
    );
}
