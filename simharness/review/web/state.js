// Where the reader is. It stands in the address, after the #, so that a link leads there again:
//   ep episode, s step, v view of the step (else the one that tells most of it), f class or code,
//   q words, and the other filters by name.

const VIEWS = ["diff", "saw", "truth", "why", "state", "call", "grade", "notes"];
const FILTERS = ["f", "q", "scenario", "load", "fault", "tool", "policy", "reward", "reviewed", "quarantined", "change", "effect", "sure"];
const state = { ep: null, s: null, v: null };
for (const name of FILTERS) state[name] = null;

function readAddress() {
  let given;
  try {
    given = new URLSearchParams(location.hash.slice(1));
  } catch (error) {
    given = new URLSearchParams();
  }
  state.ep = given.get("ep");
  const step = Number(given.get("s"));
  state.s = Number.isInteger(step) && step > 0 ? step : null;
  state.v = VIEWS.includes(given.get("v")) ? given.get("v") : null;
  for (const name of FILTERS) state[name] = given.get(name) || null;
}

function address(changes) {
  const wanted = { ...state, ...changes };
  const out = new URLSearchParams();
  if (wanted.ep !== null) {
    out.set("ep", wanted.ep);
    if (wanted.s !== null) out.set("s", wanted.s);
    if (wanted.v !== null) out.set("v", wanted.v);
  }
  for (const name of FILTERS) if (wanted[name]) out.set(name, wanted[name]);
  return "#" + out.toString().replaceAll("%3A", ":").replaceAll("%2F", "/");
}

function keepAddress() {
  history.replaceState(null, "", location.pathname + location.search + address({}));
}

// The view that the reader has chosen himself, by the kind of step. Others show what tells most.
const chosenViews = new Map();

function choose(view) {
  const step = chosenStep();
  if (step && view !== "notes") chosenViews.set(stepKind(step), view);
  go({ v: view });
}

function goToStep(step) {
  go({ s: step.n, v: chosenViews.get(stepKind(step)) ?? null });
}

function chosenStep() {
  return current.episode && stepAt(state.s);
}

function stepAt(n) {
  return current.episode.steps.find((step) => step.n === n);
}

function goToEpisode(entry) {
  go({ ep: entry.id, s: null, v: null });
}

// Go somewhere. Another episode is a new place to come back to; another step of it is not.
function go(changes) {
  const to = address(changes);
  if (to === location.hash) return;
  const other = "ep" in changes && changes.ep !== state.ep;
  if (other) history.pushState(null, "", location.pathname + location.search + to);
  Object.assign(state, changes);
  keepAddress();
  render();
}

function matches(entry) {
  const one = (name, has) => !state[name] || has(state[name]);
  const seen = shownClass(entry) !== "hidden";
  return (
    one("f", (f) => seen && (entry.class === f || entry.primary === f || entry.codes.some((c) => c.startsWith(f)))) &&
    one("scenario", (x) => entry.scenario === x) &&
    one("load", (x) => entry.load === x) &&
    one("policy", (x) => entry.policy === x) &&
    one("fault", (x) => seen && (x === "none" ? entry.faults.length === 0 : entry.faults.includes(x))) &&
    one("tool", (x) => entry.tools.includes(x)) &&
    one("reward", (x) => (x === "paid" ? entry.score >= 1 : x === "none" ? entry.score === null : entry.score !== null && entry.score < 1)) &&
    one("reviewed", (x) => (x === "yes" ? reviewOf(entry) !== null : x === "differs" ? differs(entry) : reviewOf(entry) === null)) &&
    one("effect", (x) => seen && entry.effect === x) &&
    one("sure", (x) => seen && entry.confidence === x) &&
    one("change", (x) => seen && (entry.change || []).includes(x)) &&
    one("quarantined", (x) => (x === "yes") === (seen && entry.quarantined)) &&
    one("q", (words) => words.toLowerCase().split(/\s+/).every((word) => searched(entry, seen).includes(word)))
  );
}

function searched(entry, seen) {
  const texts = [entry.key, entry.id, entry.load, ...entry.tools];
  if (seen) texts.push(...entry.faults, entry.headline, entry.sentence, ...entry.codes);
  return texts.join(" ").toLowerCase();
}

function anyFilter() {
  return FILTERS.some((name) => state[name]);
}
