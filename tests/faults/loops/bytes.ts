/** Every byte of what is kept: cut, flipped, shifted, zeroed, doubled, swapped. */
import { artifactTargets } from "../bytes/artifact_targets.ts";
import { attemptTargets, type Started } from "../bytes/attempt_targets.ts";
import { documentTargets } from "../bytes/document_targets.ts";
import { journalTarget } from "../bytes/journal_target.ts";
import { queueTarget } from "../bytes/queue_target.ts";
import { takenUpTarget } from "../bytes/taken_up_target.ts";
import { walkBytes } from "../bytes/walk_bytes.ts";
import type { Loop } from "../loop.ts";

export const bytes: Loop = {
  name: "bytes",
  about: "each byte of journals, queue, artifacts, samples, leases and documents damaged",
  reaches: [
    "a torn tail is kept beside its journal",
    "a damaged queue is refused and left alone",
    "a lease of a number that lives again is stale",
    "a damaged key or manifest means making it again",
    "a damaged document is refused in a sentence",
    "answers whose file is damaged are asked again",
  ],
  async open(seed, folder) {
    const started: Started = [];
    const targets = [
      await journalTarget(folder),
      await queueTarget(folder),
      ...attemptTargets(folder, started),
      ...await artifactTargets(folder),
      ...documentTargets(folder),
      await takenUpTarget(folder),
    ];
    return walkBytes(targets, seed, async () => {
      for (const child of started) child.kill("SIGKILL");
      await Promise.all(started.map(({ status }) => status));
    });
  },
};
