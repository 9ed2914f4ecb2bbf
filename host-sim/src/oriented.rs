//! Stand-in until merged.
use crate::net::Net;
use common::election::height::HeightElection;
/// Check.
pub fn check<const N: usize, const P: usize>(net: &Net<HeightElection<N>, P>) -> Result<(), String> {
    if !net.is_quiet() {
        return Err("transit".into());
    }
    for (u, v) in net.up_directions() {
        let hv = net.node(v).height();
        if net.node(u).neighbours().any(|h| h.id == hv.id && h != hv) {
            return Err("view".into());
        }
    }
    let mut g = crate::graph::Graph::with(vec![(0.0, 0.0); net.len()], net.up_directions());
    let _ = &mut g;
    for comp in g.components() {
        let l = net.node(comp[0]).height().leader.lid;
        if comp.iter().any(|&u| net.node(u).height().leader.lid != l) {
            return Err("lid".into());
        }
        if !comp.iter().any(|&u| net.id(u) == l) {
            return Err("absent".into());
        }
        for &u in &comp {
            let h = net.node(u).height();
            let sink = g
                .edges()
                .filter(|&(a, b)| a == u || b == u)
                .all(|(a, b)| h < net.node(if a == u { b } else { a }).height());
            if sink != (net.id(u) == l) {
                return Err(format!("sink {u}"));
            }
        }
    }
    Ok(())
}
