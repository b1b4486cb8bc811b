// The run as a whole: is the harness sound enough, what was found, where, and which episodes.

function overview() {
  if (reviews.blind) return [blindCard(), stripCard(), tableCard()];
  return [
    h("div", { class: "cards" }, gaugeCard(), figuresCard()),
    run.problems.concat(run.caps).map((text) => h("p", { class: "caution" }, text + ".")),
    h("div", { class: "cards" }, codesCard(), strataCard()),
    run.compared && comparedCard(),
    stripCard(),
    tableCard(),
  ];
}

// All that a reviewer in blind mode is told of the run.
function blindCard() {
  const left = run.entries.filter((entry) => reviewOf(entry) === null).length;
  return card(
    "Blind mode",
    {},
    h("p", null, `${counted(run.episodes, "episode")}, ${left.toLocaleString("en")} not reviewed yet. What the audit says of one is shown once you have given your verdict; what it says of the run, when blind mode is off.`),
    queueButtons(left && "Review the first of them"),
  );
}

function card(title, attributes, ...children) {
  return h("section", { ...attributes, class: `card ${attributes.class || ""}` }, h("h2", null, title), ...children);
}

// A file is a part of a run, and has no gate unless a limit was asked for.
function gateBadge() {
  if (run.gate === null) return null;
  const icon = { pass: "✓", fail: "✕", inconclusive: "?" }[run.gate];
  return h("span", { class: `gate ${run.gate}` }, h("span", { "aria-hidden": "true" }, icon), ` gate: ${run.gate}`);
}

// A bullet bar: the limit, the rate, its interval; all of it also in words.
function gaugeCard() {
  const { point, low, high, failures, episodes } = run.failure_rate;
  const least = Math.max(2 * (run.limit || 0), high * 1.1);
  const top = [0.02, 0.04, 0.1, 0.2, 0.4, 0.6, 0.8].find((x) => x >= least) || 1;
  const width = 560;
  const x = (share) => 10 + (width - 20) * Math.min(1, share / top);
  const words = `${percent(point)}, 95% interval ${percent(low)} to ${percent(high)}${run.limit === null ? "" : `, limit ${percent(run.limit)}`}`;
  const ticks = [0, top / 4, top / 2, (top * 3) / 4, top];
  return card(
    "Failure rate of the harness",
    { class: "gauge" },
    h("div", { class: "headline" }, h("span", { class: "big" }, percent(point)), gateBadge()),
    s(
      "svg",
      { viewBox: `0 0 ${width} 74`, role: "img", "aria-label": words },
      s("rect", { class: "track", x: x(0), y: 26, width: x(top) - x(0), height: 18, rx: 3 }),
      s("rect", { class: "interval", x: x(low), y: 26, width: Math.max(2, x(high) - x(low)), height: 18 }),
      run.limit !== null && [
        s("line", { class: "limit", x1: x(run.limit), x2: x(run.limit), y1: 18, y2: 50 }),
        s("text", { class: "limit-text", x: x(run.limit), y: 13, "text-anchor": "middle" }, `limit ${percent(run.limit, 0)}`),
      ],
      s("circle", { class: "point", cx: x(point), cy: 35, r: 6 }),
      ticks.map((t, i) =>
        s("text", { class: "tick", x: x(t), y: 66, "text-anchor": i === 0 ? "start" : i === 4 ? "end" : "middle" }, percent(t, 0)),
      ),
    ),
    h("p", null, `${counted(failures, "failure")} in ${counted(episodes, "episode")}; 95% interval ${percent(low)} to ${percent(high)}.`),
    run.reasons.length > 0 && h("ul", { class: "plain mute" }, run.reasons.map((text) => h("li", null, `${text}.`))),
    muted(countedOtherwise()),
  );
}

// What was counted otherwise than one by one, and what could shift the rate.
function countedOtherwise() {
  const { ambiguous, external, repeated, instances } = run;
  return [
    ambiguous.episodes > 0 && `Counting ${counted(ambiguous.episodes, "ambiguous episode")} against the harness: ${percent(ambiguous.high)}.`,
    external > 0 && ` ${counted(external, "episode")} failed from outside and aren't counted.`,
    repeated > 0 && ` ${counted(repeated, "episode")} repeat another one and count once.`,
    instances.design_effect > 1 && ` Episodes that share a seed depend on each other: these are worth ${instances.effective_episodes.toFixed(0)}.`,
  ];
}

