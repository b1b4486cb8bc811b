// Reviews: lines of reviews.jsonl, of which the last on an episode counts. The run's own come with
// the page; new ones are sent back to the server, or kept by the browser until they are downloaded.

const reviews = { own: [], blind: false };

function loadReviews() {
  reviews.own = run.served ? [] : kept.get("reviews." + run.run) || [];
  reviews.blind = kept.get("blind") === true;
}

function reviewOf(entry) {
  const all = [...run.reviews, ...reviews.own];
  return all.findLast((review) => review.key === entry.key) || null;
}

// Whether the reviewer's verdict is another than the automatic one.
function differs(entry) {
  const review = reviewOf(entry);
  return review !== null && Boolean(review.verdict) && review.verdict !== entry.class;
}

// In blind mode nobody is told the automatic verdict of an episode before they have given their own.
function hidden(entry) {
  return reviews.blind && reviewOf(entry) === null;
}

function shownClass(entry) {
  return hidden(entry) ? "hidden" : entry.class;
}

// In which order episodes are reviewed. That of the verdicts would tell them, so in blind mode it is
// the order of the run.
function queue() {
  return reviews.blind ? run.entries : run.queue;
}

function wantsReview(entry) {
  return reviewOf(entry) === null && (entry.class === "harness" || entry.class === "ambiguous");
}

function setBlind(on) {
  reviews.blind = on;
  kept.set("blind", on);
  say(on ? "Blind mode: automatic verdicts are hidden until you have given yours" : "Blind mode is off");
  render();
}

async function saveReview(review) {
  if (run.served) {
    const token = new URLSearchParams(location.search).get("token") || "";
    const answer = await fetch(`/reviews?token=${encodeURIComponent(token)}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(review),
    });
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.error);
    run.reviews.push(review);
  } else {
    reviews.own.push(review);
    kept.set("reviews." + run.run, reviews.own);
  }
  render();
}

function undoReview() {
  const last = reviews.own.pop();
  if (!last) {
    say(run.served ? "Saved reviews stay in reviews.jsonl; save another one to overrule it" : "Nothing to undo");
    return;
  }
  kept.set("reviews." + run.run, reviews.own);
  render();
  say(`The review of ${last.key} is taken back`);
}

function downloadReviews() {
  const text = reviews.own.map((review) => JSON.stringify(review) + "\n").join("");
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type: "application/jsonl" })), download: "reviews.jsonl" });
  link.click();
  URL.revokeObjectURL(link.href);
  say(`${counted(reviews.own.length, "review")} downloaded; append the file to the run's reviews.jsonl`);
}
