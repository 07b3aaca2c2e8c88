import type { Diagnosis, ServerRemedy } from "./diagnosis.ts";
import { flagOf, hasFlag, withFlag } from "./flags.ts";

const SHARE = "--gpu-memory-utilization";
const CONTEXT = "--max-model-len";
const CARDS = "--tensor-parallel-size";
/** vLLM's own since 0.28; 0.9 before. */
const OWN_SHARE = 0.92;
const LEAST_SHARE = 0.5;
const STEP = 0.1;
const LEAST_CONTEXT = 512;

const rounded = (share: number) => Math.round(100 * share) / 100;

const lowerShare: ServerRemedy = {
  says: `lower the share of the card's memory: ${SHARE}`,
  change(args) {
    const share = rounded(Number(flagOf(args, SHARE) ?? OWN_SHARE) - STEP);
    return share < LEAST_SHARE ? null : withFlag(args, SHARE, share);
  },
};

const raiseShare: ServerRemedy = {
  says: `raise the share of the card's memory: ${SHARE}`,
  change(args) {
    const share = Number(flagOf(args, SHARE) ?? OWN_SHARE);
    return share >= 0.95 ? null : withFlag(args, SHARE, 0.95);
  },
};

const smallerModel: ServerRemedy = {
  says: "serve a smaller model, or a trial of it that pare rounded",
};

const roundWeights: ServerRemedy = {
  says: "round the weights as they are loaded: --quantization fp8",
  changes_answers: true,
  change: (args) =>
    hasFlag(args, "--quantization") ? null : withFlag(args, "--quantization", "fp8"),
};

const moreCards: ServerRemedy = {
  says: `split it over more cards: ${CARDS}`,
  change(args, { cards }) {
    const next = 2 * Number(flagOf(args, CARDS) ?? 1);
    return next > cards ? null : withFlag(args, CARDS, next);
  },
};

const shorterContext: ServerRemedy = {
  says: `shorten the context: ${CONTEXT}`,
  change(args) {
    const now = Number(flagOf(args, CONTEXT) ?? 16_384);
    const next = Math.floor(now / 2);
    return next < LEAST_CONTEXT ? null : withFlag(args, CONTEXT, next);
  },
};

/** What does not fit. */
export const MEMORY_ROWS: readonly Diagnosis[] = [
  {
    name: "context_above_cache",
    question: "What to do where the KV cache does not hold one whole context?",
    pattern:
      /KV cache is needed, which is larger than the available KV cache memory(?:[^]*?estimated maximum model length is (\d+))?/,
    cause: "what the weights leave of the share of memory holds fewer tokens than the context has",
    remedies: [
      {
        says: `take the longest context that fits: ${CONTEXT}`,
        change(args, _facts, [, longest]) {
          const now = Number(flagOf(args, CONTEXT) ?? Infinity);
          const fits = Number(longest ?? NaN);
          return fits >= LEAST_CONTEXT && fits < now ? withFlag(args, CONTEXT, fits) : null;
        },
      },
      raiseShare,
      {
        says: "round the cache: --kv-cache-dtype fp8",
        changes_answers: true,
        change: (args) =>
          hasFlag(args, "--kv-cache-dtype") ? null : withFlag(args, "--kv-cache-dtype", "fp8"),
      },
      moreCards,
      shorterContext,
    ],
  },
  {
    name: "no_room_for_cache",
    question: "What to do where no memory is left for the KV cache?",
    pattern: /No available memory for the cache blocks/,
    cause: "weights and activations fill the whole share of memory",
    remedies: [raiseShare, roundWeights, moreCards, smallerModel],
  },
  {
    name: "card_in_use",
    question: "How is the memory of a card looked at?",
    pattern: /Free memory on device .* is less than desired GPU memory utilization/,
    cause: "other processes hold memory of the card",
    remedies: [
      { says: "look who has it and end that: `nvidia-smi`, or `watch -n 1 nvidia-smi`" },
      lowerShare,
    ],
  },
  {
    name: "gpu_out_of_memory",
    question: "What to do about CUDA out of memory?",
    pattern: /CUDA out of memory|torch\.OutOfMemoryError|CUBLAS_STATUS_ALLOC_FAILED/,
    cause: "model, cache and activations together are larger than the card's memory",
    remedies: [lowerShare, smallerModel, roundWeights, moreCards, shorterContext],
  },
  {
    name: "host_out_of_memory",
    question: "What to do where the machine's own memory is full?",
    pattern: /^out_of_memory: |std::bad_alloc|can't allocate memory|Cannot allocate memory/m,
    cause: "the model in this runtime is larger than the memory that is free",
    remedies: [
      {
        says: "serve a smaller model, or --with another runtime: packed integers stay packed there",
      },
      { says: "end what else runs, and see `free -g`" },
      shorterContext,
    ],
  },
];
