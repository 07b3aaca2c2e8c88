/** A front that is asked for by its axes and brushed, as the board has it. */
import { now, said, show, showSelected } from "./points.js";

/** Drags a rectangle over a figure; what lies in it is listed. */
function bindBrush(figure) {
  const box = document.createElement("div");
  box.className = "pare-brush";
  figure.append(box);
  let start = null;
  const drawn = ({ clientX, clientY }) => ({
    ...{ left: Math.min(start[0], clientX), right: Math.max(start[0], clientX) },
    ...{ top: Math.min(start[1], clientY), bottom: Math.max(start[1], clientY) },
  });
  figure.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.target.closest("svg") === null) return;
    if (event.target.closest("a") !== null) return;
    start = [event.clientX, event.clientY];
    figure.setPointerCapture(event.pointerId);
  });
  figure.addEventListener("pointermove", (event) => {
    if (start === null) return;
    const [own, { left, right, top, bottom }] = [figure.getBoundingClientRect(), drawn(event)];
    Object.assign(box.style, {
      ...{ display: "block", left: `${left - own.left}px`, top: `${top - own.top}px` },
      ...{ width: `${right - left}px`, height: `${bottom - top}px` },
    });
  });
  figure.addEventListener("pointerup", (event) => {
    if (start === null) return;
    const { left, right, top, bottom } = drawn(event);
    start = null;
    box.style.display = "none";
    if (right - left < 4 && bottom - top < 4) return showSelected();
    const within = (mark) => {
      const at = mark.getBoundingClientRect();
      const [x, y] = [(at.left + at.right) / 2, (at.top + at.bottom) / 2];
      return x >= left && x <= right && y >= top && y <= bottom;
    };
    show([...now.points].filter(([, marks]) => marks.some(within)).map(([id]) => id));
  });
}

/** The axes that are chosen, as the page's address has them. */
const axesOf = () => new URLSearchParams(location.hash.slice(1));

/** Asks for a figure by its axes and puts it in its place. */
async function drawFigure(figure, bring) {
  const place = figure.querySelector("[data-pare-drawn]");
  const asked = new URL(figure.dataset.pareSource, location.href);
  for (const field of figure.querySelectorAll("select, input")) {
    const given = axesOf().get(field.name);
    if (field.type === "checkbox") {
      if (given !== null) field.checked = given === "true";
      asked.searchParams.set(field.name, String(field.checked));
    } else {
      if ([...field.options].some(({ value }) => value === given)) field.value = given;
      if (field.value !== "") asked.searchParams.set(field.name, field.value);
    }
  }
  const width = Math.max(390, Math.min(1130, place.clientWidth));
  asked.searchParams.set("width", String(Math.round(width)));
  figure.dataset.pareAsked = asked.href;
  const answer = await fetch(asked);
  const drawn = answer.ok ? await answer.text() : "";
  if (figure.dataset.pareAsked !== asked.href) return; // other axes were chosen meanwhile
  if (!answer.ok) {
    const { error } = await answer.json().catch(() => ({}));
    return place.replaceChildren(said("p", error ?? `The board answered ${answer.status}`));
  }
  place.innerHTML = drawn;
  bring();
  performance.mark("front drawn"); // what a reader waits for: tests/benchmarks/pages
}

/** Draws what is not drawn yet; `bring` binds what was drawn. */
export function bindFigures(bring) {
  for (const figure of document.querySelectorAll("[data-pare-source]:not([data-bound])")) {
    figure.setAttribute("data-bound", "");
    figure.addEventListener("change", ({ target }) => {
      const axes = axesOf();
      axes.set(target.name, target.type === "checkbox" ? String(target.checked) : target.value);
      location.hash = axes; // which draws it
    });
    const draw = () => void drawFigure(figure, bring);
    addEventListener("hashchange", draw);
    document.addEventListener("refreshed", draw);
    bindBrush(figure);
    draw();
  }
}
