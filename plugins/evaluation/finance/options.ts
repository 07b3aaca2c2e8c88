import { finance } from "./_finance.ts";

export default finance({
  name: "options",
  summary: "Options, generated here: prices, Greeks, implied volatility, parity, spreads, bounds",
  count: 600,
  rubric: "explanation",
});
