import { defineAgent } from "../../core/mod.ts";

/** Which benchmarks a dataset's name asks for; those without a task file are named as missing. */
export default defineAgent({
  name: "evaluation",
  summary: "Measures quality: language tasks by lm-eval, and perplexity on text",
  benchmark_sets: [
    {
      datasets: ["demo"],
      dataset_class: "language",
      tasks: ["last_words", "everyday_choice", "demo_text"],
    },
    { datasets: ["tiny"], dataset_class: "language", tasks: ["tiny_words"] },
    { datasets: ["gsm8k", "math"], dataset_class: "math", tasks: ["gsm8k"] },
    { datasets: ["code", "humaneval"], dataset_class: "code", tasks: ["humaneval"] },
    {
      datasets: ["reasoning", "bbh"],
      dataset_class: "reasoning",
      tasks: ["bigbench_hard"],
    },
    {
      datasets: ["general", "default"],
      dataset_class: "general",
      tasks: ["gsm8k", "commonsenseqa", "truthfulqa", "humaneval", "bigbench_hard"],
    },
    { datasets: ["language"], dataset_class: "language", tasks: ["lambada", "wikitext2"] },
  ],
});
