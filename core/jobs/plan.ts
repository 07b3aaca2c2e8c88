/**
 * Which waiting jobs begin now, and which attempts make room.
 *
 * The line is read from its head: P0, P1, P2, each in its order. A job that may begin and whose slots
 * are free begins. The first one on an engine that has to wait for slots has a claim on them: a later
 * one may begin meanwhile beside the claim; or in its slots where it is expected to be over before all
 * of them are free, and so a job is passed at most `MOST_PASSES` times. So small jobs fill what a large
 * one cannot use yet, and the large one begins all the same.
 *
 * A P0 whose slots are held takes them from attempts that may be saved: of the lowest priority first,
 * of these the latest begun; none that is not needed. Where a P0 or P1 waits for slots of an engine, no
 * P2 begins on it.
 */
import { OpenBudgets, type Refusal, refusalText } from "./budget.ts";
import type { Slots } from "./engine.ts";
import { secondsLeft, secondsToCome } from "./estimate.ts";
import { PRIORITIES } from "./events.ts";
import {
  attemptOf,
  type Job,
  type JobAttempt,
  type KnownEngine,
  type Queue,
} from "./queue_state.ts";
import { fits, lacking, minus, plus } from "./slots.ts";
import {
  allDown,
  blocked,
  couldHold,
  holdersOn,
  noSlot,
  notReady,
  passing,
  type Wait,
} from "./waits.ts";

/** A job that waits for its slots is passed so often, and then by nobody. */
const MOST_PASSES = 8;

export interface Begin {
  readonly job: Job;
  readonly engine: KnownEngine;
  /** Jobs before it in line whose claim it passes. */
  readonly passes: readonly string[];
}

/** An attempt that is to make room. */
export interface Save {
  readonly job: Job;
  readonly for_job: Job;
}

export interface Plan {
  readonly begins: readonly Begin[];
  readonly saves: readonly Save[];
}

/** That the slots of a job are kept. */
interface Claim {
  readonly job: Job;
  /** When all of them are expected to be free. */
  readonly at: number;
  /** What is free beside them then. */
  spare: Slots;
  /** Jobs that passed it, those of this reading with them. */
  passed: number;
  /** Attempts are asked to make room for it. */
  readonly soon: boolean;
}

interface Held {
  readonly job: Job;
  readonly attempt: JobAttempt;
}

/** An engine while the line is read. */
interface Room {
  readonly engine: KnownEngine;
  free: Slots;
  claim: Claim | null;
  /** A P0 or P1 waits for its slots. */
  wanted: boolean;
  /** Attempts that hold slots of it. */
  readonly held: Held[];
  /** Who holds its threads and cards, once somebody asked. */
  readonly holders: Map<"cpu" | "gpu", string>;
}

function roomsOf(queue: Queue): Room[] {
  const rooms: Room[] = [];
  for (const engine of queue.engines.values()) {
    if (engine.down !== null) continue;
    const free = minus(minus(engine.total, engine.others), engine.used);
    rooms.push({ engine, free, claim: null, wanted: false, held: [], holders: new Map() });
  }
  return rooms;
}

/** Nothing of any engine is free. */
function full(rooms: readonly Room[]): boolean {
  return rooms.every(({ free }) => free.cpu <= 0 && free.gpu <= 0);
}

/** Whether a job is ready for slots that are free, or as a P0 for those that others hold. */
function somebodyCould(queue: Queue, now: number): boolean {
  const rooms = roomsOf(queue);
  return PRIORITIES.some((priority) => {
    const urgent = priority === "P0";
    if (!urgent && full(rooms)) return false;
    return queue.lines[priority].some((job) =>
      job.state === "waiting" &&
      rooms.some(({ engine, free }) =>
        (urgent || fits(job.slots, free)) && couldHold(engine, job)
      ) &&
      notReady(queue, job, now) === null
    );
  });
}

const UNTOLD: Wait = passing("waits for slots");

class LineReader {
  readonly begins: Begin[] = [];
  readonly saves: Save[] = [];
  readonly rooms: Room[];
  readonly #budgets: OpenBudgets;

