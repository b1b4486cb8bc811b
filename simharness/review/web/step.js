// One step in full: what was seen beside what was true, why, what changed, the call, the grade.

const TABS = [
  ["diff", "Saw | Truth"],
  ["saw", "Saw"],
  ["truth", "Truth"],
  ["why", "Why?"],
  ["state", "State Δ"],
  ["call", "Call"],
  ["grade", "Grade"],
  ["notes", "Review"],
];
const VEILED = ["saw", "truth", "why", "grade"];

// The view that tells most of a step: why, where something was found in it and nothing was out of date.
function telling(entry, episode, step) {
  const stale = step.calls.some((c) => c.reads.some((r) => r.age));
  return !stale && !hidden(entry) && episode.findings.some((f) => f.step === step.n) ? "why" : "diff";
}

function stepPanel(entry, episode, step) {
  const tabs = TABS.filter(([name]) => !(hidden(entry) && VEILED.includes(name)));
  const wanted = state.v === null ? telling(entry, episode, step) : state.v;
  const chosen = tabs.some(([name]) => name === wanted) ? wanted : "diff";
  const bodies = { diff: sawAndTruth, saw: oneSide, truth: oneSide, why: whyTab, state: stateTab, call: callTab, grade: gradeTab, notes: reviewTab };
  return h(
    "section",
    { class: "card step", "aria-label": `Step ${step.n}` },
    stepHead(entry, episode, step),
    h(
      "div",
      { role: "tablist", "aria-label": "Views of the step", class: "tabs" },
      tabs.map(([name, words]) =>
        button(name === "diff" && hidden(entry) ? "Saw" : words, {
          role: "tab",
          id: `tab-${name}`,
          "aria-selected": String(name === chosen),
          "aria-controls": "view",
          title: run.glossary[words],
          tabindex: name === chosen ? "0" : "-1",
          onclick: () => choose(name),
        }),
      ),
    ),
    h("div", { role: "tabpanel", id: "view", "aria-labelledby": `tab-${chosen}`, tabindex: "0" }, bodies[chosen](entry, episode, step, chosen)),
  );
}

function stepHead(entry, episode, step) {
  const worst = worstRead(step);
  return h(
    "header",
    { class: "step-head" },
    h("h2", null, `Step ${step.n} `, h("code", null, step.kind === "calls" ? step.calls.map(callText).join(", ") || "no call" : KIND_WORDS[step.kind])),
    muted(`sent ${clock(step.sent)} · answered ${clock(step.t)}`, step.ended && ` · the episode ended here with reward ${reward(step.reward)}`),
    worst && !hidden(entry) && ageLine(worst),
    !hidden(entry) && foundHere(episode, step, worst !== null),
  );
}

// The findings of a step in a line each; those about old answers are told by their age already.
function foundHere(episode, step, aged) {
  const found = episode.findings.filter((f) => f.step === step.n && !(aged && f.code.startsWith("H11")));
  return found.slice(0, 4).map((f) => h("p", { class: `age ${f.code[0] === "H" ? "broken" : f.code[0] === "M" ? "by-model" : ""}` }, h("span", { class: "code" }, f.code), ` ${f.explanation}.`));
}

function callText(call) {
  const inner = call.args.slice(1, -1).map(([depth, label, text]) => (depth === 1 ? label && " " + label.replace(/^"(\w+)": /, "$1=") : label) + text);
  return clip(`${call.tool}(${call.args.length > 1 ? inner.join("").trim() : call.raw})`, 120);
}

function worstRead(step) {
  const reads = step.calls.flatMap((c) => c.reads).filter((r) => r.age);
  reads.sort((a, b) => b.age - a.age);
  return reads[0] || null;
}

