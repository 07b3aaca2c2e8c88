import { finance } from "./_finance.ts";

export default finance({
  name: "synthetic",
  summary: "Ratios of made-up companies' statements, generated here, in English and Chinese",
  count: 600,
});
