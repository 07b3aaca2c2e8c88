/** Nothing that a runner of loops started outlives it, by whatever death: clusters, readers, jobs. */
import { spawn } from "node:child_process";

/** Stands in the environment of all that a runner starts, however far below it. */
const MARK = "PARE_FAULTS_RUNNER";

/** Waits for the end of its input, then kills all that has a word in its environment, until none is left. */
const WATCH = `cat > /dev/null
for round in $(seq 50); do
  left=$(grep -lzx "$0" /proc/[0-9]*/environ 2> /dev/null)
  [ -z "$left" ] && exit
  for one in $left; do one=\${one#/proc/}; kill -KILL "\${one%/environ}"; done
done`;

/** From here on: a watch in a session of its own holds a pipe whose other end is this process. */
export function endWithRunner(): void {
  const word = `${MARK}=${crypto.randomUUID()}`;
  const env = { ...Deno.env.toObject() };
  delete env[MARK]; // of a runner above this one, which else would end the watch before its time
  const stdio: ["pipe", "ignore", "ignore"] = ["pipe", "ignore", "ignore"];
  spawn("sh", ["-c", WATCH, word], { stdio, env, detached: true }).unref();
  Deno.env.set(MARK, word.slice(MARK.length + 1));
}