function ageLine(read) {
  const broken = read.age > read.bound;
  return h(
    "p",
    { class: `age ${broken ? "broken" : "lag"}` },
    h("strong", null, `${humanize(read.age)} out of date`),
    `: ${read.key} was served from ${read.source} as version ${read.served}. True was version ${read.true}`,
    read.true_by && `, made by ${read.true_by} at ${clock(read.true_at)}`,
    read.by && (read.next === read.true ? ", and the served one was out of date since then" : `; the served one was out of date since ${read.by} had made version ${read.next} at ${clock(read.at)}`),
    read.bound ? `. The contract allows ${humanize(read.bound)}.` : ". The contract allows no lag.",
  );
}

function sawAndTruth(entry, episode, step) {
  if (step.kind !== "calls") return [h("p", { class: "said" }, step.text || "The agent went away without a word."), noAnswer(step)];
  const veil = hidden(entry);
  return step.calls.map((call) => [
    step.calls.length > 1 && h("h3", null, h("code", null, callText(call))),
    !call.told && muted("It never got an answer."),
    veil ? lines(call.answer, 2) : twoSides(call),
    call.left_out > 0 && h("p", { class: "caution" }, `${counted(call.left_out, "more line")} of this answer are not held here.`),
    !veil && readsTable(call),
  ]);
}

function noAnswer(step) {
  return step.calls.length ? null : muted("No call was made, so nothing was read.");
}

function twoSides(call) {
  const same = call.answer.every(([, , , , mark]) => !mark);
  const caption = same
    ? call.truth === "rows"
      ? "This answer is worked out of rows, and some of them were out of date: see below which."
      : call.reads.length
        ? "What it saw was true."
        : null
    : null;
  if (same) {
    return [caption && h("p", { class: call.truth === "rows" ? "age broken" : "fresh" }, caption), lines(call.answer, 2, "What the agent saw")];
  }
  return region(
    "What the agent saw beside what was true",
    grid({ class: "sides" }, ["What the agent saw", "What was true"], call.answer.map((line) => h("tr", { class: line[4] || "same" }, side(line, 2), side(line, 3)))),
  );
}

const MARKS = { stale: "≠", missing: "+", extra: "−" };

function side(line, which) {
  const [depth, name, saw, truth, mark] = line;
  const text = which === 2 ? saw : truth === 1 ? saw : truth;
  if (text === null) return h("td", { class: "nothing" }, h("span", { class: "sr" }, "nothing"));
  const words = { stale: which === 2 ? "out of date" : "true", missing: "was missing", extra: "should not be there" }[mark];
  return h(
    "td",
    null,
    h("span", { class: "gutter", "aria-hidden": "true" }, mark ? MARKS[mark] : ""),
    mark && h("span", { class: "sr" }, words + ": "),
    h("code", { style: { "--depth": String(depth) } }, h("span", { class: "key" }, name), text),
  );
}

function lines(all, which, caption) {
  const shown = all.filter((line) => (which === 2 ? line[2] : line[3]) !== null);
  return region(
    caption || "Answer",
    h("table", { class: "sides one" }, caption && h("caption", null, caption), h("tbody", null, shown.map((line) => h("tr", { class: line[4] || "same" }, side(line, which))))),
  );
}

function oneSide(entry, episode, step, which) {
  if (step.kind !== "calls") return sawAndTruth(entry, episode, step);
  const column = which === "saw" ? 2 : 3;
  return step.calls.map((call) => [
    step.calls.length > 1 && h("h3", null, h("code", null, callText(call))),
    which === "truth" && call.truth === "rows" && h("p", { class: "caution" }, "This answer is worked out of rows and can't be told anew; the rows that were out of date are named under Saw | Truth."),
    lines(call.answer, column, which === "saw" ? "What the agent saw" : "What the same call would have told, had every view been true"),
  ]);
}

