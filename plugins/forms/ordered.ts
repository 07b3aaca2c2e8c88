import { defineForm } from "../../core/mod.ts";

/**
 * Integers on a grid whose groups take columns from everywhere in a row, as GPTQ's `desc_act` leaves them.
 * Pare's own layout of what GPTQ files and compressed-tensors hold so: no method here writes it.
 */
export default defineForm({
  name: "ordered",
  summary: "Integers with a scale for each group, whose columns stand in another order",
});
