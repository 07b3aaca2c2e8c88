import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { type Artifact, bytesText } from "../../../core/mod.ts";
import { makeRoom } from "../../artifacts/make_room.ts";
import { artifactClaims } from "../kept_artifacts.ts";
import type { PreparedStudy } from "./prepared_study.ts";
import type { Workshop } from "./workshop.ts";

/** An action of a trial at work. */
interface AtWork {
  readonly workshop: Workshop;
  readonly study: PreparedStudy;
  readonly trial_id: string;
  readonly parent: Artifact;
}

/** What a trial writes beside its artifact: samples, logs, a copy while it is written. */
const ROOM_BYTES = 100e6;

/** Why the disk cannot hold the compressed model, which is at most as large as its parent; null: it can. */
export async function diskShortage({ workshop, parent }: AtWork): Promise<string | null> {
  const { bavail, bsize } = await statfs(workshop.home.artifacts);
  const free = bavail * bsize;
  const needed = parent.size_bytes + ROOM_BYTES;
  return free >= needed
    ? null
    : `Cannot write the artifact as ${bytesText(parent.size_bytes)}, and ${
      bytesText(ROOM_BYTES)
    } for ` +
      `what is written beside it, may be needed in ${workshop.home.artifacts}: ${
        bytesText(free)
      } ` +
      "are free. Free some space, or set PARE_HOME to a larger disk";
}

/** What studies of this process work on, by store and study: not in a journal yet, or needed next. */
const working = new Map<string, ReadonlyMap<string, readonly string[]>>();

export function worksOn(
  { workshop, study, trial_id }: AtWork,
  ...artifacts: readonly Artifact[]
): void {
  const place = `${workshop.store.paths.root} ${study.study_id}`;
  const others = [...working.get(place) ?? []].filter(([trial]) => trial !== trial_id);
  const own = artifacts.map(({ artifact_id }) => artifact_id);
  // Of as many trials as may be at it: what the journal has by now it keeps itself.
  working.set(place, new Map([...others, [trial_id, own] as const].slice(-study.workers)));
}

/** Studies that were told that the limit cannot be kept: once is enough. */
const told = new Set<string>();

/** Keeps to the user's limit; what any store keeps stays, and what this process works on. */
export async function keepToLimit({ workshop, study, trial_id }: AtWork): Promise<void> {
  const { artifacts, caches, maxDiskBytes, store, home } = workshop;
  if (maxDiskBytes === null) return;
  const keep = [...working.values()].flatMap((trials) => [...trials.values()].flat());
  const also = [store.paths.root, join(home.root, "store")];
  const ask = () => artifactClaims(artifacts, also);
  const limits = { maxBytes: maxDiskBytes, keep, ask };
  const { artifacts: { over, total_bytes, unsure } } = await makeRoom(
    { artifacts, caches },
    limits,
  );
  if (!over || told.has(study.study_id)) return;
  told.add(study.study_id);
  const lost = unsure.map(({ store }) => `; all that the store ${store} used is kept, too`);
  await store.record({
    type: "alert",
    at: workshop.timestamp(),
    study_id: study.study_id,
    trial_id,
    condition: "max_disk",
    evidence:
      `artifacts take ${total_bytes} bytes of ${maxDiskBytes}: what is left stands on the ` +
      `front of a study, is in use, or is of no known store${lost.join("")}`,
    action: "pare gc says what may be done",
  });
}
