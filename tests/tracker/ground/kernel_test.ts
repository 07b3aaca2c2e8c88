import assert from "node:assert/strict";
import { DISPLAY, shown } from "../../../tracker/ground/terminal/kernel.ts";

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

Deno.test("an interrupted cell aborts its study and leaves the kernel alive", async () => {
  const path = import.meta.resolve("../../../tracker/ground/terminal/interrupt.ts");
  const script = `import { cellInterrupt } from "${path}";
    using interrupt = cellInterrupt(true);
    const alive = setInterval(() => {}, 1000);
    interrupt.signal.addEventListener("abort", () => {
      clearInterval(alive);
      console.log("aborted");
    });
    Deno.kill(Deno.pid, "SIGINT");
    await new Promise((done) => interrupt.signal.addEventListener("abort", done));
    console.log("goes on");`;
  assert.deepEqual(await output(script), [0, "aborted\ngoes on\n"]);
});

Deno.test("an interrupt after the study's cell, or twice, leaves the kernel alive too", async () => {
  const path = import.meta.resolve("../../../tracker/ground/terminal/interrupt.ts");
  const script = `import { cellInterrupt } from "${path}";
    const interrupt = cellInterrupt(true);
    const press = async () => {
      Deno.kill(Deno.pid, "SIGINT");
      await new Promise((done) => setTimeout(done, 100));
    };
    await press();
    await press();
    interrupt[Symbol.dispose]();
    const other = () => {}; // a library's own, added and taken away
    Deno.addSignalListener("SIGINT", other);
    Deno.removeSignalListener("SIGINT", other);
    await press();
    using again = cellInterrupt(true);
    console.log(interrupt.signal.aborted, again.signal.aborted);
    Deno.exit(0);`;
  assert.deepEqual(await output(script), [0, "true false\n"]);
});

async function output(script: string): Promise<[number, string]> {
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--allow-all",
      "--no-check",
      "data:application/typescript," + encodeURIComponent(script),
    ],
  }).output();
  return [code, new TextDecoder().decode(stdout)];
}
