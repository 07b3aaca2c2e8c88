/** The front as a picture that can be pointed at, walked through by keyboard, and brushed. */

const SVG = "http://www.w3.org/2000/svg";
/** As wide as its place, so that its words are as large as all others. */
let WIDTH = 760;
const HEIGHT = 380;
const MARGIN = { left: 62, right: 24, top: 16, bottom: 44 };
/** More points than these are no stops of the tab key: the table below has them all. */
const MOST_STOPS = 60;
const MOST_LABELS = 25;

const COSTS = {
  latency_ratio: "latency, times the baseline's",
  size_bytes: "size, MB",
  memory_bytes: "peak memory, MB",
};
const QUALITIES = { accuracy: "accuracy", perplexity: "perplexity" };

const scaled = (metric, value) => metric.endsWith("_bytes") ? value / 1e6 : value;
const shown = (value) => Math.abs(value) >= 1000 ? value.toFixed(0) : String(+value.toPrecision(3));
const shortName = (id) => id.slice(id.lastIndexOf("/") + 1);

function element(name, attributes = {}, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text !== "") made.textContent = text;
  return made;
}

function range(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low || Math.abs(high) || 1) * 0.08;
  return [low - room, high + room];
}

/** Round numbers between two ends. */
function ticks([low, high], count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const found = [];
  for (let at = Math.ceil(low / step); at * step <= high; at++) found.push(at * step);
  return found;
}

/** Trials that have both figures, as points; `ends`: the 95 % interval of the cost, where it has one. */
function pointsOf(rows, cost, quality) {
  return rows.flatMap((row) => {
    const [x, y] = [row[cost], row[quality]];
    if (!Number.isFinite(x) || !Number.isFinite(y)) return [];
    const ends = [row[`${cost}_low`], row[`${cost}_high`]];
    const known = ends.every(Number.isFinite) ? { ends } : {};
    return [{ row, x: scaled(cost, x), y: scaled(quality, y), ...known }];
  });
}

/** Sidewards bars of the costs that have an interval, within the picture. */
function bars(points, x, y) {
  const within = (at) => Math.max(MARGIN.left, Math.min(WIDTH - MARGIN.right, at));
  return points.filter(({ ends }) => ends !== undefined).map((point) => {
    const [x1, x2] = point.ends.map((end) => within(x.place(end)));
    const at = y.place(point.y);
    return element("line", { class: "bar", x1, x2, y1: at, y2: at });
  });
}

/** The least accuracy that the study allows: the baseline's less the drop; null: it is not known. */
function leastAllowed(points, quality, drop) {
  const base = points.find(({ row }) => row.is_baseline);
  return quality !== "accuracy" || base === undefined || !Number.isFinite(drop)
    ? null
    : base.y - drop;
}

function limitLine(least, drop, y) {
  const at = y.place(least);
  return [
    element("line", { class: "limit", x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: at, y2: at }),
    element(
      "text",
      { x: WIDTH - MARGIN.right, y: at - 4, "text-anchor": "end", class: "limit-name" },
      `allowed drop ${shown(drop)}`,
    ),
  ];
}

function axes(svg, x, y, cost, quality) {
  for (const tick of ticks(x.ends, 6)) {
    const at = x.place(tick);
    svg.append(
      element("line", {
        class: "axis",
        x1: at,
        x2: at,
        y1: MARGIN.top,
        y2: HEIGHT - MARGIN.bottom,
      }),
      element(
        "text",
        { x: at, y: HEIGHT - MARGIN.bottom + 16, "text-anchor": "middle" },
        shown(tick),
      ),
    );
  }
  for (const tick of ticks(y.ends, 5)) {
    const at = y.place(tick);
    svg.append(
      element("line", { class: "axis", x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: at, y2: at }),
      element("text", { x: MARGIN.left - 6, y: at + 4, "text-anchor": "end" }, shown(tick)),
    );
  }
  svg.append(
    element("text", { x: WIDTH - MARGIN.right, y: HEIGHT - 8, "text-anchor": "end" }, COSTS[cost]),
    element("text", { x: 4, y: 12 }, QUALITIES[quality]),
  );
}

function labelOf({ row, x, y, ends }, cost, quality) {
  const range = ends === undefined ? "" : ` (95 % interval ${ends.map(shown).join(" to ")})`;
  const words = [
    shortName(row.trial_id),
    row.methods ?? "",
    `${quality} ${shown(y)}`,
    `${COSTS[cost]} ${shown(x)}${range}`,
    row.front_probability === null || row.front_probability === undefined
      ? ""
      : `on the front with probability ${shown(row.front_probability)}`,
    row.violated ? "breaks a limit" : row.rank === 0 ? "on the front" : "dominated",
  ];
  return words.filter((word) => word !== "").join(", ");
}

