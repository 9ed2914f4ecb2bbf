use super::{Height, HeightCore, HeightOptions, HeightRules, RefLevel, YOUTH};
use crate::causal_clock::ClockKind;
use crate::notice::Event;
use crate::time::Instant;
use crate::types::NodeId;

const ALL_RULES: [HeightRules; 3] = [HeightRules::Published, HeightRules::Claiming, HeightRules::Radio];
const LEADER: NodeId = NodeId(9);

/// A node one hop from the leader, without links.
fn follower(id: u16, rules: HeightRules) -> HeightCore<4> {
    let options = HeightOptions { clock: ClockKind::Lamport, rules };
    HeightCore::new(Height::initial(NodeId(id), LEADER, 1), options)
}

fn at_distance(id: u16, distance: i16) -> Height {
    Height::initial(NodeId(id), LEADER, distance)
}

#[test]
fn a_leader_that_never_was_does_not_lead_for_ever() {
    for rules in ALL_RULES {
        let mut node = follower(1, rules);
        assert_eq!(node.link_up(Instant::ZERO, NodeId(5)), Ok(()));
        // A memory has gone wrong: what it tells of is younger than the message.
        let ghost = Height { leader: Height::elected(NodeId(77), 1_000).leader, ..at_distance(5, 1) };
        assert_eq!(node.receive(Instant::ZERO, 3, ghost), Some(Event::Ignored(NodeId(5))), "{rules:?}");
        assert_eq!((node.height().leader.lid, node.time()), (LEADER, 2), "{rules:?}");
        // The same in its own memory: it is mended with the next event.
        let mut node = HeightCore::<4>::new(Height { id: NodeId(1), ..ghost }, node.options);
        assert_eq!(node.link_up(Instant::ZERO, NodeId(5)), Ok(()));
        let _ = node.receive(Instant::ZERO, 3, at_distance(5, 1));
        assert_eq!(node.height(), Height::elected(NodeId(1), 4), "{rules:?}");
    }
}

#[test]
fn only_radio_rules_pass_over_the_loss_of_a_channel_that_never_became_a_link() {
    for rules in ALL_RULES {
        let reaction = (rules != HeightRules::Radio).then_some(Event::ElectedSelf);
        let mut node = follower(1, rules);
        assert_eq!(node.link_up(Instant::ZERO, NodeId(5)), Ok(()));
        let before = node.height();
        assert_eq!(node.link_down(Instant::ZERO, NodeId(5)), reaction, "forming, {rules:?}");
        assert_eq!(node.height() == before, reaction.is_none(), "{rules:?}");
        assert_eq!(follower(1, rules).link_down(Instant::ZERO, NodeId(5)), reaction, "never up, {rules:?}");

        let mut node = follower(1, rules);
        assert_eq!(node.insert_neighbour(at_distance(5, 0)), Ok(()));
        assert_eq!(node.link_down(Instant::ZERO, NodeId(5)), Some(Event::ElectedSelf), "a link, {rules:?}");
    }
}

#[test]
fn of_two_that_succeed_a_leader_the_one_with_precedence_leads_however_early_it_was() {
    for rules in ALL_RULES {
        let mut nodes = [1, 2].map(|id| {
            let options = HeightOptions { clock: ClockKind::Lamport, rules };
            HeightCore::<4>::new(Height { delta: 1, id: NodeId(id), ..Height::elected(LEADER, 40) }, options)
        });
        let [first, second] = &mut nodes;
        first.tick(Instant::ZERO, Some(41));
        assert_eq!(first.succeed(Instant::ZERO, 2), Event::ElectedSelf, "{rules:?}");
        // The second hears of much, but of that election only after its own.
        second.tick(Instant::ZERO, Some(1_000));
        let old = second.height().leader;
        assert_eq!(second.succeed(Instant::ZERO, 1), Event::ElectedSelf);
        assert!(first.height().leader < second.height().leader && second.height().leader < old);
        assert_eq!(first.link_up(Instant::ZERO, NodeId(2)), Ok(()));
        assert_eq!(second.link_up(Instant::ZERO, NodeId(1)), Ok(()));
        assert!(first.height().is_of_past(first.time()) && second.height().is_of_past(second.time()));
        let (told, stamp) = (first.height(), first.time());
        let replied = first.receive(Instant::ZERO, second.time(), second.height());
        assert_eq!(replied, Some(Event::Replied(NodeId(2))));
        assert_eq!(second.receive(Instant::ZERO, stamp, told), Some(Event::Adopted(NodeId(1))));
        assert_eq!(second.height().leader.lid, NodeId(1), "{rules:?}");
    }
}

#[test]
fn a_height_without_a_channel_moves_nothing_but_the_clock() {
    for rules in ALL_RULES {
        let mut node = follower(1, rules);
        let before = node.height();
        let better = Height::elected(NodeId(5), 3);
        assert_eq!(node.receive(Instant::ZERO, 7, better), Some(Event::Ignored(NodeId(5))));
        assert_eq!((node.height(), node.time(), node.neighbours().count()), (before, 8, 0));
    }
}

