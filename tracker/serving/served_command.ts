import { type Registry, type Runtime, type ServerCommand, UsageError } from "../../core/mod.ts";
import { foreignServer, isForeign } from "./foreign_server.ts";
import { type Address, chooseServing, ownServer, type ServerChoices } from "./own_server.ts";
import { isTrial, type ServedSource, servedSource, type SourceTools } from "./served_source.ts";

/** What is started, and of what; the artifact is held until it is given back. */
export interface ServedCommand extends Disposable {
  readonly name: string;
  readonly runtime: string;
  readonly command: ServerCommand;
}

/** The server of a model or trial; every sentence against it comes before it is started. */
export async function servedCommand(
  tools: SourceTools,
  registry: Registry,
  { name, named, address, choices, words }: {
    name: string;
    /** The runtime that was asked for. */
    named: Runtime | undefined;
    address: Address;
    choices: ServerChoices;
    /** What a server that is not pare's own is told besides. */
    words: readonly string[];
  },
): Promise<ServedCommand> {
  const foreign = named !== undefined && isForeign(named.name);
  if (words.length > 0 && !foreign) {
    throw new UsageError(
      `Cannot pass ${words[0]} on: words after -- are for a server of its own, such as --with vllm`,
    );
  }
  if (foreign && !isTrial(name) && !needsImport(name)) {
    const asked = { name, model: name, runtime: named.name, address, choices, words };
    const command = await foreignServer(tools.home.root, asked);
    return { name, runtime: named.name, command, [Symbol.dispose]() {} };
  }
  const source = await servedSource(tools, name);
  try {
    const runtime = await chooseServing(tools, registry, source, named);
    const command = isForeign(runtime.name)
      ? await foreignOf(tools, source, { runtime: runtime.name, address, choices, words })
      : await ownServer(tools, registry, { source, runtime, address, choices });
    const dispose = () => source[Symbol.dispose]();
    return { name: source.name, runtime: runtime.name, command, [Symbol.dispose]: dispose };
  } catch (error) {
    source[Symbol.dispose]();
    throw error;
  }
}

/** Whether pare must read the model first: another server knows folders and names of the hub alone. */
function needsImport(name: string): boolean {
  return name === "demo" || name === "tiny" || name.endsWith(".gguf");
}

function foreignOf(
  { home }: SourceTools,
  { name, artifact }: ServedSource,
  rest: Omit<Parameters<typeof foreignServer>[1], "name" | "model">,
): Promise<ServerCommand> {
  return foreignServer(home.root, { ...rest, name, model: artifact.location });
}
