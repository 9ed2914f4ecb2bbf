//! `[radio]`: the radios and the air between them.

use super::{Files, data_file, positive, within};
use crate::air::medium::Bursts;
use crate::air::timing::RadioTiming;
use crate::scenario::input::plan::{Cca, Model, RadioPlan, Wifi};
use crate::scenario::input::toml_section::{Problem, Section};
use crate::scenario::input::units::{Unit, micros};

/// The defaults for whatever the scenario does not mention.
pub(super) fn usual() -> RadioPlan {
    RadioPlan {
        model: Model::Usual,
        exponent: None,
        noise_dbm: None,
        jitter_db: None,
        bursts: None,
        wifi: None,
        loss: 0.0,
        // The firmware's timing: it listens whenever it does not send.
        timing: RadioTiming::FIRMWARE,
        channel: 15,
        tx_dbm: 0.0,
        drift_ppm: 20,
        wake_jitter_us: 0,
        cca: Cca::Both,
    }
}

pub(super) fn read(section: &Section<'_>, nodes: usize, files: Files<'_>) -> Result<RadioPlan, Problem> {
    let usual = self::usual();
    let model = read_model(section, nodes, files)?;
    let exponent = section.number("exponent")?;
    if exponent.is_some_and(|exponent| !(1.5..=6.0).contains(&exponent)) {
        return Err(section.problem_at("exponent", "must be between 1.5 and 6; open space has 2, a building 3 to 4"));
    }
    if let Model::Disc(_) = model {
        section.exclude(&["exponent", "jitter"], "means nothing to model = \"disc\", where `reach` decides alone")?;
    }
    if let Model::Table(_) = model {
        section.exclude(&["exponent"], "means nothing to model = \"table\", where the measured losses decide alone")?;
    }
    let noise_dbm = within(section, "noise", Unit::Power, &(-150.0..=0.0))?;
    let jitter_db = within(section, "jitter", Unit::Loss, &(0.0..=20.0))?;
    let bursts = section.section("bursts")?.map(|bursts| read_bursts(&bursts)).transpose()?;
    let wifi = section.section("wifi")?.map(|wifi| read_wifi(&wifi)).transpose()?;
    let loss = section.quantity("loss", Unit::Share)?.unwrap_or(usual.loss);
    let timings = [("embassy", RadioTiming::EMBASSY), ("fast", RadioTiming::FIRMWARE)];
    let timing = section.word("timing", &timings)?.unwrap_or(usual.timing);
    let channel = channel(section)?;
    let tx_dbm = power(section, "power")?.unwrap_or(usual.tx_dbm);
    let drift = section.quantity("drift", Unit::Drift)?.unwrap_or(f64::from(usual.drift_ppm));
    if !(0.0..=20_000.0).contains(&drift) {
        return Err(section.problem_at("drift", "must be between 0 ppm and 20000 ppm, a fiftieth"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    let drift_ppm = drift as u32;
    let ways = [("both", Cca::Both), ("energy", Cca::Energy), ("carrier", Cca::Carrier), ("blind", Cca::Blind)];
    let cca = section.word("cca", &ways)?.unwrap_or(usual.cca);
    let wake_jitter_us = section.quantity("wake_jitter", Unit::Time)?.unwrap_or(0.0) * 1e6;
    if !(0.0..=10_000.0).contains(&wake_jitter_us) {
        return Err(section.problem_at("wake_jitter", "must be between 0 s and 10 ms"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    let wake_jitter_us = wake_jitter_us.round() as u32;
    section.finish()?;
    let channel = channel.unwrap_or(usual.channel);
    Ok(RadioPlan {
        model,
        exponent,
        noise_dbm,
        jitter_db,
        bursts,
        wifi,
        loss,
        timing,
        channel,
        tx_dbm,
        drift_ppm,
        wake_jitter_us,
        cca,
    })
}

pub(super) fn channel(section: &Section<'_>) -> Result<Option<u8>, Problem> {
    Ok(section.integer("channel", 11..27)?.and_then(|channel| u8::try_from(channel).ok()))
}

/// Reads a transmit power that the radio supports.
pub(super) fn power(section: &Section<'_>, key: &str) -> Result<Option<f64>, Problem> {
    let power = section.quantity(key, Unit::Power)?;
    if power.is_some_and(|dbm| !(-40.0..=20.0).contains(&dbm)) {
        return Err(section.problem_at(key, "must be between -40 dBm and 20 dBm"));
    }
    Ok(power)
}

fn read_model(section: &Section<'_>, nodes: usize, files: Files<'_>) -> Result<Model, Problem> {
    #[derive(Clone, Copy, PartialEq)]
    enum Kind {
        Plain,
        Usual,
        Harsh,
        Disc,
        Table,
    }
    let kinds = [
        ("plain", Kind::Plain),
        ("usual", Kind::Usual),
        ("harsh", Kind::Harsh),
        ("disc", Kind::Disc),
        ("table", Kind::Table),
    ];
    let kind = section.word("model", &kinds)?.unwrap_or(Kind::Usual);
    let reach = positive(section, "reach", Unit::Length)?;
    if reach.is_some() && kind != Kind::Disc {
        return Err(section.problem_at("reach", "is for model = \"disc\" only"));
    }
    let links = section.text("links")?;
    if links.is_some() && kind != Kind::Table {
        return Err(section.problem_at("links", "is for model = \"table\" only"));
    }
    Ok(match kind {
        Kind::Plain => Model::Plain,
        Kind::Usual => Model::Usual,
        Kind::Harsh => Model::Harsh,
        Kind::Disc => Model::Disc(reach.ok_or_else(|| section.missing("reach"))?),
        Kind::Table => {
            let name = links.ok_or_else(|| section.missing("links"))?;
            Model::Table(data_file::links(section, "links", name, nodes, files)?)
        }
    })
}

fn read_bursts(section: &Section<'_>) -> Result<Bursts, Problem> {
    // Shorter states would come and go within a frame. Longer ones overflow 32 bits of microseconds.
    let state = |key: &str| -> Result<Option<u32>, Problem> {
        let length = within(section, key, Unit::Time, &(1e-3..=3_600.0))?;
        Ok(length.map(|length| u32::try_from(micros(length)).unwrap_or(u32::MAX)))
    };
    let (good, bad, loss) = (state("good")?, state("bad")?, positive(section, "loss", Unit::Loss)?);
    section.finish()?;
    Ok(Bursts {
        good_us: good.ok_or_else(|| section.missing("good"))?,
        bad_us: bad.ok_or_else(|| section.missing("bad"))?,
        loss_db: loss.ok_or_else(|| section.missing("loss"))?,
    })
}

fn read_wifi(section: &Section<'_>) -> Result<Wifi, Problem> {
    let at = section.point("at")?;
    let power_dbm = section.quantity("power", Unit::Power)?.unwrap_or(10.0);
    let duty = section.quantity("duty", Unit::Share)?.unwrap_or(0.1);
    let burst = within(section, "burst", Unit::Time, &(1e-5..=10.0))?.unwrap_or(1.5e-3);
    let channel = channel(section)?;
    section.finish()?;
    if !(0.001..=0.95).contains(&duty) {
        return Err(section.problem_at("duty", "must be between 0.1 % and 95 %"));
    }
    let at = at.ok_or_else(|| section.missing("at"))?;
    Ok(Wifi { at, power_dbm, duty, burst_us: micros(burst), channel })
}
