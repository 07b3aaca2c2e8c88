import assert from "node:assert/strict";
import { join } from "node:path";
import { execa } from "execa";
import { keepChanges, keptChanges } from "../../../tracker/jobs/queue/code_changes.ts";
import { submitStudy } from "../../../tracker/jobs/queue/submit.ts";
import { QueueDisk } from "../../../tracker/store/queue/queue_disk.ts";
import { attemptFolder, ownPaths, queuePaths } from "../../../tracker/store/queue/queue_paths.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

Deno.test("the difference of tracked files is kept, cut where it is long; a secret beside them is not", () =>
  inDirectory(async (root) => {
    const git = (...words: string[]) => execa("git", ["-C", root, ...words]);
    await git("init", "-q");
    await Deno.writeTextFile(join(root, "code.py"), "one\n");
    await git("add", "code.py");
    await git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one");
    await Deno.writeTextFile(join(root, "code.py"), "two\n");
    await Deno.writeTextFile(join(root, ".env"), "KEY=secret\n");
    const folder = join(root, "attempt");
    await Deno.mkdir(folder);
    const { changes } = ownPaths(folder);
    assert.equal(await keepChanges(folder, root), "kept in changes.diff");
    const diff = await Deno.readTextFile(changes);
    assert.match(diff, /^-one\n\+two$/m);
    assert.ok(!diff.includes("secret"));
    await git("checkout", "-q", "code.py");
    await git("apply", "--check", changes);
    await Deno.writeTextFile(join(root, "code.py"), "line\n".repeat(400_000));
    assert.equal(
      await keepChanges(folder, root),
      "kept in changes.diff, its first 1024 KiB alone",
    );
    assert.equal((await Deno.stat(changes)).size, 1 << 20);
    await Deno.remove(join(root, ".git"), { recursive: true });
    assert.equal(await keepChanges(folder, root), "git gives no difference to keep");
  }));

Deno.test("a queued study's difference is found by its id, of the newest attempt that has one", () =>
  inDirectory(async (root) => {
    const paths = queuePaths(root);
    const disk = new QueueDisk(paths.journal);
    const slots = { cpu: 1, gpu: 0, memory_gb: null };
    const document = { model_name: "tiny", dataset: "tiny", max_trials: 1 };
    const { job_id, study_id } = await submitStudy(disk, paths, document, { slots });
    assert.equal(keptChanges(root, study_id), null);
    const at = new Date().toISOString();
    for (const attempt of [1, 2, 3]) {
      const key = { at, job_id, attempt };
      const ended = { how: "saved" as const, code: 0, reason: "saved", seconds: 1 };
      await disk.transact(() => [
        {
          ...{ type: "attempt_planned", ...key, engine: "local", machine: "a", slots },
          ...{ passes: [], reason: "its turn" },
        },
        {
          ...{ type: "attempt_ended", ...key, ...ended, left_behind: false },
          ...{ next: "again", not_before: null },
        },
      ]);
      const { changes } = ownPaths(attemptFolder(paths, job_id, attempt));
      await Deno.mkdir(join(changes, ".."), { recursive: true });
      if (attempt < 3) await Deno.writeTextFile(changes, "");
    }
    assert.match(keptChanges(root, study_id)!, /EXP-001\/attempt-2\/changes\.diff$/);
    assert.equal(keptChanges(root, "another"), null);
  }));
