import type { Diagnosis } from "./diagnosis.ts";
import { flagOf, hasFlag, withFlag, withoutFlag } from "./flags.ts";

/** What a model, a card or a flag does not allow. */
export const START_ROWS: readonly Diagnosis[] = [
  {
    name: "tool_choice_without_parser",
    question: 'What is "auto" tool choice requires --enable-auto-tool-choice?',
    pattern: /"?auto"? tool choice requires --enable-auto-tool-choice/,
    cause: "requests ask for tools, and the server was not told how its model writes calls of them",
    remedies: [
      {
        says: "add --enable-auto-tool-choice and --tool-call-parser, by the model's family; " +
          "`vllm serve --help=tool-call-parser` lists those of your version",
        change(args, { tool_call_parser }) {
          const has = hasFlag(args, "--enable-auto-tool-choice");
          if (has || tool_call_parser === null) return null;
          return withFlag(
            withFlag(args, "--enable-auto-tool-choice", null),
            "--tool-call-parser",
            tool_call_parser,
          );
        },
      },
    ],
    outdated:
      "qwen3_xml for Qwen3 and deepseek_v3 for V3.2: current recipes take hermes and deepseek_v32",
  },
  {
    name: "no_attention_backend",
    question: "What is No valid attention backend found, or FlashMLA is only supported on Hopper?",
    pattern: /No valid attention backend found|FlashMLA \w+ is only supported on Hopper/,
    cause: "the model's compressed attention (MLA) has no kernel for this card with this cache",
    remedies: [
      {
        says: "take the rounded cache back (--kv-cache-dtype), which leaves TRITON_MLA",
        changes_answers: true,
        change: (args) =>
          hasFlag(args, "--kv-cache-dtype") ? withoutFlag(args, "--kv-cache-dtype") : null,
      },
      { says: "serve another model: Qwen3-32B, Llama 3.1 70B or Mixtral 8x22B have no MLA" },
      { says: "ask a server elsewhere: OPENAI_BASE_URL=https://openrouter.ai/api/v1" },
    ],
    outdated:
      "that MLA runs on Hopper alone: FlashMLA does, TRITON_MLA runs on A100 without FP8 cache",
  },
  {
    name: "heads_not_divided",
    question: "Why is a number of cards refused?",
    pattern: /attention heads \((\d+)\) must be divisible by tensor parallel size \((\d+)\)/,
    cause: "each card takes as many heads as another, and these do not divide",
    remedies: [{
      says: "take a number of cards that divides the heads: --tensor-parallel-size",
      change(args, { cards }, [, heads, size]) {
        for (let fewer = Math.min(Number(size) - 1, cards); fewer >= 1; fewer--) {
          if (Number(heads) % fewer === 0) return withFlag(args, "--tensor-parallel-size", fewer);
        }
        return null;
      },
    }],
  },
  {
    name: "more_cards_than_here",
    question: "What if it asks for more cards than there are?",
    pattern: /(?:World size|number of required GPUs).*(?:larger than|exceeds).*available GPUs/,
    cause: "--tensor-parallel-size times --pipeline-parallel-size is above the number of cards",
    remedies: [{
      says: "take as many as there are: --tensor-parallel-size",
      change(args, { cards }) {
        const now = Number(flagOf(args, "--tensor-parallel-size") ?? 1);
        return cards >= 1 && cards < now ? withFlag(args, "--tensor-parallel-size", cards) : null;
      },
    }],
  },
  {
    name: "context_above_native",
    question: "What if the context is longer than the model's own?",
    pattern:
      /max_model_len \((\d+)\) is greater than the derived max_model_len \(\D*(\d+)|its own is (\d+)/,
    cause: "the model was trained on shorter texts than --max-model-len allows",
    remedies: [{
      says: "take the model's own context: --max-model-len",
      change: (args, _facts, [, , derived, own]) =>
        withFlag(args, "--max-model-len", derived ?? own ?? 0),
    }],
  },
  {
    name: "port_in_use",
    question: "What if the port is taken?",
    pattern: /[Aa]ddress already in use|EADDRINUSE/,
    cause: "another program listens there",
    remedies: [{ says: "name another --port, or leave it out for the first free one" }],
  },
  {
    name: "gated_model",
    question: "What if a model may not be fetched?",
    pattern: /gated repo|[Aa]ccess to model \S+ is restricted|401 Client Error|403 Client Error/,
    cause: "its owner asks for a licence to be accepted, or the token is missing",
    remedies: [{ says: "accept the licence on the model's page and set HF_TOKEN" }],
  },
  {
    name: "model_unknown",
    question: "What if the model's name is not known?",
    pattern: /is not a local folder and is not a valid model identifier|Repository Not Found/,
    cause: "there is no such folder, and no such name on the hub",
    remedies: [{ says: "look the name up on the hub, letter by letter, or give a folder" }],
  },
  {
    name: "own_code",
    question: "What if a model brings its own code?",
    pattern: /(?:pass the argument|set the option) `?trust_remote_code=True/,
    cause: "its configuration names Python files of its own, which would run here",
    remedies: [{ says: "read that code, then add --trust-remote-code yourself" }],
  },
];
