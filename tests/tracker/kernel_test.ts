import assert from "node:assert/strict";
import { DISPLAY, shown } from "../../tracker/terminal/kernel.ts";

const MEDIA = { "text/plain": "a picture" };

Deno.test("shown() gives its media to whoever asks outside a kernel", async () => {
  assert.deepEqual(await shown(MEDIA)[DISPLAY]!(), MEDIA);
});

Deno.test("shown() sends a display in a kernel, and lets the cell end only some time later", async () => {
  const sent: unknown[] = [];
  const broadcast = (type: string, content: Record<string, unknown>) => {
    sent.push([type, content["data"]]);
    return Promise.resolve();
  };
  const started = performance.now();
  assert.deepEqual(await shown(MEDIA, broadcast, 60)[DISPLAY]!(), {});
  assert.deepEqual(sent, [["display_data", MEDIA]]);
  assert.ok(performance.now() - started >= 59);
});
