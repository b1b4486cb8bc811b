// The lanes of the timeline, each a function of the chart that gives what it draws.

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

// What stands above the dots: those that stand close together share a label, and the chosen one
// has its own.
const LABEL_GAP = 26;

function numbersOf(chart, chosen) {
  const out = new Map();
  let first = null;
  let last = null;
  let x0 = -Infinity;
  const put = () => first !== null && out.set(first, first === last ? String(first) : `${first}–${last}`);
  for (const step of chart.episode.steps) {
    if (!chart.inside(step.sent, step.t)) continue;
    const x = chart.x(step.t);
    if (x - x0 <= LABEL_GAP && step.n !== chosen && first !== chosen) {
      last = step.n;
      continue;
    }
    put();
    [first, last, x0] = [step.n, step.n, x];
  }
  put();
  const at = (n) => chart.x(chart.episode.steps.find((step) => step.n === n).t);
  for (const n of [...out.keys()]) if (n !== chosen && out.has(chosen) && Math.abs(at(n) - at(chosen)) < LABEL_GAP) out.delete(n);
  return out;
}

// Where marks stand: those that would cover one another go to further levels, `most` of them. Each
// knows how much room there is up to the next of its level, or to the edge.
function stacked(chart, marks, gap, most) {
  const last = [];
  const out = marks.map((mark) => {
    const x = chart.x(mark.t);
    let level = last.findIndex((before) => x - before.x >= gap);
    if (level < 0) level = last.length < most ? last.length : last.indexOf(last.reduce((a, b) => (b.x < a.x ? b : a)));
    const place = { mark, x, level, room: chart.width - RIGHT - x };
    if (last[level]) last[level].room = x - last[level].x;
    last[level] = place;
    return place;
  });
  return Object.assign(out, { levels: Math.max(1, last.length) });
}

function agentLane(chart) {
  const veil = hidden(chart.entry);
  const places = stacked(chart, chart.episode.steps, 13, 2);
  chart.below = new Map(places.map(({ mark, level }) => [mark.n, level * 14]));
  return lane(
    chart,
    "agent",
    (chart.episode.steps.some((step) => step.reward > 0) ? 62 : 52) + 5 * (places.levels - 1),
    (top) => {
      const chosen = state.s;
      const numbers = numbersOf(chart, chosen);
      const stems = [];
      const dots = [];
      for (const { mark: step, x, level, room } of places) {
        if (!chart.inside(step.sent, step.t)) continue;
        const x0 = chart.x(step.sent);
        const middle = top + 30 + 14 * level;
        const reach = Math.min(12, Math.max(6, room / 2));
        stems.push(s("line", { class: "stem", x1: x0, x2: x, y1: middle, y2: middle }), s("line", { class: "stem", x1: x0, x2: x0, y1: middle - 4, y2: middle + 4 }));
        const on = step.n === chosen;
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
              onclick: () => goToStep(step),
              onfocus: () => step.n !== state.s && goToStep(step),
            },
            s("rect", { class: "hit", x: x - reach, y: level ? middle - 7 : top + 2, width: 2 * reach, height: level ? 16 : places.levels > 1 ? 35 : 48 }),
            on && s("circle", { class: "halo", cx: x, cy: middle, r: 12.5 }),
            stepMark(stepKind(step), x, middle, veil ? "true" : step.fidelity),
            step.reward > 0 && s("text", { class: "reward", x, y: top + 57 + 6 * level, "text-anchor": x > chart.width - 40 ? "end" : "middle" }, `+${reward(step.reward)}`),
            numbers.has(step.n) && s("text", { class: "number", x, y: top + 13, "text-anchor": "middle" }, numbers.get(step.n)),
          ),
        );
      }
      return [stems, s("g", { role: "listbox", "aria-label": "Steps of the agent", "aria-orientation": "horizontal" }, dots)];
    },
    { middle: true },
  );
}

