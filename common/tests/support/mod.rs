//! Nodes of every algorithm, set up alike.

use common::coefficient::Coefficient;
use common::election::height::HeightOptions;
use common::election::hierarchy::Radii;
use common::election::hs::HsRules;
use common::election::{Algorithm, Election, ElectionConfig, Timing};
use common::engine::Engine;
use common::members::RingOrder;
use common::time::Duration;
use common::types::{NodeId, RingPlace};

/// The ring that all nodes of these tests are on; node 3 is the one under test.
pub const MEMBERS: [NodeId; 6] = [NodeId(1), NodeId(5), NodeId(3), NodeId(6), NodeId(2), NodeId(4)];

pub const ME: NodeId = NodeId(3);

pub fn election(algorithm: Algorithm) -> Election {
    let config = ElectionConfig {
        algorithm,
        order: RingOrder::new(&MEMBERS).expect("a ring of six"),
        place: RingPlace { left: NodeId(5), right: NodeId(6) },
        coefficient: Coefficient(700),
        hs: HsRules::Published,
        height: HeightOptions::default(),
        radii: Radii::new(&[1, 3]).expect("two levels"),
        timing: Timing {
            hop: Duration::from_millis(5),
            answer: Duration::from_millis(20),
            patience: Duration::from_millis(200),
        },
    };
    Election::new(ME, config)
}

/// The node under test, with room for this many peers.
pub fn engine<const PEERS: usize>(algorithm: Algorithm) -> Engine<Election, PEERS> {
    Engine::new(ME, 9, election(algorithm))
}
