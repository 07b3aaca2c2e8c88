/** Prints invented rows of every benchmark by its file: the Python tests score answers to them. */
import bigbenchHard from "../../plugins/evaluation/generations/bigbench_hard.ts";
import { benchmarkRows } from "../fixtures/benchmark_rows.ts";

const subtasks: string[] = Object(bigbenchHard.definition).metadata.groups.hub_configs;
const benchmarks = Object.values(benchmarkRows(subtasks));
console.log(JSON.stringify(Object.assign({}, ...benchmarks.map(({ files }) => files))));
