/** Settings of a runtime's cache: kept in the journal, asked in SQL, shown with their crossing points. */
import assert from "node:assert/strict";
import {
  cacheCrossing,
  type JournalRecord,
  namedCache,
  payingSettings,
  replayStudy,
  resolveCache,
  type Runtime,
  type ScoredCache,
  type TimedCache,
  UsageError,
} from "../../../core/mod.ts";
import llamaCpp from "../../../plugins/runtimes/llama.cpp.ts";
import openvino from "../../../plugins/runtimes/openvino.ts";
import genai from "../../../plugins/runtimes/openvino_genai.ts";
import transformers from "../../../plugins/runtimes/transformers.ts";
import type { StudySession } from "../../../tracker/session/study_session.ts";
import type { StudyView } from "../../../tracker/show/view/study_view.ts";
import {
  contextSentences,
  crossingText,
  payingTexts,
} from "../../../tracker/show/caches/cache_words.ts";
import { frontCaches, weightsOnFront } from "../../../tracker/commands/caches/front_caches.ts";
import { cachesText, parseContexts } from "../../../tracker/commands/caches/caches.ts";
import { knobGrid } from "../../../tracker/commands/input/knob_list.ts";
import { settingsToScore } from "../../../tracker/session/score_caches.ts";
import { type CachesOptions, checkedCaches } from "../../../tracker/session/study_caches.ts";
import { jsonText } from "../../../tracker/show/json/print_json.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { AT, STUDY, studyRecords } from "../../fixtures/stores/records.ts";

/** A setting whose tokens take so many times the full cache's, and a tenth either way. */
function timed(context_tokens: number, decode_ratio: number, kept_bytes: number): TimedCache {
  return {
    ...{ setting: "less", context_tokens, new_tokens: 64, passes: 3 },
    ...{ prefill_ms: 900, decode_ms: 20 * decode_ratio, full_prefill_ms: 1000 },
    ...{ prompt_bytes: 3_000_000, kept_bytes, full_decode_ms: 20, full_kept_bytes: 3_000_000 },
    ...{ prefill_ratio: 0.9, prefill_ratio_low: null, prefill_ratio_high: null },
    ...{ decode_ratio, decode_ratio_low: 0.9 * decode_ratio },
    decode_ratio_high: 1.1 * decode_ratio,
  };
}

const ROWS = [
  timed(4096, 0.5, 1_000_000),
  timed(1024, 1.2, 3_000_000),
  timed(2048, 0.8, 2_000_000),
];

/** As much of a study as its cache's sentences are drawn from: t01 keeps a tenth of the cache. */
function studyAt(caches_timed: readonly object[], left = 1e6): StudyView {
  const rows = (values: Record<string, number>) =>
    Object.entries(values).map(([metric, value]) => ({ metric, value, task: null, slice: null }));
  const trials = [
    {
      ...{ trial_id: "s/t00", strategy: null, artifact_ids: [] },
      measurements: rows({
        ...{ kv_bytes_at_context: 5e7, memory_bytes_at_context: 3e8 },
        context_kv_bytes: 2e6,
      }),
    },
    {
      ...{ trial_id: "s/t01", strategy: {}, artifact_ids: ["w", "p"] },
      measurements: rows({
        ...{ kv_bytes_at_context: 5e6, memory_bytes_at_context: 2e8 },
        ...{ kv_crossing_tokens: 257, context_kv_bytes: left },
      }),
    },
  ];
  const artifacts = new Map([["p", { artifact_id: "p", weights_id: "w", action: {} }]]);
  const view = { spec: { context_tokens: 8192 }, recommended: "s/t01", trials, artifacts };
  return { ...view, caches_timed } as unknown as StudyView; // the rest of a study is not looked at
}

