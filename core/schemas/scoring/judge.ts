import { z } from "zod";
import { Endpoint } from "../endpoint.ts";

const price = z.number().nonnegative().optional();

/** A model that judges answers, behind a server. Its key comes from the environment: JUDGE_API_KEY. */
export const Judge = Endpoint.extend({
  temperature: z.number().min(0).max(2).optional().describe("absent: 0"),
  seed: z.int().nonnegative().optional().describe("absent: 0"),
  input_price: price.describe("US dollars for a million tokens that it reads; absent: not known"),
  output_price: price.describe("US dollars for a million tokens that it writes"),
});
export type Judge = z.infer<typeof Judge>;
