import { type Change, type Facts, type Leaves, withWeightBytes } from "../../core/mod.ts";
import type { AdapterForm } from "../forms/adapter.ts";
import { linearWithFactors } from "./_training.ts";

/** What factors leave: in the weights, or beside them. */
export function factorLeaves(
  { rank, merge }: { readonly rank: number; readonly merge: boolean },
  facts: Facts,
): Leaves {
  const { model } = facts;
  const trained = { part: "linear", effect: "trains", form: null } as const;
  if (merge) return { changes: [{ ...trained, least_cosine: 0.5 }], model };
  const form: AdapterForm = { form: "adapter", rank };
  const beside: Change = { part: "adapter", effect: "trains", form, least_cosine: null };
  const after = {
    ...withWeightBytes(model, { linear: linearWithFactors(rank, facts) }),
    unpackable: "an adapter lies beside its weights: with merge they can be changed further",
  };
  return { changes: [beside], model: after };
}