// What the reference comes to when it takes over after each step, in the world as it was.
function curveLane(chart) {
  const curve = chart.episode.curve;
  if (!curve) return null;
  const at = (n) => (n === 0 ? 0 : chart.episode.steps.find((step) => step.n === n)?.t);
  const ends = curve.points.map(([n]) => at(n));
  const words = (n, score) => `the reference taking over ${n === 0 ? "at the start" : `after step ${n}`} ${score === null ? "met a failure of the harness" : score ? "reaches the goal" : "doesn't reach the goal"}`;
  const place = curve.critical === null ? null : at(curve.critical);
  const said = curve.never ? "out of reach from the start, in the world as it was" : curve.critical === null ? "the goal stays within reach to the end" : `no return after step ${curve.critical}`;
  return lane(
    chart,
    "in reach?",
    36,
    (top) => {
      const y = top + 11;
      return [
        curve.points.map(([, score], i) => {
          const to = i + 1 < ends.length ? ends[i + 1] : chart.end;
          if (!chart.inside(ends[i], to)) return null;
          return s("line", { class: `reach ${score ? "good" : score === null ? "unknown" : "bad"}`, x1: Math.max(gutter, chart.x(ends[i])), x2: Math.min(chart.width - RIGHT, chart.x(to)), y1: y, y2: y });
        }),
        curve.points.map(([n, score], i) =>
          s("g", { class: `reach ${score ? "good" : score === null ? "unknown" : "bad"}`, "data-tip": words(n, score) }, s("rect", { class: "hit", x: chart.x(ends[i]) - 6, y: y - 9, width: 12, height: 18 }), shape(score ? "circle" : score === null ? "diamond" : "cross", chart.x(ends[i]), y, 4, { class: "mark" })),
        ),
        place !== null && !curve.never && s("line", { class: "no-return", x1: chart.x(place), x2: chart.x(place), y1: top + 2, y2: top + 33 }),
      ];
    },
    {
      detail: "what the reference policy comes to when it takes over after each step: a dot reaches the goal, a cross doesn't",
      over: (top) => {
        const x = place === null || curve.never ? gutter + 4 : Math.min(chart.width - RIGHT, Math.max(gutter + 4, chart.x(place) + 5));
        const left = x > chart.width - 190;
        return s("text", { class: "tick over", x: left ? x - 10 : x, y: top + 30, "text-anchor": left ? "end" : "start" }, said);
      },
    },
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
      over: (top) => s("text", { class: "tick over", x: gutter + 4, y: top + 14 }, `${rows.length === 1 ? rows[0].key + ", " : ""}up to ${humanize(most)}`),
    },
  );
}

// Everybody else: how many calls in each bin, and who changed a row that matters to the agent.
function usersLane(chart) {
  const { groups, touches, bins } = chart.episode.lanes.users;
  if (!groups.length) return null;
  const owners = groups.reduce((sum, g) => sum + g.owners, 0);
  const strips = view.spread ? groups.slice(0, STRIPS_MAX) : [];
  const left = groups.length - strips.length;
  const more = 16 * strips.length + (strips.length && left ? 14 : 0);
  return lane(
    chart,
    `others (${owners})`,
    42 + more,
    (top) => {
      const here = []; // what one commit changed is one mark
      for (const t of touches) {
        if (!chart.inside(t.t)) continue;
        const tip = `${t.by} changed ${t.key} to v${t.v} at ${clock(t.t)}${t.columns.length ? ": " + t.columns.join(", ") : ""}`;
        const last = here[here.length - 1];
        if (last && last.t === t.t && last.by === t.by) last.tip += "\n" + tip;
        else here.push({ t: t.t, by: t.by, tip });
      }
      const marks = stacked(chart, here, 10, 2).map(({ mark: t, x, level, room }) => {
        const y = top + 24 + 9 * level;
        const name = clip(t.by, 14);
        return s(
          "g",
          { class: "touch", "data-tip": t.tip },
          s("polygon", { points: `${x - 5},${y} ${x + 5},${y} ${x},${y + 9}` }),
          room > 7 * name.length + 14 && s("text", { x: x + 8, y: y + 9 }, name),
        );
      });
      const each = strips.map((group, i) => densityStrip(chart, [group], bins, top + 54 + 16 * i, 11, group.name));
      return [densityStrip(chart, groups, bins, top + 20, 18, "others"), marks, each];
    },
    {
      name: "others",
      detail: groups.map((g) => `${g.name}: ${g.owners}`).join(", "),
      over: (top) => [
        strips.map((group, i) => s("text", { class: "tick strip-name", x: gutter - 14, y: top + 53 + 16 * i, "text-anchor": "end" }, clip(`${group.name} (${group.owners})`, 15))),
        strips.length > 0 && left > 0 && s("text", { class: "tick", x: gutter + 4, y: top + 42 + more - 4 }, `${counted(left, "more group")}; the strip above counts all`),
      ],
    },
  );
}

const STRIPS_MAX = 12;

// How many calls groups made, a bar a bin.
function densityStrip(chart, groups, bins, base, height, name) {
  const calls = new Array(bins).fill(0);
  const writes = new Array(bins).fill(0);
  for (const group of groups) {
    for (let i = 0; i < group.calls.length; i += 2) calls[group.calls[i]] += group.calls[i + 1];
    for (let i = 0; i < group.writes.length; i += 2) writes[group.writes[i]] += group.writes[i + 1];
  }
  const most = Math.max(1, ...calls);
  const bar = chart.end / bins;
  return calls.map((n, i) => {
    if (!n || !chart.inside(i * bar, (i + 1) * bar)) return null;
    const x = Math.max(gutter, chart.x(i * bar));
    const tall = 3 + (n / most) * (height - 3);
    return s("rect", { class: "density", x, y: base - tall, width: Math.max(1, chart.x((i + 1) * bar) - x - 0.5), height: tall, "data-tip": `${counted(n, "call")} of ${name}, ${counted(writes[i], "change")}, around ${clock(i * bar)}` });
  });
}