function readsTable(call) {
  if (!call.reads.length) return null;
  const stale = call.reads.filter((r) => r.age);
  const body = (reads) =>
    grid(
      { class: "reads" },
      ["row", "read through", "served", "true", "age", "what differs"],
      reads.map((r) => {
        const version = (n) => (n ? `v${n}` : "none");
        const differences = r.differences.map(([column, saw, truth]) => h("div", null, h("code", null, `${column}: ${saw === null ? "not shown" : JSON.stringify(saw)} → ${JSON.stringify(truth)}`)));
        const cells = [h("code", null, r.key), `${r.view}, ${r.source}`, version(r.served), version(r.true), r.age ? humanize(r.age) : "fresh", differences];
        return h("tr", { class: r.age > r.bound ? "broken" : r.age ? "lag" : "" }, cells.map((x) => h("td", null, x)));
      }),
    );
  const rest = call.reads_left_out ? ` (${call.reads_left_out.toLocaleString("en")} more are not held here)` : "";
  return h(
    "details",
    { open: stale.length > 0 },
    h("summary", null, `${counted(call.reads.length, "row")} read, ${stale.length ? `${stale.length} out of date` : "all fresh"}${rest}`),
    region("Rows read", body(stale.length ? stale : call.reads.slice(0, 20))),
    stale.length > 0 && call.reads.length > stale.length && muted(`The other ${counted(call.reads.length - stale.length, "row")} were fresh.`),
  );
}

// From the grade back to the cause; a click on a link of the chain moves the focus there.
function whyTab(entry, episode, step) {
  const here = episode.findings.filter((f) => f.step === step.n);
  return [
    episode.chain.length
      ? [h("h3", null, "How the outcome came about, from the end back to the cause"), chainList([...episode.chain].reverse())]
      : muted(entry.class === "ok" ? "The goal is met: there is nothing to explain." : "No chain of rows leads to this outcome."),
    here.length > 0 && h("h3", null, `Found at step ${step.n}`),
    here.map(findingCard),
    otherFindings(episode, step),
  ];
}

function chainList(chain) {
  return h(
    "ol",
    { class: "chain" },
    chain.map((item) =>
      h("li", { class: item.step === state.s ? "here" : "" }, h("span", { class: "when" }, clock(item.t)), stepLink(item.step), h("span", null, item.text)),
    ),
  );
}

function stepLink(n) {
  return n > 0 ? link(`step ${n}`, () => goToStep(stepAt(n))) : h("span", { class: "mute" }, "start");
}

function findingCard(f) {
  const known = codeOf(f.code);
  return h(
    "article",
    { class: `finding ${f.code[0]}` },
    h("p", null, h("span", { class: `code ${known ? known.kind : ""}` }, f.code), " ", h("strong", null, known ? known.slug.replaceAll("-", " ") : ""), h("span", { class: "mute" }, " ", term("proved", f.confidence), f.effect !== "none" && [", ", term("hindered, helped", f.effect)])),
    h("p", null, f.explanation, "."),
    known && muted(known.explanation),
    f.events.length > 0 && folded(counted(f.events.length, "row") + " of the recording", chainList(f.events)),
    Object.keys(f.evidence).length > 0 && folded("Evidence", facts({ class: "facts" }, Object.entries(f.evidence).map(([name, value]) => [name, h("code", null, name === "reward" ? reward(value) : typeof value === "string" ? value : JSON.stringify(value))]))),
  );
}

function otherFindings(episode, step) {
  const others = episode.findings.filter((f) => f.step !== step.n);
  if (!others.length) return null;
  return [
    h("h3", null, "Found elsewhere in this episode"),
    h("ul", { class: "plain" }, others.map((f) => h("li", null, stepLink(f.step), " ", h("span", { class: "code" }, f.code), " ", f.explanation))),
  ];
}

const CHANGES_OPEN = 8;
const SIDES = { agent: "by the agent", caused: "because of the agent's calls", others: "by others" };

