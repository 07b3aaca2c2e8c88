import assert from "node:assert/strict";
import { join } from "node:path";
import type { Attempt } from "../../../core/mod.ts";
import { readLog, readResult } from "../../../tracker/jobs/attempt/attempt_folder.ts";
import {
  findDevices,
  threadsOf,
  visibleCards,
} from "../../../tracker/jobs/engines/local/devices.ts";
import { LocalEngine } from "../../../tracker/jobs/engines/local/local_engine.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { until } from "../../python-backends/scripted_worker.ts";
import { ignoreUnless } from "../../run/counts.ts";

const { threads = [] } = await findDevices();

/** Says which threads it may use, and waits until two have. */
const PROGRAM =
  `const list = new TextDecoder().decode(new Deno.Command("taskset", { args: ["-cp", String(Deno.pid)] })
  .outputSync().stdout);
  console.log("may use " + list.split(":").at(-1).trim());
  await new Promise((resolve) => setTimeout(resolve, 1500));`;

Deno.test("a list of threads is read as the system writes it", () => {
  assert.deepEqual(threadsOf("0-2,5,7-8\n"), ["0", "1", "2", "5", "7", "8"]);
});

Deno.test("cards are those that CUDA would give, under their own names", () => {
  const lines = ["0, A100, GPU-1a2b", "1, H200, GPU-3c4d"];
  const found = (list?: string) =>
    visibleCards(lines, list).map(({ card, name }) => `${card} ${name}`);
  assert.deepEqual(found(), ["0 A100", "1 H200"]);
  assert.deepEqual(found("1"), ["1 H200"]);
  assert.deepEqual(found("GPU-3c, 0"), ["GPU-3c H200", "0 A100"]);
  assert.deepEqual(found("MIG-9f"), ["MIG-9f A100"]);
  for (const none of ["", "-1", "NoDevFiles", "-1,0", "7"]) assert.deepEqual(found(none), [], none);
  assert.deepEqual(found("0,-1,1"), ["0 A100"]);
  assert.deepEqual(visibleCards([], "0"), []);
});

Deno.test({
  name:
    "jobs that ask for a part of the CPU are kept to threads of their own, one that asks for all is not",
  ignore: ignoreUnless(threads.length >= 2, "a machine with one thread, or without taskset"),
  fn: () =>
    inDirectory(async (root) => {
      const slots = { cpu: threads.length, gpu: 0, memory_gb: null };
      using engine = new LocalEngine(join(root, "books"), {
        slots,
        cards: [],
        machine: "test",
        threads,
      });
      const submit = async (id: string, cpu: number) => {
        const folder = join(root, id);
        const argv = [Deno.execPath(), "eval", PROGRAM];
        const attempt: Attempt = {
          ...{ id, attempt: 1, argv, folder, env: {}, seconds: null },
          slots: { ...slots, cpu },
        };
        await engine.submit(attempt);
        return folder;
      };
      const said = async (folder: string) => {
        await until("it has ended", () => readResult(folder) !== null, 30_000);
        const [, list = ""] =
          /may use (.*)/.exec(new TextDecoder().decode(readLog(folder, 0).bytes)) ?? [];
        return threadsOf(list);
      };
      const folders = [
        await submit("one", 1),
        await submit("two", 1),
        await submit("all", threads.length),
      ];
      const [one, two, all] = [
        await said(folders[0]!),
        await said(folders[1]!),
        await said(folders[2]!),
      ];
      assert.deepEqual([one.length, two.length], [1, 1]);
      assert.notDeepEqual(one, two);
      assert.deepEqual(all, threads);
    }),
});
