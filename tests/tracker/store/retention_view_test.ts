// The store's view `retention` against the core's own definition, over random studies.
import assert from "node:assert/strict";
import {
  chanceOf,
  type JournalRecord,
  type Measurement,
  retention,
  streamRandom,
  type TaskPlan,
  withAggregates,
} from "../../../core/mod.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { measurement, studyOpened, trial, trialId } from "../../fixtures/stores/records.ts";
import { recordedStore } from "../../fixtures/stores/recorded.ts";

type Random = () => number;
type Opened = Extract<JournalRecord, { type: "study_opened" }>;

function pick<T>(random: Random, ...values: T[]): T {
  return values[Math.floor(random() * values.length)]!;
}

/** Tasks with weights and chances, of which some nobody knows. */
function plansOf(random: Random): TaskPlan[] {
  return Array.from({ length: 1 + Math.floor(random() * 3) }, (_, i) => ({
    task: `task_${i}`,
    task_version: "1",
    primary: true,
    ...pick(random, {}, { chance: 0 }, { chance: 0.25 }, { chance: random() }),
    ...pick(random, {}, { weight: 0.5 }, { weight: random() * 9 + 0.1 }),
  }));
}

/** A trial's figures; `written`: each row has its own chance, as today's records have. */
function figures(plans: readonly TaskPlan[], written: boolean, random: Random): Measurement[] {
  return plans.map(({ task, chance }) =>
    measurement("accuracy", pick(random, 0, 1, random(), random()), {
      task,
      task_version: "1",
      n: 1 + Math.floor(random() * 40),
      standard_error: pick(random, null, 0, 0.05 * random(), 0.2 * random()),
      ...(written ? { chance: pick(random, null, chance ?? 0.5, random()) } : {}),
    })
  );
}

Deno.test("the view retention has the core's figures and reasons, whatever was measured", () =>
  inDirectory(async (root) => {
    const random = streamRandom(11, "retention");
    const expected = new Map<
      string,
      [number | null, number | null, number | null, string | null]
    >();
    const records: JournalRecord[] = [];
    for (let number = 0; number < 60; number++) {
      const study_id = `study-${number}`;
      const plans = plansOf(random);
      const written = number % 2 === 0;
      const opened = studyOpened(study_id) as Opened;
      const spec = { ...opened.spec, tasks: plans };
      const rows = [0, 1].map(() => {
        const measurements = figures(plans, written, random);
        return withAggregates({ measurements, samples: [], protocol: {} }, spec).measurements;
      });
      records.push({ ...opened, spec });
      rows.forEach((own, i) => {
        const closed = trial({ number: i, accuracy: 0, latency_ms: 1, size_bytes: 1, study_id });
        records.push({
          type: "trial_closed",
          at: closed.started_at,
          trial: {
            ...closed,
            // Of earlier versions the mean has no chance of its own either.
            measurements: own.map(({ chance, ...row }) => written ? { ...row, chance } : row),
          } as typeof closed,
        });
      });
      rows[1]!.forEach((row, i) => {
        const baseline = rows[0]![i]!;
        const chance = chanceOf(written ? baseline : { ...baseline, chance: undefined }, spec);
        const { plain, above_chance, undefined_because } = retention(row.value, baseline, chance);
        const key = `${trialId(1, study_id)} ${row.task}`;
        expected.set(key, [chance, plain, above_chance, undefined_because]);
      });
    }
    await using store = await recordedStore(root, records);
    const { rows } = await store.query(`
      SELECT trial_id, task, chance, ratio, chance_corrected, undefined_because FROM retention`);
    assert.equal(rows.length, expected.size);
    for (const { trial_id, task, ...row } of rows) {
      const [chance, plain, above_chance, because] = expected.get(`${trial_id} ${task}`)!;
      assert.equal(row["undefined_because"], because, `${trial_id} ${task}`);
      near(row["chance"], chance);
      near(row["ratio"], plain);
      near(row["chance_corrected"], above_chance);
    }
    const reasons = new Set([...expected.values()].map(([, , , because]) => because));
    assert.equal(reasons.size, 4, "every reason and none came up");
  }));

/** Equal to a rounding, or both nothing. */
function near(found: unknown, expected: number | null): void {
  if (expected === null) return assert.equal(found, null);
  assert.ok(
    typeof found === "number" &&
      Math.abs(found - expected) <= 1e-12 * Math.max(1, Math.abs(expected)),
    `${found} against ${expected}`,
  );
}