#[test]
fn a_node_claims_what_it_led_in_a_former_life_unless_the_rules_are_as_published() {
    for rules in ALL_RULES {
        let mut node = follower(1, rules);
        assert_eq!(node.insert_neighbour(at_distance(5, 0)), Ok(()));
        let peer = Height { delta: 1, id: NodeId(5), ..Height::elected(NodeId(1), 6) };
        let did = node.receive(Instant::ZERO, 7, peer);
        if rules == HeightRules::Published {
            assert_eq!(
                (did, node.height()),
                (Some(Event::Adopted(NodeId(5))), Height { delta: 2, id: NodeId(1), ..peer })
            );
        } else {
            assert_eq!((did, node.height()), (Some(Event::ElectedSelf), Height::elected(NodeId(1), 8)), "{rules:?}");
        }
    }
}

/// What two that have nobody but each other tell each other at the same moment: whom each follows afterwards.
fn meet(one: &mut HeightCore<4>, other: &mut HeightCore<4>) -> [NodeId; 2] {
    let now = Instant::ZERO;
    let told = [&mut *one, &mut *other].map(|node| (node.time(), node.height()));
    for (node, (stamp, peer)) in [(&mut *one, told[1]), (&mut *other, told[0])] {
        assert_eq!(node.link_up(now, peer.id), Ok(()));
        let _ = node.receive(now, stamp, peer);
    }
    let told = [&mut *one, &mut *other].map(|node| (node.time(), node.height()));
    let _ = one.receive(now, told[1].0, told[1].1);
    let _ = other.receive(now, told[0].0, told[0].1);
    [one.height().leader.lid, other.height().leader.lid]
}

#[test]
fn of_two_that_are_far_apart_only_who_has_just_begun_takes_the_others_time() {
    let options = HeightOptions { clock: ClockKind::Lamport, rules: HeightRules::Radio };
    let begin = |id| HeightCore::<4>::new(Height::elected(NodeId(id), 0), options);
    let far = |id| {
        let mut node = begin(id);
        node.set_time(1 << 31);
        assert_eq!(node.elect_self(), Event::ElectedSelf);
        (0..YOUTH).for_each(|_| assert_eq!(node.audit(Instant::ZERO), None));
        node
    };
    let (mut young, mut old) = (begin(1), far(2));
    let [one, other] = meet(&mut young, &mut old);
    assert_eq!(one, other, "each took the other's time");
    assert!(crate::causal_clock::is_near(young.time(), old.time()) && old.time() > 1 << 31);

    // Neither has just begun: one of them is to begin anew (`node/odds.rs`).
    let mut grown = begin(1);
    (0..YOUTH).for_each(|_| assert_eq!(grown.audit(Instant::ZERO), None));
    assert_eq!(meet(&mut grown, &mut far(2)), [NodeId(1), NodeId(2)]);
    // Who has taken somebody's time, takes nobody else's.
    assert_eq!(young.link_down(Instant::ZERO, NodeId(2)), Some(Event::ElectedSelf));
    assert_eq!(young.link_up(Instant::ZERO, NodeId(5)), Ok(()));
    let liar = Height::elected(NodeId(5), 3);
    assert_eq!(young.receive(Instant::ZERO, 7, liar), Some(Event::OutOfTime(NodeId(5))));
}

/// No run is known to come here, but the rule asks for the level alone and not for whose search it is.
#[test]
fn a_sink_among_its_own_search_reflects_it_first() {
    let mut node = follower(1, HeightRules::Published);
    assert_eq!(node.insert_neighbour(at_distance(5, 2)), Ok(()));
    let level = RefLevel { tau: 4, oid: NodeId(1), reflected: false };
    let peer = Height { level, ..at_distance(5, 2) };
    assert_eq!(node.receive(Instant::ZERO, 4, peer), Some(Event::Reflected));
    assert_eq!((node.height().level, node.height().delta), (RefLevel { reflected: true, ..level }, 0));
    let peer = Height { level: RefLevel { reflected: true, ..level }, delta: 3, ..peer };
    assert_eq!(node.receive(Instant::ZERO, 5, peer), Some(Event::ElectedSelf));
}

/// The id 0 is also what stands for nobody in the level that is no search.
#[test]
fn no_search_is_nobodys_search() {
    for id in [0, 1] {
        let mut node = follower(id, HeightRules::Radio);
        assert_eq!(node.insert_neighbour(at_distance(5, 0)), Ok(()));
        assert_eq!(node.receive(Instant::ZERO, 2, at_distance(5, 2)), Some(Event::Searching), "id {id}");
        assert_eq!(node.height().level, RefLevel { tau: 3, oid: NodeId(id), reflected: false });
    }
}
