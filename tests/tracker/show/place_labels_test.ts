/** Labels of a figure: none on another, on a point or over the edge while there is room. */
import assert from "node:assert/strict";
import { streamRandom } from "../../../core/mod.ts";
import { pareto } from "../../../tracker/show/plots/figures/pareto.ts";
import {
  type Box,
  labelBox,
  overlap,
  placeLabels,
} from "../../../tracker/show/plots/place_labels.ts";

const FRAME: Box = { left: 60, top: 30, right: 470, bottom: 330 };

Deno.test("labels of points that crowd cover neither each other nor a point, and stay in the frame", () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const random = streamRandom(seed, "labels");
    // Eight within 40 pixels, two in the corners.
    const points = Array.from({ length: 8 }, (_, i) => ({
      x: 240 + 40 * random(),
      y: 160 + 40 * random(),
      text: `t0${i}`,
    })).concat([{ x: 468, y: 32, text: "baseline" }, { x: 62, y: 328, text: "t10" }]);
    const dots = points.map(({ x, y }) => ({
      left: x - 6,
      right: x + 6,
      top: y - 6,
      bottom: y + 6,
    }));
    const boxes = placeLabels(points, dots, FRAME).map((one, i) => labelBox(points[i]!, one));
    boxes.forEach((box, i) => {
      for (const other of [...boxes.slice(0, i), ...dots]) assert.equal(overlap(box, other), 0);
      const area = (box.right - box.left) * (box.bottom - box.top);
      assert.ok(Math.abs(overlap(box, FRAME) - area) < 1e-9, `${seed}: ${points[i]!.text}`);
    });
  }
});

Deno.test("where there is no room a label still has the place that covers least", () => {
  const all = { left: 0, top: 0, right: 600, bottom: 400 };
  const [offset] = placeLabels([{ x: 200, y: 100, text: "t01" }], [all], FRAME);
  assert.ok(Number.isFinite(offset!.dx) && Number.isFinite(offset!.dy));
  assert.deepEqual(placeLabels([], [], FRAME), []);
});

Deno.test("of two points that are near, the upper one's label stands above the lower one's", () => {
  const points = [{ x: 200, y: 206, text: "t02" }, { x: 200, y: 200, text: "t03" }];
  for (const order of [points, points.toReversed()]) {
    const boxes = placeLabels(order, [], FRAME).map((one, i) => labelBox(order[i]!, one));
    const top = (text: string) => boxes[order.findIndex((one) => one.text === text)]!.top;
    assert.ok(top("t03") < 200 && top("t02") > 200);
  }
});

Deno.test("a label lies across an interval's line rather than by another point", () => {
  // A demo's: the edge to the left of t01, the interval of t02 to its right, t03 below.
  const points = [
    ...[{ x: 79, y: 207, text: "t01" }, { x: 94, y: 163, text: "t02" }],
    { x: 118, y: 269, text: "t03" },
  ];
  const dots = points.map(({ x, y, text }) => {
    const by = text === "t02" ? 11 : 7; // it is recommended
    return { left: x - by, right: x + by, top: y - by, bottom: y + by };
  });
  const line = (x: number, top: number, bottom: number) => ({
    left: x - 1,
    right: x + 1,
    top,
    bottom,
  });
  const [first] = placeLabels(points, [...dots, line(79, 90, 322), line(94, 43, 283)], FRAME);
  const { dx, dy } = first!;
  assert.ok(Math.hypot(79 + dx - 118, 207 + dy - 269) > Math.hypot(dx, dy));
  assert.ok(Math.hypot(dx, dy) < 45, JSON.stringify(first));
});

Deno.test("a trial's label keeps off what is said of the allowed drop", () => {
  const row = (number: number, difference: number | null, latency_ratio: number) => ({
    ...{ trial_id: `study/t0${number}`, state: "completed", methods: "int8", on_front: true },
    ...{ accuracy: 0.6 + (difference ?? 0), accuracy_difference: difference, latency_ratio },
    ...{ accuracy_difference_low: difference, accuracy_difference_high: difference },
  });
  const svg = pareto([row(1, -0.022, 0.9), row(2, 0.02, 0.4), row(3, -0.08, 0.95)], {
    allowed_drop: 0.02,
  });
  /** Where the words stand: of a group, and in it. */
  const middle = (words: string) => {
    const found = new RegExp(
      `<g transform="translate\\(([-\\d.]+),([-\\d.]+)\\)"[^>]*>` +
        `<text transform="translate\\(([-\\d.]+),([-\\d.]+)\\)"[^>]*>${words}<`,
    ).exec(svg)!.slice(1).map(Number);
    return { x: found[0]! + found[2]!, y: found[1]! + found[3]! };
  };
  const said = middle("allowed drop 0.02"); // its right end
  const label = labelBox({ ...middle("t01"), text: "t01" }, { dx: 0, dy: 0 });
  const taken = { left: said.x - 100, right: said.x, top: said.y - 6, bottom: said.y + 6 };
  assert.equal(overlap(label, taken), 0, JSON.stringify({ label, taken }));
});
