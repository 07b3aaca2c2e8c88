import { UsageError } from "../../errors.ts";
import { type Card } from "./cards/card_table.ts";
import { type Cards, readCards } from "./cards/read_cards.ts";
import { type Asked, type Fit, fit, growingBytes, type Stored } from "./fit.ts";
import { CACHE_TYPES, cacheBytes, type CacheType } from "./memory/cache_types.ts";
import { refusals, tensorSizes } from "./memory/divide.ts";
import { usualBatch } from "./memory/working_memory.ts";
import { readConfig, type TextConfig } from "./model/config.ts";
import { familyOf } from "./model/families.ts";
import { readShape } from "./model/read_shape.ts";
import type { Cache, Shape } from "./model/shape.ts";
import { storedForms } from "./model/stored_form.ts";
import { activeParameters, weighParts } from "./model/weigh_parts.ts";
import { type Layout, type Server, SERVERS, type ServingPlan } from "./schema.ts";
import { serverPlans } from "./servers/all_servers.ts";
import { parsersOf } from "./servers/parsers.ts";
import { correctionBy, type Measured, speedOf } from "./speed.ts";
import { planWarnings, tooFew } from "./warnings.ts";

/** What a plan is asked for. Everything but the model, its config and the cards has a default. */
export interface PlanRequest {
  /** As a server will take it: a name of the hub, or a folder. */
  readonly model: string;
  /** The parsed config.json; a `quantization_config` that lies in a file of its own put in. */
  readonly config: unknown;
  /** Such as `8xH100-80`. */
  readonly gpus: string;
  /** Tokens of a sequence; default: the longest that fits, the native context at most. */
  readonly context?: number;
  /** Sequences that are held at once at that context; default 1. */
  readonly sequences?: number;
  /** Share of a card that the server may take; default 0.92, as vLLM has it. */
  readonly utilization?: number;
  /** Type of the cache; default `auto`. */
  readonly cache_type?: string;
  /** Tokens that are read in one step; default: vLLM's own for the card. */
  readonly batched_tokens?: number;
  /** Exactly these sizes; default: what fits. */
  readonly tensor_parallel?: number;
  readonly pipeline_parallel?: number;
  /** Servers to write commands for; default: all. */
  readonly servers?: readonly Server[];
  readonly port?: number;
  /** The model is a folder of this machine. */
  readonly local?: boolean;
  /** The folder of this machine in which the hub's libraries keep files and token; default: the usual one. */
  readonly hub_cache?: string;
  /** Where the hub's files are if not there. */
  readonly hub_files?: string;
  /** It is an artifact of pare's: its layers may lie in a form that no other program reads. */
  readonly artifact?: boolean;
  /** Bytes of its weight files where they were looked at. */
  readonly stored_bytes?: number;
  /** What was measured of it on all the cards that are named; default: published runs' shares alone. */
  readonly measured?: Measured;
}

/** Cards of one machine: tensors are not cut across machines. */
const CARDS_A_MACHINE = 8;
const MOST_CARDS = 128;
const USUAL_UTILIZATION = .92; // vLLM's since 0.31; it was 0.9

function settle(request: PlanRequest, { card }: Cards, forms_cache: "fp8" | null): Asked {
  const { context, sequences = 1, utilization = USUAL_UTILIZATION, cache_type = "auto" } = request;
  const whole = (what: string, value: number | undefined) => {
    if (value === undefined || (Number.isSafeInteger(value) && value > 0)) return;
    throw new UsageError(`Cannot plan with ${what} ${value}: it is a whole number above 0`);
  };
  whole("a context of", context);
  whole("sequences of", sequences);
  whole("batched tokens of", request.batched_tokens);
  if (!(utilization > 0 && utilization <= 1)) {
    throw new UsageError(
      `Cannot plan with a utilization of ${utilization}: it is above 0 and at most 1`,
    );
  }
  const known = CACHE_TYPES.find((one) => one === cache_type);
  if (known === undefined) {
    throw new UsageError(
      `Unknown type of the cache "${cache_type}". Known: ${CACHE_TYPES.join(", ")}`,
    );
  }
  const usual = usualBatch(card);
  return {
    context: context ?? null,
    ...{ sequences, utilization },
    cache_type: known === "auto" && forms_cache !== null ? forms_cache : known,
    batch: {
      batched: request.batched_tokens ?? usual.batched,
      sequences: sequences > 1 ? sequences : usual.sequences,
    },
  };
}

