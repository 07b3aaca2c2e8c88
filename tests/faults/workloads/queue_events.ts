/** A queue's events: an urgent job stops another one, which goes on later in its old place. */
import type { JobEvent, Priority } from "../../../core/mod.ts";

const at = "2026-03-01T12:00:00.000Z";
const SLOTS = { cpu: 4, gpu: 0, memory_gb: null };
const ENGINE = { engine: "local", machine: "test" };

function submitted(number: number, priority: Priority): JobEvent {
  const job_id = `EXP-00${number}`;
  return {
    ...{ type: "submitted", at, job_id, submission_id: `s${number}`, title: `job ${number}` },
    ...{ priority, work: { study_id: `study-${number}` }, work_kind: "search", size: "tiny" },
    ...{ study: "one", slots: SLOTS, engine: null, after: [], success: [], anyway: false },
    ...{ estimate_seconds: 60, estimate_source: "said", may_be_saved: true },
  };
}

function begun(job_id: string, attempt: number): JobEvent[] {
  const own = { at, job_id, attempt };
  return [
    { type: "attempt_planned", ...own, ...ENGINE, slots: SLOTS, passes: [], reason: "it is first" },
    { type: "attempt_submitted", ...own, handle: `/jobs/${job_id}/attempt-${attempt}` },
    { type: "attempt_began", ...own },
  ];
}

function ended(job_id: string, attempt: number, how: "saved" | "done"): JobEvent {
  return {
    ...{ type: "attempt_ended", at, job_id, attempt, how, code: 0, reason: `it is ${how}` },
    ...{ seconds: 30, left_behind: false, not_before: null },
    next: how === "saved" ? "again" : "done",
  };
}

export function preemptingQueue(): JobEvent[] {
  const [first, urgent] = ["EXP-001", "EXP-003"];
  return [
    { type: "queue_opened", at, queue_id: "1f2e3d4c" },
    { type: "budget_set", at, machine: "test", study: null, hours: 5, reserve_hours: 1 },
    {
      type: "engine_seen",
      at,
      ...ENGINE,
      total: SLOTS,
      largest: SLOTS,
      others: { ...SLOTS, cpu: 0 },
      price_per_hour: null,
    },
    ...[submitted(1, "P1"), submitted(2, "P2")],
    ...begun(first, 1),
    submitted(3, "P0"),
    {
      type: "save_asked",
      at,
      job_id: first,
      attempt: 1,
      reason: "EXP-003 is urgent",
      for_job: urgent,
    },
    { type: "engine_told", at, job_id: first, attempt: 1, what: "save" },
    ended(first, 1, "saved"),
    ...begun(urgent, 1),
    { type: "held", at, job_id: "EXP-002", reason: "a person looks at it first" },
    ended(urgent, 1, "done"),
    ...begun(first, 2),
    { type: "moved", at, job_id: "EXP-002", priority: "P1", before: null },
    { type: "released", at, job_id: "EXP-002" },
    ended(first, 2, "done"),
  ];
}
