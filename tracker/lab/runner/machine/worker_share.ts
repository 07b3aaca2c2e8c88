import process from "node:process";
import { type CallName, type Facts, howCalled, threadsOf } from "../../../../core/mod.ts";

/** What a call has of the machine: given back when it has ended. */
export interface Share extends Disposable {
  /** Null: its default, all cores. */
  readonly threads: number | null;
  /** More variables of its process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Shares of the machine, one for each call. */
export type ShareOut = (call: CallName) => Share;

const WHOLE: Share = { threads: null, [Symbol.dispose]: () => {} };

/** The GPUs that this process may use, as CUDA names them. */
function gpusHere(count: number): string[] {
  const named = process.env["CUDA_VISIBLE_DEVICES"]?.split(",").map((one) => one.trim());
  return named ?? Array.from({ length: count }, (_, i) => String(i));
}

/**
 * Shares for so many workers: of a CPU an equal part of the cores, but for a timing, which has all of them as
 * with one worker; of GPUs one for each call of a trial.
 */
export function shareOut(workers: number, { device }: Pick<Facts, "device">): ShareOut {
  if (workers === 1) return () => WHOLE;
  // Who limits the threads of the whole program limits those of each worker.
  const asked = Number(process.env["OMP_NUM_THREADS"]) || Infinity;
  const threads = Math.min(threadsOf(workers, { device }), asked);
  if (device.device === "cpu") {
    return (call) => howCalled(call).timed ? WHOLE : { ...WHOLE, threads };
  }
  const free = gpusHere(device.gpus ?? 1);
  return (call) => {
    const gpu = howCalled(call).of_trial ? free.shift() : undefined;
    if (gpu === undefined) return { ...WHOLE, threads };
    const env = { CUDA_VISIBLE_DEVICES: gpu, PARE_TIMED_DEVICE: `gpu-${gpu}` };
    return { threads, env, [Symbol.dispose]: () => void free.unshift(gpu) };
  };
}
