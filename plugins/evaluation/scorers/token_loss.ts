import { z } from "zod";
import { defineScorer, scorerMetric } from "../../../core/mod.ts";

/** A window's score is its mean negative log-likelihood; the figure is the exponential of their mean. */
export default defineScorer({
  name: "token_loss",
  version: "1",
  summary: "Perplexity: how unlikely the tokens of a window are, in nats a token",
  reads: ["windows"],
  metrics: [{ ...scorerMetric("perplexity"), range: [0, null] }],
  params: z.strictObject({}),
  example: {
    row: { text: "The fox sleeps in the den." },
    right: { likelihoods: [-4], tokens: 8 },
    wrong: { likelihoods: [-80], tokens: 8 },
  },
});
