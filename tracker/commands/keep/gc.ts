import { openArtifactStore } from "../../artifacts/artifact_store.ts";
import { collectShared, homeId } from "../../artifacts/remote/collect.ts";
import { openObjectStore } from "../../artifacts/remote/object_store.ts";
import type { GarbageReport } from "../../artifacts/garbage.ts";
import { openFolderCache } from "../../artifacts/folder_cache.ts";
import { makeRoom } from "../../artifacts/make_room.ts";
import { UsageError } from "../../../core/mod.ts";
import { findHome } from "../../ground/home.ts";
import { artifactClaims } from "../../lab/kept_artifacts.ts";
import { keptGiven } from "../../lab/kept_given.ts";
import { isEmptyShelf } from "../../store/shelf/shelf.ts";
import { storePaths } from "../../store/store_paths.ts";
import { bytes } from "../../show/view/number_text.ts";
import { parseBytes } from "../../ground/terminal/parse_values.ts";
import { jsonText } from "../../show/json/print_json.ts";

interface GcOptions {
  store?: string;
  maxDisk?: string;
  unclaimed?: boolean;
  dryRun?: boolean;
  json?: boolean;
  objects?: string;
}

/**
 * `pare gc`: removes artifacts that can be made again, never a front's or a report's of any store that
 * has used them; before them the forms that runtimes loaded.
 */
export async function gcCommand(options: GcOptions): Promise<void> {
  if (options.objects !== undefined) return await collectThere(options.objects, options);
  if (options.maxDisk === undefined) {
    throw new UsageError("Cannot tell how much may stay: give --max-disk, such as --max-disk 50GB");
  }
  const maxBytes = parseBytes(options.maxDisk, "--max-disk");
  const { unclaimed = false } = options;
  const home = findHome(Deno.env.toObject(), options.store);
  if (options.store !== undefined && isEmptyShelf(storePaths(home.store))) {
    throw new UsageError(`Cannot ask the store ${home.store} as nothing is recorded there`);
  }
  using artifacts = await openArtifactStore(home.artifacts);
  const caches = openFolderCache(home.cache);
  const also = [home.store, findHome(Deno.env.toObject()).store];
  const ask = () => artifactClaims(artifacts, also);
  const { dryRun = false } = options;
  const limits = { maxBytes, keep: [], ask, unclaimed, dryRun };
  const made = await makeRoom({ artifacts, caches }, limits);
  console.log(options.json ? jsonText("gc", told(made, dryRun)) : madeText(made, dryRun));
}

/** The same of an object store that several homes share: what another one uses stays. */
async function collectThere(
  address: string,
  { store, unclaimed = false, dryRun: dry_run = false, json }: GcOptions,
): Promise<void> {
  const env = Deno.env.toObject();
  const objects = openObjectStore(address, env);
  const home = findHome(env, store);
  using artifacts = await openArtifactStore(home.artifacts);
  const also = [home.store, findHome(env).store];
  const claims = await artifactClaims(artifacts, also);
  const stores = [...also, ...artifacts.claimants().map((one) => one.store)];
  const { removed, given, kept, left_bytes, parts } = await collectShared(objects, {
    ...{ home: homeId(artifacts.root), keep: claims.keep, unclaimed, dry_run },
    keepGiven: keptGiven([...new Set(stores)], claims),
  });
  const lines = [
    ...(kept.elsewhere === 0 ? [] : [`kept ${kept.elsewhere} that another home uses`]),
    ...(kept.unclaimed === 0
      ? []
      : [`kept ${kept.unclaimed} that no home says it uses: --unclaimed removes them`]),
  ];
  const gone = [
    ...removed.map(({ artifact_id: name, bytes }) => ({
      ...{ what: "artifact" as const, name, bytes },
    })),
    ...given.map(({ path: name, bytes }) => ({ what: "given" as const, name, bytes })),
  ];
  const freed_bytes = gone.reduce((sum, one) => sum + one.bytes, 0);
  const told = { dry_run, removed: gone, freed_bytes, artifact_bytes: left_bytes, form_bytes: 0 };
  if (json) return console.log(jsonText("gc", { ...told, kept: lines }));
  const verb = dry_run ? "would remove" : "removed";
  console.log([
    ...gone.map(({ name, bytes: size }) => `${verb} ${name} (${bytes(size)})`),
    ...lines,
    `${bytes(left_bytes)} of artifacts ${dry_run ? "would be" : "are"} left in ${address}; ` +
    `${parts} ${parts === 1 ? "part" : "parts"} that nothing has ${dry_run ? "would go" : "went"}`,
  ].join("\n"));
}

type Made = Awaited<ReturnType<typeof makeRoom>>;

/** Everything that goes, in the order in which it goes. */
function told({ artifacts, forms }: Made, dry_run: boolean) {
  const removed = [
    ...forms.removed.map(({ kind, key, bytes }) => ({
      ...{ what: "form" as const, name: `${kind} ${key}`, bytes },
    })),
    ...artifacts.removed_work.map(({ action_key, bytes }) => ({
      ...{ what: "unfinished work" as const, name: action_key.slice(0, 16), bytes },
    })),
    ...artifacts.removed.map(({ artifact_id, bytes }) => ({
      ...{ what: "artifact" as const, name: artifact_id, bytes },
    })),
  ];
  return {
    ...{ dry_run, removed, freed_bytes: removed.reduce((sum, one) => sum + one.bytes, 0) },
    ...{ artifact_bytes: artifacts.total_bytes, form_bytes: forms.total_bytes },
    kept: keptLines(artifacts),
  };
}

const WORDS = { form: "", "unfinished work": "what a killed action had left, ", artifact: "" };

function madeText(made: Made, dryRun: boolean): string {
  const { removed, artifact_bytes, form_bytes, freed_bytes, kept } = told(made, dryRun);
  const verb = dryRun ? "would remove" : "removed";
  return [
    ...removed.map(({ what, name, bytes: size }) =>
      `${verb} ${WORDS[what]}${name} (${bytes(size)})`
    ),
    ...kept,
    `${bytes(artifact_bytes)} of artifacts ${dryRun ? "would be" : "are"} left, ` +
    `${bytes(form_bytes)} of cached forms of runtimes` +
    (dryRun ? `; ${bytes(freed_bytes)} would be freed, and nothing was removed` : ""),
  ].join("\n");
}

/** What stays although it may be of no use to anybody, and what a user can do about it. */
function keptLines({ unsure, unclaimed, over }: GarbageReport): string[] {
  const lines = unsure.map(({ store, reason }) =>
    `kept all that the store ${store} used as ${reason}; where it is of no use any more: ` +
    `pare store forget ${store}`
  );
  if (over && unclaimed.artifacts > 0) {
    lines.push(
      `kept ${unclaimed.artifacts} artifacts (${
        bytes(unclaimed.bytes)
      }) that no store known here ` +
        "names: --store DIR asks one more, --unclaimed removes them",
    );
  }
  return lines;
}
