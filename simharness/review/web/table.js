// The table of episodes: filters, order, and a link to each.

const STEP_OF_ROWS = 200;
const COLUMNS = [
  ["episode", (e) => (/^\d+$/.test(e.id) ? Number(e.id) : e.id)],
  ["verdict", (e) => (hidden(e) ? "" : `${e.class} ${e.primary}`)],
  ["reward", (e) => (e.score === null ? -1 : e.score)],
  ["steps", (e) => e.steps],
  ["valid", (e) => (hidden(e) ? "" : e.valid ? "yes" : "no")],
  ["reviewed", (e) => (reviewOf(e) ? "yes" : "")],
];
const table = { column: null, down: false, rows: STEP_OF_ROWS };

function tableCard() {
  return card("Find an episode", { class: "episodes" }, filterBar(), h("div", { id: "found" }, foundTable()));
}

// What was typed is searched for at once, and the field is left as it is.
function search(event) {
  state.q = event.target.value || null;
  keepAddress();
  document.querySelector(".strip").replaceWith(stripCard());
  document.getElementById("found").replaceChildren(...foundTable());
}

function foundTable() {
  const found = queue().filter(matches);
  if (table.column !== null) {
    const of = COLUMNS[table.column][1];
    found.sort((a, b) => (of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0) * (table.down ? -1 : 1));
  }
  const shown = found.slice(0, table.rows);
  return [
    h("p", { class: "found" }, counted(found.length, "episode"), anyFilter() && [" ", link("clear the filters", clearFilters)]),
    region(
      "Episodes",
      grid(null, [...COLUMNS.map(([name], i) => headCell(name, i)), "what happened"], shown.map(episodeRow)),
    ),
    shown.length < found.length &&
      button(`Show more (${(found.length - shown.length).toLocaleString("en")} left)`, { onclick: () => { table.rows += STEP_OF_ROWS; render(); } }),
  ].filter(Boolean);
}

function headCell(name, i) {
  const on = table.column === i;
  return h(
    "th",
    { scope: "col", "aria-sort": on ? (table.down ? "descending" : "ascending") : "none" },
    button([name, h("span", { class: "order", "aria-hidden": "true" }, on ? (table.down ? " ↓" : " ↑") : "")], {
      class: "head",
      onclick: () => {
        table.down = on && !table.down;
        table.column = i;
        render();
      },
    }),
  );
}

function episodeRow(entry) {
  const veil = hidden(entry);
  const review = reviewOf(entry);
  return h(
    "tr",
    null,
    h("td", { class: "name" }, h("a", { href: address({ ep: entry.id, s: null, v: null }) }, glyph(entry), h("span", null, entry.id))),
    h("td", { class: "verdict" }, veil ? h("span", { class: "mute" }, "hidden") : [h("span", { class: `word ${entry.class}` }, entry.class), entry.primary && h("span", { class: "code" }, entry.primary), entry.quarantined && h("span", { class: "tag" }, "quarantined"), (entry.change || []).map((x) => h("span", { class: "tag" }, x))]),
    h("td", { class: "num" }, reward(entry.score)),
    h("td", { class: "num" }, entry.steps),
    h("td", null, veil ? "" : entry.valid ? "yes" : "no"),
    h("td", null, review ? [review.verdict || review.decision, differs(entry) && h("span", { class: "tag" }, "differs")] : ""),
    h("td", { class: "sentence" }, veil ? "" : entry.sentence),
  );
}

function filterBar() {
  const options = (name, values, words = (x) => x) =>
    values.length > 1 || state[name]
      ? h(
          "label",
          null,
          h("span", null, { f: "class or code", sure: "how sure" }[name] || name),
          h(
            "select",
            { id: `filter-${name}`, onchange: (event) => go({ [name]: event.target.value || null }) },
            h("option", { value: "" }, "any"),
            values.map((x) => h("option", { value: x, selected: state[name] === x }, words(x))),
          ),
        )
      : null;
  const all = (of) => [...new Set(run.entries.flatMap(of))].sort();
  const codes = all((e) => (hidden(e) ? [] : [e.class, ...e.codes]));
  return h(
    "div",
    { class: "filters" },
    h(
      "label",
      { class: "search" },
      h("span", null, "words"),
      h("input", { id: "search", type: "search", value: state.q || "", placeholder: "get_deal 42", oninput: search }),
    ),
    options("f", codes, (x) => x),
    options("scenario", all((e) => [e.scenario])),
    options("load", all((e) => [e.load])),
    options("fault", all((e) => (hidden(e) ? [] : e.faults.length ? e.faults : ["none"]))),
    options("policy", all((e) => (hidden(e) ? [] : [e.policy]))),
    options("tool", all((e) => e.tools)),
    options("reward", ["paid", "unpaid", "none"]),
    options("reviewed", ["yes", "no", "differs"]),
    options("quarantined", reviews.blind ? [] : ["yes", "no"]),
    options("effect", all((e) => (hidden(e) ? [] : [e.effect]))),
    options("sure", all((e) => (hidden(e) || !e.confidence ? [] : [e.confidence]))),
    options("change", run.compared ? Object.keys(CHANGES) : []),
  );
}

function clearFilters() {
  go(Object.fromEntries(FILTERS.map((name) => [name, null])));
}
