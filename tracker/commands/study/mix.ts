import { type MixCandidate, UsageError } from "../../../core/mod.ts";
import { parseWhole } from "../../ground/terminal/parse_values.ts";
import { openLab } from "../../session/lab.ts";
import { createLiveView, standardScreen } from "../../show/terminal/live_view.ts";
import { textTable } from "../../show/terminal/table.ts";
import { number } from "../../show/view/number_text.ts";
import type { Mixed, MixOptions } from "../../session/study_mix.ts";

/** What `pare mix` may be told. */
export interface MixCommandOptions {
  store?: string;
  bits?: string;
  bytes?: string;
  format?: string[];
  refine?: string;
  free?: boolean;
  /** False with --no-run. */
  run?: boolean;
  json?: boolean;
}

function bitsOf(text: string): number {
  const bits = Number(text);
  if (text.trim() !== "" && Number.isFinite(bits) && bits > 0) return bits;
  throw new UsageError(`Cannot use --bits ${text}: give bits per weight, such as 3.5`);
}

/** The options of the study's call. */
export function mixOptions(options: MixCommandOptions): MixOptions {
  if ((options.bits === undefined) === (options.bytes === undefined)) {
    throw new UsageError("Cannot mix formats without one budget: give --bits 3.5, or --bytes N");
  }
  return {
    ...(options.bits === undefined ? {} : { bits: bitsOf(options.bits) }),
    ...(options.bytes === undefined ? {} : { bytes: parseWhole(options.bytes, "--bytes", 1) }),
    ...(options.refine === undefined ? {} : { refine: parseWhole(options.refine, "--refine", 0) }),
    ...(options.format === undefined ? {} : { formats: options.format }),
    ...(options.free === true ? { fused: false } : {}),
  };
}

/** Which mix won, and by how much, as a sentence. */
export function mixVerdict(mixes: readonly MixCandidate[]): string {
  const won = mixes.find((one) => one.won)!;
  const size = `${won.weight_bits.toFixed(3)} bits per weight`;
  if (won.kl === null) return `the mix that ${won.source} takes for the best: ${size}`;
  const kl = `KL ${number(won.kl)} nats per token`;
  if (won.source === "uniform") return `one format for all layers won: ${size}, ${kl}`;
  const apart = won.less_uniform;
  if (apart === null) return `a mix by ${won.source} won: ${size}, ${kl}; no uniform one fits`;
  const interval = `${number(apart.low)} to ${number(apart.high)}`;
  const sure = apart.high < 0 ? "" : ", which may be chance";
  return `a mix by ${won.source} won: ${size}, ${kl}, less than the best uniform one by ` +
    `${number(-apart.mean)} (difference ${interval} on ${apart.windows} windows, 95 %)${sure}`;
}

/** The candidates, the best first, and what came of them. */
function mixText({ mixes, kept_bytes, study_id, mix_id }: Mixed): string {
  const ordered = mixes.toSorted((a, b) => (a.kl ?? a.predicted_kl) - (b.kl ?? b.predicted_kl));
  const table = textTable(
    ["mix", "bits per weight", "MB", "predicted KL", "KL", "less uniform"],
    ordered.map((one) => [
      one.won ? `${one.source} *` : one.source,
      one.weight_bits.toFixed(3),
      (one.size_bytes / 1e6).toFixed(2),
      number(one.predicted_kl),
      one.kl === null ? "" : number(one.kl),
      one.less_uniform === null ? "" : number(one.less_uniform.mean),
    ]),
  );
  return [
    table,
    "",
    mixVerdict(mixes),
    `${(kept_bytes / 1e6).toFixed(0)} MB of layers are kept: another budget takes seconds`,
    `SELECT * FROM mix_candidates WHERE study_id = '${study_id}' AND mix_id = '${mix_id}'`,
  ].join("\n");
}

/** `pare mix`: the best mix under a budget, weighed, and run as a trial of the study. */
export async function mixCommand(
  name: string | undefined,
  options: MixCommandOptions,
): Promise<void> {
  const asked = mixOptions(options);
  const screen = createLiveView(standardScreen(), () => Date.now());
  await using lab = await openLab({
    onSetup: (line) => screen.progressLine(line),
    onEvent: screen.onEvent,
    ...(options.store === undefined ? {} : { store: options.store }),
  });
  const session = await lab.resume(name);
  const mixed = await session.mix({ ...asked, run: false, onEvent: screen.onEvent });
  screen.finish();
  if (options.json !== true) console.log(mixText(mixed));
  const trial = options.run === false ? null : await session.run([mixed.action], {
    onEvent: screen.onEvent,
  });
  screen.finish();
  if (options.json === true) {
    console.log(JSON.stringify({ ...mixed, trial_id: trial?.trial_id ?? null }, null, 2));
    return;
  }
  if (trial !== null) console.log(`${trial.trial_id} is the trial of it`);
}
