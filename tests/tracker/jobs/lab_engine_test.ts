/** What of a study its engine has nothing to compute for, or would ask somebody else. */
import assert from "node:assert/strict";
import type { Engine } from "../../../core/mod.ts";
import { workersAsked } from "../../../tracker/jobs/workers/lab_engine.ts";
import { request } from "../../core/spec_fixtures.ts";

const SLOTS = { cpu: 2, gpu: 0, memory_gb: null };
const capacity = () =>
  Promise.resolve({ total: SLOTS, free: SLOTS, largest: SLOTS, machine: "played" });
const elsewhere = { name: "slurm:gpu", capacity } as Engine;
const here = { ...elsewhere, name: "local", here: true } as Engine;

const evaluated = (base_url: string, judge?: string) =>
  ({
    ...request(),
    kind: "evaluation",
    evaluation: { endpoint: { base_url }, ...(judge && { judge: { base_url: judge } }) },
  }) as never;

Deno.test("an address of this machine is asked from this machine alone", async () => {
  const refused = /^UsageError: Cannot ask http:\/\/\S+\/v1 from slurm:gpu as that address is each/;
  for (const host of ["127.0.0.1", "127.1.2.3", "localhost", "[::1]"]) {
    const asked = evaluated(`http://${host}:8000/v1`);
    await assert.rejects(workersAsked(elsewhere, asked), refused, host);
    assert.equal((await workersAsked(here, asked))?.count, 1);
  }
  const judged = evaluated("http://node7:8000/v1", "http://localhost:1/v1");
  await assert.rejects(workersAsked(elsewhere, judged), refused);
  assert.equal((await workersAsked(elsewhere, evaluated("http://node7:8000/v1")))?.count, 1);
});

Deno.test("what only asks models at their addresses is refused on every engine", async () => {
  const asked = { ...request(), kind: "experiments", experiments: {} } as never;
  for (const engine of [elsewhere, here]) {
    await assert.rejects(
      workersAsked(engine, asked),
      /Cannot run the study on \S+ as each of its models answers at an address.*: leave --engine out$/,
    );
  }
  assert.equal(await workersAsked(null, asked), null);
});
