//! The database and the files that follow it.

use gateway::outputs::lines::Format;
use gateway::outputs::metrics;
use gateway::outputs::text_file::TextFile;
use gateway::reading::Reading;
use gateway::run::{Tally, run};
use gateway::source::flood::Flood;
use gateway::spool::{LATEST_MAX, Lock, Spool};
use host_sim::field::utc::Utc;
use host_sim::interrupt::Interrupt;

use super::support::{folder, reading};

#[test]
fn a_flood_of_readings_is_stored_and_written() {
    const COUNT: u64 = 20_000;
    let folder = folder("flood");
    let database = folder.join("readings.sqlite");
    let mut spool = Spool::open(&database).unwrap();
    let mut files = [("a.jsonl", Format::Jsonl), ("a.csv", Format::Csv), ("a.influx", Format::Influx)]
        .map(|(name, format)| TextFile::open(&folder.join(name), format, &spool).unwrap());
    let mut flood = Flood::new("garden".into(), COUNT);
    let tally = run(&mut flood, &database, &mut spool, &mut files, &Interrupt::default(), None).unwrap();
    assert_eq!(tally, Tally { stored: 20_000, known: 0 });
    assert_eq!(flood.committed(), COUNT);
    for (name, lines) in [("a.jsonl", 20_000), ("a.csv", 20_001), ("a.influx", 20_000)] {
        assert_eq!(std::fs::read_to_string(folder.join(name)).unwrap().lines().count(), lines, "{name}");
    }
}

#[test]
fn the_same_reading_is_one_row_and_a_late_one_is_not_the_latest() {
    let folder = folder("once");
    let mut spool = Spool::open(&folder.join("a.sqlite")).unwrap();
    assert_eq!(spool.store(&[reading(10), reading(20), reading(10)]).unwrap(), 2);
    assert_eq!(spool.store(&[reading(20), reading(0)]).unwrap(), 1);
    let mut exchanged = reading(10);
    exchanged.key.device += 1;
    let mut restarted = reading(10);
    restarted.key.epoch += 1;
    assert_eq!(spool.store(&[exchanged, restarted]).unwrap(), 2, "another board, and another boot");
    let latest = spool.latest().unwrap();
    assert_eq!(latest.len(), 1, "all are of node 1");
    assert_eq!((latest[0].node, latest[0].value), (1, 0.2), "the reading before it came later");
}

#[test]
fn boards_that_make_up_ids_do_not_fill_the_memory_of_who_asks_for_the_latest() {
    let mut spool = Spool::open(&folder("made-up").join("a.sqlite")).unwrap();
    let made_up = (0..LATEST_MAX + 9).map(|at| {
        let mut reading = reading(1);
        reading.key.node = u16::try_from(at).unwrap();
        reading
    });
    spool.store(&made_up.collect::<Vec<_>>()).unwrap();
    assert_eq!(spool.latest().unwrap().len(), LATEST_MAX);
}

#[test]
fn a_file_is_completed_continued_and_made_anew() {
    let folder = folder("continued");
    let path = folder.join("a.csv");
    let mut spool = Spool::open(&folder.join("a.sqlite")).unwrap();
    let deliver = |spool: &Spool| TextFile::open(&path, Format::Csv, spool).unwrap().deliver(spool).unwrap();
    spool.store(&[reading(0), reading(1)]).unwrap();
    deliver(&spool);
    let whole = std::fs::read_to_string(&path).unwrap();
    assert_eq!(whole.lines().count(), 3);
    // Half a line that nobody has confirmed.
    std::fs::write(&path, format!("{whole}2026-11-19T09:3")).unwrap();
    spool.store(&[reading(2)]).unwrap();
    deliver(&spool);
    let longer = std::fs::read_to_string(&path).unwrap();
    assert!(longer.starts_with(&whole) && longer.lines().count() == 4, "{longer}");
    std::fs::remove_file(&path).unwrap();
    deliver(&spool);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), longer);

    let other = folder.join("mine.csv");
    std::fs::write(&other, "my notes\n").unwrap();
    let refused = TextFile::open(&other, Format::Csv, &spool).unwrap_err();
    assert!(format!("{refused:#}").contains("was not written from this database"), "{refused:#}");
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "my notes\n");
}

#[test]
fn a_database_of_something_else_is_left_alone() {
    let folder = folder("else");
    let path = folder.join("a.sqlite");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE mine (a)").unwrap();
    let refused = Spool::open(&path).unwrap_err();
    assert!(format!("{refused:#}").contains("a database of something else"), "{refused:#}");
    let lock = Lock::take(&path).unwrap();
    assert!(format!("{:#}", Lock::take(&path).unwrap_err()).contains("another gateway"));
    drop(lock);
    assert!(Lock::take(&path).is_ok());
}

#[test]
fn metrics_are_openmetrics() {
    let folder = folder("metrics");
    let mut spool = Spool::open(&folder.join("a.sqlite")).unwrap();
    let mut plain = reading(5);
    (plain.quantity, plain.unit, plain.value) = ("unfitness".into(), String::new(), 7.0);
    plain.key.network = "a \"b\"\\".into();
    spool.store(&[reading(0), reading(1), plain, Reading { time: Utc(0), ..reading(3) }]).unwrap();
    let text = metrics::text(&spool).unwrap();
    for line in [
        "# TYPE ringleader_air_temperature_celsius gauge",
        "# UNIT ringleader_air_temperature_celsius celsius",
        "ringleader_air_temperature_celsius{network=\"garden\",node=\"2\"} 0.01",
        "ringleader_unfitness{network=\"a \\\"b\\\"\\\\\",node=\"6\"} 7",
        "ringleader_readings_total 4",
        "ringleader_measured_timestamp_seconds{network=\"garden\",node=\"4\",quantity=\"air_temperature\"} 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(text.ends_with("# EOF\n"));
    // Every metric is typed before its samples, and once.
    let types: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    for sample in text.lines().filter(|line| !line.starts_with('#')) {
        let name = sample.split(['{', ' ']).next().unwrap().trim_end_matches("_total");
        assert_eq!(types.iter().filter(|kind| kind.split(' ').next() == Some(name)).count(), 1, "{sample}");
    }
}
