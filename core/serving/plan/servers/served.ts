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
  /** The folder of this machine in which the hub's files are kept. */
  readonly hub_cache: string;
}

/** Where a container sees a folder of this machine. */
export const MOUNTED = "/model";
const HUB_IN_CONTAINER = "/hub";

/** Words that stand for a flag that may be left out. */
export function flag(name: string, value: string | number | null): string[] {
  return value === null ? [] : [name, String(value)];
}

/**
 * A command by docker in an image whose start is that command's: cards, memory shared between their
 * processes, port, and the folder of the model or the hub's cache.
 */
export function docker(
  image: string,
  { port, local, model, hub_cache }: Pick<Served, "port" | "local" | "model" | "hub_cache">,
  words: readonly string[],
  more: { readonly gpus?: boolean; readonly options?: readonly string[] } = {},
): PlannedCommand {
  return {
    program: "docker",
    args: [
      ...["run", "--rm", "--ipc", "host", "-p", `127.0.0.1:${port}:${port}`],
      ...(more.gpus === false ? [] : ["--gpus", "all"]),
      ...(more.options ?? []),
      ...(local ? ["-v", `${model}:${MOUNTED}:ro`] : [
        ...["-v", `${hub_cache}:${HUB_IN_CONTAINER}`, "--env", `HF_HOME=${HUB_IN_CONTAINER}`],
        ...["--env", "HF_TOKEN"], // by name: no value on argv
      ]),
      ...[image, ...words],
    ],
    environment: {},
  };
}

export type MakeCommand = (served: Served) => ServerPlan;
