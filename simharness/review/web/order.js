// Which lanes are open, and in which order: kept by the browser, for every episode.

function keepLanes() {
  kept.set("lanes", { closed: [...view.closed], order: view.order });
}

function loadLanes() {
  const given = kept.get("lanes") || {};
  const names = (list) => (Array.isArray(list) ? list.filter((x) => typeof x === "string") : []);
  view.closed = new Set(names(given.closed));
  view.order = names(given.order);
}

// Which lanes are open, and in which order; the agent's stays on top.
function lanesDialog() {
  return h("dialog", { id: "lanes", "aria-labelledby": "lanes-title" });
}

function showLanes() {
  const dialog = document.getElementById("lanes");
  if (!current.episode) return;
  const redraw = (focus) => {
    keepLanes();
    drawTimeline();
    fill();
    document.getElementById(focus)?.focus();
  };
  const move = (names, i, by) => {
    [names[i], names[i + by]] = [names[i + by], names[i]];
    view.order = names;
    redraw(laneId(names[i]));
  };
  const fill = () => {
    const names = view.drawn.filter((name) => name !== "agent");
    const row = (name, i) =>
      h(
        "li",
        null,
        h("label", { class: "radio grow" }, h("input", { type: "checkbox", id: laneId(name), checked: !view.closed.has(name), onchange: () => { toggleShut(name); redraw(laneId(name)); } }), name),
        button("↑", { class: "small", "aria-label": `${name} up`, disabled: i === 0, onclick: () => move(names, i, -1) }),
        button("↓", { class: "small", "aria-label": `${name} down`, disabled: i === names.length - 1, onclick: () => move(names, i, 1) }),
      );
    dialog.replaceChildren(
      h("h2", { id: "lanes-title" }, "Lanes"),
      h("ul", { class: "plain lanes" }, names.map(row)),
      h("form", { method: "dialog", class: "row" }, button("As they were", { onclick: () => { view.order = []; view.closed.clear(); redraw("lanes-title"); } }), h("button", { type: "submit", class: "primary" }, "Close")),
    );
  };
  fill();
  if (!dialog.open) dialog.showModal();
}

function laneId(name) {
  return `lane-${name.replaceAll(" ", "-")}`;
}

function toggleShut(name) {
  if (!view.closed.delete(name)) view.closed.add(name);
}
