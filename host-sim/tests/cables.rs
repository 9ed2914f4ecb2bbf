//! Emulated boards as serial ports: watched, provisioned and unplugged like real ones.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::host_link::ToHost;
use common::types::NodeId;
use emulator::images;
use host_sim::field::check::trace_file;
use host_sim::field::monitor::boards::PortIndex;
use host_sim::field::monitor::line::Endpoint;
use host_sim::field::monitor::screen::table;
use host_sim::field::monitor::watch::{Options, Watch, What};
use host_sim::field::rerun::lives;

use crate::program::ringleader;

/// Longer than anything takes that happens at all.
const PATIENCE: Duration = Duration::from_mins(1);

const TWO_BOARDS: &str = r#"
name = "desk"
duration = "30 s"
[topology]
kind = "line"
nodes = 2
spacing = "3 m"
[radio]
model = "plain"
[protocol]
kind = "height"
"#;

/// Boards behind ports in a folder of the test's own.
pub struct Desk {
    pub folder: PathBuf,
    child: Option<Child>,
}

impl Desk {
    /// Starts the boards of a scenario and waits until the ports of the first `count` are there.
    pub fn open(name: &str, scenario: &str, count: u16) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cables").join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("desk.toml"), scenario).unwrap();
        std::fs::write(folder.join("image.elf"), images::elf("firmware").expect("the image builds")).unwrap();
        let args = ["board", "desk.toml", "--elf", "image.elf", "--pty=ports", "--for", "600"];
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringleader"));
        let child = command.args(args).current_dir(&folder).stdout(Stdio::piped()).spawn().unwrap();
        let mut desk = Self { folder, child: Some(child) };
        let deadline = Instant::now() + PATIENCE;
        while !(1..=count).all(|id| desk.port(id).exists()) {
            let ended = desk.child.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < deadline, "the ports never appeared: {ended:?}");
            std::thread::yield_now();
        }
        desk
    }

    pub fn port(&self, id: u16) -> PathBuf {
        self.folder.join(format!("ports/node-{id}"))
    }

    /// Ctrl-C; what it then says.
    pub fn close(mut self) -> (Option<i32>, String) {
        let child = self.child.take().unwrap();
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn until(watch: &mut Watch, what: &str, is_so: impl Fn(&Watch) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so(watch) {
        assert!(Instant::now() < deadline, "never: {what}\n{}", table(watch.boards()));
        watch.step(Duration::from_millis(50));
    }
}

#[test]
fn emulated_boards_are_watched_and_provisioned_at_their_ports() {
    let desk = Desk::open("two", TWO_BOARDS, 2);
    let ports = [1, 2].map(|id| Endpoint::Serial(desk.port(id)));
    let mut watch = Watch::new(ports, Options::default());
    until(&mut watch, "both follow one leader", |watch| {
        let leaders: Vec<_> = watch.boards().all().iter().filter_map(|board| board.leader).collect();
        matches!(leaders[..], [a, b] if a == b)
    });
    assert_eq!(
        [0, 1].map(|port| watch.boards().at(PortIndex(port)).map(|board| board.id)),
        [1, 2].map(|id| Some(NodeId(id)))
    );

    let mut provision = Command::new(env!("CARGO_BIN_EXE_ringleader"));
    provision.args(["provision", "--id", "9", "--network", "garden", "--unprotected", "--port"]).arg(desk.port(2));
    let output = provision.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    until(&mut watch, "the board has its new id", |watch| {
        watch.boards().all().iter().any(|board| board.id == NodeId(9) && board.hello.pan != 0)
    });

    let (code, said) = desk.close();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("node 2: ports/node-2") && said.contains("Not judged"), "{said}");
}

#[test]
fn ports_go_with_their_boards() {
    let crash = "[[fault]]\nkind = \"crash\"\nnodes = [2]\nat = \"1 s\"\n";
    let desk = Desk::open("crash", &format!("{TWO_BOARDS}{crash}"), 2);
    let deadline = Instant::now() + PATIENCE;
    while desk.port(2).is_symlink() {
        assert!(Instant::now() < deadline, "its power was cut, and its port stayed");
        std::thread::yield_now();
    }
    assert!(desk.port(1).exists());
    let folder = desk.folder.join("ports");
    desk.close();
    assert!(!folder.exists(), "nothing is left behind");
}

const FLEET: &str = "network = \"garden\"\nkey_file = \"garden.key\"\nboard = \"nrf52840-dk\"\n\
                     [[node]]\nid = 1\nport = \"ports/node-1\"\n[[node]]\nid = 2\nport = \"ports/node-2\"\n";

#[test]
fn what_boards_did_at_their_ports_is_done_again_on_the_pc() {
    let desk = Desk::open("calls", TWO_BOARDS, 2);
    let run = |args: &str| ringleader(&desk.folder, args);
    assert!(run("key new garden.key").status.success());
    std::fs::write(desk.folder.join("fleet.toml"), FLEET).unwrap();
    // A machine with more to do than it can leaves boards no time to answer.
    let patiently = |args: &str| assert!((0..5).any(|_| run(args).status.success()), "{:?}", run(args));
    for id in [1, 2] {
        patiently(&format!("provision --fleet fleet.toml --only {id} --out pages --flash"));
    }
    // Something is in a log before the boot that is recorded, and sooner if its board measures more often.
    run("set sample=1s --port ports/node-1");
    let ports = [1, 2].map(|id| Endpoint::Serial(desk.port(id)));
    let mut watch = Watch::new(ports, Options::default());
    let deadline = Instant::now() + PATIENCE;
    let is_logged = |what: &What| matches!(what, What::Said(ToHost::Logged { .. }));
    while !watch.step(Duration::from_millis(50)).iter().any(|happening| is_logged(&happening.what)) {
        assert!(Instant::now() < deadline, "nobody logged anything");
    }
    drop(watch);

    let record = desk.folder.join("calls.jsonl");
    let mut monitor = Command::new(env!("CARGO_BIN_EXE_ringleader"));
    monitor.args("monitor --calls --json --port ports/node-1 --port ports/node-2 --record calls.jsonl".split(' '));
    let mut monitor = monitor.current_dir(&desk.folder).stdout(Stdio::piped()).spawn().unwrap();
    let (deadline, mut sent) = (Instant::now() + PATIENCE, [0; 2]);
    for line in BufReader::new(monitor.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        for (node, sent) in sent.iter_mut().enumerate() {
            *sent += usize::from(line.contains(&format!("\"node\":{node},\"event\":\"frame\"")));
        }
        if sent.iter().all(|sent| *sent >= 20) {
            break;
        }
        assert!(Instant::now() < deadline, "too few frames were recorded: {sent:?}");
    }
    monitor.kill().unwrap();
    monitor.wait().unwrap();
    let lives = lives(&trace_file::read(&record).unwrap());
    assert_eq!(lives.iter().map(|life| life.board.id).collect::<Vec<_>>(), [1, 2], "one boot of each");
    assert!(lives.iter().any(|life| !life.log.is_empty()), "what a log held is in the record");
    let replayed = run("replay calls.jsonl --calls --fleet fleet.toml");
    let said = String::from_utf8(replayed.stdout).unwrap();
    assert_eq!(replayed.status.code(), Some(0), "{said}");
    assert_eq!(said.matches("the same bytes").count(), 2, "{said}");
    desk.close();
}
