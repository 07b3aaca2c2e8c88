import { existsSync, readFileSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type ExperimentsDocument, kindOfMembers } from "../../../core/experiments/document.ts";
import type { MemberResult } from "../../../core/experiments/member_result.ts";
import { LedgerLine, spentOf, useOf } from "../../../core/experiments/use.ts";
import { jsonOrNull } from "../../ground/json_or_null.ts";
import type { Lab } from "../../session/lab.ts";
import { scoresOfView } from "../../show/evaluation/shown.ts";
import { type Comparisons, comparisonsOf } from "../../show/experiments/comparisons.ts";
import {
  comparisonLines,
  experimentsBlocks,
  failureLines,
  leaderboardTable,
} from "../../show/experiments/experiments_page.ts";
import { leaderboardOf } from "../../show/experiments/leaderboard.ts";
import { memberDocument, summaryOf } from "../../show/experiments/summary.ts";
import { renderHtml } from "../../show/reports/render_html.ts";
import { textTable } from "../../show/terminal/table.ts";
import { number } from "../../show/view/number_text.ts";
import { sampleReader } from "../../show/view/view_study.ts";
import type { PreparedMember } from "./prepare_members.ts";
import type { MemberEnd } from "./run_member.ts";

/** What results are made of. */
export interface ResultsAsked {
  readonly members: readonly PreparedMember[];
  /** How those ended that were run now, by study. */
  readonly ends: ReadonlyMap<string, MemberEnd>;
  readonly folder: string;
  /** Where the ledger lies. */
  readonly shared: string;
  readonly document: ExperimentsDocument;
}

function ledgerLines(shared: string): LedgerLine[] {
  const path = join(shared, "ledger.jsonl");
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8").split("\n").flatMap((line) => {
    const read = LedgerLine.safeParse(jsonOrNull(line));
    return read.success ? [read.data] : [];
  });
}

/** What the store has of a member. */
async function measuredOf(lab: Lab, study_id: string) {
  const store = await lab.store.current();
  const known = (await lab.studies()).some((one) => one.study_id === study_id);
  if (store === null || !known) return null;
  const view = await lab.view(study_id);
  const trial = view.trials.at(-1);
  const records = await store.journalOf(study_id);
  const samples = trial === undefined
    ? []
    : await sampleReader(store.paths.root, records)(trial.trial_id) ?? [];
  return {
    scores: scoresOfView(view),
    timestamp: trial?.finished_at ?? null,
    samples: samples.map((one) => ({ ...one, task: one.task.replace(/^lm_eval:/, "") })),
    stop: view.stop,
    message: view.message,
  };
}

async function resultOf(
  lab: Lab,
  { asked, study_id, model, evaluation: { config, configuration } }: PreparedMember,
  ends: ReadonlyMap<string, MemberEnd>,
  lines: readonly LedgerLine[],
): Promise<MemberResult> {
  const found = await measuredOf(lab, study_id);
  const success = found?.stop === "evaluated";
  const { scores = null, samples = [], timestamp = null } = found ?? {};
  const why = ends.get(study_id)?.message ?? found?.message ?? "it was not run yet";
  return {
    ...{ experiment: asked.experiment, config_id: asked.id, llm_model: model },
    ...{ eval_config: configuration.eval_config, num_tasks: config.sampling.total_limit ?? null },
    ...{ sampling_strategy: config.sampling.strategy, study_id, success },
    reason: success ? null : why,
    ...{ timestamp, scores, samples },
    use: useOf(lines, study_id),
  };
}

/** In one step, so that a reader never meets half a file. */
async function writeWhole(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.part`, text);
  await rename(`${path}.part`, path);
}

function spentText(
  { currency, budget }: ExperimentsDocument,
  lines: readonly LedgerLine[],
): string {
  const { tokens, money } = spentOf(lines);
  const most = [
    ...budget.tokens === undefined ? [] : [`${budget.tokens} tokens`],
    ...budget.money === undefined ? [] : [`${budget.money} ${currency}`],
  ];
  const of = most.length === 0 ? "" : ` of a budget of ${most.join(" and ")}`;
  const cost = money > 0 ? ` and ${number(money, 3)} ${currency}` : "";
  return `Spent: ${tokens} tokens${cost}${of}; requests that were never answered count at their worst.`;
}

/** Writes summary, leaderboard and page over all members, as far as they came. */
export async function writeResults(
  lab: Lab,
  { members, ends, folder, shared, document }: ResultsAsked,
): Promise<{ readonly text: string; readonly whole: boolean }> {
  const lines = ledgerLines(shared);
  const results: MemberResult[] = [];
  for (const member of members) results.push(await resultOf(lab, member, ends, lines));
  const fileOf = ({ experiment, config_id }: MemberResult) => `${experiment}/${config_id}.json`;
  const compared = document.experiments.flatMap(({ name, description }): Comparisons[] => {
    const asked = members.map((one) => one.asked).filter((one) => one.experiment === name);
    const own = results.filter(({ experiment }) => experiment === name);
    if (own.length === 0) return [];
    const kept = results.filter(({ llm_model }) => llm_model === own[0]!.llm_model);
    return [comparisonsOf({ name, description, kind: kindOfMembers(asked) }, own, kept)];
  });
  const { currency } = document;
  const spent = spentText(document, lines);
  const blocks = experimentsBlocks(results, compared, { currency, spent });
  const at = (name: string) => join(folder, name);
  for (const member of results) {
    const told = memberDocument(member);
    if (told !== null) await writeWhole(at(fileOf(member)), `${JSON.stringify(told, null, 2)}\n`);
  }
  const summary = summaryOf(results, compared, fileOf);
  await writeWhole(at("experiment_summary.json"), `${JSON.stringify(summary, null, 2)}\n`);
  await writeWhole(at("leaderboard.csv"), leaderboardOf(results, fileOf, currency));
  await writeWhole(at("leaderboard.html"), renderHtml("Experiments", blocks));
  const { head, rows } = leaderboardTable(results, currency);
  const said = compared.flatMap((one) =>
    comparisonLines(one).map((line) => `${one.experiment}: ${line}`)
  );
  return {
    whole: results.every(({ success }) => success),
    text: [
      textTable(head, rows),
      ...failureLines(results),
      ...said,
      spent,
      `Summary         ${at("experiment_summary.json")}`,
      `Leaderboard     ${at("leaderboard.csv")}`,
      `Page            ${at("leaderboard.html")}`,
    ].join("\n"),
  };
}
