//! Readings to an MQTT broker, at least once each.
//!
//! ```text
//!            connected                 acknowledged by the broker
//! waiting ─────────────> publishing ──────────────────────────────> the cursor moves on
//!    ^                       │ any error
//!    └── 1 s, 2 s ... 30 s ──┘
//! ```
//!
//! A connection begins at the cursor, and the cursor moves only past what the broker has acknowledged. What was in
//! flight when a connection broke is published again; a retained message that comes twice does no harm. The thread has
//! its own connection to the database, so a slow or missing broker delays nothing else.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use host_sim::note;
use rumqttc::{Client, ConnectionError, Event, LastWill, MqttOptions, Outgoing, Packet, QoS};

use super::topics;
use crate::spool::{Cursor, Spool, Stored};

/// How many messages may be in flight; brokers usually accept 20 to 100.
const WINDOW: usize = 20;

/// How many rows are read at once.
const ROWS: usize = 500;

/// More sensors than a field has. To tell of one twice does no harm; ids that a board makes up must not fill the memory.
const DISCOVERED_MAX: usize = 10_000;

const CONNECT_WAIT: Duration = Duration::from_secs(15);
const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(30);

/// How often to check for new rows, and whether to stop.
const LOOK: Duration = Duration::from_millis(50);

/// How long the last messages may take once the gateway stops.
const FAREWELL: Duration = Duration::from_secs(3);

/// The name of the cursor.
pub const CURSOR: &str = "mqtt";

/// Where the broker is, and how to log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broker {
    pub host: String,
    pub port: u16,
    pub user: Option<(String, String)>,
    pub security: Security,
    /// Names this gateway if a broker has several.
    pub gateway: String,
    /// Tell Home Assistant of every sensor.
    pub discovery: bool,
}

/// Whether and how the connection is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Security {
    Plain,
    /// Encrypted, to a broker whose certificate one of the system's authorities has signed.
    Tls,
    /// Encrypted, to the broker with this certificate (PEM) or one that it has signed.
    TlsBy(Vec<u8>),
}

impl Broker {
    /// Reads `mqtt://[user:password@]host[:port]`, or `mqtts://` for an encrypted connection.
    pub fn parse(url: &str, gateway: &str, discovery: bool) -> anyhow::Result<Self> {
        let (rest, security, usual_port) = match (url.strip_prefix("mqtt://"), url.strip_prefix("mqtts://")) {
            (Some(rest), _) => (rest, Security::Plain, 1_883),
            (_, Some(rest)) => (rest, Security::Tls, 8_883),
            _ => bail!("must begin with mqtt:// or mqtts://"),
        };
        ensure!(
            security == Security::Plain || cfg!(feature = "tls"),
            "TLS is not built in: cargo install --path host-sim/gateway --features tls"
        );
        let rest = rest.trim_end_matches('/');
        let (user, address) = match rest.rsplit_once('@') {
            None => (None, rest),
            Some((user, address)) => {
                let (name, password) = user.split_once(':').unwrap_or((user, ""));
                (Some((name.to_owned(), password.to_owned())), address)
            }
        };
        let (host, port) = match address.rsplit_once(':') {
            None => (address, usual_port),
            Some((host, port)) => (host, port.parse().ok().with_context(|| format!("{port:?} is no port"))?),
        };
        ensure!(!host.is_empty(), "names no host");
        Ok(Self { host: host.to_owned(), port, user, security, gateway: gateway.to_owned(), discovery })
    }

    /// Takes the certificate of the authority that has signed the broker's, or the broker's own.
    pub fn trust(&mut self, certificate: Vec<u8>) -> anyhow::Result<()> {
        ensure!(self.security != Security::Plain, "a certificate is for mqtts://");
        self.security = Security::TlsBy(certificate);
        Ok(())
    }

    fn options(&self) -> MqttOptions {
        let mut options = MqttOptions::new(format!("ringleader-{}", self.gateway), self.host.clone(), self.port);
        options.set_keep_alive(Duration::from_secs(20));
        options.set_inflight(u16::try_from(WINDOW).unwrap_or(u16::MAX));
        options.set_last_will(LastWill::new(topics::availability(&self.gateway), "offline", QoS::AtLeastOnce, true));
        if let Some((name, password)) = &self.user {
            options.set_credentials(name, password);
        }
        #[cfg(feature = "tls")]
        secure(&mut options, &self.security);
        options
    }
}

#[cfg(feature = "tls")]
fn secure(options: &mut MqttOptions, security: &Security) {
    use rumqttc::{TlsConfiguration, Transport};
    let trusted = match security {
        Security::Plain => return,
        Security::Tls => TlsConfiguration::default(),
        Security::TlsBy(ca) => TlsConfiguration::Simple { ca: ca.clone(), alpn: None, client_auth: None },
    };
    options.set_transport(Transport::Tls(trusted));
}