  constructor(
    readonly queue: Queue,
    readonly now: number,
    /** Somebody wants to know why a job waits. */
    readonly explains: boolean,
  ) {
    this.rooms = roomsOf(queue);
    for (const job of queue.under_way.values()) {
      const attempt = attemptOf(job)!;
      this.rooms.find(({ engine }) => engine.name === attempt.engine)?.held.push({ job, attempt });
    }
    this.#budgets = new OpenBudgets(queue, now);
  }

  /** Begins a job, or tells why it waits. */
  read(job: Job): Wait | null {
    const wait = notReady(this.queue, job, this.now);
    if (wait !== null) return wait;
    const allowed: Room[] = [];
    let [up, refusal]: [boolean, Refusal | null] = [false, null];
    for (const room of this.rooms) {
      if (!couldHold(room.engine, job)) continue;
      up = true;
      const refused = this.#budgets.refusal(job, room.engine.machine);
      if (refused === null) allowed.push(room);
      else refusal ??= refused;
    }
    if (!up) return allDown(this.queue, job);
    if (refusal !== null && allowed.length === 0) {
      return this.explains ? blocked(refusalText(refusal)) : UNTOLD;
    }
    const wanted = job.priority === "P2" ? allowed.filter((room) => !room.wanted) : allowed;
    const room = wanted.find((room) => this.#mayEnter(job, room));
    if (room !== undefined) return this.#begin(job, room);
    if (job.priority !== "P2") { for (const room of allowed) room.wanted = true; }
    const why = this.explains ? this.#why(job, wanted.length === 0 ? allowed : wanted) : UNTOLD;
    const made = job.priority === "P0" ? this.#makeRoom(job, allowed) : null;
    if (made === null) this.#claim(job, allowed);
    // What is free already is its own, where those before it get theirs from what it lets go.
    else if (fits(job.slots, made.free)) return this.#take(job, made, []);
    return why;
  }

  #mayEnter(job: Job, { free, claim }: Room): boolean {
    if (!fits(job.slots, free)) return false;
    if (claim === null) return true;
    if (claim.soon && job.priority !== "P0") return false; // it would only wait longer
    if (fits(job.slots, claim.spare)) return true;
    return claim.passed < MOST_PASSES &&
      this.now + 1000 * secondsToCome(this.queue, job) <= claim.at;
  }

  #begin(job: Job, room: Room): null {
    const { claim } = room;
    const beside = claim !== null && fits(job.slots, claim.spare);
    if (beside) claim.spare = minus(claim.spare, job.slots);
    else if (claim !== null) claim.passed++;
    return this.#take(job, room, claim === null || beside ? [] : [claim.job.job_id]);
  }

  #take(job: Job, room: Room, passes: readonly string[]): null {
    room.free = minus(room.free, job.slots);
    this.#budgets.take(job, room.engine.machine);
    this.begins.push({ job, engine: room.engine, passes });
    return null;
  }

  #why({ job_id, slots, priority }: Job, rooms: readonly Room[]): Wait {
    const saving = priority !== "P0" ? [] : [...this.queue.under_way.values()]
      .filter((other) => attemptOf(other)!.stop?.for_job === job_id).map(({ job_id }) => job_id);
    if (saving.length > 0) return passing(`begins once ${saving.join(", ")} made room`);
    const kept = rooms.find(({ free }) => fits(slots, free));
    if (kept === undefined) {
      const { engine, free, holders } = rooms[0]!;
      return noSlot(slots, engine, free, (of) => {
        const known = holders.get(of) ?? holdersOn(this.queue, engine, of);
        holders.set(of, known);
        return known;
      });
    }
    if (priority === "P2" && kept.wanted) return passing("begins when no P0 or P1 waits for slots");
    const { job } = kept.claim!;
    const needs = lacking(job.slots, { cpu: 0, gpu: 0, memory_gb: null });
    return passing(`slots are kept for ${job.job_id}, which needs ${needs}`);
  }

  /** Keeps slots for the first job that waits for them, where it is to have them soonest. */
  #claim(job: Job, rooms: readonly Room[]): void {
    const claims = rooms.filter(({ claim }) => claim === null).map((room) => ({
      room,
      claim: this.#claimOn(job, room),
    }));
    const soonest = claims.sort((a, b) => a.claim.at - b.claim.at)[0];
    if (soonest !== undefined) soonest.room.claim = soonest.claim;
  }

  #claimOn(job: Job, { free, held }: Room): Claim {
    const ends = held.map(({ job, attempt }) => ({
      slots: attempt.slots,
      at: this.now +
        1000 * secondsLeft(this.queue, job, attempt, { now: this.now, progress: null }),
    })).sort((a, b) => a.at - b.at);
    let there = free;
    let at = this.now;
    for (const end of ends) {
      if (fits(job.slots, there)) break;
      there = plus(there, end.slots);
      at = end.at;
    }
    // Where others hold slots nobody knows when they give them back.
    if (!fits(job.slots, there)) at = Infinity;
    return { job, at, spare: minus(there, job.slots), passed: job.passed, soon: false };
  }

  /** Keeps slots for a P0 that attempts give back, and asks for them; null: they cannot be had so. */
  #makeRoom(job: Job, rooms: readonly Room[]): Room | null {
    const ways = rooms.filter(({ claim }) => claim?.soon !== false).flatMap((room) => {
      const soon = soonFree(room);
      const victims = victimsFor(
        job,
        soon,
        room.held.filter((held) => !stops(held)),
      );
      return victims === null ? [] : [{ room, soon, victims }];
    });
    const later = (room: Room) => fits(job.slots, room.free) ? 0 : 1;
    const best =
      ways.sort((a, b) => compareLosses(a.victims, b.victims) || later(a.room) - later(b.room))[0];
    if (best === undefined) return null;
    const { room, soon, victims } = best;
    this.saves.push(...victims.map((victim) => ({ job: victim.job, for_job: job })));
    const freed = victims.reduce((sum, { attempt }) => plus(sum, attempt.slots), soon);
    for (const victim of victims) room.held.splice(room.held.indexOf(victim), 1);
    const spare = minus(freed, job.slots);
    const first = room.claim?.job ?? job;
    room.claim = { job: first, at: this.now, spare, passed: first.passed, soon: true };
    return room;
  }
}

