/** What the pages do beside being read: events as they come, notes, weights, figures on demand. */
import { bringFind, keepFound } from "./find.js";
import "./front.js";
import { bringTables, keepSorted } from "./sort.js";
import "./queue.js";
import "./sql_box.js";

/** The parts that change, as the board wrote them: a script marks and sorts what is shown. */
const served = new WeakMap(
  [...document.querySelectorAll("[data-live]")].map((part) => [part, part.innerHTML]),
);

const said = document.getElementById("said");
const say = (sentence) => {
  said.textContent = sentence;
};

/** An answer of the board; a refusal throws its sentence. */
export async function ask(address, options) {
  const response = await fetch(address, options);
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error ?? `The board answered ${response.status}`);
  return answer;
}

/** Puts the parts that change in the place of those that are shown; what is marked stays marked. */
async function refresh() {
  const response = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!response.ok) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  const parts = document.querySelectorAll("[data-live]");
  const marked = new Set(
    [...document.querySelectorAll("input[name=trial]:checked")].map(({ value }) => value),
  );
  for (const part of parts) {
    const own = fresh.querySelector(`[data-live="${part.dataset.live}"]`);
    const written = own?.innerHTML;
    const same = written === undefined || written === served.get(part);
    const in_use = part.contains(document.activeElement) || part.querySelector("[data-dragged]");
    if (same || in_use) continue;
    served.set(part, written);
    keepSorted(part, own);
    keepFound(part, own);
    part.replaceChildren(...own.childNodes);
    bringTables(part);
    bringFind(part);
  }
  // A study that was waiting has another page once it runs.
  if (parts.length !== fresh.querySelectorAll("[data-live]").length) location.reload();
  for (const box of document.querySelectorAll("input[name=trial]")) {
    box.checked = marked.has(box.value);
  }
  document.dispatchEvent(new Event("refreshed"));
}

document.addEventListener("changed", async () => {
  await refresh();
  document.dispatchEvent(new Event("brought")); // what was changed is seen: an earlier refresh may end before
});

/** Calls at most once a while, and once more behind the last. */
function seldom(work, ms) {
  let timer = null;
  return () => {
    timer ??= setTimeout(() => {
      timer = null;
      void work();
    }, ms);
  };
}

const MOST_EVENTS = 200;
const CHANGES = new Set([
  "trial_opened",
  "trial_closed",
  "episode_closed",
  "study_closed",
  "alert",
]);

function followEvents(list) {
  const source = new EventSource(list.dataset.events);
  const soon = seldom(refresh, 700);
  source.addEventListener("record", ({ data }) => {
    const { type, at, sentence } = JSON.parse(data);
    if (CHANGES.has(type)) soon();
    if (sentence === null) return;
    const item = document.createElement("li");
    item.textContent = `${at.slice(11, 19)} ${sentence}`;
    list.prepend(item);
    while (list.children.length > MOST_EVENTS) list.lastElementChild.remove();
    say(sentence);
  });
  source.addEventListener("open", () => list.setAttribute("data-following", ""));
  addEventListener("pagehide", () => source.close());
}

function keepNotes(form) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = new FormData(form).get("text");
    try {
      const { said } = await ask(form.dataset.note, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ text }),
      });
      say(said);
      location.reload();
    } catch (error) {
      complain(form, error);
    }
  });
}

function complain(form, error) {
  const line = form.querySelector(".refusal") ?? document.createElement("p");
  line.className = "refusal";
  line.setAttribute("role", "alert");
  line.textContent = error.message;
  form.append(line);
}

function showFigure(details) {
  const draw = () => {
    details.querySelector("img")?.remove();
    if (!details.open) return;
    const image = document.createElement("img");
    const width = Math.max(390, Math.min(1000, details.clientWidth));
    image.alt = `${details.querySelector("summary").textContent}, as a picture`;
    image.src = `${details.dataset.figure}?width=${Math.round(width)}`;
    details.append(image);
  };
  details.addEventListener("toggle", draw);
  document.addEventListener("refreshed", draw);
  draw(); // one that comes open
}

bringTables(document);
bringFind(document);
for (const list of document.querySelectorAll("[data-events]")) followEvents(list);
for (const form of document.querySelectorAll("[data-note]")) keepNotes(form);
for (const details of document.querySelectorAll("[data-figure]")) showFigure(details);
for (const part of document.querySelectorAll("[data-again]")) {
  setInterval(() => void refresh(), Number(part.dataset.again));
}