function figuresCard() {
  const share = (n) => (run.episodes ? ` (${percent(n / run.episodes, 0)})` : "");
  const waiting = run.entries.filter(wantsReview).length;
  const figures = [
    ["mean reward", mean(run.score.mean), "over all episodes that have one"],
    ["without quarantined", mean(run.score.clean), "mean reward"],
    ["valid for training", run.valid.toLocaleString("en"), `episodes${share(run.valid)}`],
    ["contaminated", run.contamination.failures.toLocaleString("en"), `any finding of the harness (${percent(run.contamination.point, 0)})`],
    ["quarantined", run.quarantined.toLocaleString("en"), `episodes${share(run.quarantined)}`],
    ["to be reviewed", waiting.toLocaleString("en"), "harness or ambiguous"],
  ];
  return card(
    "Episodes",
    { class: "figures" },
    facts(null, figures.map(([name, value, note]) => [term(name), [value, h("small", null, note)]])),
    trials(),
    classLine(),
    queueButtons(queueWords(waiting)),
  );
}

function mean(score) {
  return score === null ? "none" : score.toFixed(3);
}

// The share of tasks that succeed in each of k trials, and the most that the harness leaves possible.
function trials() {
  if (!run.pass_k.length) return null;
  const shown = (x) => (x.point === null ? "–" : x.point.toFixed(2));
  return grid(
    { class: "trials" },
    ["k", "pass^k", "without quarantined", "at most"],
    run.pass_k.map((t) => h("tr", null, [t.k, shown(t.raw), shown(t.clean), t.ceiling.toFixed(2)].map((x) => h("td", null, x)))),
  );
}

function classLine() {
  return h(
    "p",
    { class: "classes" },
    Object.entries(run.verdicts).map(([kind, n]) =>
      button(
        [glyph({ score: kind === "ok" ? 1 : 0 }, 16, kind), ` ${kind} ${n.toLocaleString("en")}`],
        { title: run.glossary["harness, model, ambiguous, external"], class: `chip ${state.f === kind ? "on" : ""}`, "aria-pressed": String(state.f === kind), onclick: () => go({ f: state.f === kind ? null : kind }) },
      ),
    ),
  );
}

// What a review would begin with, by the first that has none.
function queueWords(waiting) {
  const first = run.queue.find((entry) => reviewOf(entry) === null);
  if (waiting) return "Review the first of them";
  return first && (first.class === "ok" ? "Review a sample of the passes" : "Review the other failures");
}

function queueButtons(words) {
  return h(
    "p",
    { class: "row" },
    words && button(words, { class: "primary", onclick: () => nextInQueue(1) }),
    button("Blind mode", {
      "aria-pressed": String(reviews.blind),
      title: "Hides the automatic verdict of an episode until you have given yours",
      onclick: () => setBlind(!reviews.blind),
    }),
  );
}

function codesCard() {
  if (!run.codes.length) return card("Codes", {}, muted("Nothing was found in any episode."));
  const most = run.codes[0].n;
  return card(
    "Codes",
    { class: "codes" },
    h(
      "ul",
      null,
      run.codes.map((c) =>
        h(
          "li",
          null,
          button(
            [
              h("span", { class: `code ${c.kind}` }, c.code),
              h("span", { class: "slug" }, c.slug.replaceAll("-", " ")),
              h("span", { class: "bar" }, h("span", { class: c.kind, style: { width: `${(100 * c.n) / most}%` } })),
              h("span", { class: "n" }, c.n.toLocaleString("en")),
            ],
            { title: c.explanation, "aria-pressed": String(state.f === c.code), "aria-label": `${c.code} ${c.slug}: ${counted(c.n, "episode")}`, onclick: () => go({ f: state.f === c.code ? null : c.code }) },
          ),
        ),
      ),
    ),
    codeOf(state.f) && codeText(codeOf(state.f)),
  );
}

function codeText(c) {
  return muted(`${c.code}: ${c.explanation} `, h("strong", null, "Remedy: "), c.remedy);
}