function stops({ attempt }: Held): boolean {
  return attempt.stop !== null;
}

/** What is free on an engine once all that stops has stopped, and claims are served. */
function soonFree({ claim, free, held }: Room): Slots {
  if (claim !== null) return claim.spare;
  return held.filter(stops).reduce((sum, { attempt }) => plus(sum, attempt.slots), free);
}

/** The attempts that a P0 needs the slots of, none too many; null: these are not enough. */
function victimsFor(job: Job, soon: Slots, held: readonly Held[]): Held[] | null {
  const open = held.filter(({ job }) => job.priority !== "P0" && job.asked.may_be_saved)
    .sort(compareVictims);
  const taken: Held[] = [];
  let there = soon;
  for (const victim of open) {
    if (fits(job.slots, there)) break;
    taken.push(victim);
    there = plus(there, victim.attempt.slots);
  }
  if (!fits(job.slots, there)) return null;
  return taken.toReversed().filter(({ attempt }) => {
    const without = minus(there, attempt.slots);
    if (!fits(job.slots, without)) return true;
    there = without;
    return false;
  });
}

/** The one whose loss is least first. */
function compareVictims(a: Held, b: Held): number {
  return b.job.priority.localeCompare(a.job.priority) || b.attempt.planned - a.attempt.planned;
}

function compareLosses(a: readonly Held[], b: readonly Held[]): number {
  const higher = (victims: readonly Held[]) =>
    victims.filter(({ job }) => job.priority === "P1").length;
  return higher(a) - higher(b) || a.length - b.length;
}

const NOTHING: Plan = { begins: [], saves: [] };

/** Reads the line once. `told` hears of every waiting job that does not begin why it does not. */
export function planLine(
  queue: Queue,
  now: number,
  told: ((job: Job, wait: Wait) => void) | null,
): Plan {
  const { P0, P1, P2 } = queue.lines;
  if (P0.length + P1.length + P2.length === queue.under_way.size) return NOTHING; // nobody waits
  if (told === null && !somebodyCould(queue, now)) return NOTHING;
  const reader = new LineReader(queue, now, told !== null);
  for (const priority of PRIORITIES) {
    if (told === null && priority !== "P0" && full(reader.rooms)) return reader;
    for (const job of queue.lines[priority]) {
      if (job.state !== "waiting") continue;
      const wait = reader.read(job);
      if (wait !== null) told?.(job, wait);
      else if (told === null && priority !== "P0" && full(reader.rooms)) return reader;
    }
  }
  return reader;
}
