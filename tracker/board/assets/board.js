/** What the pages do beside being read: events as they come, notes, weights, figures on demand. */
import { drawFront } from "./front.js";
import { bringTables, keepSorted } from "./sort.js";
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
    if (same || part.contains(document.activeElement)) continue;
    served.set(part, written);
    keepSorted(part, own);
    part.replaceChildren(...own.childNodes);
    bringTables(part);
  }
  // A study that was waiting has another page once it runs.
  if (parts.length !== fresh.querySelectorAll("[data-live]").length) location.reload();
  for (const box of document.querySelectorAll("input[name=trial]")) {
    box.checked = marked.has(box.value);
  }
  document.dispatchEvent(new Event("refreshed"));
}

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

/** Weights that are moved, as the address has them, and what `pare weigh` would pick. */
function moveWeights(form) {
  const line = form.querySelector(".weighed");
  const name = (id) => id.slice(id.lastIndexOf("/") + 1);
  const weigh = seldom(async () => {
    const weights = [...new FormData(form)].map(([key, value]) => `${key}=${value}`).join(",");
    const address = new URL(location.href);
    address.searchParams.set("weights", weights);
    history.replaceState(null, "", address);
    try {
      const { recommendation, left_out } = await ask(
        `${form.dataset.weigh}?${new URLSearchParams({ weights })}`,
      );
      const picked = recommendation.keep_original ? null : recommendation.trial_id;
      line.textContent = [
        picked === null
          ? "These weights keep the original."
          : `These weights pick ${name(picked)}.`,
        ...recommendation.reasons.slice(-1),
        ...left_out,
      ].join(" ");
      document.dispatchEvent(new CustomEvent("picked", { detail: picked }));
    } catch (error) {
      line.textContent = error.message;
    }
  }, 150);
  form.addEventListener("input", ({ target }) => {
    target.parentElement.querySelector("output").textContent = target.value;
    weigh();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  const shared = new URLSearchParams(location.search).get("weights");
  if (shared === null) return;
  for (const part of shared.split(",")) {
    const [key, value] = part.split("=");
    const input = form.elements.namedItem(key ?? "");
    if (!(input instanceof HTMLInputElement)) continue;
    input.value = value ?? "";
    input.parentElement.querySelector("output").textContent = input.value;
  }
  weigh();
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
for (const list of document.querySelectorAll("[data-events]")) followEvents(list);
for (const form of document.querySelectorAll("[data-note]")) keepNotes(form);
for (const form of document.querySelectorAll("[data-weigh]")) moveWeights(form);
for (const details of document.querySelectorAll("[data-figure]")) showFigure(details);
for (const place of document.querySelectorAll("[data-front]")) drawFront(place);
for (const part of document.querySelectorAll("[data-again]")) {
  setInterval(() => void refresh(), Number(part.dataset.again));
}
