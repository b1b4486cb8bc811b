// One episode: what happened in a sentence, the proof, the timeline, the steps.

const current = { entry: null, episode: null };

async function episodePage(entry) {
  let episode = null;
  try {
    episode = await episodeOf(entry);
  } catch (error) {
    return [episodeHead(entry, null), h("p", { class: "caution" }, `This episode can't be unpacked: ${error.message}. Make the page again.`)];
  }
  Object.assign(current, { entry, episode });
  if (episode === null) {
    return [
      episodeHead(entry, null),
      h("p", { class: "caution" }, "This page holds this episode's line alone. In full: "),
      commands(entry, null),
      h("section", { class: "card" }, reviewTab(entry, null, null)),
    ];
  }
  if (!chosenStep()) {
    state.s = firstStep(entry, episode);
    keepAddress();
  }
  const step = chosenStep();
  return [
    episodeHead(entry, episode),
    !hidden(entry) && proofStrip(entry, episode),
    h("section", { class: "card time", id: "time", "aria-label": "Timeline" }),
    h("div", { class: "split" }, stepList(entry, episode), step ? stepPanel(entry, episode, step) : h("p", { class: "card mute" }, "This episode has no step.")),
    commands(entry, episode),
  ];
}

// Where to begin reading: at the finding that decided, else at what was wrong first.
function firstStep(entry, episode) {
  if (!hidden(entry)) {
    const decisive = episode.findings.find((f) => f.code === entry.primary && f.step > 0);
    if (decisive && episode.steps.some((step) => step.n === decisive.step)) return decisive.step;
    const broken = episode.steps.find((step) => step.fidelity === "broken");
    if (broken) return broken.n;
  }
  return episode.steps.length ? episode.steps[0].n : null;
}

function drawTimeline() {
  const place = document.getElementById("time");
  if (!place || !current.episode) return;
  const style = getComputedStyle(place);
  const width = Math.max(520, place.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight));
  const chart = timeline(current.entry, current.episode, Math.floor(width));
  place.replaceChildren(h("h2", { class: "sr" }, "Timeline"), chart);
  append(place.querySelector(".legend"), legendOf(chart));
}

function episodeHead(entry, episode) {
  const veil = hidden(entry);
  const about = [entry.scenario, `seed ${entry.seed}`, !veil && `policy ${entry.policy || "unknown"}`, term("load", `load ${entry.load}`), counted(entry.steps, "step")].filter(Boolean);
  return h(
    "header",
    { class: "episode-head" },
    h(
      "nav",
      { class: "row", "aria-label": "Episodes" },
      h("a", { href: address({ ep: null, s: null, v: null }), class: "back" }, "← All episodes"),
      h("span", { class: "grow" }),
      button("‹ Previous", { class: "small", onclick: () => neighbour(-1) }),
      button("Next ›", { class: "small", onclick: () => neighbour(1) }),
    ),
    h("h1", null, glyph(entry, 26), ` ${/^\d/.test(entry.id) ? "Episode " : ""}${entry.id} `, veil ? h("span", { class: "mute" }, "verdict hidden") : verdictBadges(entry)),
    !veil && headline(entry, episode),
    h("p", { class: "mute facts-line" }, about.map((x, i) => [i ? " · " : "", x])),
    !veil && entry.before && h("p", null, `In ${run.compared.before}: `, h("strong", null, [entry.before.class, entry.before.primary, `reward ${reward(entry.before.score)}`].filter(Boolean).join(", ")), ` (${entry.change.join(", ")}).`),
    !veil && entry.reason && !entry.reason.endsWith(entry.sentence) && muted(`${entry.quarantined ? "Quarantined" : "Not quarantined"}: ${entry.reason}.`),
    episode && h("details", { class: "prompt" }, h("summary", null, "The task, as the agent was given it"), h("p", null, episode.prompt)),
  );
}

function verdictBadges(entry) {
  const reviewed = reviewOf(entry)?.decision;
  return [
    h("span", { class: `badge ${entry.class}` }, term("proved", entry.headline)),
    h("span", { class: `badge ${entry.score >= 1 ? "ok" : "neutral"}` }, `reward ${reward(entry.score)}`),
    (reviewed ? reviewed !== "keep" : entry.quarantined) && h("span", { class: "badge quarantine" }, term("quarantined")),
    reviewed === "keep" && h("span", { class: "badge neutral" }, "kept by a review"),
    !entry.valid && h("span", { class: "badge neutral" }, term("not for training")),
  ];
}

const WHO = { harness: "The harness is at fault", model: "The agent is at fault", ambiguous: "Undecided", external: "Something outside stopped it" };

// What the primary code means comes first, then what was seen of it, and what else was found or planted.
function headline(entry, episode) {
  const known = codeOf(entry.primary);
  const text = entry.sentence + (entry.sentence.endsWith(".") ? "" : ".");
  return [
    h("p", { class: "lead" }, WHO[entry.class] ? `${WHO[entry.class]}: ${known ? known.explanation : text}` : text.charAt(0).toUpperCase() + text.slice(1)),
    known && WHO[entry.class] && h("p", null, text),
    episode && besides(entry, episode, "M", "model"),
    episode && besides(entry, episode, "H", "harness"),
    entry.faults.map((fault) => h("p", null, h("strong", null, "Fault in force: "), fault, " (", term("planted"), ")", run.faults[fault.split("@")[0]] && `: ${run.faults[fault.split("@")[0]]}`, episode && episode.lanes.faults.some((f) => f.name === fault.split("@")[0] && !f.spans.length) && ", which never took effect")),
  ];
}

