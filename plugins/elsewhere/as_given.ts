import {
  type Change,
  choice,
  defineMethod,
  type Facts,
  type GivenFacts,
  type Leaves,
  type StoredForm,
  weightBytes,
  withWeightBytes,
} from "../../core/mod.ts";
import { isDecoded } from "../forms/_decoded.ts";
import { DECODED, type GgmlForm, isGgml } from "../forms/ggml.ts";
import { modelMemory } from "../quantization/_groups.ts";

/** SmolLM2-135M of a GGUF file: read, written and hashed in 5 s on two cores. */
const START_SECONDS = 4;
const SECONDS_A_WEIGHT = 2e-8;
/** Above what another model's weights have, below what any quantizer leaves. */
const LEAST_COSINE = 0.1;
/** Norms and biases, into which quantizers fold the scales of columns. */
const LEAST_COSINE_BESIDE = 0.01;

const FLOATS = "it is decoded to floats when the model is loaded, which take a float's bytes in " +
  "memory and run no faster";

interface GivenParams {
  readonly file: string;
  readonly content: string;
}

/** What is known of the checkpoint; undefined: it was not given, or is gone. */
function known({ content }: GivenParams, { given = [] }: Facts): GivenFacts | undefined {
  return given.find((one) => one.content === content);
}

/** The forms of a part; llama.cpp's mixes of kinds are one, of their mean bits. */
function formsOf(
  found: GivenFacts | undefined,
  part: "linear" | "embedding",
  weights: number,
): (StoredForm | null)[] {
  const forms: readonly (StoredForm | null)[] = found?.forms[part] ?? [null];
  const blocks = forms.filter((form): form is GgmlForm => form !== null && isGgml(form));
  if (found === undefined || blocks.length === 0) return [...forms];
  const mix = blocks.map((form) => form.mix).join(" ");
  const bits = 8 * found.weight_bytes[part] / Math.max(1, weights);
  const form: GgmlForm = { form: "ggml", mix, bits, kinds: null };
  return [form, ...forms.filter((one) => one !== null && !isGgml(one))];
}

function leaves(params: GivenParams, facts: Facts): Leaves {
  const { model } = facts;
  const found = known(params, facts);
  const weights = { linear: model.linear_parameters, embedding: model.embedding_parameters };
  const parts = (["linear", "embedding"] as const).flatMap((part) =>
    formsOf(found, part, weights[part]).map((form): Change => ({
      ...{ part, effect: "rounds", form, least_cosine: LEAST_COSINE },
      ...(form !== null && isDecoded(form) ? { no_faster: isGgml(form) ? DECODED : FLOATS } : {}),
    }))
  );
  const beside = ["norm", "bias", "other"].map((part): Change => (
    { part, effect: "trains", form: null, least_cosine: LEAST_COSINE_BESIDE }
  ));
  return {
    changes: [...parts, ...beside],
    model: withWeightBytes(model, found?.weight_bytes ?? weightBytes(model)),
  };
}

/** A checkpoint that was made elsewhere, as it is. */
export default defineMethod({
  name: "as_given",
  summary: "Takes a checkpoint of the same model that was made elsewhere, as it is",
  knobs: {
    file: choice(["none"], {
      default: "none",
      unit: "name",
      pattern: "[^\\n]+",
      description: "Its file's name, its folder's, or its name on the hub",
    }),
    content: choice(["none"], {
      default: "none",
      unit: "hash of its files",
      pattern: "[0-9a-f]{16}",
      description: "By which it is found again; a document's {checkpoint: FILE} gets it by itself",
    }),
  },
  needs: { environment: "default", gpu: false, given: true },
  leaves,
  order: {
    effect: "rounds",
    follows: [],
    precedes: [],
    reason: "it takes the original's place, and what is stored in it stays as it is",
  },
  title: ({ file }) => file,
  hint: (about) => about === "quality" ? "Take a larger file" : "Take a smaller file",
  supports: ({ given = [] }) =>
    given.length > 0
      ? { ok: true }
      : { ok: false, reason: "no checkpoint that was made elsewhere was given" },
  accepts: (params, facts) =>
    known(params, facts) !== undefined ? { ok: true } : {
      ok: false,
      reason:
        `${params.file} is not among the checkpoints that were given, or is gone: name it by ` +
        "`pare add`, or in a document's strategies as {checkpoint: FILE}",
    },
  seed: () => null,
  next: () => null,
  estimateSeconds: (_params, { model }) => START_SECONDS + SECONDS_A_WEIGHT * model.parameters,
  estimateMemory: (_params, facts) => modelMemory(facts, 1),
});
