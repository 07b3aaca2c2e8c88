/** Llama 4 over a text that is longer than its chunks, which llama.cpp has of one length alone. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import {
  ensureEnvironment,
  overrideVariable,
} from "../../python-backends/environments/environments.ts";
import { PYTHON_ROOT } from "../../python-backends/home.ts";

const FOLDER = fileURLToPath(new URL("../python-backends/", import.meta.url));

Deno.test("llama.cpp cuts Llama 4's attention into chunks and warms its queries as the model does", async () => {
  const [own, llama] = [await ensureEnvironment("default"), await ensureEnvironment("llama_cpp")];
  const { stdout } = await execa(own.python, ["print_long_text.py"], {
    cwd: FOLDER,
    env: {
      HF_HUB_OFFLINE: "1",
      PYTHONPATH: [PYTHON_ROOT, FOLDER].join(":"),
      [overrideVariable("llama_cpp")]: llama.python,
    },
  });
  const line = stdout.split("\n").findLast((one) => one.startsWith("{")); // libraries print too
  const { before, difference, other_chunks, no_temperature } = JSON.parse(line ?? "");
  assert.ok(before <= 1e-3, `logits of the first chunk are ${before} apart`);
  assert.ok(difference <= 1e-3, `logits behind the first chunk are ${difference} apart`);
  assert.ok(other_chunks > 1, "another chunk would be seen");
  assert.ok(no_temperature > 5e-3, "a temperature that stays would be seen");
});
