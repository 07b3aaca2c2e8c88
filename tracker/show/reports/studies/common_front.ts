import { isDecisive, paretoFront, trialName } from "../../../../core/mod.ts";
import { bytes, number } from "../../view/number_text.ts";
import type { TrialRow } from "../../view/trial_rows.ts";
import { type Block, paragraph, table } from "../blocks.ts";
import {
  energyOf,
  groupsBy,
  idOf,
  qualityKey,
  qualityOf,
  speedKey,
  type StudyBeside,
} from "./study_beside.ts";

/** Draws rows as `figures.pareto` takes them: reports know no plots. */
export type DrawFront = (
  rows: readonly object[],
  options: {
    readonly title: string;
    readonly subtitle: string;
    readonly quality: "accuracy" | "perplexity";
    readonly objectives: string[];
    readonly width: number;
  },
) => string;

/** The studies in groups whose quality may be compared. */
export function comparableGroups(studies: readonly StudyBeside[]): StudyBeside[][] {
  return groupsBy(studies, qualityKey);
}

/** A trial as the front over several studies has it. */
interface Placed {
  readonly study: StudyBeside;
  /** The studies that it stands for: of originals with the same figures the first stands for all. */
  readonly of: readonly number[];
  readonly row: TrialRow;
  readonly quality: number;
  readonly bytes: number;
  /** Over the study's own baseline; null: not measured so. */
  readonly latency: number | null;
  readonly energy: number | null;
}

/** Trials measured in full that break no constraint; NaN is on no front. */
function measured(study: StudyBeside, at: number): Placed[] {
  return study.view.rows.flatMap((row): Placed[] => {
    const quality = qualityOf(row)?.value;
    const full = row.state === "completed" && row.fidelity !== null && isDecisive(row.fidelity);
    if (!full || row.violated || row.size_bytes === null) return [];
    if (quality === undefined || !Number.isFinite(quality)) return [];
    const { latency_ratio, latency_emulated, baseline } = row;
    const timed = baseline ? 1 : latency_emulated ? null : latency_ratio?.value ?? null;
    return [{
      ...{ study, of: [at], row, quality, bytes: row.size_bytes },
      latency: Number.isFinite(timed) ? timed : null,
      energy: energyOf(study, row),
    }];
  });
}

/** Originals that came out alike are one point. */
function withOneOriginal(all: readonly Placed[]): Placed[] {
  const kept: Placed[] = [];
  for (const one of all) {
    const same = kept.findIndex(({ row, quality, bytes }) =>
      one.row.baseline && row.baseline && quality === one.quality && bytes === one.bytes
    );
    if (same < 0) kept.push(one);
    else kept[same] = { ...kept[same]!, of: [...kept[same]!.of, ...one.of] };
  }
  return kept;
}

/** A cost that the studies have in common, or why they have not. */
interface Cost {
  readonly heading: string;
  readonly words: string;
  /** Its name where figures are drawn. */
  readonly column: "latency_ratio" | "energy_ratio";
  readonly value: (one: Placed) => number | undefined;
  /** Why no front here is of it; null: it is. */
  readonly why: string | null;
}

function costsOf(group: readonly StudyBeside[], all: readonly Placed[]): Cost[] {
  const same = new Set(group.map(speedKey)).size === 1;
  const kinds = [
    { words: "latency", column: "latency_ratio", of: ({ latency }: Placed) => latency },
    { words: "energy", column: "energy_ratio", of: ({ energy }: Placed) => energy },
  ] as const;
  return kinds.map(({ words, column, of }): Cost => {
    const compressed = all.filter(({ row }) => !row.baseline);
    const without = compressed.filter((one) => of(one) === null);
    const why = !same
      ? "the machines or runtimes differ"
      : compressed.length === 0
      ? "no compressed trial was measured in full"
      : without.length === compressed.length
      ? `it was ${words === "energy" ? "estimated, or not measured" : "not measured"}`
      : without.length > 0
      ? `${without.length} of the ${compressed.length} compressed trials lack it`
      : null;
    return {
      heading: `${words} / baseline`,
      words,
      column,
      value: (one) => of(one) ?? undefined,
      why,
    };
  });
}

