// Keys. Those of one letter can be switched off, and none is taken from a field.

const HELP = [
  ["j k, → ←", "next, previous step"],
  ["n p", "next, previous step that was told something out of date"],
  ["] [", "next, previous episode"],
  ["N P", "next, previous episode to be reviewed"],
  ["1 2 3", "saw and truth, saw, truth"],
  ["y x v i", "why, state, call, grade"],
  ["r", "review"],
  ["o m h a", "verdict: ok, model, harness, ambiguous"],
  ["q", "quarantine or keep"],
  ["c", "code"],
  ["u", "take the last review back"],
  ["/", "search, as you type"],
  ["w s, + −", "zoom in, out"],
  ["a d in the timeline, Shift → ←", "pan"],
  ["0", "whole episode"],
  ["g 7 ⏎", "go to step 7"],
  ["l", "lanes: which, and their order"],
  ["b", "blind mode"],
  ["t", "theme"],
  ["?", "this help"],
  ["Esc", "close, or back to all episodes"],
];

const keys = { letters: true, number: null };

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const field = event.target.closest("input, textarea, select");
  if (event.key === "Escape") return escape(event, field);
  if (field || document.querySelector("dialog[open]")) return;
  if (event.target.closest("[role=tablist]") && ["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) return moveTab(event);
  if (keys.number !== null) return typeNumber(event);
  if (!keys.letters && event.key.length === 1) return;
  const action = (state.ep === null ? null : EPISODE_KEYS[keyName(event)]) || RUN_KEYS[keyName(event)];
  if (!action) return;
  event.preventDefault();
  action(event);
}

function keyName(event) {
  return event.shiftKey && event.key.startsWith("Arrow") ? "Shift" + event.key : event.key;
}

const RUN_KEYS = {
  "/": () => focusSearch(),
  "?": () => document.getElementById("help").showModal(),
  N: () => nextInQueue(1),
  P: () => nextInQueue(-1),
  b: () => setBlind(!reviews.blind),
  t: () => nextTheme(),
  u: () => undoReview(),
};

const EPISODE_KEYS = {
  ArrowRight: () => moveStep(1),
  ArrowLeft: () => moveStep(-1),
  j: () => moveStep(1),
  k: () => moveStep(-1),
  n: () => moveStep(1, (step) => step.fidelity !== "true"),
  p: () => moveStep(-1, (step) => step.fidelity !== "true"),
  "]": () => neighbour(1),
  "[": () => neighbour(-1),
  o: () => mark("verdict", "ok"),
  m: () => mark("verdict", "model"),
  h: () => mark("verdict", "harness"),
  a: (event) => (event.target.closest(".time") ? panBy(-0.2) : mark("verdict", "ambiguous")),
  d: () => panBy(0.2),
  q: () => mark("decision", current.entry && document.getElementById("review-decision-quarantine")?.checked ? "keep" : "quarantine"),
  c: () => whenReviewing(() => document.getElementById("review-code").focus()),
  w: () => zoomBy(0.5),
  "+": () => zoomBy(0.5),
  "=": () => zoomBy(0.5),
  s: () => zoomBy(2),
  "-": () => zoomBy(2),
  0: () => zoom(0, current.episode.end),
  ShiftArrowRight: () => panBy(0.2),
  ShiftArrowLeft: () => panBy(-0.2),
  l: () => showLanes(),
  g: () => {
    keys.number = "";
    say("Go to step: type its number and Enter");
  },
};

const VIEW_KEYS = { 1: "diff", 2: "saw", 3: "truth", y: "why", x: "state", v: "call", i: "grade", r: "notes" };
for (const [key, name] of Object.entries(VIEW_KEYS)) EPISODE_KEYS[key] = () => choose(name);

function moveStep(by, wanted = null) {
  if (!current.episode) return;
  const steps = current.episode.steps;
  const at = steps.findIndex((step) => step.n === state.s);
  for (let i = at + by; i >= 0 && i < steps.length; i += by) {
    if (wanted !== null && (hidden(current.entry) || !wanted(steps[i]))) continue;
    goToStep(steps[i]);
    return;
  }
  say(by > 0 ? "No later step of that kind" : "No earlier step of that kind");
}

function typeNumber(event) {
  if (/^\d$/.test(event.key)) keys.number += event.key;
  else {
    const step = current.episode && stepAt(Number(keys.number));
    keys.number = null;
    if (event.key !== "Enter") return;
    if (step) goToStep(step);
    else say("There is no such step");
  }
  event.preventDefault();
}

function moveTab(event) {
  const tabs = [...event.target.closest("[role=tablist]").querySelectorAll("[role=tab]")];
  const at = tabs.indexOf(event.target);
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tabs.length - 1 }[event.key];
  const tab = tabs[(to + tabs.length) % tabs.length];
  event.preventDefault();
  tab.click();
}

function whenReviewing(then) {
  if (state.v !== "notes") choose("notes");
  requestAnimationFrame(() => requestAnimationFrame(then));
}

function mark(name, value) {
  whenReviewing(() => {
    const field = document.getElementById(`review-${name}-${value}`);
    if (field) {
      field.checked = true;
      say(`${name} ${value}`);
    }
  });
}

function focusSearch() {
  if (state.ep !== null) go({ ep: null, s: null, v: null });
  document.getElementById("search").focus(); // at once: the next key is a letter of it
}

function escape(event, field) {
  if (document.querySelector("dialog[open]")) return; // closes itself
  if (field) field.blur();
  else if (keys.number !== null) keys.number = null;
  else if (state.ep !== null) go({ ep: null, s: null, v: null });
}

function helpDialog() {
  const box = h("input", {
    type: "checkbox",
    id: "letters",
    checked: keys.letters,
    onchange: (event) => {
      keys.letters = event.target.checked;
      kept.set("letters", keys.letters);
    },
  });
  return h(
    "dialog",
    { id: "help", "aria-labelledby": "help-title" },
    h("h2", { id: "help-title" }, "Keys"),
    facts(null, HELP.filter(([name]) => !(run.served && name === "u")).map(([name, words]) => [h("kbd", null, name), words])),
    h("label", { class: "radio" }, box, "keys of one character are on"),
    h("form", { method: "dialog" }, h("button", { type: "submit", class: "primary" }, "Close")),
  );
}
