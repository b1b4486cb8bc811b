// The part of an episode that is shown, within the whole of it.

// The whole episode in a strip, with the part that is shown; there is none while all of it is.
function minimap(entry, episode, width) {
  const end = Math.max(1, episode.end);
  if (view.from <= 0 && view.to >= end) return null;
  const x = (t) => gutter + (t / end) * (width - gutter - RIGHT);
  const [from, to] = [x(view.from), x(view.to)];
  const strip = s(
    "svg",
    { class: "minimap", id: "minimap", width, height: 26, viewBox: `0 0 ${width} 26`, role: "img", "aria-label": `Shown: ${clock(view.from)} to ${clock(view.to)} of ${clock(end)}`, onpointerdown: startPan },
    s("text", { class: "lane-name", x: 4, y: 17 }, "all of it"),
    s("rect", { class: "track", x: gutter, y: 3, width: width - gutter - RIGHT, height: 20, rx: 3 }),
    episode.steps.map((step) => s("circle", { class: `blip ${hidden(entry) ? "true" : step.fidelity}`, cx: x(step.t), cy: 13, r: 2.6 })),
    s("rect", { class: "window", x: from, y: 2, width: Math.max(4, to - from), height: 22, rx: 3 }),
  );
  return strip;
}

// A drag on the strip moves what is shown; a click centres it there.
function startPan(event) {
  const left = event.currentTarget.getBoundingClientRect().left;
  const width = Number(event.currentTarget.getAttribute("width")) - gutter - RIGHT;
  const end = Math.max(1, current.episode.end);
  const at = (e) => ((e.clientX - left - gutter) / width) * end;
  const half = (view.to - view.from) / 2;
  const grip = at(event) >= view.from && at(event) <= view.to ? at(event) - view.from : half;
  const move = (e) => zoom(at(e) - grip, at(e) - grip + 2 * half);
  const up = () => {
    removeEventListener("pointermove", move);
    removeEventListener("pointerup", up);
  };
  move(event);
  addEventListener("pointermove", move);
  addEventListener("pointerup", up);
}
