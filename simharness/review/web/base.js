// Elements, numbers and instants. Whatever comes from a recording becomes a text node: nothing here
// or in the other files parses HTML, and the page's policy allows no inline style or handler.

const SVG = "http://www.w3.org/2000/svg";

function make(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") {
      for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    } else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

function h(tag, attributes, ...children) {
  return make(document.createElement(tag), attributes, children);
}

function s(tag, attributes, ...children) {
  return make(document.createElementNS(SVG, tag), attributes, children);
}

function button(label, attributes, ...children) {
  return h("button", { type: "button", ...attributes }, label, ...children);
}

function muted(...words) {
  return h("p", { class: "mute" }, words);
}

function link(words, onclick) {
  return button(words, { class: "link", onclick });
}

// A word that is explained, here and at the foot of the page.
function term(name, words = name) {
  return h("span", { title: run.glossary[name] }, words);
}

function folded(title, ...children) {
  return h("details", null, h("summary", null, title), children);
}

// What may be wider than its place, and is scrolled by the keyboard too.
function region(name, ...children) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name }, children);
}

function grid(attributes, heads, rows) {
  return h("table", attributes, h("thead", null, h("tr", null, heads.map((x) => (x instanceof Node ? x : h("th", { scope: "col" }, x))))), h("tbody", null, rows));
}

function facts(attributes, pairs) {
  return h("dl", attributes, pairs.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))));
}

// Ticks are microseconds. The same words as the command line uses.
function humanize(ticks) {
  if (ticks < 0) return "-" + humanize(-ticks);
  const pair = (unit, name, small, smallName) => {
    const rest = Math.floor((ticks % unit) / small);
    const whole = Math.floor(ticks / unit) + name;
    return rest ? `${whole} ${String(rest).padStart(2, "0")}${smallName}` : whole;
  };
  const tenths = (unit, name) => {
    const tenth = Math.floor(((ticks % unit) * 10) / unit);
    return Math.floor(ticks / unit) + (tenth ? "." + tenth : "") + name;
  };
  if (ticks >= 86400e6) return pair(86400e6, "d", 3600e6, "h");
  if (ticks >= 3600e6) return pair(3600e6, "h", 60e6, "min");
  if (ticks >= 60e6) return pair(60e6, "min", 1e6, "s");
  if (ticks >= 1e6 || ticks === 0) return tenths(1e6, "s");
  if (ticks >= 1e3) return tenths(1e3, "ms");
  return ticks + "us";
}

// An instant of simulated time since the start, as 1:16.61.
function clock(ticks) {
  const hundredths = Math.floor(ticks / 1e4);
  const seconds = Math.floor(hundredths / 100);
  const rest = String(hundredths % 100).padStart(2, "0");
  const two = (n) => String(n).padStart(2, "0");
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${two(seconds % 60)}.${rest}`;
  return `${Math.floor(seconds / 3600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}

function percent(share, digits = 1) {
  return (share * 100).toFixed(digits) + "%";
}

function counted(n, noun, plural) {
  return `${n.toLocaleString("en")} ${n === 1 ? noun : plural || noun + "s"}`;
}

// For labels: a recording may hold a text of any length, and a label has little room.
function clip(text, length) {
  return text.length > length ? text.slice(0, length - 1) + "…" : text;
}

function reward(score) {
  if (score === null || score === undefined) return "none";
  return Number.isInteger(score) ? score.toFixed(1) : String(score);
}

// A browser may refuse storage to a page from disk; then what is kept lasts as long as the page.
const memory = new Map();
const kept = {
  works: true,
  get(name) {
    try {
      const text = localStorage.getItem("simharness." + name);
      return text === null ? null : JSON.parse(text);
    } catch (error) {
      kept.works = false;
      return memory.get(name) ?? null;
    }
  },
  set(name, value) {
    memory.set(name, value);
    try {
      localStorage.setItem("simharness." + name, JSON.stringify(value));
    } catch (error) {
      kept.works = false;
    }
  },
};

// Shape and colour by class; filled where the reward was paid, hollow where not.
const CLASSES = {
  ok: "circle",
  model: "square",
  harness: "triangle",
  ambiguous: "diamond",
  external: "cross",
};

function shape(kind, x, y, r, attributes) {
  const points = (list) => list.map(([dx, dy]) => `${x + dx * r},${y + dy * r}`).join(" ");
  if (kind === "circle") return s("circle", { cx: x, cy: y, r, ...attributes });
  if (kind === "square") {
    const side = r * 0.9;
    return s("rect", { x: x - side, y: y - side, width: 2 * side, height: 2 * side, rx: 1, ...attributes });
  }
  if (kind === "triangle") {
    return s("polygon", { points: points([[0, -1.15], [1.1, 0.85], [-1.1, 0.85]]), ...attributes });
  }
  if (kind === "diamond") {
    return s("polygon", { points: points([[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]]), ...attributes });
  }
  const arm = r * 0.85;
  const d = `M${x - arm},${y - arm}L${x + arm},${y + arm}M${x + arm},${y - arm}L${x - arm},${y + arm}`;
  return s("path", { d, ...attributes });
}

function glyph(entry, size = 18, seen = shownClass(entry)) {
  const filled = seen === "hidden" ? false : entry.score !== null && entry.score >= 1;
  const middle = size / 2;
  return s(
    "svg",
    { class: `glyph ${seen} ${filled ? "paid" : "unpaid"}`, width: size, height: size, "aria-hidden": "true" },
    entry.quarantined && seen !== "hidden" && s("circle", { class: "ring", cx: middle, cy: middle, r: middle - 1.2 }),
    shape(CLASSES[seen] || "circle", middle, middle, size * 0.27, { class: "mark" }),
  );
}

function say(text) {
  document.getElementById("live").textContent = text;
}
