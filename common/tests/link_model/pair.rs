//! Two nodes and the air between them.

use crate::end::{Breach, Echo, End, Frame, Known, Status, Trust};
use crate::outsider::{Recorder, Tape};

/// How often things may happen, over both nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Links taken down for no reason that the other end knows of.
    pub downs: u8,
    /// Neighbours forgotten.
    pub evictions: u8,
    pub reboots: u8,
    /// Messages of each node.
    pub letters: [u8; 2],
    /// Frames that both send together, lost or not; [`UNBOUNDED`](Self::UNBOUNDED) for any number.
    pub frames: u8,
}

impl Budget {
    pub const UNBOUNDED: u8 = u8::MAX;
}

/// What is explored.
#[derive(Clone, Debug)]
pub struct Pair {
    pub compare: Echo,
    pub trust: Trust,
    pub budget: Budget,
    /// Frames under way in each direction.
    pub window: usize,
    /// What an outsider records. It plays any of that at any time, as often as it likes.
    pub recorder: Recorder,
    /// Whether agreement is asked for as well, and not only safety.
    pub is_live: bool,
}

/// Everything at one moment. Frames keep their order; an answer that is sent at once may overtake them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub ends: [End; 2],
    /// From each end to the other.
    air: [Vec<Frame>; 2],
    answers: [Option<Status>; 2],
    /// What an outsider has recorded of each end.
    tapes: [Tape; 2],
    left: Budget,
}

/// What happens; the number is the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    Hello(usize),
    Rel(usize),
    Probe(usize),
    AckOnly(usize),
    Challenge(usize),
    /// The next frame to this node arrives.
    Arrive(usize),
    /// It is lost.
    Lose(usize),
    AnswerArrives(usize),
    AnswerLost(usize),
    HandOver(usize),
    /// The link is taken down and wanted at once.
    Down(usize),
    /// The link is taken down and not wanted for a while.
    Break(usize),
    Release(usize),
    Forget(usize),
    Reboot(usize),
    /// The outsider keeps what this node has on the air.
    Record(usize),
    /// The outsider plays to this node what the other has sent before.
    Replay(usize, Frame),
}

impl Action {
    fn is_sending(self) -> bool {
        matches!(self, Self::Hello(_) | Self::Challenge(_) | Self::Rel(_) | Self::Probe(_) | Self::AckOnly(_))
    }
}

impl State {
    fn new(budget: Budget) -> Self {
        let (ends, air, tapes) =
            ([End::new(), End::new()], [Vec::new(), Vec::new()], [Tape::default(), Tape::default()]);
        Self { ends, air, answers: [None; 2], tapes, left: budget }
    }

    /// Whether both ends are up and mean each other.
    fn is_agreed(&self) -> bool {
        let [Some(a), Some(b)] = [0, 1].map(|at: usize| self.ends[at].known.as_ref()) else { return false };
        let [a, b] = [&a.session, &b.session];
        a.is_up() && b.is_up() && a.echo() == b.mine().echo() && b.echo() == a.mine().echo()
    }

    /// A new frame is put on the air. An answer to an earlier one is not waited for any longer.
    fn send_rel(&mut self, from: usize, frame: Frame) {
        self.answers[1 - from] = None;
        for earlier in &mut self.air[from] {
            if let Frame::Rel { answer, .. } = earlier {
                *answer = false;
            }
        }
        self.air[from].push(frame);
    }

    fn arrive(&mut self, to: usize, pair: &Pair) {
        if !self.air[1 - to].is_empty() {
            let frame = self.air[1 - to].remove(0);
            let answer = self.ends[to].take(frame, pair.compare, pair.trust);
            self.answers[to] = answer.or(self.answers[to]);
            self.tapes[1 - to].grow_old();
        }
    }

    /// The outsider's frame is taken for the other end's. Nobody waits for its answer.
    fn replay(&mut self, to: usize, frame: Frame, pair: &Pair) {
        self.ends[to].take(frame, pair.compare, pair.trust);
    }

    /// The outsider keeps what this node has on the air.
    fn record(&mut self, node: usize) {
        self.air[node].iter().for_each(|frame| self.tapes[node].record(*frame));
    }

    /// Where a link has just come up: whether the other has answered a challenge. Where nobody has to, links that recordings
    /// bring up are enough to look at.
    fn judge(&mut self, action: Action, trust: Trust) {
        let counts = trust == Trust::Proven || matches!(action, Action::Replay(..));
        for end in &mut self.ends {
            let is_dead = end.known.as_ref().is_some_and(|known| !known.is_proven());
            if core::mem::take(&mut end.is_new) && is_dead && counts {
                end.breach = Some(Breach::WithTheDead);
            }
        }
    }

    fn answer_arrives(&mut self, to: usize) {
        if let Some(status) = self.answers[1 - to].take() {
            let by = self.ends[1 - to].epoch;
            self.ends[to].take_answer(status, by);
        }
    }

    /// Everything under way arrives.
    fn drain(&mut self, pair: &Pair) {
        for to in [0, 1, 0, 1, 0, 1, 0, 1] {
            self.arrive(to, pair);
            self.answer_arrives(1 - to);
        }
    }

