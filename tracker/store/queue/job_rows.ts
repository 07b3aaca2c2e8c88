import { attemptPrice, type Job, outcomeOf } from "../../../core/mod.ts";
import { type ChecklistLine, readChecklist } from "./checklist_file.ts";
import { attemptFolder, type QueuePaths } from "./queue_paths.ts";
import { adds, type Change, type Row } from "../rows/change.ts";

/** Tables with rows of a job of the queue. */
export const QUEUE_TABLES = [
  "queue_jobs",
  "queue_attempts",
  "queue_checks",
  "queue_criteria",
  "queue_actions",
] as const;

function time(milliseconds: number | null): Date | null {
  return milliseconds === null ? null : new Date(milliseconds);
}

function slotsRow({ cpu, gpu, memory_gb }: Job["slots"]): Row {
  return { cpu, cards: gpu, asked_memory_gb: memory_gb };
}

function jobRow({ job_id, asked, priority, state, reason, work, ...job }: Job): Row {
  const word = (name: string) => typeof work[name] === "string" ? work[name] : null;
  return {
    ...{ job_id, title: asked.title, priority, job_state: state },
    reason: job.held ?? job.missing ?? reason,
    ...{ study_id: word("study_id"), kind: asked.work_kind, model_name: word("model_name") },
    ...{ dataset: word("dataset"), work_size: asked.size, asked_engine: asked.engine },
    ...slotsRow(job.slots),
    ...{ submitted_at: time(job.submitted), finished_at: time(job.ended) },
  };
}

function attemptRows({ job_id, attempts }: Job): Row[] {
  return attempts.map((one) => ({
    ...{ job_id, attempt: one.number, engine: one.engine, machine: one.machine },
    ...slotsRow(one.slots),
    ...{ planned_at: time(one.planned), started_at: time(one.began) },
    ...{ finished_at: time(one.ended), ended_how: one.how, exit_code: one.code },
    ...{ reason: one.reason, seconds: one.seconds },
    price: one.ended === null ? null : attemptPrice(one, one.ended),
  }));
}

function checkRows({ job_id, attempts }: Job, paths: QueuePaths): Row[] {
  return attempts.flatMap(({ number }) => {
    const { before = [], after = [] } = readChecklist(attemptFolder(paths, job_id, number));
    const rows = (looked: string, lines: readonly ChecklistLine[]) =>
      lines.map(({ check, ok, said }): Row => ({
        ...{ job_id, attempt: number, looked, check_name: check, passed: ok, found: said },
      }));
    return [...rows("before", before), ...rows("after", after)];
  });
}

/** A job of the queue as rows, in place of those that there were. */
export function queueJobChanges(job: Job, paths: QueuePaths): Change[] {
  const { job_id, asked, verdicts, judged, actions } = job;
  return [
    { op: "forget", tables: QUEUE_TABLES, where: { job_id } },
    ...adds("queue_jobs", [jobRow(job)]),
    ...adds("queue_attempts", attemptRows(job)),
    ...adds("queue_checks", checkRows(job, paths)),
    ...adds(
      "queue_criteria",
      asked.success.map(({ text }, at) => ({
        ...{ job_id, criterion: text, judged: verdicts[at] ?? null, reason: judged[at] ?? null },
      })),
    ),
    ...adds(
      "queue_actions",
      actions.map((one) => ({
        ...{ job_id, attempt: one.attempt, happened_at: time(one.at), condition: one.condition },
        ...{ evidence: one.evidence, remedy: one.remedy, remedy_limit: one.limit },
        outcome: outcomeOf(job, one),
      })),
    ),
  ];
}
