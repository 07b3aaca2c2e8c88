import { defineAgent } from "../../core/mod.ts";

/** TruthfulQA is one benchmark with two figures: each counts half of it. */
const TRUTHFUL = ["truthfulqa_mc1", "truthfulqa_mc2"];
const HALVES = { truthfulqa_mc1: 0.5, truthfulqa_mc2: 0.5 };

/** LongBench-E asks all but three of LongBench's 16 English tasks, of other samples. */
const LONGBENCH_E = [
  "qasper",
  "multifieldqa_en",
  "hotpotqa",
  "2wikimqa",
  "gov_report",
  "multi_news",
  "trec",
  "triviaqa",
  "samsum",
  "passage_count",
  "passage_retrieval_en",
  "lcc",
  "repobench_p",
];
const LONGBENCH = ["narrativeqa", "musique", "qmsum", ...LONGBENCH_E];

const NEEDLES = ["single_1", "single_2", "single_3", "multikey_1", "multikey_2", "multikey_3"]
  .concat(["multivalue", "multiquery"]);
const RULER = [...NEEDLES.map((name) => `niah_${name}`), "vt", "cwe", "fwe", "qa_1", "qa_2"];

/** Why benchmarks that the sets ask for cannot be had. */
const REASONS = {
  storycloze: "its data are licensed to persons and may not be passed on",
  alfworld: "it needs a simulator of rooms, which is no part of this project",
  babyai: "it needs a simulator of a grid world, which is no part of this project",
  webshop: "it needs a simulated shop with a million products, which is no part of this project",
};

/**
 * Which benchmarks a dataset's name asks for; those without a task file are named as missing. The
 * domain sets (analytical to execution) are those of an expert's subject; the one for reasoning is
 * called reasoning_expert, as `reasoning` is BIG-Bench Hard.
 */
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
    { datasets: ["code"], dataset_class: "code", tasks: ["humaneval", "mbpp"] },
    { datasets: ["humaneval"], dataset_class: "code", tasks: ["humaneval"] },
    { datasets: ["reasoning", "bbh"], dataset_class: "reasoning", tasks: ["bigbench_hard"] },
    {
      datasets: ["general", "default"],
      dataset_class: "general",
      tasks: ["gsm8k", "commonsense_qa", ...TRUTHFUL, "humaneval", "bigbench_hard"],
      weights: HALVES,
    },
    {
      datasets: ["core"],
      dataset_class: "general",
      tasks: [
        "mmlu",
        "gsm8k",
        "humaneval",
        "hellaswag",
        "arc_challenge",
        ...TRUTHFUL,
        "winogrande",
      ],
      weights: HALVES,
    },
    {
      datasets: ["ethics"],
      dataset_class: "general",
      tasks: ["ethics_autonomy", "ethics_honesty", "ethics_harm", "ethics_dignity"],
    },
    { datasets: ["language"], dataset_class: "language", tasks: ["lambada", "wikitext2"] },
    {
      datasets: ["analytical"],
      dataset_class: "math",
      tasks: ["hendrycks_math", "arc_challenge", "gsm8k"],
    },
    {
      datasets: ["creative"],
      dataset_class: "language",
      tasks: ["hellaswag", "storycloze"],
      reasons: REASONS,
    },
    {
      datasets: ["reasoning_expert"],
      dataset_class: "reasoning",
      tasks: ["mmlu", "winogrande"],
    },
    {
      datasets: ["communication"],
      dataset_class: "language",
      tasks: [...TRUTHFUL, "lambada"],
      weights: HALVES,
    },
    {
      datasets: ["longbench"],
      dataset_class: "language",
      tasks: LONGBENCH.map((name) => `longbench_${name}`),
    },
    {
      datasets: ["longbench_e"],
      dataset_class: "language",
      tasks: LONGBENCH_E.map((name) => `longbench_e_${name}`),
    },
    {
      datasets: ["ruler"],
      dataset_class: "language",
      tasks: RULER.map((name) => `ruler_${name}`),
    },
    {
      datasets: ["memory"],
      dataset_class: "general",
      tasks: ["squad_completion", "triviaqa"],
    },
    {
      datasets: ["planning"],
      dataset_class: "reasoning",
      tasks: ["alfworld", "babyai"],
      reasons: REASONS,
    },
    {
      datasets: ["execution"],
      dataset_class: "reasoning",
      tasks: ["webshop", "countdown"],
      reasons: REASONS,
    },
  ],
});