function strataCard() {
  const strata = run.strata;
  if (!strata.length) {
    return card("Strata", {}, muted("All episodes are alike in scenario, load, fault and tools."));
  }
  return card(
    term("strata", "Strata"),
    { class: "strata" },
    region(
      "Failure rate by stratum",
      grid(
        null,
        ["by", "value", "failures", "95% interval", "at least"],
        strata.map((x) =>
          h(
            "tr",
            null,
            h("td", { class: "mute" }, x.by),
            h("td", null, link(x.value || "none", () => go({ [x.by]: state[x.by] === x.value ? null : x.value }))),
            h("td", { class: "num" }, `${x.failures}/${x.episodes}`),
            h("td", { class: "num" }, `${percent(x.low)} – ${percent(x.high)}`),
            h("td", { class: `num ${x.fails ? "flag" : ""}` }, percent(x.at_least), x.fails && [" ▲", h("span", { class: "sr" }, "above the limit")]),
          ),
        ),
      ),
    ),
    strata.some((x) => x.fails) && muted(h("span", { class: "flag" }, "▲ "), "surely above the limit: this stratum fails whatever the total says"),
    muted(`The interval is of a stratum alone. At least, which the gate goes by, is lower: of ${strata.length} strata one may well leave its own interval by chance, so they share the error of 5%.`),
  );
}

const CHANGES = {
  fixed: "the harness had failed, and doesn't any more",
  broken: "the harness hadn't failed, and does now",
  gained: "the reward is earned, and hadn't been",
  lost: "the reward had been earned, and isn't any more",
};

// The run beside an earlier one of the same seeds, pair by pair.
function comparedCard() {
  const { before, pairs, same, failures, paid } = run.compared;
  const alone = run.compared.only_before + run.compared.only_after;
  const counts = { fixed: failures.only_before, broken: failures.only_after, gained: paid.only_after, lost: paid.only_before };
  const verdict = (what, x) => h("li", null, `${what}: `, h("strong", null, x.change), ` (McNemar's exact p = ${x.p.toFixed(3)})`);
  return card(
    `Against ${before}`,
    { class: "compared" },
    h(
      "p",
      { class: "row" },
      Object.entries(counts).map(([name, n]) =>
        button(`${name} ${n.toLocaleString("en")}`, { class: "chip", title: CHANGES[name], "aria-pressed": String(state.change === name), onclick: () => go({ change: state.change === name ? null : name }) }),
      ),
      h("span", { class: "mute" }, `same ${same.toLocaleString("en")}, of ${counted(pairs, "pair")}${alone ? `; ${counted(alone, "episode")} without a partner` : ""}`),
    ),
    h("ul", { class: "plain" }, verdict("failures of the harness", failures), verdict("rewards earned", paid)),
  );
}

// Every episode as a glyph. The table below is its twin for keyboard and screen reader.
function stripCard() {
  const cell = run.entries.length > 400 ? 16 : 24;
  const found = new Set(run.entries.filter(matches).map((entry) => entry.place));
  return card(
    "All episodes in the order of the run",
    { class: "strip" },
    h(
      "div",
      { class: "dots", "aria-hidden": "true" },
      run.entries.map((entry) => {
        const dot = h("span", { class: found.has(entry.place) ? "" : "faint", "data-tip": tipOf(entry), "data-ep": entry.id }, glyph(entry, cell));
        return dot;
      }),
    ),
    h("p", { class: "legend mute" }, legend()),
  );
}

function tipOf(entry) {
  if (hidden(entry)) return `${nameOf(entry)}: not reviewed yet`;
  return `${nameOf(entry)}: ${entry.headline}, reward ${reward(entry.score)}${entry.quarantined ? ", quarantined" : ""}`;
}

function legend() {
  const key = (kind, words, score = 1, quarantined = false) => h("span", null, glyph({ score, quarantined }, 16, kind), words);
  return [
    reviews.blind && key("hidden", "not reviewed yet"),
    Object.keys(CLASSES).map((kind) => key(kind, kind)),
    key("ok", "reward 1.0"),
    key("model", "less or none", 0),
    key("harness", "quarantined", 0, true),
  ];
}
