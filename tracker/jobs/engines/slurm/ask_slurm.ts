import { execa } from "execa";
import { EngineError } from "../../../../core/jobs/engine.ts";

/** Milliseconds that a controller may take: one that is down fails by itself after nine seconds. */
const TIMEOUT_MS = 60_000;

/** What a controller says that may answer later. */
const LATER =
  /unable to contact|connection (?:refused|reset|timed)|timed out|temporarily|not responding|communication|zero bytes|shutting down|in standby|backup controller/i;

/** What its programs say where they are installed, and no cluster is. */
const NO_CLUSTER = /establish a configuration source|failed to fetch config|ClusterName needs/i;

/** How its programs of 22.05 say that a controller does not take what this machine signed. */
const UNSIGNED = /zero bytes were transmitted/i;

/** Runs one of SLURM's programs for what it prints; `attempt` is what is done, for the sentence. */
export async function askSlurm(
  attempt: string,
  [program, ...words]: readonly [string, ...string[]],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const asked = await execa(program, words, {
    ...{ reject: false, stdin: "ignore", timeout: TIMEOUT_MS, maxBuffer: 256 * 1024 * 1024 },
    env: { ...env, SLURM_TIME_FORMAT: "standard" },
  });
  if (!asked.failed) return asked.stdout;
  if (asked.code === "ENOENT") {
    throw new EngineError(
      "refused",
      `Cannot ${attempt} as there is no ${program} here: run pare where SLURM's programs are, such as ` +
        "on the cluster's login machine",
    );
  }
  if (NO_CLUSTER.test(asked.stderr)) {
    throw new EngineError(
      "refused",
      `Cannot ${attempt} as ${program} knows of no cluster here: run pare on one of its machines, or set ` +
        "SLURM_CONF to its slurm.conf",
    );
  }
  const said = asked.stderr.replaceAll(/^\w+: (?:error: )?/gm, "").trim().split("\n");
  const why = asked.timedOut ? `${program} gave no answer for a minute` : said.slice(-2).join("; ");
  const later = asked.timedOut || asked.exitCode === undefined || LATER.test(why);
  const hint = UNSIGNED.test(why)
    ? ", as where a controller's clock and this machine's are more than five minutes apart, or the keys " +
      "of munge differ"
    : "";
  throw new EngineError(
    later ? "down" : "refused",
    `Cannot ${attempt}: ${why || "SLURM said nothing"}${hint}`,
  );
}
