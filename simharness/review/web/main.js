// Builds the page around the place that the address names, and again whenever that changes.

const THEMES = ["system", "light", "dark"];

function setTheme(name) {
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  kept.set("theme", name);
}

function nextTheme() {
  const now = document.documentElement.dataset.theme || "system";
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
  setTheme(next);
  say(`Theme: ${next}`);
}

function topBar() {
  return h(
    "header",
    { class: "top" },
    h("a", { href: "#", class: "brand" }, "simharness"),
    h("span", { class: "run" }, run.run),
    h("span", { class: "mute wide" }, counted(run.episodes, "episode")),
    h("span", { class: "grow" }),
    !run.served && button("Download reviews", { id: "download", onclick: downloadReviews }),
    button("Theme", { id: "theme", onclick: nextTheme }),
    button("Keys ?", { id: "keys", onclick: () => document.getElementById("help").showModal() }),
  );
}

// What has the focus is known by its id, or by what it is called.
function focusName(element) {
  if (!element || element === document.body) return null;
  return element.id ? `#${element.id}` : `${element.tagName} ${element.getAttribute("aria-label") || element.textContent}`;
}

function restoreFocus(name, from) {
  if (name === null) return;
  if (name.startsWith("#")) {
    let found = document.getElementById(name.slice(1));
    if (/^#dot-\d+$/.test(name)) found = document.getElementById(`dot-${state.s}`);
    if (/^#step-\d+$/.test(name)) found = document.getElementById(`step-${state.s}`);
    if (/^#tab-/.test(name)) found = document.querySelector("[role=tab][aria-selected=true]");
    if (found) found.focus({ preventScroll: true });
    return;
  }
  for (const element of from.querySelectorAll("button, a, summary, [tabindex]")) {
    if (focusName(element) === name) return element.focus({ preventScroll: true });
  }
}

let turn = 0;
let shown = "";

async function render() {
  const mine = ++turn;
  const entry = entryOf(state.ep);
  const place = document.getElementById("content");
  const focus = focusName(document.activeElement);
  let content;
  if (entry !== null) {
    if (state.ep !== entry.id) {
      state.ep = entry.id;
      keepAddress();
    }
    content = await episodePage(entry);
  } else {
    Object.assign(current, { entry: null, episode: null });
    content = [state.ep !== null && h("p", { class: "caution" }, `No single episode of this run is called ${state.ep}.`), overview()];
  }
  if (mine !== turn) return; // somebody has moved on meanwhile
  const scroll = entry !== null && shown === entry.id ? scrollY : null;
  const same = (entry === null ? "" : entry.id) === shown;
  const nodes = document.createDocumentFragment();
  append(nodes, content.flat(Infinity));
  place.replaceChildren(nodes);
  drawTimeline();
  document.getElementById("where").textContent = entry === null ? "" : ` · ${nameOf(entry)}`;
  document.title = `simharness · ${entry === null ? run.run : nameOf(entry)}`;
  if (scroll !== null) scrollTo(0, scroll);
  else if (!same) scrollTo(0, 0);
  if (!same) chosenViews.clear();
  restoreFocus(focus, place);
  if (!same && entry !== null) say(hidden(entry) ? nameOf(entry) : `${nameOf(entry)}: ${entry.headline}`);
  shown = entry === null ? "" : entry.id;
  document.getElementById("app").dataset.ready = `${state.ep ?? ""}/${state.s ?? ""}/${document.querySelector('[role="tab"][aria-selected="true"]')?.id.slice(4) ?? "diff"}`;
  const step = document.querySelector(".steps a.on");
  const list = document.querySelector(".steps ol");
  if (step && list && list.scrollHeight > list.clientHeight) {
    list.scrollTop = step.offsetTop - list.offsetTop - list.clientHeight / 2;
  }
}

function tips() {
  const tip = document.getElementById("tip");
  const show = (event) => {
    const target = event.target.closest ? event.target.closest("[data-tip]") : null;
    tip.hidden = target === null;
    if (target === null) return;
    tip.textContent = clip(target.dataset.tip, 1500);
    const x = Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8);
    const y = event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18;
    tip.style.setProperty("left", `${Math.max(4, x)}px`);
    tip.style.setProperty("top", `${Math.max(4, y)}px`);
  };
  addEventListener("pointermove", show);
  addEventListener("pointerdown", () => (tip.hidden = true));
  addEventListener("click", (event) => {
    const dot = event.target.closest ? event.target.closest("[data-ep]") : null;
    if (dot) goToEpisode(entryOf(dot.dataset.ep));
  });
}

async function start() {
  const app = document.getElementById("app");
  if (typeof DecompressionStream === "undefined") return; // the plain table stays
  await loadRun();
  loadReviews();
  loadLanes();
  keys.letters = kept.get("letters") !== false;
  setTheme(THEMES.includes(kept.get("theme")) ? kept.get("theme") : "system");
  readAddress();
  append(app, [
    h("a", { class: "skip", href: "#content", onclick: (event) => { event.preventDefault(); document.getElementById("content").focus(); } }, "Skip to the content"),
    topBar(),
    h("main", { id: "content", tabindex: "-1" }),
    h("p", { id: "live", class: "sr", role: "status", "aria-live": "polite" }),
    h("div", { id: "tip", role: "presentation", hidden: true }),
    helpDialog(),
    lanesDialog(),
    h("footer", { class: "mute" }, folded("What the words mean", facts({ class: "facts" }, Object.entries(run.glossary))), `simharness ${run.version}, taxonomy ${run.taxonomy}`, h("span", { id: "where" })),
  ]);
  document.getElementById("plain").remove();
  app.hidden = false;
  addEventListener("keydown", onKey);
  addEventListener("hashchange", () => { readAddress(); render(); });
  addEventListener("popstate", () => { readAddress(); render(); });
  let waiting = 0;
  addEventListener("resize", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(drawTimeline);
  });
  tips();
  await render();
}

start().catch((error) => {
  const told = document.createElement("p");
  told.textContent = `This page could not be unpacked (${error.message}); the table below is all that it can show.`;
  document.body.prepend(told);
});
