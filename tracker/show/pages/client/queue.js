/** The queue's page: buttons that change a job, and lines that are dragged to another place. */

/** Asks for a change of a job; the page is then brought up to date where it stands. */
async function change(address, method, body) {
  const list = document.querySelector("[data-live]");
  try {
    const response = await fetch(address, {
      method,
      ...(method === "DELETE" ? {} : {
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    });
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) throw new Error(answer.error ?? `The board answered ${response.status}`);
    said(list)?.remove();
    document.activeElement?.blur(); // what is in use is not replaced
    document.dispatchEvent(new Event("changed"));
  } catch (error) {
    // Before the list: what stands in it is replaced while somebody reads it.
    const line = said(list) ?? document.createElement("p");
    line.className = "refusal";
    line.setAttribute("role", "alert");
    line.textContent = error.message;
    list.before(line);
  }
}

/** What the last change was refused for; null: it was not. */
function said(list) {
  return list.parentElement.querySelector(":scope > .refusal");
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest("button[data-job], button[data-hold]");
  if (button === null) return;
  const { job, method, change: asked, hold: address } = button.dataset;
  if (job !== undefined) return void change(job, method, JSON.parse(asked));
  const hold = prompt("Why does it wait?");
  if (hold) void change(address, "POST", { hold });
});

let dragged = null;

/** The line under the pointer, and whether what is dragged would go behind it; null: nowhere. */
function placeOf({ target, clientY }) {
  const line = target.closest?.("li[data-drag]") ?? null;
  if (line === null || dragged === null || line === dragged) return null;
  const { top, height } = line.getBoundingClientRect();
  return { line, behind: clientY > top + height / 2 };
}

function mark(place) {
  for (const line of document.querySelectorAll("li[data-drop]")) delete line.dataset.drop;
  if (place !== null) place.line.dataset.drop = place.behind ? "behind" : "before";
}

document.addEventListener("dragstart", ({ target, dataTransfer }) => {
  dragged = target.closest?.("li[data-drag]") ?? null;
  if (dragged === null) return;
  dragged.dataset.dragged = ""; // its list is not replaced meanwhile
  dataTransfer.effectAllowed = "move";
  dataTransfer.setData("text/plain", dragged.dataset.id);
});

document.addEventListener("dragover", (event) => {
  const place = placeOf(event);
  mark(place);
  if (place !== null) event.preventDefault();
});

document.addEventListener("drop", (event) => {
  const place = placeOf(event);
  if (place === null) return;
  event.preventDefault();
  const { line, behind } = place;
  const next = behind ? line.nextElementSibling : line;
  const there = next === dragged || !behind && line === dragged.nextElementSibling;
  const to = { priority: line.dataset.priority, before: next?.dataset.id ?? null };
  if (!there) void change(dragged.dataset.drag, "POST", to);
});

document.addEventListener("dragend", () => {
  mark(null);
  if (dragged !== null) delete dragged.dataset.dragged;
  dragged = null;
});