function dotOf(point, { x, y, cost, quality, picked, stops, labelled }) {
  const { row } = point;
  const kinds = [
    "dot",
    row.rank === 0 ? "member" : "",
    row.is_baseline ? "baseline" : "",
    row.recommended ? "recommended" : "",
    row.violated ? "violated" : "",
    row.trial_id === picked ? "picked" : "",
  ];
  const place = { cx: x.place(point.x), cy: y.place(point.y), r: row.rank === 0 ? 6 : 4.5 };
  const dot = element("circle", { ...place, class: kinds.filter((one) => one !== "").join(" ") });
  dot.append(element("title", {}, labelOf(point, cost, quality)));
  const end = row.trial_id.lastIndexOf("/");
  const parts = [row.trial_id.slice(0, end), row.trial_id.slice(end + 1)].map(encodeURIComponent);
  const link = element("a", {
    href: `/studies/${parts[0]}/trials/${parts[1]}`,
    "aria-label": labelOf(point, cost, quality),
    ...(stops ? {} : { tabindex: "-1" }),
  });
  link.append(dot);
  if (labelled) {
    const beside = { x: place.cx + 9, y: place.cy + 4, class: "name" };
    link.append(element("text", beside, shortName(row.trial_id)));
  }
  return link;
}

/** The staircase of the members, in the two dimensions that are drawn. */
function stairs(points, x, y, quality) {
  const better = quality === "perplexity" ? (a, b) => a < b : (a, b) => a > b;
  const steps = [];
  for (
    const point of points.filter(({ row }) => row.rank === 0 && !row.violated).sort((a, b) =>
      a.x - b.x
    )
  ) {
    if (steps.length === 0 || better(point.y, steps.at(-1).y)) steps.push(point);
  }
  const path = steps.map((one, at) =>
    at === 0 ? `M${x.place(one.x)},${y.place(one.y)}` : `H${x.place(one.x)}V${y.place(one.y)}`
  ).join("");
  return element("path", { class: "stairs", d: path });
}

function axis(values, from, to) {
  const ends = range(values);
  const place = (value) => from + (value - ends[0]) / (ends[1] - ends[0]) * (to - from);
  return { ends, place };
}

/** Drags a rectangle; tells which points lie in it. */
function brush(svg, points, x, y, tell) {
  const at = ({ clientX, clientY }) => {
    const box = svg.getBoundingClientRect();
    return [(clientX - box.left) * WIDTH / box.width, (clientY - box.top) * HEIGHT / box.height];
  };
  let start = null;
  const mark = element("rect", { class: "brush", visibility: "hidden" });
  svg.append(mark);
  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.target.closest("a") !== null) return;
    start = at(event);
    svg.setPointerCapture(event.pointerId);
  });
  const box = (event) => {
    const [a, b] = [start, at(event)];
    const [left, top] = [Math.min(a[0], b[0]), Math.min(a[1], b[1])];
    return { left, top, width: Math.abs(a[0] - b[0]), height: Math.abs(a[1] - b[1]) };
  };
  svg.addEventListener("pointermove", (event) => {
    if (start === null) return;
    const { left, top, width, height } = box(event);
    for (const [key, value] of Object.entries({ x: left, y: top, width, height })) {
      mark.setAttribute(key, value);
    }
    mark.setAttribute("visibility", "visible");
  });
  svg.addEventListener("pointerup", (event) => {
    if (start === null) return;
    const { left, top, width, height } = box(event);
    start = null;
    if (width < 4 && height < 4) mark.setAttribute("visibility", "hidden");
    tell(
      width < 4 && height < 4 ? [] : points.filter((one) => {
        const [px, py] = [x.place(one.x), y.place(one.y)];
        return px >= left && px <= left + width && py >= top && py <= top + height;
      }),
    );
  });
}

function choice(name, heading, options, value, change) {
  const label = document.createElement("label");
  const select = document.createElement("select");
  select.name = name;
  for (const [key, words] of options) select.append(new Option(words, key, false, key === value));
  select.addEventListener("change", () => change(select.value));
  label.append(`${heading} `, select);
  return label;
}

/** What is left out of the picture, as the page was told; nothing where it has all. */
function leftOut(rows, eligible) {
  if (!(eligible > rows.length)) return [];
  const told = document.createElement("p");
  told.textContent = `${rows.length.toLocaleString("en")} of ${eligible.toLocaleString("en")} ` +
    "trials are drawn here: every one on the front, and of the others a share, evenly.";
  return [told];
}

