/** The queue's page: buttons that change a job, and lines that are dragged to another place. */

/** Asks for a change of a line's job; the page is then brought up to date where it stands. */
async function change(line, address, method, body) {
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
    document.activeElement?.blur(); // what is in use is not replaced
    document.dispatchEvent(new Event("changed"));
  } catch (error) {
    const said = line.querySelector(".refusal") ?? document.createElement("p");
    said.className = "refusal";
    said.setAttribute("role", "alert");
    said.textContent = error.message;
    line.append(said);
  }
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest("button[data-job], button[data-hold]");
  if (button === null) return;
  const { job, method, change: asked, hold: address } = button.dataset;
  const line = button.closest("li");
  if (job !== undefined) return void change(line, job, method, JSON.parse(asked));
  const hold = prompt("Why does it wait?");
  if (hold) void change(line, address, "POST", { hold });
});

let dragged = null;

document.addEventListener("dragstart", ({ target, dataTransfer }) => {
  dragged = target.closest?.("li[data-drag]") ?? null;
  dataTransfer.effectAllowed = "move";
});

document.addEventListener("dragover", (event) => {
  if (dragged !== null && event.target.closest?.("li[data-drag]")) event.preventDefault();
});

document.addEventListener("drop", (event) => {
  const other = event.target.closest?.("li[data-drag]");
  if (!other || dragged === null || other === dragged) return;
  event.preventDefault();
  const { priority, id } = other.dataset;
  void change(dragged, dragged.dataset.drag, "POST", { priority, before: id });
});