// Findings of the side that doesn't answer for the outcome.
function besides(entry, episode, letter, side) {
  const found = episode.findings.filter((f) => f.code[0] === letter && letter !== entry.primary[0] && f.confidence !== "suspected");
  const codes = [...new Set(found.map((f) => f.code))];
  const steps = (code) => [...new Set(found.filter((f) => f.code === code).map((f) => f.step))].slice(0, 4);
  return codes.length > 0 && h("p", { class: "besides" }, h("strong", null, `Beside it, of the ${side}: `), codes.map((code, i) => [i ? "; " : "", h("span", { class: `code ${side}` }, code), ` ${codeOf(code)?.slug ?? ""} at `, steps(code).map((n, j) => [j ? ", " : "", stepLink(n)])]));
}

function codeOf(name) {
  return run.codes.find((c) => c.code === name);
}

const PROOFS = {
  closed: "the same policy asked again",
  open: "the recorded calls sent again verbatim",
  unsolvable: "the reference playing on from the first wrong answer",
};

// The what-if strip: the episode again with suspects telling the truth.
function proofStrip(entry, episode) {
  if (!episode.arms.length) return null;
  const cell = (title, score, note, flips) =>
    h("div", { class: `arm ${flips ? "flips" : ""}` }, h("strong", null, title), h("span", { class: `result ${score >= 1 ? "paid" : "unpaid"}` }, `reward ${reward(score)}`), h("small", null, note));
  const before = episode.arms[0].before;
  return h(
    "section",
    { class: "card proof", "aria-label": "Proof" },
    h("h2", null, "What if?"),
    h(
      "div",
      { class: "arms" },
      cell("as it was", before, "recorded", false),
      episode.arms.map((arm) => [h("span", { class: "arrow", "aria-hidden": "true" }, "→"), cell(term("reward true, places:slots true", arm.repaired.map((x) => (x === "reward" ? "a true reward" : `${x} true`)).join(", ")), arm.score, `${PROOFS[arm.proof] || arm.proof}: ${arm.flips ? "the outcome flips" : "no change"}`, arm.flips)]),
    ),
  );
}

// How many times in a row each step makes the same call, waits aside.
function repeats(steps) {
  const out = new Map();
  let last = "";
  let times = 0;
  for (const step of steps) {
    if (step.kind === "calls" && step.calls.every((c) => c.tool === "wait")) continue;
    const same = step.kind === "calls" ? JSON.stringify(step.calls.map((c) => [c.tool, c.raw])) : step.kind;
    times = same === last ? times + 1 : 1;
    last = same;
    out.set(step.n, times);
  }
  return out;
}

function stepList(entry, episode) {
  const veil = hidden(entry);
  const times = repeats(episode.steps);
  return h(
    "nav",
    { class: "card steps", "aria-label": "Steps" },
    h("h2", null, "Steps"),
    h(
      "ol",
      null,
      episode.steps.map((step) => {
        const on = step.n === state.s;
        const tools = step.kind === "calls" ? groupedTools(step.calls.map((c) => c.tool)) || "no call" : KIND_WORDS[step.kind];
        const codes = veil ? [] : [...new Set(episode.findings.filter((f) => f.step === step.n).map((f) => f.code))];
        return h(
          "li",
          null,
          h(
            "a",
            { href: address({ s: step.n, v: null }), class: on ? "on" : "", "aria-current": on ? "step" : null, id: `step-${step.n}`, onclick: (event) => { event.preventDefault(); goToStep(step); } },
            h("span", { class: "n" }, step.n),
            s("svg", { width: 20, height: 20, "aria-hidden": "true" }, stepMark(stepKind(step), 10, 10, veil ? "true" : step.fidelity, 5.5)),
            h("span", { class: "tool" }, tools),
            times.get(step.n) > 1 && h("span", { class: "times", title: "the same call again, waits aside" }, `×${times.get(step.n)}`),
            codes.map((code) => h("span", { class: "code" }, code)),
            h("span", { class: "sr" }, veil ? "" : ` ${KIND_WORDS[stepKind(step)]}, ${FIDELITY_WORDS[step.fidelity]}`),
          ),
        );
      }),
    ),
  );
}

