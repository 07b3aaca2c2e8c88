/** What a terminal that is closed does to this process. */
import { readFileSync } from "node:fs";
import process from "node:process";

/** This process was started to outlive its terminal, as nohup does it, or nobody can tell. */
function ignoresHangUp(): boolean {
  try {
    const ignored = /^SigIgn:\s*([0-9a-f]+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
    return ignored === undefined || (BigInt(`0x${ignored}`) & 1n) === 1n; // signal 1 is the lowest bit
  } catch {
    return true;
  }
}

/** Asked as the program is loaded: who listens to the signal from then on, such as execa, ends its being ignored. */
const outlives = ignoresHangUp();
// execa ends a program of whose listeners it is the only one.
if (outlives) process.on("SIGHUP", () => {});

/** Calls back once the terminal is closed; never where this process is to outlive it. */
export function onHangUp(call: () => void): void {
  if (!outlives) process.on("SIGHUP", call);
}
