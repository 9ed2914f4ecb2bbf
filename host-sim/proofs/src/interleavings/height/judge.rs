//! Whether the walk itself can be trusted: an independent checker, without the reduction and with complete states, must
//! find the same ends; and a wrong network must be found wrong.

use std::collections::BTreeSet;
use std::sync::Mutex;

use common::causal_clock::ClockKind;
use common::election::height::{HeightOptions, HeightRules};
use stateright::{Checker, Model, Property};

use super::canon::fingerprint;
use super::space::{Action, Heights, Network, Search, State};
use super::starts::{graphs, starts};
use crate::interleavings::walk::{Space, Walk};

/// The same space as stateright sees it.
struct Whole {
    space: Heights,
    starts: Vec<Network>,
    events: u8,
    ends: Mutex<BTreeSet<u64>>,
}

impl Model for Whole {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        self.starts.iter().map(|net| State::new(net.clone(), self.events)).collect()
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.space.actions(state, actions);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        self.space.apply(&mut state, action);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("leader-oriented", |model, state: &State| match model.space.end(state) {
            Some(end) => {
                let mut ends = model.ends.lock().expect("one thread");
                ends.insert(fingerprint(&state.net, model.space.clock));
                end.is_ok()
            }
            None => true,
        })]
    }
}

#[test]
fn the_walk_finds_every_end_that_stateright_finds() {
    // With perfect clocks few runs ever meet in the same complete state: four events would give seventeen million states.
    for (clock, search, events) in [(ClockKind::Lamport, Search::Reduced, 4), (ClockKind::Perfect, Search::Full, 2)] {
        let options = HeightOptions { clock, rules: HeightRules::Radio };
        let starts: Vec<Network> = graphs(3).flat_map(|graph| starts(&graph, options)).collect();
        let mut walk = Walk::new(Heights { clock, search });
        for net in &starts {
            walk.explore(State::new(net.clone(), events)).expect("every run ends as it should");
        }
        let space = Heights { clock, search: Search::Full };
        let checker = Whole { space, starts, events, ends: Mutex::default() }.checker().threads(1).spawn_dfs().join();
        checker.assert_properties();
        let seen = walk.seen();
        println!("{clock:?}: {} states instead of {}", seen.states, checker.unique_state_count());
        assert!(seen.ends == *checker.model().ends.lock().expect("one thread"), "ends differ");
    }
}
