/** Labels of a figure: none on another, on a point or over the edge while there is room. */
import assert from "node:assert/strict";
import { streamRandom } from "../../core/mod.ts";
import { type Box, labelBox, overlap, placeLabels } from "../../tracker/plots/place_labels.ts";

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
