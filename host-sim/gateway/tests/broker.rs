//! A real broker: Debian's mosquitto. Where there is none the tests say so and pass, unless `RINGLEADER_NEEDS_BROKER` is
//! set, as `.ci/run` does.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use gateway::outputs::mqtt::{Broker, CURSOR, Publisher};
use gateway::outputs::topics;
use gateway::source::Source;
use gateway::source::simulated::{Pace, Simulated};
use gateway::spool::Spool;
use host_sim::field::utc::Utc;
use rumqttc::{Client, Event, MqttOptions, Packet, QoS};

use sim::scenario::input::read::read;

use super::support::{PATIENCE, folder, reading, until};

pub struct Mosquitto {
    program: PathBuf,
    folder: PathBuf,
    pub port: u16,
    child: Option<Child>,
}

impl Mosquitto {
    /// A broker of the test's own, which keeps what it has over a restart; none where it is not installed.
    pub fn start(folder: &Path) -> Option<Self> {
        Self::start_with(folder, "")
    }

    /// With more settings of its listener.
    pub fn start_with(folder: &Path, more: &str) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
        let Some(program) = folders.map(|at| at.join("mosquitto")).find(|program| program.is_file()) else {
            let why = "mosquitto is not installed (Debian: apt-get install mosquitto)";
            assert!(std::env::var_os("RINGLEADER_NEEDS_BROKER").is_none(), "{why}");
            eprintln!("skipped: {why}");
            return None;
        };
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        // Started by root it would otherwise change to a user who may not write here.
        let settings = format!(
            "listener {port} 127.0.0.1\n{more}allow_anonymous true\npersistence true\npersistence_location {}/\n\
             max_queued_messages 0\nmax_inflight_messages 0\nuser root\n",
            folder.display()
        );
        std::fs::write(folder.join("mosquitto.conf"), settings).unwrap();
        let mut broker = Self { program, folder: folder.to_path_buf(), port, child: None };
        broker.run();
        Some(broker)
    }

    pub fn run(&mut self) {
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(self.folder.join("mosquitto.conf")).stdout(Stdio::null()).stderr(Stdio::null());
        self.child = Some(command.spawn().unwrap());
        let port = self.port;
        until("the broker listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    }

    /// Ends it as a shutdown of the machine does, so that it saves what it has.
    pub fn stop(&mut self) {
        let mut child = self.child.take().unwrap();
        assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
        child.wait().unwrap();
    }

    fn is_running(&self) -> bool {
        self.child.is_some()
    }

    fn settings(&self) -> Broker {
        Broker::parse(&format!("mqtt://127.0.0.1:{}", self.port), "test", true).unwrap()
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Hears everything, over restarts of the broker: topics and messages, and whether they were retained.
pub fn listen(port: u16, name: &str) -> Receiver<(String, String)> {
    let mut options = MqttOptions::new(name, "127.0.0.1", port);
    options.set_clean_session(false);
    options.set_max_packet_size(1 << 20, 1 << 20);
    let (client, mut connection) = Client::new(options, 10);
    client.subscribe("#", QoS::AtLeastOnce).unwrap();
    let (tell, heard) = channel();
    let (ready, is_ready) = channel();
    std::thread::spawn(move || {
        let _client = client;
        for event in connection.iter() {
            match event {
                Ok(Event::Incoming(Packet::SubAck(_))) => ready.send(()).unwrap_or_default(),
                Ok(Event::Incoming(Packet::Publish(message))) => {
                    let text = String::from_utf8(message.payload.to_vec()).unwrap();
                    if tell.send((message.topic, text)).is_err() {
                        return;
                    }
                }
                Ok(_) => {}
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    });
    is_ready.recv_timeout(PATIENCE).unwrap();
    heard
}

/// Waits until each of these has arrived; how often that happened. What comes again after a broken connection counts too.
fn arrive(heard: &Receiver<(String, String)>, wanted: Range<u64>) -> u64 {
    let (mut missing, mut times): (BTreeSet<u64>, u64) = (wanted.clone().collect(), 0);
    let deadline = Instant::now() + PATIENCE;
    while !missing.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        let message = heard.recv_timeout(left);
        let (topic, text) = message.unwrap_or_else(|_| panic!("{} of {wanted:?} never arrived", missing.len()));
        if topic.starts_with("ringleader/garden/") {
            let message: serde_json::Value = serde_json::from_str(&text).unwrap();
            let number = message["seq"].as_u64().unwrap();
            missing.remove(&number);
            times += u64::from(wanted.contains(&number));
        }
    }
    times
}

#[test]
fn a_broker_gets_everything_also_what_was_measured_while_it_was_away() {
    let folder = folder("broker");
    let Some(mut mosquitto) = Mosquitto::start(&folder) else { return };
    let heard = listen(mosquitto.port, "listener");
    let database = folder.join("a.sqlite");
    let mut spool = Spool::open(&database).unwrap();
    let publisher = Publisher::start(mosquitto.settings(), &database).unwrap();
    let store = |spool: &mut Spool, from: u64, to: u64| {
        spool.store(&(from..to).map(reading).collect::<Vec<_>>()).unwrap();
    };
    store(&mut spool, 0, 500);
    arrive(&heard, 0..500);
    // In the middle of a stream of readings.
    store(&mut spool, 500, 1_500);
    mosquitto.stop();
    store(&mut spool, 1_500, 3_000);
    mosquitto.run();
    store(&mut spool, 3_000, 3_100);
    arrive(&heard, 500..3_100);
    until("the cursor is at the end", || spool.cursor(CURSOR).unwrap().unwrap().row == 3_100);
    publisher.finish();

    // A subscriber that comes later finds the latest values, the sensors, and that the gateway has gone.
    let retained = listen(mosquitto.port, "newcomer");
    let mut found = BTreeMap::new();
    until("the retained messages", || {
        found.extend(retained.try_iter());
        found.len() == 21
    });
    assert_eq!(found.get("ringleader/test/state").map(String::as_str), Some("offline"));
    let latest: serde_json::Value = serde_json::from_str(&found["ringleader/garden/1/air_temperature"]).unwrap();
    assert_eq!((latest["seq"].as_u64(), latest["unit"].as_str()), (Some(3_090), Some("°C")));
    let config = &found["homeassistant/sensor/ringleader_garden_1_air_temperature/config"];
    let config: serde_json::Value = serde_json::from_str(config).unwrap();
    assert_eq!(config["state_topic"], "ringleader/garden/1/air_temperature");
    assert_eq!(config["availability_topic"], "ringleader/test/state");
}

#[test]
fn a_gateway_that_goes_on_publishes_only_what_is_new() {
    let folder = folder("broker_again");
    let Some(mosquitto) = Mosquitto::start(&folder) else { return };
    let database = folder.join("a.sqlite");
    let mut spool = Spool::open(&database).unwrap();
    spool.store(&(0..5_000).map(reading).collect::<Vec<_>>()).unwrap();
    let heard = listen(mosquitto.port, "listener");
    let publisher = Publisher::start(mosquitto.settings(), &database).unwrap();
    assert_eq!(arrive(&heard, 0..5_000), 5_000, "without an interruption nothing comes twice");
    publisher.finish();
    spool.store(&(5_000..5_010).map(reading).collect::<Vec<_>>()).unwrap();
    let publisher = Publisher::start(mosquitto.settings(), &database).unwrap();
    let (topic, _) = heard.iter().find(|(topic, _)| topic.starts_with("ringleader/garden/")).unwrap();
    assert_eq!(topic, topics::state(&reading(5_000)), "the first one that is new");
    publisher.finish();
}

#[test]
fn a_gateway_that_dies_is_told_by_its_last_will() {
    let folder = folder("will");
    let Some(mosquitto) = Mosquitto::start(&folder) else { return };
    let heard = listen(mosquitto.port, "listener");
    let program = env!("CARGO_BIN_EXE_ringleader-gateway");
    let mut command = Command::new(program);
    command.args(["--port", "nowhere", "--db", "a.sqlite", "--name", "dying", "--mqtt"]);
    command.arg(format!("mqtt://127.0.0.1:{}", mosquitto.port)).current_dir(&folder).stderr(Stdio::null());
    let mut gateway = command.spawn().unwrap();
    let state = || heard.recv_timeout(PATIENCE).unwrap();
    assert_eq!(state(), ("ringleader/dying/state".into(), "online".into()));
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    assert_eq!(state(), ("ringleader/dying/state".into(), "offline".into()));
}

/// Nine nodes whose leader dies. A second of it takes milliseconds.
const NETWORK: &str = r#"name = "orchard"
duration = "150 s"
[topology]
kind = "grid"
nodes = 9
spacing = "20 m"
[radio]
model = "usual"
loss = "10 %"
[collect]
every = "10 s"
sample = "2 s"
[[fault]]
kind = "crash"
who = "leader"
at = "70 s"
"#;

#[test]
fn a_broker_that_was_away_for_a_minute_gets_what_the_network_measured_meanwhile() {
    let folder = folder("minute");
    let Some(mut mosquitto) = Mosquitto::start(&folder) else { return };
    let heard = listen(mosquitto.port, "listener");
    let database = folder.join("a.sqlite");
    let mut spool = Spool::open(&database).unwrap();
    let publisher = Publisher::start(mosquitto.settings(), &database).unwrap();
    let scenario = read("orchard.toml", NETWORK).unwrap();
    let pace = Pace { seed: scenario.seed, is_fast: true };
    let began = Utc::now();
    let mut source = Simulated::start(scenario, Some("garden".into()), pace).unwrap();
    let (mut stored, mut stopped_at, mut meanwhile) = (BTreeSet::new(), None, 0);
    while !source.is_over() {
        let batch = source.read(PATIENCE).unwrap();
        let newest = batch.readings.iter().map(|reading| reading.time).max().unwrap_or(began);
        spool.store_all(&batch.readings, &batch.gaps).unwrap();
        source.committed(&batch).unwrap();
        let keys = batch.readings.iter().map(|one| (one.key.node, one.key.device, one.key.seq, one.quantity.clone()));
        stored.extend(keys);
        // By the network's clock.
        match stopped_at {
            None if newest >= began.after_us(30_000_000) => {
                mosquitto.stop();
                stopped_at = Some(newest);
            }
            Some(stopped) if !mosquitto.is_running() => {
                meanwhile += batch.readings.len();
                if newest >= stopped.after_us(60_000_000) {
                    mosquitto.run();
                }
            }
            _ => {}
        }
    }
    assert!(mosquitto.is_running() && meanwhile > 100, "{meanwhile} readings while it was away");
    let deadline = Instant::now() + PATIENCE;
    while !stored.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        let message = heard.recv_timeout(left);
        let (topic, text) = message.unwrap_or_else(|_| panic!("{} never arrived", stored.len()));
        let Some(name) = topic.strip_prefix("ringleader/garden/") else { continue };
        let (node, quantity) = name.split_once('/').unwrap();
        let message: serde_json::Value = serde_json::from_str(&text).unwrap();
        let number = |key: &str| message[key].as_u64().unwrap();
        let device = u16::try_from(number("device")).unwrap();
        stored.remove(&(node.parse().unwrap(), device, number("seq"), quantity.to_owned()));
    }
    publisher.finish();
}