/** What stands for a study in the figure: its number, so that trials of long names keep apart. */
const numbered = (at: number) => `${at + 1}`;

function drawn(
  group: readonly StudyBeside[],
  all: readonly Placed[],
  front: ReadonlySet<Placed>,
  metric: "accuracy" | "perplexity",
  costs: readonly Cost[],
  pareto: DrawFront,
): { svg: string; narrow: string } {
  // One star is drawn; an original that came out otherwise is a point of its study.
  const star = all.find(({ row }) => row.baseline);
  const rows = all.map((one) => ({
    trial_id: `${numbered(one.of[0]!)}/${trialName(one.row.number)}`,
    methods: `${numbered(one.of[0]!)}: ${idOf(one.study)}`,
    ...{ state: one.row.state, fidelity: one.row.fidelity, is_baseline: one === star },
    ...{ on_front: front.has(one), violated: false },
    recommended: one.study.view.recommended === one.row.trial_id,
    ...{ [metric]: one.quality, size_bytes: one.bytes },
    ...Object.fromEntries(costs.map(({ column, value }) => [column, value(one) ?? null])),
  }));
  const draw = (width: number) =>
    pareto(rows, {
      title: "Front over studies",
      subtitle: `${group.length} studies; colours and shapes tell them apart`,
      quality: metric,
      objectives: [metric, "size_bytes", ...costs.map(({ column }) => column)],
      width,
    });
  return { svg: draw(1130), narrow: draw(390) };
}

/** One front over all trials of a group, drawn and as a table; a cost is in it where it is comparable. */
export function frontBlocks(
  group: readonly StudyBeside[],
  file: string,
  pareto: DrawFront,
): Block[] {
  const every = group.flatMap(measured);
  const all = withOneOriginal(every);
  const metric = every.every(({ row }) => row.accuracy === null) ? "perplexity" : "accuracy";
  const asked = costsOf(group, all);
  const costs = asked.filter(({ why }) => why === null);
  const points = all.map((one) => [
    one.quality,
    one.bytes,
    ...costs.map(({ value }) => value(one)!),
  ]);
  const better = metric === "perplexity" ? "minimize" : "maximize";
  const least = costs.map(() => "minimize" as const);
  const front = paretoFront(points, [better, "minimize", ...least]).map((at) => all[at]!)
    .sort((a, b) => a.bytes - b.bytes);
  const cells = front.map((one) => [
    one.of.map((at) => `${numbered(at)}: ${idOf(group[at]!)}`).join(", "),
    trialName(one.row.number),
    one.row.recipe,
    number(one.quality),
    bytes(one.bytes),
    ...costs.map(({ value }) => number(value(one))),
  ]);
  const words = ["quality", "bytes", ...costs.map(({ words }) => words)];
  const own = costs.length === 0 ? "" : ", each over its study's own baseline";
  const left = asked.filter(({ why }) => why !== null)
    .map(({ words, why }) => ` ${words[0]!.toUpperCase()}${words.slice(1)} is left out: ${why}.`);
  const said = `The front of all their ${every.length} trials measured in full, of ${
    words.slice(0, -1).join(", ")
  } and ${words.at(-1)}${own}.${left.join("")}`;
  const figure: Block[] = all.length === 0 ? [] : [{
    block: "figure",
    ...drawn(group, all, new Set(front), metric, costs, pareto),
    file,
    caption:
      "Trials measured in full that break no limit of their study; a filled point is on the " +
      "common front, a ring is what its study recommends. Labels are study/trial.",
  }];
  return [
    paragraph(said),
    ...figure,
    table(
      ["study", "trial", "recipe", metric, "bytes", ...costs.map(({ heading }) => heading)],
      cells,
    ),
  ];
}
