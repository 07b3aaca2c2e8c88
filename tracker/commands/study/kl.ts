import { existsSync, statSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type CallResult, UsageError } from "../../../core/mod.ts";
import { createBackendClient } from "../../../python-backends/client.ts";
import { type ConvertSource, heldTrial } from "../../exchange/conversion/convert_source.ts";
import { checkHome, findHome, type Home } from "../../ground/home.ts";
import { parseWhole } from "../../ground/terminal/parse_values.ts";
import { refusal } from "../../lab/runner/call_runner.ts";
import { modelName } from "../../lab/runner/gather_facts.ts";
import { jsonText } from "../../show/json/print_json.ts";
import { createLiveView, standardScreen } from "../../show/terminal/live_view.ts";
import { textTable } from "../../show/terminal/table.ts";
import { number } from "../../show/view/number_text.ts";

/** What `pare kl` may be told. */
export interface KlOptions {
  store?: string;
  text?: string;
  windows?: string;
  tokens?: string;
  json?: boolean;
}

const WINDOWS = "16";
const TOKENS = "256";
const SEED = 42;
const TRIAL = /^(.+\/)?t\d+$/;

/** A model as it was named: its path or hub name, or a trial's checkpoint, held meanwhile. */
async function named(
  home: Home,
  name: string,
): Promise<Pick<ConvertSource, "artifact_dir"> & Disposable> {
  if (TRIAL.test(name) && !existsSync(name)) return await heldTrial(home, name, "compare");
  return { artifact_dir: modelName(name), [Symbol.dispose]() {} };
}

/** Both directions as a table, then agreement and the blocks that moved most. */
export function klText(found: CallResult<"model_kl">): string {
  const { kl, reverse_kl, agreement, blocks, text, windows, tokens } = found;
  const shares = kl.quantiles.map(({ share }) => share === 1 ? "most" : `${100 * share} %`);
  const row = (name: string, { mean, standard_error, quantiles }: typeof kl) => [
    name,
    standard_error === null ? number(mean) : `${number(mean)} ± ${number(standard_error)}`,
    ...quantiles.map(({ value }) => number(value)),
  ];
  const moved = blocks.map((distance, block) => ({ block, distance }))
    .sort((a, b) => b.distance - a.distance).slice(0, 3)
    .map(({ block, distance }) => `${block} (${number(distance)})`);
  return [
    textTable(["nats per token", "mean ± standard error", ...shares], [
      row("KL(base, other)", kl),
      row("KL(other, base)", reverse_kl),
    ]),
    "",
    `the most likely next token is the same for ${(100 * agreement).toFixed(1)} % of ${tokens} ` +
    `tokens (${windows} windows, text: ${text})`,
    ...(blocks.length === 0 ? [] : [
      `hidden states after the last block are ${number(blocks.at(-1)!)} of the base's length ` +
      `from the base's; furthest after blocks ${moved.join(", ")}`,
    ]),
  ].join("\n");
}

/** `pare kl BASE OTHER`: how far one model's predictions are from another's, without a study. */
export async function klCommand(base: string, other: string, options: KlOptions): Promise<void> {
  const { text, json = false } = options;
  if (text !== undefined && statSync(text, { throwIfNoEntry: false })?.isFile() !== true) {
    throw new UsageError(`Cannot compare on ${text}: there is no such file`);
  }
  const home = findHome(Deno.env.toObject(), options.store);
  await checkHome({ ...home, store: home.root }, false);
  using first = await named(home, base);
  using second = await named(home, other);
  const screen = createLiveView(standardScreen(), () => Date.now());
  const client = createBackendClient({ home: home.root, nursery: false });
  const cache = join(home.cache, "imports");
  await mkdir(cache, { recursive: true });
  const room = await mkdtemp(join(cache, "kl-"));
  try {
    const outcome = await client.run({
      call: "model_kl",
      base: first.artifact_dir,
      other: second.artifact_dir,
      room_dir: room,
      text_path: text === undefined ? null : resolve(text),
      windows: parseWhole(options.windows ?? WINDOWS, "--windows", 1),
      tokens: parseWhole(options.tokens ?? TOKENS, "--tokens", 2),
      seed: SEED,
    }, {
      environment: "default",
      onEvent: (event) => {
        if (event.event === "progress") screen.onEvent({ ...event, trial_id: "kl" });
      },
    });
    screen.finish();
    if (!outcome.ok) throw refusal(outcome.failure);
    console.log(json ? jsonText("kl", { base, other, ...outcome.value }) : klText(outcome.value));
  } finally {
    await client.close();
    await rm(room, { recursive: true, force: true });
  }
}