function cacheLane(chart, { view: name, events }) {
  if (!events.length) return null;
  return lane(
    chart,
    name,
    28,
    (top) => {
      const whiskers = [];
      const marks = [];
      const reads = [];
      for (const { mark: e, x, level } of stacked(chart, events, 9, 3)) {
        if (!chart.inside(e.since ?? e.t, e.t)) continue;
        const y = top + 14 + [0, 9, -9][level];
        if (e.kind === "hit" || e.kind === "read") {
          if (e.since !== undefined) {
            const x0 = Math.max(gutter - 10, chart.x(e.since));
            whiskers.push(s("path", { class: "whisker", d: `M${x0},${y + 5}V${y - 5}M${x0},${y}H${x}` }));
          }
          const words = `step ${e.step} read ${e.key} from ${e.source}${e.age ? `, out of date for ${humanize(e.age)}` : ""}`;
          const stale = e.age > (e.bound ?? 0) ? "broken" : e.age ? "lag" : "";
          reads.push(s("g", { class: `cache-read ${e.kind === "hit" ? "cached" : "other"} ${stale}`, "data-tip": words }, s("circle", { cx: x, cy: y, r: 4.5 }), e.kind === "hit" && s("circle", { class: "core", cx: x, cy: y, r: 1.6 })));
          continue;
        }
        marks.push(s("g", { class: `cache ${e.kind}`, "data-tip": `${run.marks[".cache." + e.kind]}: ${e.key}, at ${clock(e.t)}` }, cacheMark(e.kind, x, y)));
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

function lockLane(chart, lock) {
  return lane(
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
  );
}

function movesLane(chart) {
  const moves = chart.episode.lanes.moves;
  if (!moves.length) return null;
  const money = moves.some((m) => m.kind === "ledger" || m.kind.startsWith("gateway"));
  const places = moves.some((m) => m.kind === "hold" || m.kind === "checked");
  const here = moves.filter((m) => chart.inside(m.t));
  const rows = [here.filter(byAgent), here.filter((m) => !byAgent(m))].map((row) => stacked(chart, row, 10, 3));
  const tall = rows.map((row) => 6 + 12 * row.levels);
  return lane(
    chart,
    money && places ? "places, money" : money ? "money" : "places",
    4 + tall[0] + tall[1],
    (top) =>
      rows.flatMap((row, own) =>
        row.map(({ mark: m, x, level, room }) => {
          const y = top + 11 + own * tall[0] + 12 * level;
          const short = { checked: "looked", hold: "took", holdend: "ended", ledger: "moved", gateway: "asked", gatewayend: "answer" }[m.kind];
          return s(
            "g",
            { class: `move ${m.kind} ${own ? "others" : "mine"}`, "data-tip": `${m.text}, at ${clock(m.t)}` },
            s("rect", { class: "hit", x: x - 6, y: y - 9, width: 12, height: 18 }),
            shape({ checked: "circle", hold: "square", holdend: "cross", ledger: "diamond", gateway: "circle", gatewayend: "cross" }[m.kind], x, y, 4.5, { class: "mark" }),
            room > 56 && s("text", { x: x + 7, y: y + 4 }, short),
          );
        }),
      ),
    { name: "places and money", detail: "upper row: the agent; lower row: others" },
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
          s("text", { class: "halo-text", x: Math.max(gutter, first ? chart.x(first[0]) : gutter) + 5, y: y + 12 }, first ? fault.name : `${fault.name}: not in force here`),
        ];
      }),
  );
}

// A text in lines of so many characters, broken at spaces where there are any.
function wrapped(text, width, most) {
  const out = text.match(new RegExp(`.{1,${width}}(?=\\s|$)|.{${width}}`, "gs")).map((line) => line.trim());
  return out.length > most ? [...out.slice(0, most - 1), clip(out.slice(most - 1).join(" "), width)] : out;
}

// Whether the goal held, and what was paid.
function gradeLane(chart) {
  const judged = chart.episode.lanes.grade.filter((g) => g.role === "goal" || g.role === "footprint");
  const steps = chart.episode.steps;
  const last = steps[steps.length - 1];
  if (!last || !last.ended) return null;
  const failed = judged.filter((g) => !g.holds);
  const words = failed.length ? "✕ failed: " + failed.map((g) => clip(g.predicate, 200)).join(", ") : judged.length ? "✓ all of the goal holds" : "nothing was judged";
  const told = wrapped(`${words} · reward ${reward(last.reward)}`, Math.floor((chart.width - gutter) / 8.5), 6);
  return lane(
    chart,
    "grade",
    12 + 14 * told.length,
    (top) => {
      const x = chart.x(chart.episode.end);
      const y = top + 13;
      return s(
        "g",
        { class: failed.length || !judged.length ? "flag failed" : "flag held", "data-tip": judged.map((g) => clip(`${g.holds ? "✓" : "✕"} ${g.predicate}: ${g.evidence}`, 200)).join("\n") },
        s("line", { class: "track", x1: gutter, x2: x, y1: y, y2: y }),
        s("path", { d: `M${x},${y + 8}V${y - 8}L${x - 11},${y - 4}L${x},${y}` }),
        told.map((text, i) => s("text", { x: x - 18, y: y + 4 + 14 * i, "text-anchor": "end", class: "halo-text" }, text)),
      );
    },
  );
}
