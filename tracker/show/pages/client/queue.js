/** The queue's page: buttons that change a job, and lines that are dragged to another place. */

async function change(button, method, body) {
  const line = button.closest("li");
  try {
    const response = await fetch(button.dataset.job ?? button.dataset.hold, {
      method,
      ...(method === "DELETE" ? {} : {
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    });
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) throw new Error(answer.error ?? `The board answered ${response.status}`);
    location.reload();
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
  if (button.dataset.job !== undefined) {
    return void change(button, button.dataset.method, JSON.parse(button.dataset.change));
  }
  const hold = prompt("Why does it wait?");
  if (hold) void change(button, "POST", { hold });
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
  const handle = dragged.querySelector("button");
  handle.dataset.job = dragged.dataset.drag;
  void change(handle, "POST", { priority: other.dataset.priority, before: other.dataset.id });
});
