// An episode in time, lane by lane. All lanes share one axis; a drag on them zooms, and the keys
// w a s d, + - 0 do the same.

const GUTTER = 118;
const RIGHT = 14;
const view = { from: 0, to: 1, closed: new Set(), entry: null };

function timeline(entry, episode, width) {
  const end = Math.max(1, episode.end);
  if (view.entry !== entry.place) Object.assign(view, { entry: entry.place, from: 0, to: end });
  const chart = { entry, episode, width, end, y: 0, marks: [], lanes: [] };
  chart.x = (t) => GUTTER + ((t - view.from) / (view.to - view.from)) * (width - GUTTER - RIGHT);
  chart.inside = (from, to = from) => to >= view.from && from <= view.to;
  const caches = episode.lanes.caches.map((c) => (x) => cacheLane(x, c));
  const rows = hidden(entry)
    ? [agentLane]
    : [agentLane, lagLane, usersLane, ...caches, ...lockLanes(episode), movesLane, faultLane, gradeLane];
  const axisNode = axis(chart);
  chart.y = 26;
  const drawn = rows.flatMap((row) => row(chart) || []);
  const height = chart.y + 4;
  const bands = hidden(entry) ? [] : faultBands(chart, height);
  const svg = s(
    "svg",
    { class: "timeline", id: "timeline", width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Timeline; the steps below have all of it in words" },
    definitions(),
    s("defs", null, s("clipPath", { id: "inside" }, s("rect", { x: GUTTER - 12, y: 0, width: width - GUTTER - RIGHT + 24, height }))),
    bands,
    axisNode,
    cursor(chart, height),
    s("rect", { class: "catch", x: GUTTER, y: 0, width: width - GUTTER - RIGHT, height, onpointerdown: startBrush }),
    drawn,
  );
  return h("div", { class: "chart" }, svg, chartFoot(episode, entry));
}

function definitions() {
  const hatch = (id, size) =>
    s(
      "pattern",
      { id, width: size, height: size, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      s("line", { class: "hatch", x1: 0, y1: 0, x2: 0, y2: size }),
    );
  return s("defs", null, hatch("waiting", 5), hatch("fault", 9));
}

function chartFoot(episode, entry) {
  const zoomed = view.from > 0 || view.to < Math.max(1, episode.end);
  const key = (mark, words) => h("span", null, mark, words);
  const mark = (kind, cls) => s("svg", { width: 16, height: 16, "aria-hidden": "true" }, stepMark(kind, 8, 8, cls));
  return h(
    "div",
    { class: "chart-foot" },
    h(
      "p",
      { class: "legend mute" },
      key(mark("read", "true"), "answer"),
      key(mark("write", "true"), "write"),
      key(mark("error", "true"), "refused"),
      key(mark("read", "lag"), "old, in contract"),
      key(mark("read", "broken"), "older than the contract allows"),
    ),
    zoomed && button("Whole episode", { class: "small", onclick: () => zoom(0, episode.end) }),
    hidden(entry) && h("p", { class: "mute" }, "Blind mode: the other lanes appear once you have given your verdict."),
    episode.notes.length > 0 && !hidden(entry) && h("p", { class: "notes mute" }, episode.notes.join(" · "), "."),
  );
}

function lane(chart, title, height, draw, options = {}) {
  const name = options.name || title;
  const shut = view.closed.has(name);
  const size = shut ? 16 : height;
  const top = chart.y;
  chart.y += size;
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
  const text = s("text", { class: "lane-name", x: 4, y: y + 4, onclick: () => toggleLane(name) }, (shut ? "▸ " : "") + clip(title, 16));
  text.append(s("title", null, `${title}${detail ? ": " + detail : ""} (click folds the lane)`));
  return text;
}

function toggleLane(name) {
  if (!view.closed.delete(name)) view.closed.add(name);
  drawTimeline();
}

function axis(chart) {
  const span = view.to - view.from;
  const steps = [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 15e6, 3e7, 6e7, 12e7, 3e8, 6e8, 18e8, 36e8, 72e8, 216e8, 432e8, 864e8, 6048e8];
  const room = Math.max(2, Math.floor((chart.width - GUTTER) / 90));
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

// The agent: a dot a step where it was answered, and a line back to where it was sent.
function stepKind(step) {
  if (step.aborted) return "exception";
  if (step.kind !== "calls") return step.kind;
  if (step.calls.some((c) => !c.ok)) return "error";
  return step.calls.some((c) => c.wrote.length) ? "write" : "read";
}

const KIND_WORDS = { read: "answer", write: "write", error: "refused", exception: "the harness failed", text: "text", stop: "went away" };
const FIDELITY_WORDS = { true: "what it saw was true", lag: "out of date, within the contract", broken: "out of date beyond the contract" };

function stepMark(kind, x, y, fidelity, r = 6) {
  const marks = { read: "circle", write: "square", error: "triangle", exception: "cross", text: "diamond", stop: "diamond" };
  return s(
    "g",
    { class: `step-mark ${kind} ${fidelity}` },
    fidelity === "broken" && s("circle", { class: "outer", cx: x, cy: y, r: r + 2.6 }),
    shape(marks[kind] || "circle", x, y, fidelity === "broken" ? r - 1.5 : r, { class: "mark" }),
    fidelity === "lag" && s("path", { class: "half", d: `M${x},${y - r}A${r},${r} 0 0 1 ${x},${y + r}Z` }),
  );
}

function stepWords(step) {
  const tools = step.calls.map((c) => c.tool);
  const what = step.kind === "calls" ? groupedTools(tools) : KIND_WORDS[step.kind];
  const age = Math.max(0, ...step.calls.flatMap((c) => c.reads.map((r) => r.age)));
  return [`step ${step.n}`, what, `at ${clock(step.t)}`, step.kind === "calls" ? KIND_WORDS[stepKind(step)] : "", age ? `${FIDELITY_WORDS[step.fidelity]}, age ${humanize(age)}` : ""].filter(Boolean).join(", ");
}

function groupedTools(tools) {
  const times = new Map();
  for (const tool of tools) times.set(tool, (times.get(tool) || 0) + 1);
  return clip([...times].map(([tool, n]) => (n === 1 ? tool : `${tool} ×${n}`)).join(", "), 200);
}

function agentLane(chart) {
  const veil = hidden(chart.entry);
  return lane(
    chart,
    "agent",
    52,
    (top) => {
      const middle = top + 30;
      const chosen = state.s;
      let lastLabel = -Infinity;
      const stems = [];
      const dots = [];
      for (const step of chart.episode.steps) {
        if (!chart.inside(step.sent, step.t)) continue;
        const x = chart.x(step.t);
        const x0 = chart.x(step.sent);
        stems.push(s("line", { class: "stem", x1: x0, x2: x, y1: middle, y2: middle }), s("line", { class: "stem", x1: x0, x2: x0, y1: middle - 4, y2: middle + 4 }));
        const on = step.n === chosen;
        const showNumber = on || x - lastLabel > 16;
        if (showNumber) lastLabel = x;
        const words = veil ? stepWords({ ...step, calls: step.calls.map((c) => ({ ...c, reads: [] })) }) : stepWords(step);
        dots.push(
          s(
            "g",
            {
              class: `dot ${on ? "on" : ""}`,
              role: "option",
              id: `dot-${step.n}`,
              "aria-selected": String(on),
              "aria-label": words,
              tabindex: on ? "0" : "-1",
              "data-tip": words,
              onclick: () => go({ s: step.n }),
              onfocus: () => step.n !== state.s && go({ s: step.n }),
            },
            s("rect", { class: "hit", x: x - 12, y: top + 2, width: 24, height: 48 }),
            on && s("circle", { class: "halo", cx: x, cy: middle, r: 12.5 }),
            stepMark(stepKind(step), x, middle, veil ? "true" : step.fidelity),
            showNumber && s("text", { class: "number", x, y: top + 13, "text-anchor": "middle" }, step.n),
          ),
        );
      }
      return [stems, s("g", { role: "listbox", "aria-label": "Steps of the agent", "aria-orientation": "horizontal" }, dots)];
    },
    { middle: true },
  );
}

// For how long what the agent believes of a row has been out of date: a ramp that begins with the
// commit that it missed and drops when it learns of it.
function lagLane(chart) {
  const rows = chart.episode.lanes.lag;
  if (!rows.length) return null;
  const most = Math.max(...rows.flatMap((row) => row.spans.map(([from, to]) => to - from)));
  const height = 50;
  const named = rows.map((row) => row.key).join(", ");
  return lane(
    chart,
    "truth lag",
    height,
    (top) => {
      const base = top + height - 4;
      const y = (lag) => base - (lag / most) * (height - 12);
      return rows.flatMap((row, i) =>
        row.spans
          .filter(([from, to]) => chart.inside(from, to))
          .map(([from, to, version]) =>
            s("path", {
              class: `lag ${i === 0 ? "first" : ""}`,
              d: `M${chart.x(from)},${base}L${chart.x(to)},${y(to - from)}V${base}Z`,
              "data-tip": `what the agent believes of ${row.key} (v${version}) was out of date for up to ${humanize(to - from)}`,
            }),
          ),
      );
    },
    {
      detail: `for how long what the agent believes has been out of date; ${named}`,
      over: (top) => s("text", { class: "tick over", x: GUTTER + 4, y: top + 14 }, `${rows.length === 1 ? rows[0].key + ", " : ""}up to ${humanize(most)}`),
    },
  );
}

// Everybody else: how many calls in each bin, and who changed a row that matters to the agent.
function usersLane(chart) {
  const { groups, touches, bins } = chart.episode.lanes.users;
  if (!groups.length) return null;
  const owners = groups.reduce((sum, g) => sum + g.owners, 0);
  return lane(
    chart,
    `others (${owners})`,
    42,
    (top) => {
      const calls = new Array(bins).fill(0);
      const writes = new Array(bins).fill(0);
      for (const group of groups) {
        for (let i = 0; i < group.calls.length; i += 2) calls[group.calls[i]] += group.calls[i + 1];
        for (let i = 0; i < group.writes.length; i += 2) writes[group.writes[i]] += group.writes[i + 1];
      }
      const most = Math.max(1, ...calls);
      const bar = chart.end / bins;
      const density = calls.map((n, i) => {
        if (!n || !chart.inside(i * bar, (i + 1) * bar)) return null;
        const x = chart.x(i * bar);
        const tall = 3 + (n / most) * 15;
        return s("rect", { class: "density", x, y: top + 20 - tall, width: Math.max(1, chart.x((i + 1) * bar) - x - 0.5), height: tall, "data-tip": `${counted(n, "call")} of others, ${counted(writes[i], "change")}, around ${clock(i * bar)}` });
      });
      const here = touches.filter((t) => chart.inside(t.t));
      const marks = here.map((t, i) => {
          const x = chart.x(t.t);
          const room = roomAfter(chart, here, i, 105);
          return s(
            "g",
            { class: "touch", "data-tip": `${t.by} changed ${t.key} to v${t.v} at ${clock(t.t)}${t.columns.length ? ": " + t.columns.join(", ") : ""}` },
            s("polygon", { points: `${x - 5},${top + 24} ${x + 5},${top + 24} ${x},${top + 33}` }),
            room && s("text", { x: x + 8, y: top + 33 }, clip(t.by, 14)),
          );
        });
      return [density, marks];
    },
    { detail: groups.map((g) => `${g.name}: ${g.owners}`).join(", ") },
  );
}

// Whether a mark may have its words to the right: up to the next mark of its row, or the edge.
function roomAfter(chart, marks, i, pixels) {
  const next = i + 1 < marks.length ? chart.x(marks[i + 1].t) : chart.width - RIGHT;
  return next - chart.x(marks[i].t) > pixels;
}

const CACHE_WORDS = {
  miss: "not in the cache",
  fill: "put into the cache",
  fenced: "a fill was refused: older than the last invalidation",
  expire: "the entry had expired",
  invalidate: "invalidated",
  drop: "INVALIDATION LOST",
};

function cacheLane(chart, { view: name, events }) {
  if (!events.length) return null;
  return lane(
    chart,
    name,
    26,
    (top) => {
      const y = top + 13;
      const whiskers = [];
      const marks = [];
      const reads = [];
      for (const e of events) {
        if (!chart.inside(e.since ?? e.t, e.t)) continue;
        const x = chart.x(e.t);
        if (e.kind === "hit" || e.kind === "read") {
          if (e.since !== undefined) {
            const x0 = Math.max(GUTTER - 10, chart.x(e.since));
            whiskers.push(s("path", { class: "whisker", d: `M${x0},${y + 5}V${y - 5}M${x0},${y}H${x}` }));
          }
          const words = `step ${e.step} read ${e.key} from ${e.source}${e.age ? `, out of date for ${humanize(e.age)}` : ""}`;
          const stale = e.age > (e.bound ?? 0) ? "broken" : e.age ? "lag" : "";
          reads.push(s("g", { class: `cache-read ${stale}`, "data-tip": words }, s("circle", { cx: x, cy: y, r: 4.5 }), e.kind === "hit" && s("circle", { class: "core", cx: x, cy: y, r: 1.6 })));
          continue;
        }
        marks.push(s("g", { class: `cache ${e.kind}`, "data-tip": `${CACHE_WORDS[e.kind]}: ${e.key}, at ${clock(e.t)}` }, cacheMark(e.kind, x, y)));
      }
      return [whiskers, marks, reads];
    },
    { middle: true, detail: "reads of the agent through this view, and what its cache did" },
  );
}

function cacheMark(kind, x, y) {
  if (kind === "drop") return [s("circle", { cx: x, cy: y, r: 5.5 }), s("line", { x1: x - 4, y1: y + 4, x2: x + 4, y2: y - 4 })];
  if (kind === "invalidate") return s("path", { d: `M${x - 3.5},${y}l2.5,3l4.5,-6` });
  if (kind === "fill") return s("path", { d: `M${x},${y - 4}v8` });
  if (kind === "miss") return s("circle", { cx: x, cy: y, r: 2 });
  if (kind === "fenced") return s("path", { d: `M${x - 2},${y - 4}v8M${x + 2},${y - 4}v8` });
  return s("path", { d: `M${x - 3},${y - 3}l6,6m0,-6l-6,6` });
}

function lockLanes(episode) {
  return episode.lanes.locks.map((lock) => (chart) =>
    lane(
      chart,
      `lock ${lock.lock}`,
      20,
      (top) =>
        lock.spans
          .filter((span) => chart.inside(span.from, span.to))
          .map((span) => {
            const x = chart.x(span.from);
            const width = Math.max(2.5, chart.x(span.to) - x);
            const words = { wait: "waited for", hold: "held", lease: "had the lease of" }[span.kind];
            return s("rect", {
              class: `lock ${span.kind} ${span.owner === "agent" ? "agent" : ""}`,
              x,
              y: top + (span.kind === "wait" ? 12 : 4),
              width,
              height: span.kind === "wait" ? 5 : 7,
              "data-tip": `${span.owner} ${words} ${lock.lock} from ${clock(span.from)} for ${humanize(span.to - span.from)}`,
            });
          }),
      { middle: true, detail: "lock: solid is holding, hatched is waiting" },
    ),
  );
}

function movesLane(chart) {
  const moves = chart.episode.lanes.moves;
  if (!moves.length) return null;
  const money = moves.some((m) => m.kind === "ledger" || m.kind.startsWith("gateway"));
  const places = moves.some((m) => m.kind === "hold" || m.kind === "checked");
  return lane(
    chart,
    money && places ? "places, money" : money ? "money" : "places",
    40,
    (top) => {
      const here = moves.filter((m) => chart.inside(m.t));
      const rows = [here.filter(byAgent), here.filter((m) => !byAgent(m))];
      return rows.flatMap((row, own) =>
        row.map((m, i) => {
          const x = chart.x(m.t);
          const y = top + 11 + own * 18;
          const room = roomAfter(chart, row, i, 56);
          const short = { checked: "looked", hold: "took", holdend: "ended", ledger: "moved", gateway: "asked", gatewayend: "answer" }[m.kind];
          return s(
            "g",
            { class: `move ${m.kind} ${own ? "others" : "mine"}`, "data-tip": `${m.text}, at ${clock(m.t)}` },
            s("rect", { class: "hit", x: x - 6, y: y - 9, width: 12, height: 18 }),
            shape({ checked: "circle", hold: "square", holdend: "cross", ledger: "diamond", gateway: "circle", gatewayend: "cross" }[m.kind], x, y, 4.5, { class: "mark" }),
            room && s("text", { x: x + 7, y: y + 4 }, short),
          );
        }),
      );
    },
    { detail: "upper row: the agent; lower row: others" },
  );
}

function byAgent(move) {
  return move.by === "agent" || move.by.includes("/agent");
}

// What was broken on purpose, and when; it shades all lanes too.
function faultLane(chart) {
  const faults = chart.episode.lanes.faults;
  if (!faults.length) return null;
  return lane(
    chart,
    "faults",
    6 + 16 * faults.length,
    (top) =>
      faults.map((fault, i) => {
        const y = top + 3 + 16 * i;
        const first = fault.spans.find(([from, to]) => chart.inside(from, to));
        return [
          fault.spans.map(([from, to]) => s("rect", { class: "fault-bar", x: chart.x(from), y: y + 2, width: Math.max(1, chart.x(to) - chart.x(from)), height: 12, rx: 2 })),
          s("text", { class: "halo-text", x: Math.max(GUTTER, first ? chart.x(first[0]) : GUTTER) + 5, y: y + 12 }, first ? fault.name : `${fault.name}: not in force here`),
        ];
      }),
  );
}

// Whether the goal held, and what was paid.
function gradeLane(chart) {
  const judged = chart.episode.lanes.grade.filter((g) => g.role === "goal" || g.role === "footprint");
  const steps = chart.episode.steps;
  const last = steps[steps.length - 1];
  if (!last || !last.ended) return null;
  const failed = judged.filter((g) => !g.holds);
  const words = failed.length ? clip(failed.map((g) => g.predicate).join(", "), Math.max(24, Math.floor((chart.width - GUTTER) / 8.5))) : judged.length ? "all of the goal holds" : "nothing was judged";
  return lane(
    chart,
    "grade",
    26,
    (top) => {
      const x = chart.x(chart.episode.end);
      const y = top + 13;
      return s(
        "g",
        { class: failed.length || !judged.length ? "flag failed" : "flag held", "data-tip": judged.map((g) => clip(`${g.holds ? "✓" : "✕"} ${g.predicate}: ${g.evidence}`, 200)).join("\n") },
        s("line", { class: "track", x1: GUTTER, x2: x, y1: y, y2: y }),
        s("path", { d: `M${x},${y + 8}V${y - 8}L${x - 11},${y - 4}L${x},${y}` }),
        s("text", { x: x - 18, y: y - 1 + 5, "text-anchor": "end", class: "halo-text" }, `${failed.length ? "✕ " : judged.length ? "✓ " : ""}${words} · reward ${reward(last.reward)}`),
      );
    },
    { middle: true },
  );
}

// Faults in force shade all lanes.
function faultBands(chart, height) {
  return chart.episode.lanes.faults.flatMap((fault) =>
    fault.spans
      .filter(([from, to]) => chart.inside(from, to))
      .map(([from, to]) => {
        const x = Math.max(GUTTER, chart.x(from));
        return s("rect", { class: "fault", x, y: 20, width: Math.max(0, Math.min(chart.width - RIGHT, chart.x(to)) - x), height: height - 24, "data-tip": `fault ${fault.name} in force` });
      }),
  );
}

function cursor(chart, height) {
  const step = chart.episode.steps.find((x) => x.n === state.s);
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
  const step = current.episode.steps.find((x) => x.n === state.s);
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
  const width = Number(svg.getAttribute("width")) - GUTTER - RIGHT;
  const at = (e) => Math.max(0, Math.min(1, (e.clientX - left - GUTTER) / width));
  const begin = at(event);
  const box = s("rect", { class: "brush", y: 0, height: svg.getAttribute("height"), x: GUTTER + begin * width, width: 0 });
  svg.append(box);
  const move = (e) => {
    box.setAttribute("x", GUTTER + Math.min(begin, at(e)) * width);
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
