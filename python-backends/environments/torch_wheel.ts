import { execa } from "execa";
import process from "node:process";
import { pip } from "./pip.ts";

/** PyTorch's public index of builds without CUDA: a tenth of the size. */
const CPU_INDEX = "https://download.pytorch.org/whl/cpu";

/** What pip's report says of a wheel that it would install. */
export interface WheelReport {
  readonly version: string;
  readonly requires_dist: readonly string[];
}

/** Whether a torch wheel carries no GPU libraries: they would be gigabytes for nothing. */
export function isCpuBuild({ version, requires_dist }: WheelReport): boolean {
  const local = version.split("+")[1];
  if (local !== undefined) return local.startsWith("cpu");
  return !requires_dist.some((one) => /^(nvidia|cuda|triton|pytorch-triton)/i.test(one.trim()));
}

/** Reads the one wheel of `pip install --report -`; null where there is none. */
export function readWheelReport(text: string): WheelReport | null {
  const start = text.indexOf("{");
  if (start < 0) return null;
  try {
    const { metadata } = JSON.parse(text.slice(start)).install[0];
    const { version, requires_dist = [] } = metadata;
    return { version: String(version), requires_dist };
  } catch {
    return null;
  }
}

/** Whether a driver for NVIDIA's GPUs answers here. */
export async function hasGpu(): Promise<boolean> {
  const result = await execa("nvidia-smi", ["-L"], { reject: false, timeout: 10_000 });
  return !result.failed && /GPU \d+/.test(result.stdout);
}

/**
 * Installs exactly this version of torch, by pip's own configuration. Without a GPU a build
 * without CUDA is preferred: pip's own candidate where it is one, else PyTorch's CPU index, else,
 * with a warning, what pip has.
 */
export async function installTorch(
  python: string,
  version: string,
  { gpu, onLine, onWarning, signal }: {
    gpu: boolean;
    onLine: (line: string) => void;
    onWarning: (line: string) => void;
    signal?: AbortSignal | undefined;
  },
): Promise<void> {
  const wanted = `torch==${version}`;
  const options = { attempt: `install ${wanted}`, onLine, signal };
  const install = (...args: string[]) =>
    pip(python, ["install", "--progress-bar", "off", "--no-compile", ...args, wanted], options);
  if (gpu) return void await install();

  // Only Linux has builds with CUDA under the plain name; elsewhere every wheel names the
  // CUDA packages behind a marker.
  const candidate = process.platform === "linux" ? await askPip(python, wanted, signal) : null;
  if (process.platform !== "linux" || (candidate !== null && isCpuBuild(candidate))) {
    return void await install("--no-deps");
  }
  try {
    await install("--no-deps", "--index-url", CPU_INDEX);
  } catch (error) {
    if (signal?.aborted) throw error;
    const why = error instanceof Error ? error.message : String(error);
    onWarning(`PyTorch's CPU builds cannot be had (${why}); taking pip's own, which is larger`);
    await install();
  }
}

async function askPip(
  python: string,
  wanted: string,
  signal: AbortSignal | undefined,
): Promise<WheelReport | null> {
  const args = ["install", "--dry-run", "--ignore-installed", "--no-deps", "--quiet"];
  try {
    const options = { attempt: `ask pip for ${wanted}`, signal };
    return readWheelReport(await pip(python, [...args, "--report", "-", wanted], options));
  } catch {
    return null; // pip's own indexes have none: PyTorch's may
  }
}
