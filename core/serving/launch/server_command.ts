/** A server as it is started; no shell reads its words. */
export interface ServerCommand {
  readonly program: string;
  readonly args: readonly string[];
  /** Variables besides those of whoever starts it. They are written to no file. */
  readonly environment: Readonly<Record<string, string>>;
}

/** A command as it is run, and what ends that which no signal reaches. */
export interface BoundCommand {
  readonly command: ServerCommand;
  /** Absent: its processes are all that there is. */
  readonly after?: readonly string[];
}

const CONTAINERS = ["docker", "podman", "nerdctl"];

/** Of `docker run`: they want a terminal, or leave the container alone. */
const TERMINAL = new Set(["-i", "-t", "-it", "-ti", "--interactive", "--tty", "-d", "--detach"]);

/**
 * A command under a name by which its container is ended: the engine's daemon runs it, and the end of
 * `docker run` by SIGKILL leaves it there.
 */
export function boundCommand(command: ServerCommand, name: string): BoundCommand {
  const { program, args } = command;
  const engine = program.split("/").at(-1)!;
  if (!CONTAINERS.includes(engine) || args[0] !== "run") return { command };
  const given = args.findIndex((word) => word === "--name" || word.startsWith("--name="));
  const own = given < 0
    ? name
    : args[given]!.startsWith("--name=")
    ? args[given]!.slice("--name=".length)
    : args[given + 1] ?? name;
  const words = args.slice(1).filter((word) => !TERMINAL.has(word));
  return {
    command: {
      ...command,
      args: [
        "run",
        ...(words.includes("--rm") ? [] : ["--rm"]),
        ...(given < 0 ? ["--name", own] : []),
        ...words,
      ],
    },
    after: [program, "rm", "--force", own],
  };
}
