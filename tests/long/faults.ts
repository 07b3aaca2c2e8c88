/** Every loop of faults by turns: ten minutes, or as many seconds as PARE_FAULTS_SECONDS says. */
import { lacksStrace } from "../faults/crash/record.ts";
import { findLoops } from "../faults/find_loops.ts";
import { walksHold } from "../faults/short_walks.ts";

const SECONDS = Number(Deno.env.get("PARE_FAULTS_SECONDS") ?? 600);
/** They replay or inject calls. */
const TRACED = /^(crash_.*|syscalls.*)$/;

Deno.test(`no loop of faults finds anything in ${SECONDS} s`, async () => {
  const loops = await findLoops();
  const own = lacksStrace() === null ? loops : loops.filter(({ name }) => !TRACED.test(name));
  await walksHold(own, { seconds: SECONDS, seed: 2 });
});
