import { createHash } from "node:crypto";
import { type CallResult, type Facts, kindOf, UsageError } from "../../core/mod.ts";
import { canonicalJson } from "../artifacts/action_key.ts";
import { layerCache } from "../lab/runner/apply_action.ts";
import { usedData } from "../lab/runner/study_windows.ts";
import { preparedText, type Watched } from "./prepared_text.ts";
import type { SessionInput } from "./start_study.ts";
import { refusal } from "../lab/runner/call_runner.ts";

/** What `study.mix()` may be told. */
export interface MixOptions extends Watched {
  /** Budget: bits per linear weight on average, scales included. Give this or `bytes`. */
  readonly bits?: number;
  /** Budget: bytes of the linear layers. */
  readonly bytes?: number;
  /** Such as 4-bit-g64 or 3-bit-g32-asym; default: 2, 3, 4 and 8 bits by groups and by rows. */
  readonly formats?: readonly string[];
  /** Mixes that are evaluated, uniform ones among them; default 6, 0: the scores decide. */
  readonly refine?: number;
  /** Windows that layers are rounded and scored by; default 8. */
  readonly windows?: number;
  /** Further windows, which mixes are evaluated on; default 8. */
  readonly refine_windows?: number;
  /** Tokens of each window; default 256. */
  readonly tokens?: number;
  /** Whether layers of the same input share a format, as most runtimes need; default: they do. */
  readonly fused?: boolean;
  /** Whether the mix is then run as a trial of the study; default: it is. */
  readonly run?: boolean;
}

/** The mixes that were weighed, and the action that makes the one that won. */
export interface Mixed extends CallResult<"mix"> {
  readonly study_id: string;
  /** As in SQL: mix_candidates. */
  readonly mix_id: string;
}

const REFINED = 6;
const WINDOWS = 8;
const TOKENS = 256;
const WIDTHS = [2, 3, 4, 8];

/** Formats that are kept where nobody names any: each width by groups of 32, of 64 and by rows. */
export function keptFormats({ model }: Pick<Facts, "model">): string[] {
  const groups = [32, 64].filter((size) => model.group_sizes.includes(size));
  const endings = [...groups.map((size) => `-g${size}`), ""];
  return WIDTHS.flatMap((width) => endings.map((ending) => `${width}-bit${ending}`));
}

/**
 * The best mix of kept layers under a budget. Layers that are not kept yet are rounded first, all
 * formats in one pass; asked for another budget, only the mixes are evaluated.
 */
export async function studyMix(session: SessionInput, options: MixOptions): Promise<Mixed> {
  const { tools, study_id, request, facts, baseline } = session;
  const { needs, does } = kindOf(request);
  if (!needs.methods) throw new UsageError(`Cannot mix formats for ${study_id} as it ${does}`);
  if ((options.bits === undefined) === (options.bytes === undefined)) {
    throw new UsageError("Cannot mix formats without one budget: give bits per weight, or bytes");
  }
  await using inUse = await session.store.use();
  const { store } = inUse;
  const { runner, ready } = await preparedText(session, store, options);
  const refine = options.refine ?? REFINED;
  const there = ready.counts.calibration;
  const held = refine === 0
    ? 0
    : Math.min(options.refine_windows ?? WINDOWS, Math.max(1, Math.floor(there.windows / 2)));
  const windows = Math.min(options.windows ?? WINDOWS, there.windows - held);
  if (windows < 1) {
    throw new UsageError(
      `Cannot mix formats for ${study_id}: it has ${there.windows} windows of calibration text, ` +
        "and evaluating mixes takes windows of its own; give refine: 0",
    );
  }
  const tokens = Math.min(options.tokens ?? TOKENS, there.tokens);
  const data = usedData(ready.windows, { kind: "calibration", windows: windows + held, tokens });
  if (data === null) throw new UsageError(`Cannot mix formats for ${study_id} without text`);
  const asked = {
    formats: [...options.formats ?? keptFormats(facts)],
    windows,
    tokens,
    budget_bits: options.bits ?? null,
    budget_bytes: options.bytes ?? null,
    refine,
    refine_windows: held,
    fused: options.fused ?? true,
    seed: ready.seed,
  };
  const outcome = await runner("setup", {
    call: "mix",
    artifact_dir: baseline.location,
    calibration_path: data.path,
    ...asked,
    layer_cache: await layerCache(tools, baseline.artifact_id),
  }, "default");
  if (!outcome.ok) throw refusal(outcome.failure);
  const question = [baseline.artifact_id, data.used.sha256, asked];
  const mix_id = createHash("sha256").update(canonicalJson(question)).digest("hex").slice(0, 12);
  const { budget_bytes, mixes } = outcome.value;
  await store.record({
    type: "mixes_compared",
    at: tools.timestamp(),
    ...{ study_id, artifact_id: baseline.artifact_id, mix_id, seed: ready.seed },
    calibration_sha256: data.used.sha256,
    budget_bytes,
    mixes,
  });
  return { study_id, mix_id, ...outcome.value };
}
