/// <reference lib="deno.worker" />
import type { Seeds, SeedsRun } from "./run_seeds.ts";
import { simulate } from "./simulate.ts";

self.onmessage = async ({ data }: MessageEvent<Seeds & { step: number }>) => {
  const { from, step, sizes, seconds, most } = data;
  const began = performance.now();
  const ran: SeedsRun = { runs: 0, events: 0, seconds: 0, broken: null };
  for (let seed = from; ran.runs < most && ran.seconds < seconds; seed += step) {
    const run = await simulate(seed, sizes[seed % sizes.length]!).catch((error) => String(error));
    if (typeof run === "string") {
      ran.broken = run;
      break;
    }
    ran.runs++;
    ran.events += run.events;
    ran.seconds = (performance.now() - began) / 1000;
  }
  self.postMessage(ran);
  self.close();
};