/// The thread that publishes.
#[derive(Debug)]
pub struct Publisher {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Publisher {
    pub fn start(broker: Broker, database: &Path) -> anyhow::Result<Self> {
        // The choice is global; if it was made before, this does nothing.
        #[cfg(feature = "tls")]
        let _ = rustls::crypto::ring::default_provider().install_default();
        let spool = Spool::open(database)?;
        if spool.cursor(CURSOR)?.is_none() {
            spool.set_cursor(CURSOR, Cursor::default())?;
        }
        let end = Arc::new(AtomicBool::new(false));
        let told = end.clone();
        let thread = std::thread::spawn(move || keep_publishing(&broker, &spool, &told));
        Ok(Self { end, thread: Some(thread) })
    }

    /// Publishes what is left, if the broker takes it in time, and disconnects.
    pub fn finish(mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn keep_publishing(broker: &Broker, spool: &Spool, end: &AtomicBool) {
    let mut wait = RETRY_FIRST;
    let mut is_told = false;
    loop {
        let began = Instant::now();
        match Session::open(broker).and_then(|mut session| {
            note!("mqtt: connected to {}:{}", broker.host, broker.port);
            is_told = false;
            session.publish_all(broker, spool, end)
        }) {
            Ok(()) => return,
            Err(error) if !is_told => {
                note!("mqtt: {error:#}; trying again, readings wait in the database");
                is_told = true;
            }
            Err(_) => {}
        }
        if began.elapsed() > RETRY_MAX {
            wait = RETRY_FIRST;
        }
        let until = Instant::now() + wait;
        while Instant::now() < until {
            if end.load(Ordering::Relaxed) {
                return;
            }
            std::thread::sleep(LOOK);
        }
        wait = (wait * 2).min(RETRY_MAX);
    }
}

/// One connection, from its beginning to its first error.
struct Session {
    client: Client,
    events: Receiver<Result<Event, ConnectionError>>,
    /// Passed to the client; each with its row, if it is a reading.
    queued: VecDeque<Option<i64>>,
    /// In flight to the broker, by the number that its answer will carry.
    flying: BTreeMap<u16, Option<i64>>,
    /// The last row that was passed to the client.
    handed: i64,
    /// Topics that Home Assistant knows of.
    discovered: BTreeSet<String>,
}

impl Session {
    fn open(broker: &Broker) -> anyhow::Result<Self> {
        let (client, mut connection) = Client::new(broker.options(), WINDOW * 2);
        let (tell, events) = channel();
        // It ends with the client, or with the connection.
        std::thread::spawn(move || {
            for event in connection.iter() {
                let is_over = event.is_err();
                if tell.send(event).is_err() || is_over {
                    return;
                }
            }
        });
        let (queued, flying, discovered) = (VecDeque::new(), BTreeMap::new(), BTreeSet::new());
        let session = Self { client, events, queued, flying, handed: 0, discovered };
        let deadline = Instant::now() + CONNECT_WAIT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match session.events.recv_timeout(left) {
                Ok(Ok(Event::Incoming(Packet::ConnAck(_)))) => return Ok(session),
                Ok(Ok(_)) => {}
                Ok(Err(error)) => bail!("cannot reach {}:{}: {error}", broker.host, broker.port),
                Err(_) => bail!("{}:{} does not answer", broker.host, broker.port),
            }
        }
    }

    fn publish_all(&mut self, broker: &Broker, spool: &Spool, end: &AtomicBool) -> anyhow::Result<()> {
        let mut saved = spool.cursor(CURSOR)?.unwrap_or_default().row;
        self.handed = saved;
        self.hand_over(topics::availability(&broker.gateway), "online", None)?;
        let mut waiting = VecDeque::new();
        let mut deadline = None;
        loop {
            if waiting.is_empty() {
                waiting.extend(spool.after(self.handed, ROWS)?);
            }
            while self.has_room()
                && let Some(stored) = waiting.pop_front()
            {
                self.publish(broker, &stored)?;
            }
            self.wait_for_event()?;
            while let Ok(event) = self.events.try_recv() {
                self.handle(&event?);
            }
            let acknowledged = self.acknowledged();
            if acknowledged > saved {
                spool.set_cursor(CURSOR, Cursor { row: acknowledged, bytes: 0 })?;
                saved = acknowledged;
            }
            if end.load(Ordering::Relaxed) {
                let until = *deadline.get_or_insert_with(|| Instant::now() + FAREWELL);
                let is_done = waiting.is_empty() && self.queued.is_empty() && self.flying.is_empty();
                if is_done && spool.after(saved, 1)?.is_empty() || Instant::now() > until {
                    return self.say_goodbye(broker);
                }
            }
        }
    }

    fn has_room(&self) -> bool {
        self.queued.len() + self.flying.len() + 1 < WINDOW
    }

    fn publish(&mut self, broker: &Broker, stored: &Stored) -> anyhow::Result<()> {
        let topic = topics::state(&stored.reading);
        if broker.discovery && is_new(&mut self.discovered, &topic) {
            let (topic, config) = topics::discovery(&stored.reading, &broker.gateway);
            self.hand_over(topic, &config, None)?;
        }
        self.hand_over(topic, &topics::message(&stored.reading), Some(stored.row))?;
        self.handed = stored.row;
        Ok(())
    }

    fn hand_over(&mut self, topic: String, message: &str, row: Option<i64>) -> anyhow::Result<()> {
        if self.client.try_publish(topic, QoS::AtLeastOnce, true, message).is_err() {
            // There is always room, so a failure means that the connection has ended, which was reported.
            self.events.try_iter().collect::<Result<Vec<_>, _>>()?;
            bail!("the connection is gone");
        }
        self.queued.push_back(row);
        Ok(())
    }

    fn wait_for_event(&mut self) -> anyhow::Result<()> {
        match self.events.recv_timeout(LOOK) {
            Ok(event) => self.handle(&event?),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => bail!("the connection is gone"),
        }
        Ok(())
    }

    fn handle(&mut self, event: &Event) {
        match event {
            Event::Outgoing(Outgoing::Publish(number)) => {
                let row = self.queued.pop_front().flatten();
                self.flying.insert(*number, row);
            }
            Event::Incoming(Packet::PubAck(answer)) => {
                self.flying.remove(&answer.pkid);
            }
            _ => {}
        }
    }

    /// The last row up to which the broker has everything.
    fn acknowledged(&self) -> i64 {
        let open = self.queued.iter().chain(self.flying.values()).filter_map(|row| *row).min();
        open.map_or(self.handed, |first| first - 1)
    }

    fn say_goodbye(&mut self, broker: &Broker) -> anyhow::Result<()> {
        self.hand_over(topics::availability(&broker.gateway), "offline", None)?;
        let deadline = Instant::now() + FAREWELL;
        while !(self.queued.is_empty() && self.flying.is_empty()) && Instant::now() < deadline {
            self.wait_for_event()?;
        }
        // Only acknowledgements count; how the broker closes the connection does not.
        let _ = self.client.try_disconnect();
        while Instant::now() < deadline && self.events.recv_timeout(LOOK).is_ok_and(|event| event.is_ok()) {}
        Ok(())
    }
}

/// Whether a topic is not among those that are remembered, which it then is.
fn is_new(remembered: &mut BTreeSet<String>, topic: &str) -> bool {
    if remembered.len() >= DISCOVERED_MAX && !remembered.contains(topic) {
        remembered.clear();
    }
    remembered.insert(topic.to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Broker;
    #[cfg(feature = "tls")]
    use super::Security;

    #[test]
    fn addresses_of_brokers_are_read() {
        let broker = Broker::parse("mqtt://me:p@ss@there.local:1884/", "g", false).unwrap();
        assert_eq!((broker.host.as_str(), broker.port), ("there.local", 1_884));
        assert_eq!(broker.user, Some(("me".into(), "p@ss".into())));
        assert_eq!(Broker::parse("mqtt://localhost", "g", false).unwrap().port, 1_883);
        for wrong in ["localhost", "http://x", "mqtt://", "mqtt://:1883", "mqtt://a:b"] {
            assert!(Broker::parse(wrong, "g", false).is_err(), "{wrong}");
        }
        assert!(Broker::parse("mqtt://localhost", "g", false).unwrap().trust(Vec::new()).is_err());
    }

    #[test]
    fn boards_that_make_up_sensors_fill_no_memory() {
        let mut remembered = BTreeSet::new();
        for number in 0..3 * super::DISCOVERED_MAX {
            assert!(super::is_new(&mut remembered, &number.to_string()));
            assert!(!super::is_new(&mut remembered, &number.to_string()));
            assert!(remembered.len() <= super::DISCOVERED_MAX);
        }
    }

    #[cfg(not(feature = "tls"))]
    #[test]
    fn what_is_not_built_in_is_told() {
        let said = Broker::parse("mqtts://localhost", "g", false).unwrap_err().to_string();
        assert!(said.contains("--features tls"), "{said}");
    }

    #[cfg(feature = "tls")]
    #[test]
    fn encrypted_connections_have_a_port_of_their_own() {
        let mut broker = Broker::parse("mqtts://there", "g", false).unwrap();
        assert_eq!((broker.port, &broker.security), (8_883, &Security::Tls));
        broker.trust(vec![7]).unwrap();
        assert_eq!(broker.security, Security::TlsBy(vec![7]));
    }
}
