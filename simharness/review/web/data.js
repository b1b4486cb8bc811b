// What the page holds: an index, and episodes that are unpacked when they are first looked at.

const run = { entries: [], byId: new Map(), unpacked: new Map() };

async function unpack(id) {
  const block = document.getElementById(id);
  if (block === null) return null;
  const bytes = Uint8Array.from(atob(block.textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

async function loadRun() {
  Object.assign(run, await unpack("index"));
  run.entries.forEach((entry, place) => {
    entry.place = place;
    run.byId.set(entry.id, entry);
  });
  run.queue = run.order.map((place) => run.entries[place]);
}

// An episode is called by its number where that is enough, else by the name of its file or key.
function nameOf(entry) {
  return /^\d+$/.test(entry.id) ? `episode ${entry.id}` : entry.id;
}

// Find an episode by what a link calls it: its id, or any longer name that only it has.
function entryOf(name) {
  if (name === null) return null;
  const found = run.byId.get(name);
  if (found) return found;
  const same = run.entries.filter((e) => e.key === name || `${e.scenario}:${e.seed}` === name || e.seed === name);
  return same.length === 1 ? same[0] : null;
}

async function episodeOf(entry) {
  if (!entry.full) return null;
  if (!run.unpacked.has(entry.place)) {
    run.unpacked.set(entry.place, unpack(`episode-${entry.place}`));
  }
  return run.unpacked.get(entry.place);
}
