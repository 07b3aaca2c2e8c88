/** A language model behind an OpenAI-compatible endpoint as a search algorithm, beside ours. */
import { z } from "zod";
import {
  auto,
  type Chat,
  checkPoint,
  drawOpenPoint,
  firstObject,
  openPoints,
  type Seen,
  type SpacePoint,
  streamRandom,
} from "../../../core/mod.ts";
import { type Outcome, trying } from "./problems/outcomes.ts";
import type { Problem } from "./problems/problem.ts";
import { runAlgorithm, type SearchRun, searchRun, startPoints } from "./run_search.ts";

/** Times that the model is asked for one point, each with what was wrong with the answer before. */
const ASKINGS = 2;

const Answer = z.object({
  point: z.record(z.string(), z.union([z.number(), z.string(), z.boolean()])),
});

/** What the model is told: the space, the goal, and every trial so far. */
function questionOf({ space, reference }: Problem, seen: readonly Seen[], wrong: string | null) {
  const tried = seen.map(({ point, state, values }) => ({ point, state, values }));
  return [
    "You choose the next point of a search. Every objective is to be minimised; what counts is the hypervolume " +
    "of the points found, measured from the corner. A dimension with `when` has a value exactly where that " +
    'dimension has one of those values. Answer with one JSON object {"point": {…}} and nothing else. Never a ' +
    "point that was tried.",
    JSON.stringify({ dimensions: space.dimensions, corner: reference }),
    `Tried so far: ${JSON.stringify(tried)}`,
    ...(wrong === null ? [] : [`Your last answer cannot be taken: ${wrong}`]),
  ].join("\n\n");
}

/** The point that an answer names, or why it cannot be tried. */
function pointOf(
  { space }: Problem,
  isOpen: (point: SpacePoint) => boolean,
  text: string,
): { point: SpacePoint } | { wrong: string } {
  const found = firstObject(text);
  const answer = Answer.safeParse(found?.value);
  if (!answer.success) return { wrong: 'it has no JSON object {"point": {…}}' };
  const { point } = answer.data;
  const reason = checkPoint(space, point);
  if (reason !== null) return { wrong: reason };
  return isOpen(point) ? { point } : { wrong: "that point was tried" };
}

/** A run of the model from the seed's start; `missed`: trials for which it named no point, drawn at random. */
export async function runStrategist(
  problem: Problem,
  chat: Chat,
  { seed, trials }: { seed: number; trials: number },
): Promise<SearchRun & { missed: number }> {
  const outcomes: Outcome[] = [];
  const seen: Seen[] = [];
  const attempt = trying(problem, seed);
  const random = streamRandom(seed, `strategist ${problem.name}`);
  const tell = (point: SpacePoint) => {
    const outcome = attempt(point);
    outcomes.push(outcome);
    const { truth: _, ...shown } = outcome;
    seen.push({ point, ...shown });
  };
  for (const point of startPoints(problem, seed).slice(0, trials)) tell(point);
  let [spent, missed] = [0, 0];
  while (outcomes.length < trials) {
    const isOpen = openPoints({ space: problem.space, seen });
    const begun = performance.now();
    let made: ReturnType<typeof pointOf> = { wrong: "" };
    for (let asking = 0; asking < ASKINGS && "wrong" in made; asking++) {
      const content = questionOf(problem, seen, asking === 0 ? null : made.wrong);
      const reply = await chat.ask([{ role: "user", content }], new AbortController().signal);
      made = reply.ok ? pointOf(problem, isOpen, reply.text) : { wrong: reply.reason };
    }
    spent += performance.now() - begun;
    if ("wrong" in made) missed++;
    const point = "point" in made
      ? made.point
      : drawOpenPoint({ space: problem.space, seen, random }, isOpen);
    if (point === null) break; // a space that is used up
    tell(point);
  }
  const suggestion_ms = spent / Math.max(1, outcomes.length - startPoints(problem, seed).length);
  const run = { sampler: "strategist", seed, suggestion_ms };
  return { ...searchRun(problem, run, outcomes, trials), missed };
}

/** Both from the same points, seed by seed: a line each. */
export async function raceStrategist(
  problem: Problem,
  chat: Chat,
  { seeds, trials }: { seeds: number; trials: number },
): Promise<{ ours: SearchRun[]; theirs: (SearchRun & { missed: number })[] }> {
  const [ours, theirs] = [[] as SearchRun[], [] as (SearchRun & { missed: number })[]];
  for (let seed = 0; seed < seeds; seed++) {
    ours.push(runAlgorithm(problem, { name: "auto", algorithm: auto }, { seed, trials }));
    theirs.push(await runStrategist(problem, chat, { seed, trials }));
  }
  return { ours, theirs };
}
