import assert from "node:assert/strict";
import {
  bytes,
  duration,
  number,
  percent,
  withError,
} from "../../../tracker/show/view/number_text.ts";

Deno.test("bytes() tells small sizes too", () => {
  const sizes = [0, 999, 1000, 52_340, 99_940, 100_000, 270_880_000, 9.9e9, 1.25e10, null];
  assert.deepEqual(sizes.map(bytes), [
    "0 bytes",
    "999 bytes",
    "1.0 kB",
    "52.3 kB",
    "99.9 kB",
    "0.1 MB",
    "270.9 MB",
    "9900.0 MB",
    "12.5 GB",
    "–",
  ]);
});

Deno.test("large sizes are in decimal megabytes and gigabytes", () => {
  assert.equal(bytes(1_048_576), "1.0 MB");
  assert.equal(bytes(2_000_000_000), "2000.0 MB");
  assert.equal(bytes(16_060_000_000), "16.1 GB");
});

Deno.test("durations are shown in minutes and hours", () => {
  assert.equal(duration(9.94), "9.9 s");
  assert.equal(duration(425), "7 min 05 s");
  assert.equal(duration(7_800), "2 h 10 min");
});

Deno.test("a figure is shown with its standard error, a number with three digits, a share in percent", () => {
  const figure = { value: 0.6125, standard_error: 0.0207 } as Parameters<typeof withError>[0];
  assert.equal(withError(figure), "0.613 ± 0.021");
  assert.equal(number(0.000123456), "0.000123");
  assert.equal(number(12345.6), "12346");
  assert.equal(number(NaN), "NaN");
  assert.equal(percent(0.125, 1), "12.5 %");
});
