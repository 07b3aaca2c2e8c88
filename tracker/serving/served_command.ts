import { type Registry, type Runtime, type ServerCommand, UsageError } from "../../core/mod.ts";
import { environmentOf } from "../lab/runner/artifact_place.ts";
import { foreignServer, isForeign } from "./foreign_server.ts";
import { foresee, plannedServer } from "./planned_server.ts";
import {
  type Address,
  chooseServing,
  formOf,
  ownServer,
  type ServerChoices,
  whyUnserved,
} from "./own_server.ts";
import { isTrial, servedSource, type SourceTools } from "./served_source.ts";

/** What is started, and of what; the artifact is held until it is given back. */
export interface ServedCommand extends Disposable {
  readonly name: string;
  readonly runtime: string;
  readonly command: ServerCommand;
  readonly address: Address;
  /** What is to be known before it starts. */
  readonly notes: readonly string[];
  /** What a plan says of it with other words; absent: nobody named the cards. */
  readonly foresee?: (command: ServerCommand) => Promise<string | null>;
}

/** Cards that a server of its own is planned for. */
export interface PlannedFor {
  /** Such as 2xH100-80. */
  readonly gpus: string;
  /** Whether it runs in the server's own image. */
  readonly container: boolean;
}

/** The server of a model or trial; every sentence against it comes before it is started. */
export async function servedCommand(
  tools: SourceTools,
  registry: Registry,
  { name, named, place, choices, words, planned }: {
    name: string;
    /** Where it is to listen: asked as late as can be, as a port that is free may be taken meanwhile. */
    place: () => Address;
    planned: PlannedFor | null;
    /** The runtime that was asked for. */
    named: Runtime | undefined;
    choices: ServerChoices;
    /** What a server that is not pare's own is told besides. */
    words: readonly string[];
  },
): Promise<ServedCommand> {
  const never = named === undefined ? null : whyUnserved(named);
  if (never !== null) throw new UsageError(`Cannot serve ${name} with ${named!.name}: ${never}`);
  const foreign = named !== undefined && isForeign(named.name);
  if (words.length > 0 && !foreign) {
    throw new UsageError(
      `Cannot pass ${words[0]} on: words after -- are for a server of its own, such as --with vllm`,
    );
  }
  if (planned !== null && !foreign) {
    throw new UsageError(
      "Cannot plan for --gpus without --with vllm: pare's own servers need none",
    );
  }
  if (foreign && !isTrial(name) && !needsImport(name)) {
    const address = place();
    const asked = { name, model: name, runtime: named.name, address, choices, words };
    return { ...await foreignCommand(tools, asked, planned), [Symbol.dispose]() {} };
  }
  const source = await servedSource(tools, name);
  try {
    const runtime = await chooseServing(tools, registry, source, named);
    const dispose = { [Symbol.dispose]: () => source[Symbol.dispose]() };
    const asked = { name: source.name, runtime: runtime.name, choices, words };
    if (isForeign(runtime.name)) {
      const where = { model: source.artifact.location, address: place() };
      return { ...await foreignCommand(tools, { ...asked, ...where }, planned), ...dispose };
    }
    const form_dir = await formOf(tools, registry, source, runtime);
    const address = place();
    const environment = environmentOf(registry, source.artifact);
    const own = { source, runtime, environment, form_dir, address, choices };
    const command = await ownServer(tools, own);
    return { name: source.name, runtime: runtime.name, command, address, notes: [], ...dispose };
  } catch (error) {
    source[Symbol.dispose]();
    throw error;
  }
}

/** Whether pare must read the model first: another server knows folders and names of the hub alone. */
function needsImport(name: string): boolean {
  return name === "demo" || name === "tiny" || name.endsWith(".gguf");
}

/** A server of its own, as a plan has it where cards were named. */
async function foreignCommand(
  { home }: SourceTools,
  asked: Parameters<typeof foreignServer>[1],
  planned: PlannedFor | null,
): Promise<Omit<ServedCommand, typeof Symbol.dispose>> {
  const { name, model, runtime, address, choices, words } = asked;
  if (planned === null) {
    const command = await foreignServer(home.root, asked);
    return { name, runtime, address, command, notes: [] };
  }
  const env = Deno.env.toObject();
  const plan = { name, model, ...planned, address, ...choices, store: home.store };
  const { command, warnings } = await plannedServer(plan, env);
  const bare = planned.container ? command : {
    ...command,
    program: (await foreignServer(home.root, asked)).program,
  };
  return {
    ...{ name, runtime, address, notes: warnings },
    command: { ...bare, args: [...bare.args, ...words] },
    foresee: (changed) => foresee(changed, plan, env),
  };
}