function commands(entry, episode) {
  const file = joined(run.run, entry.file);
  const name = `${entry.scenario}:${entry.seed}`;
  const quoted = (text) => (/^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const common = `${quoted(file)} --episode ${quoted(name)}`;
  const out = [
    `simharness show ${common}${state.s ? ` --step ${state.s}` : ""} --truth`,
    `simharness replay ${quoted(file)}${state.s ? ` --until ${state.s}` : ""}`,
    `simharness audit ${common} --curve`,
  ];
  if (!hidden(entry)) for (const arm of (episode && episode.arms) || []) {
    const named = arm.repaired.filter((x) => x !== "reward").map((x) => ` --ablate ${quoted(x)}`).join("");
    if (named) out.push(`simharness whatif ${common}${named}`);
  }
  return h(
    "details",
    { class: "card commands" },
    h("summary", null, "The same in a terminal"),
    h("ul", { class: "plain" }, [...new Set(out)].map((text) => h("li", null, h("code", null, text), button("Copy", { class: "small", "aria-label": `Copy: ${text}`, onclick: () => copy(text) })))),
    muted(`digest ${entry.digest}`),
  );
}

function joined(folder, file) {
  return folder.endsWith(".simrec") ? folder : `${folder}/${file}`;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied");
  } catch (error) {
    say("The browser doesn't let this page copy; select the text instead");
  }
}

function neighbour(by) {
  const found = run.entries.filter(matches);
  const all = found.includes(current.entry) ? found : run.entries;
  const at = all.indexOf(current.entry);
  const to = all[at + by];
  if (to) goToEpisode(to);
  else say(by > 0 ? "This is the last episode" : "This is the first episode");
}

// The next episode that wants a review: the gate's failures first, then a sample of the passes.
function nextInQueue(by) {
  const waiting = queue().filter((entry) => reviewOf(entry) === null || entry === current.entry);
  if (!waiting.length) return say("All episodes are reviewed");
  const at = state.ep === null ? (by > 0 ? -1 : 0) : waiting.indexOf(current.entry);
  const to = waiting[(at + by + waiting.length) % waiting.length];
  goToEpisode(to);
}

function reviewTab(entry) {
  const before = reviewOf(entry);
  const radio = (name, value, words, checked) => h("label", { class: "radio" }, h("input", { type: "radio", name, value, checked, id: `review-${name}-${value}` }), words);
  const kind = before && before.verdict ? before.verdict : null;
  const decision = before ? before.decision : entry.quarantined && !hidden(entry) ? "quarantine" : null;
  const error = h("p", { class: "caution", role: "alert", hidden: true });
  const form = h(
    "form",
    {
      class: "review",
      id: "review",
      onsubmit: async (event) => {
        event.preventDefault();
        const given = new FormData(form);
        const missing = ["verdict", "decision"].filter((name) => !given.get(name));
        if (missing.length) {
          error.hidden = false;
          error.textContent = `Choose a ${missing.join(" and a ")}.`;
          return;
        }
        kept.set("by", given.get("by"));
        try {
          await saveReview(reviewRecord(entry, given));
          say(`The review of ${nameOf(entry)} is saved`);
        } catch (problem) {
          error.hidden = false;
          error.textContent = `Not saved: ${problem.message}`;
        }
      },
    },
    before && h("p", { class: "fresh" }, `Reviewed${before.by ? " by " + before.by : ""}: ${[before.verdict, before.decision].filter(Boolean).join(", ")}${before.note ? " (" + before.note + ")" : ""}${differs(entry) ? `. The automatic verdict differs: ${entry.class}` : ""}.`),
    h("fieldset", null, h("legend", null, "Who answers for the outcome?"), ["ok", "model", "harness", "ambiguous"].map((x) => radio("verdict", x, x, kind === x))),
    h("fieldset", null, h("legend", null, "Scores and training exports"), radio("decision", "keep", "keep it", decision === "keep"), radio("decision", "quarantine", "quarantine it", decision === "quarantine")),
    h(
      "div",
      { class: "row fields" },
      h("label", null, h("span", null, "code"), h("input", { name: "code", id: "review-code", list: "codes", value: (before && before.primary) || "", pattern: "[HMAX][0-9]{3}", placeholder: "H112", size: 6 })),
      h("datalist", { id: "codes" }, !reviews.blind && run.codes.map((c) => h("option", { value: c.code }, c.slug))),
      h("label", null, h("span", null, "your name"), h("input", { name: "by", value: kept.get("by") || "", autocomplete: "off" })),
      h("label", { class: "grow" }, h("span", null, "note"), h("input", { name: "note", value: (before && before.note) || "", maxlength: 2000 })),
    ),
    error,
    h("p", { class: "row" }, h("button", { type: "submit", class: "primary" }, "Save the review"), button("Next to review", { onclick: () => nextInQueue(1) })),
    muted(storageWords()),
  );
  return form;
}

function reviewRecord(entry, given) {
  return {
    key: entry.key,
    digest: entry.digest,
    decision: given.get("decision"),
    verdict: given.get("verdict"),
    primary: given.get("code") || "",
    step: state.s,
    by: given.get("by") || "",
    note: given.get("note") || "",
    blind: hidden(entry),
    auto: { class: entry.class, primary: entry.primary, quarantined: entry.unreviewed },
  };
}

function storageWords() {
  if (run.served) return "Reviews are added to the run's reviews.jsonl.";
  const where = kept.works ? "Reviews are kept by this browser, which may forget those of a page from disk" : "This browser keeps nothing for a page from disk";
  return `${where}: download them and append them to the run's reviews.jsonl.`;
}
