//! The settings that a network's boards share, and the configuration of each board.

use anyhow::{Context, anyhow, ensure};
use common::config::{Config, FormerKey, Protection};
use common::election::Algorithm;
use common::limits::{LEVELS_MAX, RING_MAX};
use common::members::{RingOrder, RingOrderError};
use common::types::NodeId;

#[derive(Clone, Debug)]
pub struct Settings {
    pub pan: u16,
    pub protection: Protection,
    pub key_id: u8,
    /// The former key, while the network moves to another.
    pub former: Option<FormerKey>,
    /// By default HS on a ring, the hierarchy if there are radii, and heights otherwise.
    pub algorithm: Option<Algorithm>,
    /// The members in ring order.
    pub ring: Option<Vec<u16>>,
    /// The hierarchy's radii in hops, level 1 first.
    pub radii: Vec<u8>,
    /// None for the default channel.
    pub channel: Option<u8>,
    /// None for the default transmit power.
    pub power_dbm: Option<i8>,
}

impl Settings {
    /// The configuration of the board with this id, checked.
    pub fn config(&self, id: u16) -> anyhow::Result<Config> {
        let usual = Config::ad_hoc(NodeId(id), self.pan, self.protection.clone());
        let ring = self.ring.as_deref().map(ring_order).transpose()?;
        let fitting = match (&ring, self.radii.is_empty()) {
            (Some(_), _) => Algorithm::Hs,
            (None, false) => Algorithm::Hierarchy,
            (None, true) => Algorithm::Height,
        };
        let mut radii = [0; LEVELS_MAX];
        ensure!(self.radii.len() <= LEVELS_MAX, "`radii` must be at most {LEVELS_MAX}, one for each level");
        radii.iter_mut().zip(&self.radii).for_each(|(slot, radius)| *slot = *radius);
        let config = Config {
            algorithm: self.algorithm.unwrap_or(fitting),
            ring,
            radii,
            key_id: self.key_id,
            former: self.former.clone(),
            channel: self.channel.unwrap_or(usual.channel),
            power_dbm: self.power_dbm.unwrap_or(usual.power_dbm),
            ..usual
        };
        config.check().map_err(|error| anyhow!("`{}` must be {}", error.field, error.must))?;
        Ok(config)
    }
}

fn ring_order(ids: &[u16]) -> anyhow::Result<RingOrder> {
    let ids: Vec<NodeId> = ids.iter().copied().map(NodeId).collect();
    RingOrder::new(&ids)
        .map_err(|error| match error {
            RingOrderError::Empty => anyhow!("it has no members"),
            RingOrderError::TooLong => anyhow!("it has {} members, and at most {RING_MAX} fit", ids.len()),
            RingOrderError::Twice(id) => anyhow!("{id} is on it twice"),
        })
        .context("`ring` is not a ring")
}

#[cfg(test)]
mod tests {
    use common::config::{FormerKey, Protection};
    use common::election::Algorithm;

    use super::Settings;

    fn settings() -> Settings {
        Settings {
            pan: 7,
            protection: Protection::Open,
            key_id: 0,
            former: None,
            algorithm: None,
            ring: None,
            radii: Vec::new(),
            channel: None,
            power_dbm: None,
        }
    }

    #[test]
    fn the_algorithm_follows_from_what_is_given() {
        let of = |settings: Settings| settings.config(1).unwrap().algorithm;
        assert_eq!(of(settings()), Algorithm::Height);
        assert_eq!(of(Settings { radii: vec![2, 4], ..settings() }), Algorithm::Hierarchy);
        assert_eq!(of(Settings { ring: Some(vec![1, 2]), ..settings() }), Algorithm::Hs);
        let chosen = Some(Algorithm::Bully);
        assert_eq!(of(Settings { ring: Some(vec![1, 2]), algorithm: chosen, ..settings() }), Algorithm::Bully);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |settings: Settings| format!("{:#}", settings.config(1).unwrap_err());
        assert!(wrong(Settings { ring: Some(vec![2, 3]), ..settings() }).contains("`ring` must be a list with this"));
        assert!(wrong(Settings { ring: Some(vec![1, 3, 3]), ..settings() }).contains("3 is on it twice"));
        assert!(wrong(Settings { ring: Some((1..=129).collect()), ..settings() }).contains("129 members"));
        assert!(wrong(Settings { channel: Some(9), ..settings() }).contains("`channel` must be from 11 to 26"));
        assert!(wrong(Settings { radii: vec![1, 2, 3, 4], ..settings() }).contains("`radii` must be at most 3"));
        let former = Some(FormerKey { key_id: 0, protection: Protection::Open });
        assert!(wrong(Settings { former, ..settings() }).contains("`former.key_id` must be from 0 to 3 and another"));
        let ringless = Settings { algorithm: Some(Algorithm::Frlle), ..settings() };
        assert!(wrong(ringless).contains("`ring` must be given"));
    }
}