Deno.test("the recommended trial says at which length its cache pays, and of time only what was measured of its weights", () => {
  const [bytes, pays, time] = contextSentences(studyAt([]));
  assert.equal(
    bytes,
    "At 8,192 tokens keys and values take 5.0 MB against 50.0 MB of the original; with the weights " +
      "that is 200.0 MB against 300.0 MB of the original, by arithmetic.",
  );
  assert.equal(
    pays,
    "Its cache setting takes fewer bytes than the full cache from 257 tokens on.",
  );
  assert.match(time!, /^Whether it saves time is not known: torch emulates/);
  const uncut = contextSentences(studyAt([], 2e6));
  assert.equal(uncut.length, 4);
  assert.match(uncut[2]!, /^No context of the study's benchmarks was longer than what it keeps:/);
  const measured = {
    ...{ caches: ROWS, settings: [{ name: "full" }], runtime: "genai", version: "genai 1" },
    launches: { less: ["--less", "1"] },
  };
  const said = contextSentences(studyAt([{ ...measured, artifact_id: "w" }])).at(-1)!;
  assert.equal(
    said,
    "In genai 1 less (`--less 1`) pays beside full: a smaller cache from 2048 tokens on, " +
      "faster decoding from 2048 tokens on; not scored.",
  );
  const twice = ["genai", "other"].map((runtime) => ({ ...measured, runtime, artifact_id: "w" }));
  const both = contextSentences(studyAt([...twice, { ...twice[0]!, version: "genai 2" }]));
  assert.equal(both.length, 4, "the newest of each runtime");
  assert.match(both[2]!, /^In genai 2 less /);
  const others = contextSentences(studyAt([{ ...measured, artifact_id: "other" }])).at(-1);
  assert.equal(others, time, "other weights' times say nothing of these");
  assert.deepEqual(contextSentences({ ...studyAt([]), spec: {} } as unknown as StudyView), []);
  const without = { ...studyAt([{ ...measured, artifact_id: "w" }]), spec: {} };
  assert.deepEqual(contextSentences(without as unknown as StudyView), [said]);
});

/** A score of a setting on 100 samples beside the full cache's. */
function scoredAs(setting: string, difference: number | null): ScoredCache {
  const error = difference === null ? null : 0.01;
  return {
    ...{ setting, task: "gsm8k", metric: "accuracy", value: 0.5, standard_error: 0.05, n: 100 },
    ...{ difference, difference_standard_error: error },
  };
}

Deno.test("a setting pays where it surely costs less, and what it surely loses is said", () => {
  const rows = [...ROWS, ...ROWS.map((row) => ({ ...row, setting: "worse" }))];
  const slow = { ...timed(1024, 1.2, 3_000_000), setting: "slow" };
  const scores = [
    scoredAs("full", null),
    scoredAs("less", -0.015),
    scoredAs("worse", -0.03),
    scoredAs("slow", -0.5),
  ];
  const pays = payingSettings({ caches: [...rows, slow], scores });
  assert.deepEqual(pays.map(({ setting, from, loses }) => ({ setting, from, loses })), [
    { setting: "less", from: { bytes: 2048, decode: 2048 }, loses: [] },
    { setting: "worse", from: { bytes: 2048, decode: 2048 }, loses: ["gsm8k"] },
  ]);
  const [less, worse] = payingTexts({ full: "full", version: "v", caches: rows, scores });
  assert.match(less!, /^In v less pays .*full cache: gsm8k -0\.015 ± 0\.010\.$/);
  assert.match(worse!, /^In v worse pays .*, surely less on gsm8k\.$/);
  assert.deepEqual(payingTexts({ full: "full", version: "v", caches: [slow] }), [
    "In v no other setting surely pays beside full.",
  ]);
});

Deno.test("at a study's end the settings that pay are scored, else all that were measured", () => {
  const settings = ["full", "less", "slow", "refused"].map((name) => ({ name, params: {} }));
  const rows = [...ROWS, { ...timed(1024, 1.2, 3_000_000), setting: "slow" }];
  const named = (paying: boolean) =>
    settingsToScore(settings, rows, [{ setting: "refused" }], paying).map(({ name }) => name);
  assert.deepEqual(named(true), ["full", "less"]);
  assert.deepEqual(named(false), ["full", "less", "slow"]);
});

Deno.test("a study's end measures each weights of the front once, and asks for the scores of what pays", async () => {
  const asked: unknown[] = [];
  const view = {
    ...{ front: ["s/t01", "s/t02"], spec: { context_tokens: 1024 }, artifacts: new Map() },
    ...{ facts: { model: { context_length: 4096 } }, request: {}, episodes: [] },
    trials: [1, 2].map((number) => ({
      ...{ trial_id: `s/t0${number}`, number, artifact_ids: [`a${number}`] },
    })),
  };
  const { version: runtime_version, numerics: _, ...rest } = MEASURED;
  const measured = { ...rest, runtime_version, full: "full_f16" };
  const session = {
    view: () => Promise.resolve(view),
    caches({ onEvent: _told, signal: _end, ...options }: CachesOptions) {
      asked.push(options);
      if (options.trial === "s/t02") throw new UsageError("its files are gone");
      return Promise.resolve(measured);
    },
  } as unknown as StudySession; // as much of one as is asked
  const stop = new AbortController();
  const options = { onEvent: () => {}, signal: stop.signal, store: "my store" };
  const texts = await frontCaches(session, { ...llamaCpp, caches: llamaCpp.caches! }, options);
  const each = { runtime: "llama.cpp", passes: 2, scores: "paying", contexts: [256, 512, 1024] };
  assert.deepEqual(asked, [{ ...each, trial: "s/t01" }, { ...each, trial: "s/t02" }]);
  asked.splice(0);
  await frontCaches(session, { ...genai, caches: genai.caches! }, options);
  assert.deepEqual(
    (asked as unknown as { settings: unknown[] }[])[0]?.settings, // it was narrowed by what stood there
    [...Object.keys(genai.caches!.settings), ...genai.caches!.sized!(1024)],
    "a runtime whose sizes go by the context has those too",
  );
  assert.match(texts[0]!, /^The weights of t01 in llama\.cpp.*\n.*prompt +setting/);
  assert.match(texts[1]!, /^The weights of t02 .*: its files are gone$/);
  stop.abort();
  const stopped = await frontCaches(session, { ...genai, caches: genai.caches! }, options);
  assert.match(
    stopped[1]!,
    /^The weights of t02 .*: their measuring was stopped; `npx -y deno task pare caches s\/t02 --runtime openvino_genai --store "my store"` measures them$/,
  );
});

Deno.test("a setting is told as its runtime's own program takes it", () => {
  const told = (runtime: Runtime, name: string) => {
    const { params } = resolveCache(runtime.caches!, name, namedCache(runtime.caches!, name));
    return runtime.caches!.launch!(params).join(" ");
  };
  assert.equal(told(llamaCpp, "flash_q8_0"), "-ctk q8_0 -ctv q8_0 -fa on");
  assert.equal(told(llamaCpp, "one_thread"), "-ctk f16 -ctv f16 -fa on -t 1");
  assert.equal(told(llamaCpp, "full_f32"), "-ctk f32 -ctv f32 -fa off");
  assert.equal(told(llamaCpp, "not_repacked"), "-ctk f16 -ctv f16 -fa on --no-repack");
  assert.equal(told(genai, "full_u8"), "KV_CACHE_PRECISION=u8");
  assert.equal(
    told(genai, "kvcrush"),
    "KV_CACHE_PRECISION=f16 use_cache_eviction=True cache_eviction_config=CacheEvictionConfig(32, " +
      "128, 384, AggregationMode.SUM, apply_rotation=False, snapkv_window_size=8, " +
      "kvcrush_config=KVCrushConfig(4))",
  );
  assert.match(
    told(genai, "xattention"),
    /\(mode=SparseAttentionMode\.XATTENTION, xattention_threshold=0\.8\)$/,
  );
  assert.equal(
    told(openvino, "inputs_32"),
    "KV_CACHE_PRECISION=f32 INFERENCE_PRECISION_HINT=f32 DYNAMIC_QUANTIZATION_GROUP_SIZE=32",
  );
});

Deno.test("of the front's trials each weights are measured once, without the policies that run on them", () => {
  const trials = [["a"], ["a", "pa"], ["b", "pb"], ["b", "qb"], [], ["po"]].map((
    artifact_ids,
    at,
  ) => ({
    ...{ trial_id: `s/t0${at}`, artifact_ids },
  }));
  const settings = [["pa", "a"], ["pb", "b"], ["qb", "b"], ["po", "o"]] as const;
  const artifacts = new Map<string, object>(
    settings.map(([id, weights_id]) => [id, { weights_id, action: {} }]),
  );
  artifacts.set("o", { artifact_id: "o", action: null });
  const front = ["s/t03", "s/t01", "s/t02", "s/t00", "s/t04", "s/t05"];
  const view = { front, trials, artifacts } as unknown as StudyView; // as much as is looked at
  assert.deepEqual(weightsOnFront(view), ["s/t03", "s/t01", "s/t04"]);
});

Deno.test("the crossing point is the length from which on a setting surely costs less", () => {
  assert.equal(cacheCrossing(ROWS, "decode", 1), 2048);
  assert.equal(cacheCrossing(ROWS, "bytes", 1), 2048);
  assert.equal(cacheCrossing(ROWS, "prefill", 1), null, "one pair tells nothing");
  // Faster at one length and not at a longer one: no point from which on it is.
  assert.equal(cacheCrossing([...ROWS, timed(8192, 0.95, 1)], "decode", 1), null);
  assert.equal(cacheCrossing([timed(512, 0.5, 1), timed(1024, 0.5, 1)], "decode", 1), 512);
  assert.equal(
    crossingText("less", "full", ROWS),
    "less, beside full: is smaller from 2048 tokens on; decodes faster from 2048 tokens on; " +
      "reads the longest prompt not surely faster",
  );
});

Deno.test("the more is compared, the surer a setting must be to be called faster", () => {
  // 24 turns without a fifth at each end: t of 15 degrees of freedom, 2.131 for one comparison.
  const near = timed(4096, 0.88, 1); // up to 0.968
  assert.equal(cacheCrossing([near], "decode", 1), 4096);
  assert.equal(cacheCrossing([near], "decode", 2), 4096); // 2.490: 0.88 × 1.1 ^ 1.168 = 0.984
  assert.equal(cacheCrossing([near], "decode", 8), null); // 3.146: 0.88 × 1.1 ^ 1.476 = 1.013
  assert.equal(cacheCrossing([near], "bytes", 8), 4096, "bytes are counted");
  // Three prompts: t of 2 degrees of freedom grows fast, 4.303 for one and 12.59 for eight.
  const read = { ...near, prefill_ratio: 0.8, prefill_ratio_low: 0.7, prefill_ratio_high: 0.9 };
  assert.equal(cacheCrossing([read], "prefill", 1), 4096);
  assert.equal(cacheCrossing([read], "prefill", 8), null);
  const many = ["a", "b", "c", "less"].map((setting) => ({ ...near, setting }));
  assert.match(crossingText("less", "full", [near]), /decodes faster from 4096 tokens on/);
  assert.match(crossingText("less", "full", many), /decodes not surely faster/);
});

Deno.test("lengths of a prompt are tokens, or thousands of 1,024", () => {
  assert.deepEqual(parseContexts("1k, 2K,3000"), [1024, 2048, 3000]);
  for (const wrong of ["1.5k", "0", "long", "-2"]) {
    assert.throws(() => parseContexts(wrong), /it is such as 1k,2k,4096, not/, wrong);
  }
});

Deno.test("settings are checked before any work, the full cache always among them", () => {
  const names = (...asked: Parameters<typeof checkedCaches>) =>
    checkedCaches(...asked).settings.map(({ name }) => name);
  const runtimes = [transformers, genai];
  assert.deepEqual(names(runtimes, {}), Object.keys(genai.caches!.settings));
  const mine = { eviction: "sum", max_cache_size: 256 };
  assert.deepEqual(names(runtimes, { settings: ["full_u8", mine, "full_u8"] }), [
    ...["full_f16", "full_u8", "eviction=sum,max_cache_size=256"],
  ]);
  const twice = [{ kv_precision: "u8" }, "full_u8", { kv_precision: "f16" }];
  assert.deepEqual(names(runtimes, { settings: twice }), ["full_f16", "kv_precision=u8"]);
  const refused = (asked: Parameters<typeof checkedCaches>[1], said: RegExp) =>
    assert.throws(() => checkedCaches(runtimes, asked), said);
  refused({ settings: ["full_f16"] }, /full_f16 with nothing: name another setting/);
  refused({ settings: ["ful_u8"] }, /Did you mean "full_u8"/);
  refused({ settings: [{ ...mine, max_cache_size: 250 }] }, /250 tokens, no multiple of the 32/);
  refused({ runtime: "transformers" }, /its cache is one way; take openvino_genai/);
  refused({ runtime: "openvino_gena" }, /Did you mean "openvino_genai"/);
});

const SETTINGS = checkedCaches([genai], { settings: ["norm_sum", "kvcrush"] }).settings;
const MEASURED = {
  caches: ROWS.map((row) => ({ ...row, setting: "norm_sum" })),
  refused: [{ setting: "kvcrush", reason: "a process that tried it was ended by SIGSEGV" }],
  ...{ version: "library 1.0", bytes_method: "counted", threads: 2, load_average: 0.5 },
  numerics: {
    norm_sum: { inference_precision: "f32", kv_precision: "f16", activation_group: 0 },
  },
};
const SCORE = { task: "needles", metric: "accuracy", standard_error: 0.1, n: 20 };
const SCORES = [
  { setting: "full_f16", ...SCORE, value: 0.9, difference: null, difference_standard_error: null },
  { setting: "norm_sum", ...SCORE, value: 0.6, difference: -0.3, difference_standard_error: 0.05 },
];

Deno.test("what was measured is a row in SQL, and why another was not", () =>
  inDirectory(async (root) => {
    const own = {
      study_id: STUDY,
      artifact_id: "a".repeat(16),
      runtime: "openvino_genai",
      seed: 1,
    };
    const record: JournalRecord = {
      ...{ type: "caches_timed", at: AT, ...own },
      ...{ settings: SETTINGS, ...MEASURED, scores: SCORES },
    };
    await using store = await openStore(root, { write: true });
    for (const one of [...studyRecords(), record]) await store.record(one);
    await store.flush();
    const { rows } = await store.query(
      "SELECT setting, kv_precision, context_tokens, decode_ratio, kept_bytes, full_kept_bytes, reason, " +
        "params LIKE '%max_cache_size=512%' AS known FROM cache_timings ORDER BY ALL",
    );
    assert.deepEqual(rows.map(({ setting, context_tokens }) => [setting, context_tokens]), [
      ...[["kvcrush", null], ["norm_sum", 1024], ["norm_sum", 2048], ["norm_sum", 4096]],
    ]);
    assert.match(String(rows[0]?.["reason"]), /SIGSEGV/);
    assert.equal(rows[3]?.["kept_bytes"], 1_000_000);
    assert.ok(rows[1]?.["known"], "every knob's value stands beside it");
    const scored = await store.query(
      "SELECT setting, difference, params LIKE '%norm_sum%' AS known FROM cache_scores ORDER BY ALL",
    );
    assert.deepEqual(scored.rows, [
      { setting: "full_f16", difference: null, known: false },
      { setting: "norm_sum", difference: -0.3, known: true },
    ]);
    // It may come long after a study: its end does not move.
    const before = replayStudy(studyRecords(), STUDY);
    assert.deepEqual(replayStudy([...studyRecords(), record], STUDY)?.trials, before?.trials);
  }));

Deno.test("the table has the full cache of each length first, and the JSON every figure", () => {
  const { version, numerics: _, ...rest } = MEASURED;
  const measured = {
    ...{ study_id: STUDY, artifact_id: "a".repeat(16), runtime: "openvino_genai" },
    ...{ runtime_version: version, full: "full_f16", ...rest },
  };
  const lines = cachesText(measured).split("\n");
  assert.match(lines[0]!, /prompt +setting +prefill ms +decode ms\/token +cache +at most/);
  assert.match(lines[2]!, /^ +1024 +full_f16 +3\.0+ MB/);
  assert.match(
    lines[3]!,
    /norm_sum +900 : 1000 = 0\.90× +24\.0 : 20\.0 = 1\.2× \(1\.1 to 1\.3\) +3\.0+ MB/,
  );
  assert.match(
    lines[7]!,
    /^ +4096 +norm_sum .* 10\.0 : 20\.0 = 0\.50× \(0\.45 to 0\.55\) +1\.0+ MB/,
  );
  assert.ok(
    lines.includes("kvcrush was not measured: a process that tried it was ended by SIGSEGV"),
  );
  const said = cachesText({ ...measured, scores: SCORES });
  assert.match(said, /needles +norm_sum +accuracy +0\.600 ± 0\.100 +−?-?0\.300 ± 0\.050 +20/);
  assert.doesNotMatch(said, /tells no setting apart|no answers are generated/);
  const unscored = "Cannot score settings of a cache on words: no answers are generated there";
  assert.ok(cachesText({ ...measured, unscored }).split("\n").includes(unscored));
  const floor = [{ ...SCORES[0]!, value: 0 }];
  assert.match(cachesText({ ...measured, scores: floor }), /needles tells no setting apart/);
  const wide = measured.caches.map((row) => ({ ...row, decode_ratio_high: 2000 }));
  assert.match(cachesText({ ...measured, caches: wide }), /= 1\.2× \(3 pairs do not tell\)/);
  const { data } = JSON.parse(jsonText("caches", measured));
  assert.equal(data.caches[0].decode_ratio, 0.5);
});

Deno.test("knobs with several values are every combination of them, as many as can be measured", () => {
  assert.deepEqual(
    knobGrid("eviction=sum/norm_sum,max_cache_size=256,kv_precision=f16/u8", "--setting"),
    [
      { eviction: "sum", max_cache_size: 256, kv_precision: "f16" },
      { eviction: "sum", max_cache_size: 256, kv_precision: "u8" },
      { eviction: "norm_sum", max_cache_size: 256, kv_precision: "f16" },
      { eviction: "norm_sum", max_cache_size: 256, kv_precision: "u8" },
    ],
  );
  assert.throws(() => knobGrid("eviction", "--setting"), /write knob=value/);
  const many = Array.from({ length: 33 }, (_, at) => 32 * (at + 1)).join("/");
  assert.throws(() => knobGrid(`max_cache_size=${many}`, "--setting"), /it is 33 settings/);
});
