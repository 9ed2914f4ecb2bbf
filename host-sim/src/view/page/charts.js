"use strict";
// The timeline and the charts below it.

function prepare(canvas) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const { clientWidth: width, clientHeight: height } = canvas;
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  const paint = canvas.getContext("2d");
  paint.setTransform(ratio, 0, 0, ratio, 0, 0);
  paint.clearRect(0, 0, width, height);
  return { paint, width, height };
}

// A round distance between the marks of an axis.
function tick(range, marks) {
  const rough = range / marks;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough) ?? rough;
}

// Who led how many over time, what happened when, and the moment that is shown.
function drawTimeline(canvas, picture, store, lasts, time) {
  const { paint, width, height } = prepare(canvas);
  const { theme } = picture;
  const [top, bottom] = [4, height - 16];
  const x = (at) => (at / Math.max(lasts, 1)) * width;
  paint.fillStyle = theme.idle;
  paint.globalAlpha = 0.18;
  paint.fillRect(0, top, width, bottom - top);
  paint.globalAlpha = 1;
  const nodes = Math.max(store.latest.nodes.size, 1);
  const shown = Math.max(Math.ceil(width), 1);
  let before = -1;
  store.reigns.forEach(({ time: from, followers }, at) => {
    const until = store.reigns[at + 1]?.time ?? store.until;
    // Several within one pixel: the last of them.
    if (Math.floor(x(until)) === before && shown < store.reigns.length) return;
    before = Math.floor(x(until));
    let y = bottom;
    for (const [leader, count] of [...followers].sort((a, b) => b[1] - a[1])) {
      const high = ((bottom - top) * count) / nodes;
      y -= high;
      paint.fillStyle = picture.colour(leader);
      paint.fillRect(x(from), y, Math.max(x(until) - x(from), 0.7), high);
    }
  });
  paint.strokeStyle = theme.ink;
  paint.lineWidth = 1;
  for (const { time: at, kind, text } of store.story) {
    if (kind !== "note" || text === "start") continue;
    paint.beginPath();
    paint.moveTo(x(at), top - 3);
    paint.lineTo(x(at), bottom);
    paint.setLineDash([2, 2]);
    paint.stroke();
  }
  paint.setLineDash([]);
  paint.fillStyle = theme.soft;
  paint.font = "11px system-ui, sans-serif";
  paint.textBaseline = "top";
  const step = tick(lasts / 1e6, Math.max(width / 90, 2));
  for (let second = 0; second <= lasts / 1e6 + 1e-9; second += step) {
    const at = x(second * 1e6);
    paint.textAlign = at < 12 ? "left" : at > width - 16 ? "right" : "center";
    paint.fillText(`${Number(second.toFixed(3))} s`, at, bottom + 3);
  }
  paint.strokeStyle = theme.accent;
  paint.lineWidth = 2;
  paint.beginPath();
  paint.moveTo(x(time), 0);
  paint.lineTo(x(time), bottom);
  paint.stroke();
}

// One line for each node: the selected one bold, leaders in their colour, the others thin.
function drawChart(canvas, picture, { series, unit, digits }, lasts, time, network, selected) {
  const { paint, width, height } = prepare(canvas);
  const { theme } = picture;
  const [left, bottom] = [44, height - 14];
  let most = 0;
  for (const points of series.values()) for (const [, value] of points) most = Math.max(most, value);
  paint.font = "11px system-ui, sans-serif";
  paint.fillStyle = theme.soft;
  if (most === 0) {
    paint.textAlign = "left";
    paint.textBaseline = "middle";
    paint.fillText("nothing recorded yet", 4, height / 2);
    return;
  }
  most *= 1.08;
  const x = (second) => left + (second / Math.max(lasts / 1e6, 1)) * (width - left - 4);
  const y = (value) => bottom - (value / most) * (bottom - 6);
  paint.strokeStyle = theme.line;
  paint.lineWidth = 1;
  paint.textAlign = "right";
  paint.textBaseline = "middle";
  const step = tick(most, 3);
  for (let value = 0; value <= most; value += step) {
    paint.globalAlpha = 0.3;
    paint.beginPath();
    paint.moveTo(left, y(value));
    paint.lineTo(width, y(value));
    paint.stroke();
    paint.globalAlpha = 1;
    paint.fillText(`${value.toFixed(digits)}${unit}`, left - 4, y(value));
  }
  const line = (points, colour, wide, alpha) => {
    paint.strokeStyle = colour;
    paint.lineWidth = wide;
    paint.globalAlpha = alpha;
    paint.beginPath();
    points.forEach(([second, value], at) => (at === 0 ? paint.moveTo(x(second), y(value)) : paint.lineTo(x(second), y(value))));
    paint.stroke();
    paint.globalAlpha = 1;
  };
  for (const [number, points] of series) {
    const node = network.nodes.get(number);
    const leads = node && node.leader === node.id;
    if (number !== selected) line(points, leads ? picture.colour(node.leader) : theme.soft, leads ? 2 : 1, leads ? 1 : 0.35);
  }
  if (series.has(selected)) line(series.get(selected), theme.accent, 2.5, 1);
  paint.strokeStyle = theme.accent;
  paint.lineWidth = 1;
  paint.beginPath();
  paint.moveTo(x(time / 1e6), 2);
  paint.lineTo(x(time / 1e6), bottom);
  paint.stroke();
}

// The mean current between two samples, in milliamperes.
function currents(store) {
  const series = new Map();
  for (const [number, samples] of store.charge) {
    const points = [];
    for (let at = 1; at < samples.length; at += 1) {
      const [[from, before], [until, after]] = [samples[at - 1], samples[at]];
      points.push([until, ((after - before) * 3.6) / Math.max(until - from, 0.001)]);
    }
    series.set(number, points);
  }
  return { series, unit: " mA", digits: 1 };
}

// The share of each second that a node was sending.
function airtimes(store, nodes) {
  const series = new Map();
  const seconds = Math.floor(store.until / 1e6);
  for (const [number, lasts] of store.airtime) {
    if (!nodes.has(number)) continue;
    series.set(number, Array.from({ length: seconds }, (_, second) => [second + 0.5, (lasts[second] ?? 0) / 1e4]));
  }
  return { series, unit: " %", digits: 1 };
}
