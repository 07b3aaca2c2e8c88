import type { Card } from "../cards/card_table.ts";
import type { CacheType } from "../memory/cache_types.ts";
import type { TextConfig } from "../model/config.ts";
import type { Shape } from "../model/shape.ts";
import type { StoredForms } from "../model/stored_form.ts";
import type { Fit } from "../fit.ts";
import type { PlannedCommand, ServerPlan } from "../schema.ts";
import type { Parsers } from "./parsers.ts";

/** All that a server's command is made of. */
export interface Served {
  /** As a server takes it: a name of the hub, or a folder. */
  readonly model: string;
  /** It is a folder of this machine: a container must see it. */
  readonly local: boolean;
  readonly config: TextConfig;
  readonly shape: Shape;
  readonly forms: StoredForms;
  readonly card: Card;
  readonly layout: Fit;
  readonly cache_type: CacheType;
  readonly utilization: number;
  readonly sequences: number;
  readonly parsers: Parsers;
  /** The config runs with the code that lies beside it alone. */
  readonly own_code: boolean;
  readonly port: number;
  /** The folder of this machine in which the hub's libraries keep files and token (`HF_HOME`). */
  readonly hub_cache: string;
  /** Where the files are if not there (`HF_HUB_CACHE`). */
  readonly hub_files: string | null;
}

const MOUNTED = "/model";
const HUB_IN_CONTAINER = "/hub";
const [LOOPBACK, ALL] = ["127.0.0.1", "0.0.0.0"];

/** Words that stand for a flag that may be left out. */
export function flag(name: string, value: string | number | null): string[] {
  return value === null ? [] : [name, String(value)];
}

/** How a server starts here and in its image. */
export interface Start {
  readonly image: string;
  /** Program and words before all others; `entry`: the image starts with them by itself. */
  readonly start: readonly [string, ...string[]];
  readonly entry?: boolean;
  /** Its words for a model, as the server finds it, and an address to listen on. */
  readonly words: (served: Served, model: string, host: string) => readonly string[];
  /** The model on this machine and in the container; default: its folder mounted, or its name. */
  readonly model?: { readonly here: string; readonly contained: string };
  /** Neither the model's folder nor the hub's files are mounted: `options` say what is. */
  readonly mounts_nothing?: boolean;
  readonly gpus?: boolean;
  readonly options?: readonly string[];
}

/** What a container sees of this machine: the model's folder, or the hub's files and its token by name. */
function mounts({ local, model, hub_cache, hub_files }: Served): string[] {
  if (local) return ["-v", `${model}:${MOUNTED}:ro`];
  return [
    ...["-v", `${hub_cache}:${HUB_IN_CONTAINER}`],
    ...(hub_files === null ? [] : ["-v", `${hub_files}:${HUB_IN_CONTAINER}/hub`]),
    ...["--env", `HF_HOME=${HUB_IN_CONTAINER}`, "--env", "HF_TOKEN"], // no value on argv
  ];
}

/** A server's command on this machine's loopback, and the same by docker in its image. */
export function bareAndContained(
  served: Served,
  { image, start, entry, words, model, mounts_nothing, gpus, options }: Start,
): { readonly command: PlannedCommand; readonly container: PlannedCommand } {
  const [program, ...first] = start;
  const here = model?.here ?? served.model;
  const contained = model?.contained ?? (served.local ? MOUNTED : served.model);
  const { port } = served;
  return {
    command: { program, args: [...first, ...words(served, here, LOOPBACK)], environment: {} },
    container: {
      program: "docker",
      args: [
        ...["run", "--rm", "--ipc", "host", "-p", `${LOOPBACK}:${port}:${port}`],
        ...(gpus === false ? [] : ["--gpus", "all"]),
        ...(options ?? []),
        ...(mounts_nothing === true ? [] : mounts(served)),
        ...[image, ...(entry === true ? [] : start)],
        // All addresses are the container's own: docker opens the port on the loopback alone.
        ...words(served, contained, ALL),
      ],
      environment: {},
    },
  };
}

export type MakeCommand = (served: Served) => ServerPlan;
