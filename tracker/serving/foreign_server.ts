import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { type ServerCommand, UsageError } from "../../core/mod.ts";
import { findEnvironment } from "../../python-backends/environments/environments.ts";
import type { Address, ServerChoices } from "./own_server.ts";

/** Runtimes whose own server serves, and the environment that may hold it. */
const PROGRAMS: Readonly<Record<string, { program: string; environment: string }>> = {
  vllm: { program: "vllm", environment: "vllm" },
};

/** Whether a runtime is served by a program of its own. */
export function isForeign(runtime: string): boolean {
  return Object.hasOwn(PROGRAMS, runtime);
}

function onPath(program: string): string | null {
  for (const folder of (Deno.env.get("PATH") ?? "").split(delimiter)) {
    const path = join(folder, program);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // not there
    }
  }
  return null;
}

/** The runtime's own server of a folder or a name of the hub. `words`: what it is told besides. */
export async function foreignServer(
  home: string,
  { name, model, runtime, address, choices, words }: {
    name: string;
    /** What it loads. */
    model: string;
    runtime: string;
    address: Address;
    choices: ServerChoices;
    words: readonly string[];
  },
): Promise<ServerCommand> {
  const { program, environment } = PROGRAMS[runtime]!;
  const made = await findEnvironment(environment, home);
  const inside = made === null ? null : join(dirname(made.python), program);
  const path = inside !== null && existsSync(inside) ? inside : onPath(program);
  if (path === null) {
    throw new UsageError(
      `Cannot serve ${name} with ${runtime}: there is no program ${program} on PATH, and no ` +
        `environment ${environment}; \`pare setup ${environment}\` makes it`,
    );
  }
  return {
    program: path,
    args: [
      ...["serve", model, "--served-model-name", name],
      ...["--host", address.host, "--port", String(address.port)],
      ...(choices.max_model_len === undefined
        ? []
        : ["--max-model-len", String(choices.max_model_len)]),
      ...words,
    ],
    environment: {},
  };
}
