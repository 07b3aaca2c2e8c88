import { JudgeCheck, UsageError } from "../../../core/mod.ts";
import { checkHome, findHome } from "../../ground/home.ts";
import { parseWhole } from "../../ground/terminal/parse_values.ts";
import { findStudy } from "../../lab/find_study.ts";
import { readGold } from "../../lab/judging/labels.ts";
import { checkJudge } from "../../session/check_judge.ts";
import { textTable } from "../../show/terminal/table.ts";
import { number } from "../../show/view/number_text.ts";
import { openStore } from "../../store/store.ts";

/** What `pare judge check` may be told. */
export interface CheckJudgeOptions {
  store?: string;
  gold?: string;
  scale?: string;
  task?: string;
  scorer?: string;
  beside?: string[];
  seed?: string;
  json?: boolean;
}

type Estimate = NonNullable<JudgeCheck["length"]>;

const AGAINST: Readonly<Record<JudgeCheck["agreement"][number]["against"], string>> = {
  labels: "people's labels",
  rule: "the task's rule",
  second_judge: "a second judge",
  again: "itself, asked again",
};

function estimateText(one: Estimate | null): string {
  if (one === null) return "";
  const { value, interval } = one;
  return number(value) +
    (interval === null ? "" : ` (${number(interval[0])} to ${number(interval[1])})`);
}

function positionText({ position }: JudgeCheck): string[] {
  if (position === null) return [];
  const { pairs, consistent, bias, p } = position;
  return [
    `place: ${pairs} pairs in both orders, ${(100 * consistent).toFixed(0)} % with one winner; ` +
    (bias === null
      ? "the place decided none"
      : `of the others the first wins by ${number(bias)} (p ${number(p!)})`),
  ];
}

function ownText({ own }: JudgeCheck): string[] {
  if (own === null) return [];
  const beyond = `its own answers get ${estimateText(own.own)} beyond their worth`;
  return [
    own.more === null
      ? `self-preference: ${beyond}; --beside TRIAL names another model's to compare with`
      : `self-preference: ${beyond}, ${estimateText(own.more)} more than others'`,
  ];
}

/** A check as a terminal shows it. */
export function checkText(check: JudgeCheck): string {
  const { task, judges, answers, labels, corrected, obtained, agreement, length } = check;
  const ways = Object.entries(obtained).map(([way, count]) => `${count} ${way.replace("_", " ")}`);
  const repeated = agreement.some(({ against }) => against === "again");
  return [
    `${task} of ${check.trial_id}: ${answers} answers judged by ${judges.join(", ")}` +
    (check.rubric_version === null ? "" : `, rubric ${check.rubric_version}`) +
    `; verdicts: ${ways.join(", ")}`,
    "",
    textTable(
      ["against", "n", "same", "judge − other (95 %)", "kappa (95 %)", "alpha (95 %)"],
      agreement.map((one) => [
        AGAINST[one.against],
        String(one.n),
        `${(100 * one.same).toFixed(0)} %`,
        estimateText(one.difference),
        estimateText(one.kappa),
        estimateText(one.alpha),
      ]),
    ),
    "",
    ...positionText(check),
    ...(length === null
      ? []
      : [`length: twice the length gains ${estimateText(length)} beyond worth`]),
    ...ownText(check),
    ...(check.labellers === null
      ? []
      : [`people among themselves: alpha ${estimateText(check.labellers)}`]),
    ...(repeated ? [] : ["repeatability: judged once; `pare score --rescore` judges again"]),
    corrected === null
      ? labels === 0
        ? "corrected score: none without labels (--gold labels.csv)"
        : `corrected score: none, as ${labels} labels are fewer than ten`
      : `corrected score: ${number(corrected.score)} (${number(corrected.interval[0])} to ` +
        `${number(corrected.interval[1])}), the judge's own ${
          number(corrected.judged)
        }, of ${labels} ` +
        `labels alone ${number(corrected.labels_score)} (${
          number(corrected.labels_interval[0])
        } to ` +
        `${number(corrected.labels_interval[1])})` +
        (corrected.because === null ? "" : `; by labels alone, as ${corrected.because}`),
    ...(corrected === null ? [] : ["It holds where the labelled answers were drawn at random."]),
  ].join("\n");
}

function scaleOf(text: string | undefined): [number, number] {
  if (text === undefined) return [0, 1];
  const numbers = text.split(",").map(Number);
  const [worst, best] = numbers;
  if (numbers.length === 2 && Number.isFinite(worst) && Number.isFinite(best) && worst! < best!) {
    return [worst!, best!];
  }
  throw new UsageError(`Cannot read --scale ${text}: it must be worst and best, such as 1,5`);
}

/** `pare judge check`: how good the judge of a study's answers is; recorded beside its figures. */
export async function checkJudgeCommand(
  name: string | undefined,
  options: CheckJudgeOptions,
): Promise<void> {
  const home = findHome(Deno.env.toObject(), options.store);
  await checkHome(home, true);
  const gold = options.gold === undefined
    ? undefined
    : readGold(options.gold, scaleOf(options.scale));
  await using store = await openStore(home.store, { write: true });
  const trial = name !== undefined && /\/t\d+$/.test(name);
  const study = trial ? name.slice(0, name.lastIndexOf("/")) : name;
  const { id: study_id } = await findStudy(store, study);
  const check = await checkJudge(store, {
    trial_id: trial ? name : `${study_id}/t00`,
    seed: options.seed === undefined ? 0 : parseWhole(options.seed, "--seed", 0),
    beside: options.beside ?? [],
    ...(gold === undefined ? {} : { gold }),
    ...(options.task === undefined ? {} : { task: options.task }),
    ...(options.scorer === undefined ? {} : { scorer: options.scorer }),
  });
  const at = new Date().toISOString();
  await store.record({ type: "judge_checked", at, study_id, ...check });
  if (options.beside !== undefined && check.own === null) {
    console.error(
      `note: ${
        check.judges.join(", ")
      } answered none of these questions itself, so that --beside compares nothing`,
    );
  }
  console.log(options.json === true ? JSON.stringify(check, null, 2) : checkText(check));
}
