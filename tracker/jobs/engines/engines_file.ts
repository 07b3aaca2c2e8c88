/** A user's engines, in a YAML file: what runs jobs, on which kind of machine, at which price. */
import { existsSync } from "node:fs";
import { z } from "zod";
import { unknownName, UsageError } from "../../../core/mod.ts";
import { readYaml } from "../../ground/storage/read_yaml.ts";

const about = {
  machine: z.string().min(1).optional().describe("kind of machine, such as a100-80gb"),
  price_per_hour: z.number().nonnegative().optional().describe(
    "of all slots of it, in your currency",
  ),
  artifacts: z.string().regex(/^s3:\/\//, "write s3://BUCKET/PREFIX").optional().describe(
    "the object store from which its machines fetch artifacts, and to which they send what they make",
  ),
  worker: z.strictObject({
    cpu: z.number().positive().default(1).describe("threads"),
    gpu: z.int().nonnegative().default(0).describe("cards"),
    memory_gb: z.number().positive().optional().describe("memory, GB"),
  }).optional().describe(
    "what each worker of a study takes; default: a card, or an equal part of the threads where there is none",
  ),
  limits: z.strictObject({
    cpu: z.number().positive().optional().describe("threads of all jobs at once"),
    gpu: z.int().nonnegative().optional().describe("cards of all jobs at once"),
    memory_gb: z.number().positive().optional().describe("memory of all jobs at once, GB"),
  }).default({}),
};

const elsewhere = {
  deno: z.string().min(1).optional().describe("Deno on its machines; default: where it is here"),
};

/** One engine as a user writes it. */
export const EngineEntry = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("local"), ...about }),
  z.strictObject({
    kind: z.literal("slurm"),
    partition: z.string().min(1).optional().describe("default: the cluster's"),
    account: z.string().min(1).optional(),
    hours: z.number().positive().optional().describe("a job's limit where it has none of its own"),
    gres: z.string().min(1).default("gpu").describe("its cards as a resource, such as gpu:a100"),
    extra: z.array(z.string()).default([]).describe("more of sbatch's words, such as --qos=low"),
    ...elsewhere,
    ...about,
  }),
  z.strictObject({
    kind: z.literal("ray"),
    address: z.string().regex(/^(ray|https?):\/\/[^\s\/]+\/?$/, "write ray://HOST:PORT").describe(
      "of its dashboard: ray://127.0.0.1:8265, or https://…",
    ),
    token_variable: z.string().min(1).default("RAY_AUTH_TOKEN").describe(
      "the environment variable that holds its token",
    ),
    ...elsewhere,
    ...about,
  }),
]);
export type EngineEntry = z.infer<typeof EngineEntry>;

const EnginesFile = z.strictObject({ engines: z.record(z.string(), EngineEntry) });

/** Fields that an engine may have, by what its entry says it is. */
function fieldsOf(entry: unknown): string[] {
  const kind = (entry as { kind?: unknown } | undefined)?.kind;
  const shape = EngineEntry.options.find(({ shape }) => shape.kind.value === kind)?.shape;
  return Object.keys(shape ?? {});
}

/** What is wrong with a file, in a sentence; one field of an engine is often misspelt. */
function faultOf(document: unknown, issue: z.core.$ZodIssue): string {
  const [first, name] = issue.path;
  if (issue.code === "unrecognized_keys" && first === "engines" && issue.path.length === 2) {
    const { engines } = document as { engines: Record<string, unknown> };
    const known = fieldsOf(engines[String(name)]);
    return unknownName(`field of ${String(name)}`, issue.keys[0]!, known);
  }
  const place = first === undefined ? "the whole of it" : issue.path.join(".");
  return `${place}: ${issue.message}`;
}

/** A user's engines by name; none where there is no file. */
export function readEngines(path: string): ReadonlyMap<string, EngineEntry> {
  if (!existsSync(path)) return new Map();
  const document = readYaml(path, "the engines of");
  const read = EnginesFile.safeParse(document);
  if (read.success) return new Map(Object.entries(read.data.engines));
  const fault = faultOf(document, read.error.issues[0]!);
  throw new UsageError(`Cannot take the engines of ${path}: ${fault}`);
}
