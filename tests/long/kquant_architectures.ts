/** kquant on a random model of every architecture that a GGUF file is written of: facts, bytes, the file in llama.cpp. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { ConversionFacts, conversionProblems, ModelFacts, totalBytes } from "../../core/mod.ts";
import { WRITTEN } from "../../plugins/forms/ggml.ts";
import kquant from "../../plugins/quantization/kquant.ts";
import {
  ensureEnvironment,
  overrideVariable,
} from "../../python-backends/environments/environments.ts";
import { PYTHON_ROOT } from "../../python-backends/home.ts";
import { smallFacts } from "../core/spec_fixtures.ts";

/** How far the bytes by formula may lie from those of what was written. */
const BYTES_OFF = 0.001;
/** In float32, of gelu read out of a table of float16; with llama.cpp's own numerics. */
const STRICT_KL = 1e-5;
const DEFAULT_KL = 5e-3;
const params = {
  ...{ block_mix: "Q4_K_M", embedding_blocks: "mix", head_blocks: "mix", assignment: "none" },
  ...{ kinds_by: "mix", eight_bit_share: 0, importance: true, samples: 4 },
} as const;

/** Whose files hold all experts of a block in one tensor, turned or gate and up by turns, or in one matrix. */
const REFUSED = [
  ...["GptOssForCausalLM", "DbrxForCausalLM", "Llama4ForCausalLM", "GraniteMoeSWAForCausalLM"],
  "HYV4ForCausalLM",
];

interface Made {
  readonly architecture: string;
  readonly failed?: string;
  readonly before: unknown;
  readonly after: Partial<ModelFacts>;
  readonly formula_bytes: number;
  readonly minimum_cosine: number;
  readonly strict_kl: number;
  readonly default_kl: number;
  /** As \`pare convert --to gguf\` checks it. */
  readonly converted: unknown;
}

const FOLDER = fileURLToPath(new URL("../python-backends/", import.meta.url));

async function makeAll(): Promise<Made[]> {
  const [own, llama] = [await ensureEnvironment("default"), await ensureEnvironment("llama_cpp")];
  const asked = [JSON.stringify(WRITTEN), JSON.stringify(params)];
  const { stdout } = await execa(own.python, ["print_kquants.py", ...asked], {
    cwd: FOLDER,
    env: {
      HF_HUB_OFFLINE: "1",
      PYTHONPATH: [PYTHON_ROOT, FOLDER].join(":"),
      [overrideVariable("llama_cpp")]: llama.python,
    },
  });
  const lines = stdout.split("\n").filter((line) => line.startsWith("{")); // libraries print too
  return lines.map((line) => JSON.parse(line));
}

Deno.test("kquant takes every architecture that is written, in the bytes that it foretells", async (t) => {
  const made = await makeAll();
  assert.deepEqual(made.map(({ architecture }) => architecture), WRITTEN);
  for (const one of made) {
    await t.step(one.architecture, () => {
      if (REFUSED.includes(one.architecture)) {
        assert.match(one.failed ?? "", /cannot be packed/);
        return;
      }
      assert.equal(one.failed, undefined);
      const facts = { ...smallFacts(), model: ModelFacts.parse(one.before), tools: ["llama_cpp"] };
      assert.deepEqual(kquant.supports(facts), { ok: true });
      assert.deepEqual(kquant.accepts(params, facts), { ok: true });
      const { model } = kquant.leaves(params, facts);
      const said = totalBytes(model);
      const off = Math.abs(said - one.formula_bytes) / one.formula_bytes;
      assert.ok(off <= BYTES_OFF, `${one.formula_bytes} bytes were written, ${said} foretold`);
      assert.equal(model.linear_parameters, one.after.linear_parameters);
      assert.equal(model.parameters, one.after.parameters);
      assert.ok(one.minimum_cosine > 0.99, `a cosine of ${one.minimum_cosine}`);
      assert.ok(one.strict_kl <= STRICT_KL, `${one.strict_kl} nats in float32`);
      assert.ok(one.default_kl <= DEFAULT_KL, `${one.default_kl} nats`);
      const converted = ConversionFacts.parse(one.converted);
      assert.deepEqual(conversionProblems(converted), []);
      assert.notEqual(converted.opened_by, null);
    });
  }
});