function selection(chosen, cost, quality) {
  const part = document.createElement("div");
  part.setAttribute("role", "status");
  part.setAttribute("aria-live", "polite");
  if (chosen.length === 0) {
    const bars = cost === "latency_ratio"
      ? " Bars are 95 % intervals of the latency; the figure above has those of quality."
      : "";
    part.textContent = `Drag over points to list them; each point is a link to its trial.${bars}`;
    return part;
  }
  const list = document.createElement("ul");
  for (const point of chosen.slice(0, 50)) {
    const item = document.createElement("li");
    item.textContent = labelOf(point, cost, quality);
    list.append(item);
  }
  part.append(`${chosen.length} selected`, list);
  return part;
}

/** What the address says of the picture, so that a link shows the same. */
function fromAddress(costs, qualities, objectives) {
  const given = new URLSearchParams(location.hash.slice(1));
  // Without a choice what the front is of.
  const among = (name, known) =>
    known.includes(given.get(name))
      ? given.get(name)
      : known.find((one) => objectives.includes(one)) ?? known[0];
  return { cost: among("cost", costs), quality: among("quality", qualities) };
}

/** Draws the study's front in the place of the picture that the page came with. */
export function drawFront(place) {
  let rows, eligible;
  const objectives = (place.dataset.of ?? "").replace("latency_ms", "latency_ratio").split(" ");
  const load = () => {
    rows = JSON.parse(document.getElementById("front-rows").textContent);
    eligible = JSON.parse(document.getElementById("front-eligible").textContent);
  };
  load();
  const has = (name) => rows.some((row) => Number.isFinite(row[name]));
  let picked = null;
  let chosen = [];
  const draw = () => {
    WIDTH = Math.max(330, Math.min(900, place.clientWidth || 760));
    const [costs, qualities] = [Object.keys(COSTS).filter(has), Object.keys(QUALITIES).filter(has)];
    if (costs.length === 0 || qualities.length === 0) {
      place.textContent = "No trial has both a quality and a cost yet.";
      return;
    }
    const { cost, quality } = fromAddress(costs, qualities, objectives);
    const points = pointsOf(rows, cost, quality);
    const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group" });
    svg.setAttribute("aria-label", `Front: ${QUALITIES[quality]} against ${COSTS[cost]}`);
    const x = axis(
      points.flatMap((one) => [one.x, ...one.ends ?? []]),
      MARGIN.left,
      WIDTH - MARGIN.right,
    );
    const up = [HEIGHT - MARGIN.bottom, MARGIN.top];
    const [from, to] = quality === "perplexity" ? up.reverse() : up;
    const drop = Number.parseFloat(place.dataset.drop ?? "");
    const least = leastAllowed(points, quality, drop);
    const heights = points.map((one) => one.y);
    const y = axis(least === null ? heights : [...heights, least], from, to);
    axes(svg, x, y, cost, quality);
    if (least !== null) svg.append(...limitLine(least, drop, y));
    svg.append(...bars(points, x, y), stairs(points, x, y, quality));
    const stops = points.length <= MOST_STOPS;
    const labelled = points.length <= MOST_LABELS;
    const how = { x, y, cost, quality, picked, stops, labelled };
    const drawn = [...points].sort((a, b) => b.row.rank - a.row.rank);
    svg.append(...drawn.map((point) => dotOf(point, how)));
    brush(svg, points, x, y, (found) => {
      chosen = found;
      place.querySelector("[role=status]").replaceWith(selection(chosen, cost, quality));
    });
    const change = (name) => (value) => {
      location.hash = new URLSearchParams({ cost, quality, [name]: value });
      chosen = [];
      draw();
    };
    const line = document.createElement("div");
    line.className = "line";
    const named = (names, words) => names.map((name) => [name, words[name]]);
    line.append(
      choice("quality", "Quality", named(qualities, QUALITIES), quality, change("quality")),
      choice("cost", "Cost", named(costs, COSTS), cost, change("cost")),
    );
    place.replaceChildren(line, svg, ...leftOut(rows, eligible), selection(chosen, cost, quality));
  };
  draw();
  performance.mark("front drawn"); // what a reader waits for: tests/benchmarks/pages
  addEventListener("hashchange", draw);
  document.addEventListener("picked", ({ detail }) => {
    picked = detail;
    draw();
  });
  document.addEventListener("refreshed", () => {
    load();
    draw();
  });
}
