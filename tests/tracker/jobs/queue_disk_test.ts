import assert from "node:assert/strict";
import { join } from "node:path";
import { openQueue, PRIORITIES, type Submission, submitJob } from "../../../core/mod.ts";
import { QueueDisk } from "../../../tracker/store/queue/queue_disk.ts";
import { jobDocument, queuePaths } from "../../../tracker/store/queue/queue_paths.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

const AT = "2026-01-01T00:00:00.000Z";

/** A submission of which only the name matters. */
function asked(submission_id: string): Submission {
  return {
    ...{ submission_id, title: submission_id, priority: "P1", work: {}, work_kind: "search" },
    ...{ size: "", study: null, engine: null, after: [], success: [], may_be_saved: true },
    ...{ slots: { cpu: 1, gpu: 0, memory_gb: null }, estimate_seconds: null },
    ...{ estimate_source: null, anyway: false },
  };
}

async function submit(disk: QueueDisk, name: string): Promise<string> {
  const queue = await disk.transact((queue) => [
    ...openQueue(queue, "00c0ffee", AT),
    ...submitJob(queue, asked(name), AT),
  ]);
  return queue.submissions.get(name)!;
}

Deno.test("a queue is read as it was left, and the same submission adds nothing", () =>
  inDirectory(async (root) => {
    const path = join(root, "queue", "journal.jsonl");
    const disk = new QueueDisk(path);
    assert.equal(disk.current().jobs.size, 0);
    assert.equal(await submit(disk, "a"), "EXP-001");
    assert.equal(await submit(new QueueDisk(path), "b"), "EXP-002");
    assert.equal(await submit(disk, "a"), "EXP-001");
    const read = new QueueDisk(path).current();
    assert.deepEqual([...read.jobs.keys()], ["EXP-001", "EXP-002"]);
    assert.equal(read.queue_id, "00c0ffee");
    assert.deepEqual(disk.current().lines.P1.map(({ job_id }) => job_id), ["EXP-001", "EXP-002"]);
    assert.deepEqual(Object.keys(read.lines), [...PRIORITIES]);
  }));

Deno.test("half a line of a write that a kill cut off is dropped; what was acknowledged stays", () =>
  inDirectory(async (root) => {
    const path = join(root, "journal.jsonl");
    await submit(new QueueDisk(path), "a");
    const whole = await Deno.readFile(path);
    await submit(new QueueDisk(path), "b");
    const both = await Deno.readFile(path);
    for (const cut of [whole.length + 1, both.length - 1]) {
      await Deno.writeFile(path, both.subarray(0, cut));
      const disk = new QueueDisk(path);
      assert.deepEqual([...disk.current().jobs.keys()], ["EXP-001"]);
      assert.equal(await submit(disk, "c"), "EXP-002");
      assert.equal(new QueueDisk(path).current().jobs.get("EXP-002")!.asked.title, "c");
    }
  }));

Deno.test("a damaged line, and one of a newer pare, are told and nothing is written behind them", () =>
  inDirectory(async (root) => {
    const path = join(root, "journal.jsonl");
    await submit(new QueueDisk(path), "a");
    const text = await Deno.readTextFile(path);
    const cases: [string, RegExp][] = [
      [
        text.replace('"title":"a"', '"title":"b"'),
        /Cannot read line 2 of .*checksum does not match/,
      ],
      [text.replace("\n2 ", "\n9 "), /Cannot read line 2 .* version 9, which a newer pare wrote/],
      [`what\n${text}`, /Cannot read line 1 of .*does not begin with a version/],
    ];
    for (const [damaged, sentence] of cases) {
      await Deno.writeTextFile(path, damaged);
      assert.throws(() => new QueueDisk(path).current(), sentence);
      await assert.rejects(submit(new QueueDisk(path), "b"), sentence);
      assert.equal(await Deno.readTextFile(path), damaged);
    }
    await Deno.writeTextFile(path, text.replace(/^2 /gm, "1 ")); // as the first version wrote it
    assert.equal(new QueueDisk(path).current().jobs.size, 1);
    await Deno.writeTextFile(path, text); // a copy that is put back
    assert.equal(new QueueDisk(path).current().jobs.size, 1);
  }));

Deno.test("another file in a journal's place is read from its beginning", () =>
  inDirectory(async (root) => {
    const [path, other] = [join(root, "journal.jsonl"), join(root, "other.jsonl")];
    const disk = new QueueDisk(path);
    await submit(disk, "a");
    await submit(new QueueDisk(other), "x");
    await submit(new QueueDisk(other), "y");
    await Deno.rename(other, path);
    assert.deepEqual([...disk.current().jobs.values()].map(({ asked }) => asked.title), ["x", "y"]);
    assert.equal(await submit(disk, "z"), "EXP-003");
  }));

Deno.test("several processes that submit at once get numbers of their own, and lose nothing", () =>
  inDirectory(async (root) => {
    const path = join(root, "queue", "journal.jsonl");
    const script = `
      import { QueueDisk } from ${
      JSON.stringify(import.meta.resolve("../../../tracker/store/queue/queue_disk.ts"))
    };
      import { openQueue, submitJob } from ${
      JSON.stringify(import.meta.resolve("../../../core/mod.ts"))
    };
      const asked = ${JSON.stringify(asked(""))};
      const disk = new QueueDisk(${JSON.stringify(path)});
      for (let n = 0; n < 25; n++) {
        const name = Deno.pid + "-" + n;
        await disk.transact((queue) => [
          ...openQueue(queue, "00c0ffee", "${AT}"),
          ...submitJob(queue, { ...asked, submission_id: name, title: name }, "${AT}"),
        ]);
      }`;
    const file = join(root, "submit.ts");
    await Deno.writeTextFile(file, script);
    const config = new URL("../../../deno.json", import.meta.url).pathname;
    const all = Array.from({ length: 3 }, () =>
      new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", "--quiet", "--config", config, file],
        stderr: "inherit",
      }).output());
    assert.ok((await Promise.all(all)).every(({ success }) => success));
    const { jobs } = new QueueDisk(path).current();
    assert.equal(jobs.size, 75);
    assert.equal(new Set([...jobs.values()].map(({ asked }) => asked.title)).size, 75);
  }));

Deno.test("a submission's document lies in the queue's folder, or its name is refused", () => {
  const paths = queuePaths("/store");
  assert.equal(jobDocument(paths, "night 1"), "/store/queue/documents/night 1.json");
  for (const id of ["../../x", "/etc/x", "a\\b", "a\u0000", "", "x".repeat(101)]) {
    assert.throws(() => jobDocument(paths, id), {
      name: "UsageError",
      message: /as a submission_id/,
    });
  }
});
