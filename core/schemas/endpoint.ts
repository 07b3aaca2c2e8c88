import { z } from "zod";
import { FailureKind } from "./failure.ts";

const PATH_LAST = "it must end with its path: keys come from the environment";

/** Why an address may not be asked for, though earlier records may hold it; null: it may. */
export function addressProblem(text: string): string | null {
  return /[?#]/.test(text) ? PATH_LAST : null;
}

/** An address of a server's interface without a key in it: keys come from the environment alone. */
const BaseUrl = z.url({
  protocol: /^https?$/,
  error: "it must be a URL such as http://host:8000/v1",
  abort: true, // what is no URL has no user to look for
})
  .refine((text) => new URL(text).username === "" && new URL(text).password === "", {
    error: "it must hold no user or password: keys come from the environment",
  });

const slugs = z.array(z.string().min(1)).min(1).optional();

/** Which of OpenRouter's providers may answer: the object `provider` of its requests. */
export const Routing = z.strictObject({
  order: slugs.describe("tried in this order"),
  only: slugs,
  ignore: slugs,
  allow_fallbacks: z.boolean().optional().describe("others answer where these cannot"),
  require_parameters: z.boolean().optional().describe("those alone that heed every option"),
  data_collection: z.enum(["allow", "deny"]).optional(),
  quantizations: z.array(
    z.enum(["int4", "int8", "fp4", "fp6", "fp8", "fp16", "bf16", "fp32", "unknown"]),
  ).min(1).optional().describe("forms of the weights that may answer"),
  sort: z.enum(["price", "throughput", "latency"]).optional(),
});

/** A server that speaks OpenAI's interface, and how it is asked. Its key is kept nowhere. */
export const Endpoint = z.strictObject({
  base_url: BaseUrl.describe("up to and with /v1"),
  model: z.string().min(1).nullable().default(null).describe(
    "as the server names it; null: the only one that it lists",
  ),
  tokenizer_dir: z.string().nullable().default(null).describe(
    "the model's tokenizer: prompts go as token ids where the server takes them; null: as text",
  ),
  api: z.enum(["auto", "chat", "messages"]).default("auto").describe(
    "auto: /completions where it is there, else /chat/completions; messages: Anthropic's /messages",
  ),
  concurrency: z.int().min(1).max(256).default(4).describe("requests at a time"),
  timeout_seconds: z.number().positive().default(300).describe("for one whole answer"),
  patience_seconds: z.number().nonnegative().default(600).describe(
    "for a server that is busy or away to be well again, by its Retry-After or by trying",
  ),
  key_variable: z.string().regex(/^[A-Z][A-Z0-9_]*$/, "it must be the name of a variable")
    .optional()
    .describe("that holds its key; absent: OPENAI_API_KEY"),
  headers: z.partialRecord(z.enum(["HTTP-Referer", "X-Title"]), z.string()).optional().describe(
    "by which OpenRouter knows who asks; absent: none",
  ),
  routing: Routing.optional().describe("of OpenRouter's providers; absent: it chooses"),
});
export type Endpoint = z.infer<typeof Endpoint>;

/** A language model that proposes recipes. Its key comes from the environment and is kept nowhere. */
export const Strategist = z.strictObject({
  base_url: BaseUrl.refine((text) => addressProblem(text) === null, { error: PATH_LAST })
    .describe("up to and with /v1"),
  model: z.string().min(1).nullable().default(null).describe(
    "as the server names it; null: the only one that it lists",
  ),
  timeout_seconds: z.number().positive().default(120).describe(
    "for one whole answer, waits for a busy server included",
  ),
});
export type Strategist = z.infer<typeof Strategist>;

/** A task that was not measured, and why. */
export const RefusedTask = z.strictObject({
  task: z.string(),
  kind: FailureKind,
  message: z.string(),
  hint: z.string().nullable(),
});
export type RefusedTask = z.infer<typeof RefusedTask>;

/** The address of a server's interface from what people write: with or without /v1, or with the
 * path of one of its doors. */
export function baseUrl(text: string): string {
  const plain = text.trim().replace(/\/+$/, "").replace(/\/(chat\/)?completions$/, "");
  return /^https?:\/\/[^/]+$/i.test(plain) ? `${plain}/v1` : plain;
}
