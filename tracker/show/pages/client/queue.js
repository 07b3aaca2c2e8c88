/** The queue's page: buttons that change a job, and lines that are dragged to another place. */

/** Asks for a change of a job; the page is then brought up to date where it stands. */
async function change(address, method, body, label = null) {
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
    pressed = label;
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

/** The label of a button that a key pressed: who changes a job by keys goes on from there. */
let pressed = null;

document.addEventListener("brought", () => {
  if (pressed === null) return;
  const [, job_id] = pressed.split(" ");
  const own = [...document.querySelectorAll(".acts button")]
    .filter(({ ariaLabel }) => ariaLabel.split(" ")[1] === job_id);
  (own.find(({ ariaLabel }) => ariaLabel === pressed) ?? own[0])?.focus();
  pressed = null;
});

document.addEventListener("click", ({ target, detail }) => {
  const button = target.closest("button[data-job], button[data-hold]");
  if (button === null) return;
  const { job, method, change: asked, hold: address } = button.dataset;
  const label = detail === 0 ? button.ariaLabel : null;
  if (job !== undefined) return void change(job, method, JSON.parse(asked), label);
  const hold = prompt("Why does it wait?");
  if (hold) void change(address, "POST", { hold }, label);
});

let dragged = null;
/** A finger drags it, by its grip. */
let finger = false;

function lift(line) {
  dragged = line;
  if (line !== null) line.dataset.dragged = ""; // its list is not replaced meanwhile
}

/** The line at a point, and whether what is dragged would go behind it; null: nowhere. */
function placeAt(target, y) {
  const line = target?.closest?.("li[data-drag]") ?? null;
  if (line === null || dragged === null || line === dragged) return null;
  const { top, height } = line.getBoundingClientRect();
  return { line, behind: y > top + height / 2 };
}

function mark(place) {
  for (const line of document.querySelectorAll("li[data-drop]")) delete line.dataset.drop;
  if (place !== null) place.line.dataset.drop = place.behind ? "behind" : "before";
}

function drop({ line, behind }) {
  const next = behind ? line.nextElementSibling : line;
  const there = next === dragged || !behind && line === dragged.nextElementSibling;
  const to = { priority: line.dataset.priority, before: next?.dataset.id ?? null };
  if (!there) void change(dragged.dataset.drag, "POST", to);
}

function letGo() {
  finger = false;
  mark(null);
  if (dragged !== null) delete dragged.dataset.dragged;
  dragged = null;
}

document.addEventListener("dragstart", ({ target, dataTransfer }) => {
  finger = false;
  lift(target.closest?.("li[data-drag]") ?? null);
  if (dragged === null) return;
  dataTransfer.effectAllowed = "move";
  dataTransfer.setData("text/plain", dragged.dataset.id);
});

document.addEventListener("dragover", (event) => {
  const place = placeAt(event.target, event.clientY);
  mark(place);
  if (place !== null) event.preventDefault();
});

document.addEventListener("drop", (event) => {
  const place = placeAt(event.target, event.clientY);
  if (place === null) return;
  event.preventDefault();
  drop(place);
});

document.addEventListener("dragend", letGo);

// A finger scrolls the page, and drags by a line's grip: not every browser makes a `dragstart` of it, and one
// that does has it end by `pointercancel`.

document.addEventListener("pointerdown", ({ target, pointerType }) => {
  const grip = pointerType === "mouse" ? null : target.closest?.(".grip") ?? null;
  finger = grip !== null;
  if (finger) lift(grip.closest("li"));
});

/** Where the finger is that drags. */
function under({ clientX, clientY }) {
  return placeAt(document.elementFromPoint(clientX, clientY), clientY);
}

document.addEventListener("pointermove", (event) => {
  if (finger) mark(under(event));
});

document.addEventListener("pointerup", (event) => {
  const place = finger ? under(event) : null;
  if (place !== null) drop(place);
  if (finger) letGo();
});

document.addEventListener("pointercancel", () => {
  if (finger) letGo();
});
