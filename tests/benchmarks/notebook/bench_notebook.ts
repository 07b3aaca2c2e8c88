/**
 * What a notebook's reader waits for: a kernel until it shows the front of a stored study, and a figure of
 * many points. Takes the latest study of the store.
 *
 *     deno task bench:notebook
 */
import * as Plot from "@observablehq/plot";
import { execa } from "execa";
import { parseHTML } from "linkedom";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureEnvironment } from "../../../python-backends/environments/environments.ts";
import { figures, openLab } from "../../../tracker/mod.ts";
import { kernelFolder, NOTEBOOKS } from "../../fixtures/notebook_run.ts";
import { type BenchRow, benchTable, median, repeatsText } from "../bench_table.ts";

const REPEATS = 5;
const POINTS = 10_000;
const FIRST_PLOT = fileURLToPath(new URL("first_plot.py", import.meta.url));
const CELL = `import { openLab, showPlot } from "../tracker/mod.ts";
const lab = await openLab();
showPlot(await lab.view());`;

async function firstPlotRow(): Promise<BenchRow> {
  const { python } = await ensureEnvironment("checks");
  const folder = await Deno.makeTempDir();
  try {
    const code = join(folder, "cell.ts");
    await Deno.writeTextFile(code, CELL);
    const JUPYTER_PATH = await kernelFolder(join(folder, "jupyter"));
    const load = Deno.loadavg()[0]!;
    const own: number[] = [];
    const floor: number[] = [];
    for (let turn = 0; turn < REPEATS; turn++) {
      const run = await execa(python, [FIRST_PLOT, code], {
        cwd: NOTEBOOKS,
        stdin: "ignore",
        env: { JUPYTER_PATH, NO_COLOR: "1" },
      });
      const { plot, empty } = JSON.parse(run.stdout) as { plot: number; empty: number };
      own.push(plot);
      floor.push(empty);
    }
    return {
      what: "start of a kernel to the first plot of a stored study",
      ...{ figure: median(own), unit: "s", peer: median(floor), goal: { under: 3 } },
      peer_name: "the same kernel answers 1 + 1",
      how: `import, openLab, lab.view and showPlot in one cell; ${repeatsText(own, "s", load)}`,
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Trials of which some stand on a front: no two alike. */
function manyTrials(): Record<string, unknown>[] {
  return Array.from({ length: POINTS }, (_, i) => ({
    ...{ trial_id: `s/t${i}`, methods: ["gptq", "rtn", "int8"][i % 3], state: "completed" },
    ...{ fidelity: "full", is_baseline: i === 0, on_front: i % 500 === 1, violated: i % 7 === 0 },
    accuracy: 0.5 + 0.1 * Math.sin(i),
    accuracy_difference: 0.05 * Math.sin(i),
    size_bytes: 1e8 + 1e4 * ((i * 7919) % POINTS),
    latency_ratio: 0.4 + ((i * 104729) % POINTS) / POINTS,
  }));
}

function milliseconds(draw: () => unknown): number {
  const started = performance.now();
  draw();
  return performance.now() - started;
}

function manyPointsRow(): BenchRow {
  const rows = manyTrials();
  const load = Deno.loadavg()[0]!;
  const bare = () => {
    const { document } = parseHTML("<html></html>");
    const marks = [Plot.dot(rows, { x: "size_bytes", y: "accuracy_difference", r: 3 })];
    return Plot.plot({ document: document as unknown as Document, marks }).outerHTML;
  };
  const own: number[] = [];
  const floor: number[] = [];
  for (let turn = 0; turn < REPEATS; turn++) {
    own.push(milliseconds(() => figures.pareto(rows)));
    floor.push(milliseconds(bare));
  }
  return {
    what: `Pareto figure of ${POINTS} points`,
    ...{ figure: median(own), unit: "ms", peer: median(floor), goal: { under: 500 } },
    peer_name: "Observable Plot, one mark of dots",
    how: `two panels, in this process; ${repeatsText(own, "ms", load)}`,
  };
}

async function main(): Promise<void> {
  const lab = await openLab();
  const there = (await lab.studies()).length > 0;
  await lab.close();
  const many = manyPointsRow();
  if (!there) console.error("bench: no study is stored, so no kernel is timed: run one first");
  const rows = there ? [await firstPlotRow(), many] : [many];
  console.log(`\n${benchTable(rows)}\n`);
}

await main();
