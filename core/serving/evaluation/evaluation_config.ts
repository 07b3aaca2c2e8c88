import { z } from "zod";
import { unknownName, UsageError } from "../../errors.ts";
import { checked } from "./checked_document.ts";
import { MarketSettings } from "./market_settings.ts";
import { BizFinBenchSettings, GDPvalSettings, PRBenchSettings } from "./published_settings.ts";
import { sectionOf } from "./sections.ts";

/** Ways to take samples of several datasets. */
export const STRATEGIES = ["stratified", "random", "sequential", "weighted"] as const;

const Count = z.int().positive();

/** Fields that every dataset has. */
const common = {
  weight: z.number().positive().default(1).describe("of its score in the overall one"),
  section: z.string().min(1).optional().describe("that it counts for; default: its type's own"),
  shuffle: z.boolean().default(false).describe("drawn by the seed; else the first ones"),
  limit: Count.optional().describe("samples at most"),
  limit_per_task: Count.optional().describe("samples of each of its tasks at most"),
};

const path = z.string().min(1).describe("a file or folder, relative to the configuration");

/** What each type of dataset takes beside the common fields. */
const TYPES = {
  bizfinbench: BizFinBenchSettings.shape,
  prbench: PRBenchSettings.shape,
  gdpval: GDPvalSettings.shape,
  synthetic: { path: path.optional() },
  options: { path: path.optional() },
  crypto: {
    ...MarketSettings.shape,
    download_on_missing: z.boolean().default(false)
      .describe(
        "scenarios are made here where path is not there; they lie nowhere to be downloaded",
      ),
  },
} as const;

/** Types of the requirement; any other is a task of pare's or of lm-eval by name. */
export const DATASET_TYPES = Object.keys(TYPES);

/** One dataset of a configuration, checked. */
export interface DatasetEntry {
  readonly type: string;
  readonly weight: number;
  readonly section?: string;
  readonly shuffle: boolean;
  readonly limit?: number;
  readonly limit_per_task?: number;
  readonly [field: string]: unknown;
}

/** Types whose rows an entry sets how they are made or read. */
const SETTINGS: Readonly<Record<string, z.ZodObject>> = {
  bizfinbench: BizFinBenchSettings,
  prbench: PRBenchSettings,
  gdpval: GDPvalSettings,
  crypto: MarketSettings,
};

/** What an entry sets of how its rows are made and asked; null: nothing can be set of its type. */
export function entrySettings(entry: DatasetEntry): Record<string, z.core.util.JSONType> | null {
  const shape = SETTINGS[entry.type]?.shape;
  if (shape === undefined) return null;
  const own = Object.entries(entry).filter(([field]) => field in shape);
  return Object.fromEntries(own) as Record<string, z.core.util.JSONType>; // as it was read from YAML
}

const SamplingFields = z.strictObject({
  strategy: z.enum(STRATEGIES).default("stratified"),
  total_limit: Count.optional().describe("samples of all datasets together"),
  seed: z.int().nonnegative().default(42),
});

const price = z.number().nonnegative().optional().describe("US dollars for a million tokens");

const Judge = z.strictObject({
  enabled: z.boolean().default(true),
  model: z.string().min(1).optional(),
  temperature: z.number().min(0).max(2).default(0),
  base_url: z.string().min(1).optional().describe("the judge's server; default: JUDGE_BASE_URL"),
  api: z.enum(["auto", "chat", "messages"]).optional(),
  key_variable: z.string().regex(/^[A-Z][A-Z0-9_]*$/, "it must be the name of a variable")
    .optional().describe("that holds its key; default: JUDGE_API_KEY"),
  rubric: z.string().min(1).optional().describe(
    "every written answer is judged by it; default: where a task says so",
  ),
  input_price: price,
  output_price: price,
});

const Fields = z.strictObject({
  name: z.string().min(1),
  version: z.union([z.string(), z.number()]).default("1.0").transform(String),
  datasets: z.array(z.looseObject({ type: z.string().min(1) })).min(1),
  sections: z.record(z.string().min(1), z.number().positive()).default({}).describe(
    "weights of sections in the overall score; default: the sums of their datasets' weights",
  ),
  sampling: SamplingFields.prefault({}),
  llm_eval: Judge.optional(),
  timeout_seconds: z.number().positive().default(300),
});

/** The requirement's document of an evaluation, checked. */
export interface EvaluationConfig extends Omit<z.output<typeof Fields>, "datasets"> {
  readonly datasets: readonly DatasetEntry[];
}

/** A type that is nearly one of the requirement's is a slip; others are names of tasks. */
function entryOf(given: { readonly type: string }, index: number): DatasetEntry {
  const where = `datasets[${index}]`;
  const own = given.type in TYPES ? TYPES[given.type as keyof typeof TYPES] : {}; // as just looked
  return checked(
    z.strictObject({ type: z.string(), ...common, ...own }),
    given,
    where,
  ) as DatasetEntry;
}

/**
 * Reads an evaluation's document, the requirement's YAML as it is written.
 *
 * @throws UsageError a field that is unknown or wrong, each with its place
 */
export function readEvaluationConfig(document: unknown): EvaluationConfig {
  const { datasets, ...rest } = checked(Fields, document, "");
  const entries = datasets.map(entryOf);
  const twice = entries.find(({ type }, index) =>
    entries.findIndex((one) => one.type === type) !== index
  );
  if (twice !== undefined) {
    throw new UsageError(
      `Cannot take the dataset "${twice.type}" twice: name its parts in one entry`,
    );
  }
  const sections = entries.map(({ type, section }) => section ?? sectionOf(type));
  const strange = Object.keys(rest.sections).find((name) => !sections.includes(name));
  if (strange !== undefined) throw new UsageError(unknownName("section", strange, sections));
  return { ...rest, datasets: entries };
}