/** Spreads of a count of cards: the widest tensors of a machine first, then stages. */
function spreadsOf(
  count: number,
  sizes: readonly number[],
): { tensor: number; pipeline: number }[] {
  return sizes.filter((tensor) => count % tensor === 0 && tensor <= CARDS_A_MACHINE)
    .sort((a, b) => b - a)
    .map((tensor) => ({ tensor, pipeline: count / tensor }));
}

/** The best spread of exactly so many cards: it fits, in as few stages as can be. */
function bestOf(
  count: number,
  stored: Stored,
  card: Card,
  asked: Asked,
  sizes: readonly number[],
): Fit | undefined {
  const tried = spreadsOf(count, sizes)
    .filter((spread) => refusals(stored.shape, stored.forms, spread).length === 0)
    .map((spread) => fit(stored, card, spread, asked));
  return tried.find(({ fits }) => fits) ?? tried[0];
}

const OWN_FORM =
  "It is an artifact of pare's, and layers may be packed in pare's own form: other servers " +
  "read what `pare convert` makes of it, and `pare serve` reads it as it is";

/** Counts worth a look: each up to a machine's, then whole machines. */
const COUNTS = [
  ...Array.from({ length: CARDS_A_MACHINE }, (_, index) => index + 1),
  ...[12, 16, 24, 32, 48, 64, 96, MOST_CARDS],
];

/** Counts that machines come with: shown beside the fewest and those that were asked for. */
const POWERS = new Set([1, 2, 4, 8, 16, 32, 64, MOST_CARDS]);

interface Found {
  readonly fewest: Fit | undefined;
  readonly layouts: readonly Fit[];
}

function layoutsOf(request: PlanRequest, stored: Stored, cards: Cards, asked: Asked): Found {
  const { card, count } = cards;
  const { tensor_parallel: tensor, pipeline_parallel: pipeline } = request;
  const sizes = tensorSizes(stored.shape, stored.forms, Math.max(CARDS_A_MACHINE, tensor ?? 1));
  const best = (cards_of: number) => bestOf(cards_of, stored, card, asked, sizes);
  const all: { one: number; layout: Fit | undefined }[] = [];
  for (const one of COUNTS) {
    // Beyond what was asked for only the fewest are looked for.
    if (one > count && all.some(({ layout }) => layout?.fits === true)) break;
    all.push({ one, layout: best(one) });
  }
  const fewest = all.find(({ layout }) => layout?.fits === true)?.layout;
  if (tensor !== undefined || pipeline !== undefined) {
    const spread = { tensor: tensor ?? 1, pipeline: pipeline ?? 1 };
    const can = refusals(stored.shape, stored.forms, spread).length === 0;
    return { fewest, layouts: can ? [fit(stored, card, spread, asked)] : [] };
  }
  const worth = (one: number) => one === fewest?.cards || one === count || POWERS.has(one);
  const wanted = all
    .filter(({ one, layout }) => one <= count && worth(one) && layout?.fits === true)
    .map(({ layout }) => layout!);
  const own = best(count);
  const layouts = own === undefined || wanted.some((one) => one.cards === count)
    ? wanted
    : [...wanted, own];
  return { fewest, layouts };
}

function refusedOf(request: PlanRequest, stored: Stored, { count }: Cards) {
  const asked = [
    ...(request.tensor_parallel === undefined && request.pipeline_parallel === undefined
      ? [{ tensor: count, pipeline: 1 }]
      : [{ tensor: request.tensor_parallel ?? 1, pipeline: request.pipeline_parallel ?? 1 }]),
  ];
  return asked.flatMap((spread) =>
    refusals(stored.shape, stored.forms, spread).map((why) => ({
      ...{ tensor_parallel: spread.tensor, pipeline_parallel: spread.pipeline, why },
    }))
  );
}

const KINDS: Readonly<Record<string, string>> = {
  all: "keeps every token",
  window: "keeps a window",
  chunk: "keeps a chunk",
};

function lineOf(cache: Cache, type: CacheType, shape: Shape) {
  const bytes = cacheBytes(cache, type, shape, 1);
  if (cache.kind === "state") {
    return { kind: "a state of fixed size", bytes_per_token: null, bytes_per_sequence: bytes };
  }
  if (cache.kind === "latent") {
    const index = cache.index_dim === null ? "" : " and index keys";
    return {
      kind: `one latent vector a token${index}`,
      bytes_per_token: bytes,
      bytes_per_sequence: null,
    };
  }
  const heads = `${cache.kv_heads} KV head${cache.kv_heads === 1 ? "" : "s"}`;
  const span = cache.span === null ? "" : ` of ${cache.span} tokens`;
  return {
    kind: `${heads}, ${KINDS[cache.keeps]}${span}`,
    bytes_per_token: bytes,
    bytes_per_sequence: cache.span === null ? null : bytes * cache.span,
  };
}