function stateTab(entry, episode, step) {
  if (!step.changes.length) return muted("Nothing was committed between the answer before this one and its own.");
  return Object.entries(SIDES).map(([name, words]) => {
    const changes = step.changes.filter((c) => c.side === name && !c.more);
    const more = step.changes.find((c) => c.side === name && c.more);
    if (!changes.length) return null;
    const body = h("ul", { class: "plain changes" }, changes.map((c) => changeItem(c, name === "agent" && !hidden(entry) && barred(episode, c.key))), more && h("li", { class: "caution" }, `${counted(more.more, "more change")} are not held here.`));
    const title = `${counted(changes.length + (more ? more.more : 0), "change")} ${words}`;
    if (changes.length <= CHANGES_OPEN) return [h("h3", null, title), body];
    return h("details", { open: name !== "others" }, h("summary", null, title), body);
  });
}

// Whether the judges name a row as one that the agent had no business with.
function barred(episode, key) {
  const named = (text) => text.split(/[^\w:]+/).includes(key);
  return episode.lanes.grade.some((g) => g.role === "footprint" && !g.holds && (g.keys.some((k) => k.split(".")[0] === key) || named(g.evidence)));
}

function changeItem(c, outside) {
  return h(
    "li",
    { class: outside ? "outside" : "" },
    outside && h("p", { class: "age broken" }, "Not a row that this task allows the agent to touch."),
    h("p", null, h("span", { class: "when" }, clock(c.t)), h("code", null, c.key), ` v${c.v}`, c.side !== "agent" && h("span", { class: "mute" }, ` by ${c.by}`)),
    c.patch.map(([op, path, value]) => h("p", { class: `patch ${op}` }, h("code", null, h("b", null, op), ` ${path}${value === undefined ? "" : " " + JSON.stringify(value)}`))),
  );
}

function callTab(entry, episode, step) {
  if (step.kind !== "calls") return h("p", { class: "said" }, step.text || "The agent went away without a word.");
  return step.calls.map((call) => [
    h("h3", null, h("code", null, call.tool)),
    call.bad && h("p", { class: "age broken" }, `No schema allows this call: ${call.bad}.`),
    facts({ class: "facts" }, [
      ["began", call.begin === null ? "never" : clock(call.begin)],
      ["took", call.begin === null || call.end === null ? "unknown" : humanize(call.end - call.begin)],
      ["answer", call.ok ? "ok" : call.told ? `error ${call.code}` : "none"],
      ["wrote", call.wrote.join(", ") || "nothing"],
    ]),
    textsOf(call).map(([name, text]) => [h("h4", null, h("code", null, name)), h("pre", { class: "raw", tabindex: "0" }, text)]),
    h("h4", null, "Arguments as they were sent"),
    h("pre", { class: "raw", tabindex: "0" }, call.raw || "none"),
  ]);
}

// Arguments of several lines, which JSON puts into one: code, most of all.
function textsOf(call) {
  try {
    return Object.entries(JSON.parse(call.raw)).filter(([, value]) => typeof value === "string" && value.trimEnd().includes("\n"));
  } catch {
    return []; // cut, or no JSON: it is shown as it was sent
  }
}

function gradeTab(entry, episode) {
  const judged = episode.lanes.grade;
  if (!judged.length) return muted("Nothing was judged in this episode.");
  return [
    h("p", null, `The reward that was paid is ${reward(entry.score)}; the goal is ${entry.goal === null ? "not judged" : entry.goal ? "met" : "not met"}.`),
    h(
      "ul",
      { class: "plain grades" },
      judged.map((g) =>
        h(
          "li",
          { class: g.holds ? "held" : "failed" },
          h("span", { class: "tick", "aria-hidden": "true" }, g.holds ? "✓" : "✕"),
          h("div", null, h("strong", null, g.predicate), ` ${g.holds ? "holds" : "fails"}`, g.role !== "goal" && h("span", { class: "tag" }, term(g.role)), g.evidence !== "none" && h("p", null, g.evidence), g.keys.length > 0 && muted("rests on ", h("code", null, g.keys.join(", ")))),
        ),
      ),
    ),
  ];
}