    /// Nothing is lost from here on, and nothing breaks: whether hellos lead to agreement, and messages then arrive.
    fn converges(&self, first: usize, pair: &Pair) -> bool {
        let mut state = self.clone();
        for end in &mut state.ends {
            end.is_held = false;
        }
        state.drain(pair);
        for round in 0..10 {
            let from = (first + round) % 2;
            state.air[from].push(state.ends[from].hello());
            state.arrive(1 - from, pair);
            for asking in [1 - from, from] {
                if let Some(challenge) = state.ends[asking].challenge() {
                    state.send_rel(asking, challenge);
                    state.drain(pair);
                }
            }
        }
        if !state.is_agreed() {
            return false;
        }
        for from in [0, 1] {
            state.ends[from].hand_over();
            for _ in 0..4 {
                if let Some(frame) = state.ends[from].rel(false) {
                    state.send_rel(from, frame);
                    state.drain(pair);
                }
            }
        }
        let is_done = |end: &End| end.known.as_ref().is_some_and(Known::is_done);
        state.is_agreed() && state.ends.iter().all(|end| is_done(end) && end.breach.is_none())
    }
}

impl Pair {
    pub fn start(&self) -> State {
        State::new(self.budget)
    }

    /// What can happen next.
    pub fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for node in [0, 1] {
            let end = &state.ends[node];
            if state.air[node].len() < self.window && state.left.frames > 0 {
                actions.push(Action::Hello(node));
                if end.has_met() {
                    actions.push(Action::Challenge(node));
                }
                if end.is_up() {
                    actions.extend([Action::Rel(node), Action::Probe(node), Action::AckOnly(node)]);
                }
            }
            if !state.air[1 - node].is_empty() {
                actions.extend([Action::Arrive(node), Action::Lose(node)]);
            }
            if state.answers[1 - node].is_some() {
                actions.extend([Action::AnswerArrives(node), Action::AnswerLost(node)]);
            }
            if end.is_up() {
                if state.left.letters[node] > 0 {
                    actions.push(Action::HandOver(node));
                }
                if state.left.downs > 0 {
                    actions.extend([Action::Down(node), Action::Break(node)]);
                }
            } else if end.known.is_some() && state.left.evictions > 0 {
                actions.push(Action::Forget(node));
            }
            if end.is_held {
                actions.push(Action::Release(node));
            }
            if state.left.reboots > 0 {
                actions.push(Action::Reboot(node));
            }
            let kept = state.tapes[0].len() + state.tapes[1].len();
            if matches!(self.recorder, Recorder::Some(most) if kept < most) {
                actions.push(Action::Record(node));
            }
            actions.extend(state.tapes[1 - node].playable().map(|frame| Action::Replay(node, frame)));
        }
    }

    /// Makes it happen; none if that changes nothing.
    pub fn next(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        if action.is_sending() && state.left.frames != Budget::UNBOUNDED {
            state.left.frames -= 1;
        }
        match action {
            Action::Hello(node) => state.air[node].push(state.ends[node].hello()),
            Action::Challenge(node) => {
                let frame = state.ends[node].challenge()?;
                state.send_rel(node, frame);
            }
            Action::Rel(node) => {
                let frame = state.ends[node].rel(false)?;
                state.send_rel(node, frame);
            }
            Action::Probe(node) => {
                let frame = state.ends[node].rel(true)?;
                state.send_rel(node, frame);
            }
            Action::AckOnly(node) => {
                let frame = state.ends[node].ack_only()?;
                state.send_rel(node, frame);
            }
            Action::Arrive(node) => state.arrive(node, self),
            Action::Lose(node) => {
                state.air[1 - node].remove(0);
            }
            Action::AnswerArrives(node) => state.answer_arrives(node),
            Action::AnswerLost(node) => state.answers[1 - node] = None,
            Action::HandOver(node) => {
                state.left.letters[node] -= 1;
                state.ends[node].hand_over();
            }
            Action::Down(node) | Action::Break(node) => {
                state.left.downs -= 1;
                state.ends[node].take_down();
                state.ends[node].is_held = matches!(action, Action::Break(_));
            }
            Action::Release(node) => state.ends[node].is_held = false,
            Action::Forget(node) => {
                state.left.evictions -= 1;
                state.ends[node].forget();
                state.tapes[1 - node].rewind();
            }
            Action::Reboot(node) => {
                state.left.reboots -= 1;
                state.ends[node].reboot();
                // A node that has rebooted awaits no answer and owes none.
                state.answers = [None; 2];
                state.tapes[1 - node].rewind();
            }
            Action::Record(node) => state.record(node),
            Action::Replay(node, frame) => state.replay(node, frame, self),
        }
        if self.recorder == Recorder::Everything {
            state.record(0);
            state.record(1);
        }
        state.judge(action, self.trust);
        (state != *last).then_some(state)
    }

    /// The promise that a state breaks.
    pub fn breach(&self, state: &State) -> Option<&'static str> {
        let breach = state.ends.iter().find_map(|end| end.breach);
        breach.map(Breach::text).or_else(|| {
            let converges = !self.is_live || [0, 1].iter().all(|&first| state.converges(first, self));
            (!converges).then_some("hellos without loss do not lead to agreement")
        })
    }
}
