/** The requirement's name for what goes at once: here it chooses the method. */
export const GRANULARITY = {
  prune_granularity: "it is the method that says what goes at once: channel is channels with " +
    "mlp_ratio, head is channels with attention_ratio, block is depth, and single weights are " +
    "magnitude's, wanda's and sparsegpt's",
};
