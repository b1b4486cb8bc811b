// An episode in time, lane by lane. All lanes share one axis; a drag on them zooms, and the keys
// w a s d, + - 0 do the same.

let gutter = 118; // left of the plot, where the names of lanes stand
const NAME_MAX = 30;
const RIGHT = 14;
const view = { from: 0, to: 1, closed: new Set(), spread: false, order: [], drawn: [], entry: null };

function timeline(entry, episode, width) {
  const end = Math.max(1, episode.end);
  if (view.entry !== entry.place) Object.assign(view, { entry: entry.place, from: 0, to: end });
  const lanes = lanesOf(entry, episode);
  gutter = Math.max(118, 10 + 6.9 * Math.min(NAME_MAX, Math.max(...lanes.map(([name]) => name.length))));
  const chart = { entry, episode, width, end, y: 0, tops: new Map() };
  chart.x = (t) => gutter + ((t - view.from) / (view.to - view.from)) * (width - gutter - RIGHT);
  chart.inside = (from, to = from) => to >= view.from && from <= view.to;
  const axisNode = axis(chart);
  chart.y = 26;
  const drawn = lanes.flatMap(([, draw]) => draw(chart) || []);
  view.drawn = [...chart.tops.keys()];
  const height = chart.y + 4;
  const bands = hidden(entry) ? [] : faultBands(chart, height);
  // Marks at either end of the episode may stand out of the plot; what is cut by a zoom may not.
  const left = gutter - (view.from > 0 ? 0 : 14);
  const right = width - (view.to < end ? RIGHT : 0);
  const svg = s(
    "svg",
    { class: "timeline", id: "timeline", width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Timeline; the steps below have all of it in words" },
    definitions(),
    s("defs", null, s("clipPath", { id: "inside" }, s("rect", { x: left, y: 0, width: right - left, height }))),
    bands,
    axisNode,
    cursor(chart, height),
    s("rect", { class: "catch", x: gutter, y: 0, width: width - gutter - RIGHT, height, onpointerdown: startBrush }),
    hidden(entry) ? null : flow(chart),
    drawn,
  );
  return h("div", { class: "chart" }, svg, minimap(entry, episode, width), chartFoot(episode, entry));
}

// The lanes of an episode by name, in the order that the reader has given them; the agent is first.
function lanesOf(entry, episode) {
  if (hidden(entry)) return [["agent", agentLane]];
  const { caches, locks } = episode.lanes;
  const all = [
    ["in reach?", curveLane],
    ["truth lag", lagLane],
    ["others", usersLane],
    ...caches.map((cache) => [cache.view, (chart) => cacheLane(chart, cache)]),
    ...locks.map((lock) => [`lock ${lock.lock}`, (chart) => lockLane(chart, lock)]),
    ["places and money", movesLane],
    ["faults", faultLane],
    ["grade", gradeLane],
  ];
  const rank = ([name], i) => (view.order.includes(name) ? view.order.indexOf(name) : i);
  const ranked = all.map((row, i) => [rank(row, i), row]).sort((a, b) => a[0] - b[0]);
  return [["agent", agentLane], ...ranked.map(([, row]) => row)];
}

// From who wrote what differs to the step that was told the old one: for the chosen step alone.
function flow(chart) {
  const step = chosenStep();
  const others = chart.tops.get("others");
  if (!step || others === undefined || view.closed.has("others")) return null;
  const ends = step.calls.flatMap((c) => c.reads).filter((r) => r.age && r.wrote !== null && chart.inside(r.wrote) && chart.inside(step.t));
  return ends.length > 0 && s(
    "g",
    { class: "flow", "clip-path": "url(#inside)" },
    [...new Set(ends.map((r) => r.wrote))].slice(0, 6).map((at) => {
      const [x0, y0, x1, y1] = [chart.x(at), others + 24, chart.x(step.t), 66 + chart.below.get(step.n)];
      const bend = (y0 - y1) / 2;
      return s("path", { d: `M${x0},${y0}C${x0},${y0 - bend} ${x1},${y1 + bend} ${x1},${y1}`, "marker-end": "url(#arrow)" });
    }),
  );
}

function definitions() {
  const hatch = (id, size) =>
    s(
      "pattern",
      { id, width: size, height: size, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      s("line", { class: "hatch", x1: 0, y1: 0, x2: 0, y2: size }),
    );
  const head = s("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, s("path", { class: "arrow-head", d: "M0,0L8,4L0,8Z" }));
  return s("defs", null, hatch("waiting", 5), hatch("fault", 9), head);
}

function chartFoot(episode, entry) {
  const zoomed = view.from > 0 || view.to < Math.max(1, episode.end);
  return h(
    "div",
    { class: "chart-foot" },
    h("p", { class: "legend mute" }),
    !hidden(entry) && button("Lanes", { class: "small", id: "lanes-button", onclick: showLanes }),
    zoomed && button("Whole episode", { class: "small", onclick: () => zoom(0, episode.end) }),
    hidden(entry) && muted("Blind mode: the other lanes appear once you have given your verdict."),
    episode.notes.length > 0 && !hidden(entry) && h("p", { class: "notes mute" }, episode.notes.join(" · "), "."),
  );
}

// Every kind of mark that was drawn, cut out of the drawing, with what it means.
function legendOf(svg) {
  const size = (x) => x.getBBox().width + x.getBBox().height;
  return Object.entries(run.marks).map(([name, words]) => {
    const found = [...svg.querySelectorAll(name)];
    if (!found.length) return null;
    const mark = found.reduce((a, b) => (size(b) > size(a) ? b : a));
    const { x, y, width, height } = (mark.querySelector(".mark, circle, polygon, path") || mark).getBBox();
    const copy = mark.cloneNode(true);
    copy.querySelectorAll("text").forEach((text) => text.remove());
    return h("span", null, s("svg", { width: 18, height: 18, viewBox: `${x + width / 2 - 9} ${y + height / 2 - 9} 18 18`, "aria-hidden": "true" }, copy), words);
  });
}

function lane(chart, title, height, draw, options = {}) {
  const name = options.name || title;
  const shut = view.closed.has(name);
  const size = shut ? 16 : height;
  const top = chart.y;
  chart.y += size;
  chart.tops.set(name, top);
  return s(
    "g",
    { class: "lane" },
    s("line", { class: "rule", x1: 0, x2: chart.width - RIGHT, y1: top + size - 0.5, y2: top + size - 0.5 }),
    label(title, name, top + (options.middle ? size / 2 : Math.min(size / 2, 15)), shut, options.detail),
    shut ? null : s("g", { "clip-path": "url(#inside)" }, draw(top)),
    shut || !options.over ? null : options.over(top),
  );
}

function label(title, name, y, shut, detail) {
  const text = s("text", { class: "lane-name", x: 4, y: y + 4, onclick: () => toggleLane(name) }, (shut ? "▸ " : "") + clip(title, NAME_MAX));
  text.append(s("title", null, `${title}${detail ? ": " + detail : ""} (click ${name === "others" && !shut ? "spreads, then folds" : "folds"} the lane)`));
  return text;
}

// A lane folds; that of the others is first spread, a strip a group.
function toggleLane(name) {
  if (name === "others" && !view.closed.has(name) && !view.spread && current.episode.lanes.users.groups.length > 1) view.spread = true;
  else {
    if (!view.closed.delete(name)) view.closed.add(name);
    if (name === "others") view.spread = false;
  }
  keepLanes();
  drawTimeline();
}

function axis(chart) {
  const span = view.to - view.from;
  const steps = [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 15e6, 3e7, 6e7, 12e7, 3e8, 6e8, 18e8, 36e8, 72e8, 216e8, 432e8, 864e8, 6048e8];
  const room = Math.max(2, Math.floor((chart.width - gutter) / 90));
  const step = steps.find((x) => span / x <= room) || span / room;
  const out = [];
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
    const x = chart.x(t);
    out.push(s("line", { class: "grid", x1: x, x2: x, y1: 20, y2: 4000 }));
    out.push(s("text", { class: "tick", x, y: 14, "text-anchor": t === 0 ? "start" : "middle" }, tickText(t, step)));
  }
  return s("g", { class: "axis", "clip-path": "url(#inside)" }, out);
}

function tickText(t, step) {
  if (step >= 1e6) return t >= 3600e6 ? humanize(t) : t >= 60e6 ? clock(t).split(".")[0] : `${Math.round(t / 1e6)}s`;
  return clock(t).replace(/^0:0?/, "") + "s";
}

// Faults in force shade all lanes.
function faultBands(chart, height) {
  return chart.episode.lanes.faults.flatMap((fault) =>
    fault.spans
      .filter(([from, to]) => chart.inside(from, to))
      .map(([from, to]) => {
        const x = Math.max(gutter, chart.x(from));
        return s("rect", { class: "fault", x, y: 20, width: Math.max(0, Math.min(chart.width - RIGHT, chart.x(to)) - x), height: height - 24, "data-tip": `fault ${fault.name} in force` });
      }),
  );
}

function cursor(chart, height) {
  const step = chosenStep();
  if (!step || !chart.inside(step.t)) return null;
  const x = chart.x(step.t);
  return s("line", { class: "cursor", x1: x, x2: x, y1: 70, y2: height });
}

function zoom(from, to) {
  const end = Math.max(1, current.episode.end);
  const least = Math.min(end, 1e4);
  const width = Math.max(least, Math.min(end, to - from));
  view.from = Math.max(0, Math.min(end - width, from));
  view.to = view.from + width;
  drawTimeline();
}

function zoomBy(factor) {
  const step = chosenStep();
  const middle = step && step.t >= view.from && step.t <= view.to ? step.t : (view.from + view.to) / 2;
  zoom(middle - (middle - view.from) * factor, middle + (view.to - middle) * factor);
}

function panBy(share) {
  const shift = (view.to - view.from) * share;
  zoom(view.from + shift, view.to + shift);
}

function startBrush(event) {
  const svg = document.getElementById("timeline");
  const left = svg.getBoundingClientRect().left;
  const width = Number(svg.getAttribute("width")) - gutter - RIGHT;
  const at = (e) => Math.max(0, Math.min(1, (e.clientX - left - gutter) / width));
  const begin = at(event);
  const box = s("rect", { class: "brush", y: 0, height: svg.getAttribute("height"), x: gutter + begin * width, width: 0 });
  svg.append(box);
  const move = (e) => {
    box.setAttribute("x", gutter + Math.min(begin, at(e)) * width);
    box.setAttribute("width", Math.abs(at(e) - begin) * width);
  };
  const up = (e) => {
    removeEventListener("pointermove", move);
    removeEventListener("pointerup", up);
    box.remove();
    const ends = [begin, at(e)].sort((a, b) => a - b);
    const span = view.to - view.from;
    if ((ends[1] - ends[0]) * width > 6) zoom(view.from + ends[0] * span, view.from + ends[1] * span);
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", up);
}
