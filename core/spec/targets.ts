import { unknownName, UsageError } from "../errors.ts";

/** A machine that a model is compressed for, other than the one that compresses it. */
export interface Target {
  readonly name: string;
  /** Memory as its maker states it, gigabytes. */
  readonly memory_gb: number;
  /** True where the system and other programs share that memory: half of it is taken for granted. */
  readonly shared: boolean;
  /** What the figure is of, for the report. */
  readonly describes: string;
}

const board = (name: string, memory_gb: number, describes: string): Target => ({
  name,
  memory_gb,
  shared: true,
  describes,
});

const gpu = (name: string, memory_gb: number, describes: string): Target => ({
  name,
  memory_gb,
  shared: false,
  describes,
});

/**
 * Memory sizes are those of the makers' own product pages and data sheets: Raspberry Pi 5 product
 * brief; NVIDIA Jetson modules' technical specifications; Apple's technical specifications;
 * NVIDIA GeForce and data centre GPU data sheets; AMD Instinct MI300X data sheet. `edge` and
 * `cloud` are the usual machines of those places: an 8 GB board, an 80 GB accelerator.
 */
const TARGETS: readonly Target[] = [
  board("edge", 8, "a board of 8 GB"),
  gpu("cloud", 80, "an accelerator of 80 GB"),
  board("raspberry-pi-5", 8, "Raspberry Pi 5, 8 GB"),
  board("jetson-orin-nano", 8, "NVIDIA Jetson Orin Nano, 8 GB"),
  board("jetson-orin-nx", 16, "NVIDIA Jetson Orin NX, 16 GB"),
  board("jetson-agx-orin", 64, "NVIDIA Jetson AGX Orin, 64 GB"),
  board("iphone-15-pro", 8, "Apple iPhone 15 Pro, 8 GB"),
  board("macbook-air-m2", 8, "Apple MacBook Air M2, 8 GB"),
  gpu("rtx-3060", 12, "NVIDIA GeForce RTX 3060, 12 GB"),
  gpu("rtx-4090", 24, "NVIDIA GeForce RTX 4090, 24 GB"),
  gpu("rtx-5090", 32, "NVIDIA GeForce RTX 5090, 32 GB"),
  gpu("t4", 16, "NVIDIA T4, 16 GB"),
  gpu("l4", 24, "NVIDIA L4, 24 GB"),
  gpu("a10", 24, "NVIDIA A10, 24 GB"),
  gpu("a100-40gb", 40, "NVIDIA A100, 40 GB"),
  gpu("a100-80gb", 80, "NVIDIA A100, 80 GB"),
  gpu("h100", 80, "NVIDIA H100 SXM, 80 GB"),
  gpu("h200", 141, "NVIDIA H200, 141 GB"),
  gpu("mi300x", 192, "AMD Instinct MI300X, 192 GB"),
];

const plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]+/g, "");

/** The target of that name, in any spelling of case and separators. */
export function findTarget(name: string): Target {
  const found = TARGETS.find((target) => plain(target.name) === plain(name));
  if (found !== undefined) return found;
  throw new UsageError(unknownName("target", name, TARGETS.map((target) => target.name)));
}

/** Gigabytes that a model may take on the target. */
export function usableGb({ memory_gb, shared }: Target): number {
  return shared ? memory_gb / 2 : memory_gb;
}