/** Layers by what they keep, most layers first. */
function cacheLines(shape: Shape, type: CacheType): ServingPlan["cache"]["lines"] {
  const lines = new Map<string, ServingPlan["cache"]["lines"][number]>();
  for (const cache of shape.layers.flatMap(({ caches }) => caches)) {
    const line = lineOf(cache, type, shape);
    const key = JSON.stringify(line);
    lines.set(key, { ...line, layers: (lines.get(key)?.layers ?? 0) + 1 });
  }
  return [...lines.values()].toSorted((a, b) => b.layers - a.layers);
}

function weightsOf(shape: Shape, stored: Stored, request: PlanRequest): ServingPlan["weights"] {
  const parts = weighParts(shape, stored.forms);
  const loaded = parts.filter(({ part }) => part !== "draft layers");
  const sum = (of: readonly { bytes: number }[]) => of.reduce((all, { bytes }) => all + bytes, 0);
  return {
    parameters: loaded.reduce((all, { parameters }) => all + parameters, 0),
    active_parameters: Math.round(activeParameters(shape)),
    bytes: Math.round(sum(loaded) * stored.scale),
    stored_bytes: request.stored_bytes ?? sum(parts),
    source: request.stored_bytes === undefined ? "formulas" : "files",
    form: stored.forms.main.name,
    parts,
  };
}

function storedOf(shape: Shape, config: TextConfig, request: PlanRequest): Stored {
  const forms = storedForms(config, shape.value_bytes);
  if (request.stored_bytes === undefined) return { shape, forms, scale: 1 };
  const all = weighParts(shape, forms).reduce((sum, { bytes }) => sum + bytes, 0);
  return { shape, forms, scale: request.stored_bytes / all };
}

/**
 * What it takes to serve a model on cards: weights part by part, what the cache holds, every spread that
 * fits, and each server's command. Nothing is fetched or started.
 *
 * @throws UsageError a config, card or number that cannot be read, or a model whose cache is not known
 */
export function plan(request: PlanRequest): ServingPlan {
  const cards = readCards(request.gpus);
  const config = readConfig(request.config, request.model);
  const shape = readShape(config);
  const stored = storedOf(shape, config, request);
  const asked = settle(request, cards, stored.forms.cache);
  const { card, count } = cards;
  const { fewest, layouts } = layoutsOf(request, stored, cards, asked);
  const served = {
    ...{ model: request.model, local: request.local ?? false, config, shape, card },
    ...{ forms: stored.forms, cache_type: asked.cache_type, utilization: asked.utilization },
    ...{ sequences: asked.sequences, parsers: parsersOf(config, request.model) },
    own_code: familyOf(config).own_code === true && config.auto_map != null,
    port: request.port ?? 8000,
    hub_cache: request.hub_cache ?? "~/.cache/huggingface",
    hub_files: request.hub_files ?? null,
  };
  const own = layouts.find((layout) => layout.fits && layout.cards === count);
  const correction = request.measured === undefined || own === undefined
    ? undefined
    : correctionBy(request.measured, stored, card, own);
  const plans: Layout[] = layouts.map((layout) => ({
    ...layout,
    speed: speedOf(stored, card, layout, asked, correction),
    servers: layout.fits ? serverPlans({ ...served, layout }, request.servers ?? SERVERS) : {},
  }));
  return {
    ...{ model: request.model, model_type: shape.model_type, plans },
    cards: {
      ...{ name: card.name, count, memory_bytes: Math.floor(card.memory_bytes) },
      ...{ memory_source: card.memory_source, bandwidth: card.bandwidth },
      capability: card.capability,
    },
    asked: {
      ...{ context: asked.context, sequences: asked.sequences, utilization: asked.utilization },
      ...{ cache_type: asked.cache_type, batched_tokens: asked.batch.batched },
    },
    weights: weightsOf(shape, stored, request),
    cache: {
      bytes_per_token: growingBytes(
        shape.layers.flatMap(({ caches }) => caches),
        asked.cache_type,
        shape,
        1,
      ),
      native_context: shape.native_context,
      lines: cacheLines(shape, asked.cache_type),
    },
    fewest_cards: fewest?.cards ?? null,
    refused: refusedOf(request, stored, cards),
    corrections: [
      ...cards.corrections,
      ...tooFew(card, count, fewest?.cards ?? null, layouts.at(-1)),
    ],
    warnings: [
      ...planWarnings(config, stored, request.model, card, asked),
      ...(request.artifact === true ? [OWN_FORM] : []),
    ],
  };
}
