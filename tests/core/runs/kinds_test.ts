/** Kinds of run: which one a document is of, what its contract says, and that old records are read. */
import assert from "node:assert/strict";
import {
  type Ask,
  JournalRecord,
  kindAsked,
  kindOf,
  KINDS,
  type RunRequest,
  stagesPlan,
  StudyRequest,
  type StudyRequestInput,
} from "../../../core/mod.ts";
import { request } from "../spec_fixtures.ts";
import { plan, round } from "../stages/stages_world.ts";
import { world } from "../study_world.ts";

const MODEL = { model_name: "small", dataset: "words" };
const staged = { stages: plan() };

Deno.test("a document is of the kind that it names, else of the one whose field it has, else a search", () => {
  const kindIn = (more: object) => StudyRequest.parse({ ...MODEL, ...more }).kind;
  assert.equal(kindIn({}), "search");
  assert.equal(kindIn({ kind: "search" }), "search");
  assert.equal(kindIn({ evaluation: undefined, stages: undefined }), "search");
  assert.equal(kindIn({ evaluation: {} }), "evaluation");
  assert.equal(kindIn({ kind: "evaluation" }), "evaluation", "its plan has a default for all");
  assert.equal(kindIn(staged), "stages");
  assert.equal(kindIn({ ...staged, kind: "stages" }), "stages");
});

Deno.test("a document of two kinds, or of none that is known, is refused in a sentence", () => {
  const refused = (more: object) => {
    const { error } = StudyRequest.safeParse({ ...MODEL, ...more });
    return error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ");
  };
  assert.equal(
    refused({ ...staged, evaluation: {} }),
    "kind: Cannot tell which kind of run is meant with stages and evaluation: a document has one " +
      "kind; leave one out",
  );
  assert.equal(
    refused({ ...staged, kind: "search" }),
    'kind: Cannot take stages in a run of kind "search": a document has one kind; leave it out, or ' +
      "say kind: stages",
  );
  assert.match(
    refused({ ...staged, kind: "stage" })!,
    /^kind: Unknown kind of run "stage"\. Did you mean "stages"\?/,
  );
  assert.match(refused({ kind: 3 })!, /^kind: Unknown kind of run "3"/);
  assert.match(refused({ kind: "stages" })!, /^stages: /);
  assert.ok("problem" in kindAsked({ kind: "other" }));
});

Deno.test("a record from before kinds had names is read with its kind, and its plan as it was", async () => {
  for (const more of [{}, { evaluation: {} }, staged] as Partial<StudyRequestInput>[]) {
    const w = world(more);
    const input = w.input();
    await kindOf(input.request).drive(input, {
      ...w.ports,
      idOfBytes: ({ artifact_id }) => Promise.resolve(artifact_id),
    });
    const [opened] = w.records;
    assert.ok(opened?.type === "study_opened");
    const { kind: _, ...before } = opened.request;
    const read = JournalRecord.parse({ ...opened, request: before });
    assert.deepEqual(read, opened);
  }
});

Deno.test("a request is a union by kind: a kind's own field is there once its kind is known", () => {
  const asked: StudyRequest = StudyRequest.parse({ ...MODEL, ...staged });
  assert.ok(asked.kind === "stages");
  assert.equal(asked.stages.stages.length, 2);
  assert.deepEqual(stagesPlan(asked), asked.stages);
  assert.throws(() => stagesPlan(request()), /a run of kind search as one of kind stages/);
  assert.throws(() => kindOf({ kind: "serch" }), /Unknown kind of run "serch". Did you mean/);
});

Deno.test("every kind says what it needs and shows, each part of its report once", () => {
  for (const { name, plan, shown, summary, does, does_again } of KINDS) {
    assert.equal(new Set(shown.parts).size, shown.parts.length, name);
    for (const text of [summary, does, does_again]) assert.match(text, /^[a-z].*[^.]$/, name);
    for (const field of plan) assert.ok(!(field in request()), `${field} is every run's`);
  }
  const plans = KINDS.flatMap(({ plan }) => plan);
  assert.equal(new Set(plans).size, plans.length, "a field tells one kind");
});

Deno.test("what a kind's plan names is asked of its contract: actions, servers, benchmarks", () => {
  const of = (asked: RunRequest) => {
    const kind = kindOf(asked);
    return {
      actions: kind.actions(asked).map(({ action }) => action.params["bits"]),
      endpoint: kind.asks(asked).endpoint?.base_url,
      ...kind.benchmarks(asked),
    };
  };
  const none = { actions: [], endpoint: undefined, core: null, groups: [] };
  assert.deepEqual(of(request()), none);
  const endpoint = { base_url: "http://host/v1" };
  const served = request({ evaluation: { endpoint } } as Partial<StudyRequestInput>);
  assert.deepEqual(of(served), { ...none, endpoint: "http://host/v1" });
  const stages = plan({
    stages: [{ name: "one", actions: [round(8), round(3)] }],
    experts: { shops: ["shop"] },
    ethics: { rules: { harm: "harmless" } },
    edge_of_chaos: {},
  });
  assert.deepEqual(of(request({ stages } as Partial<StudyRequestInput>)), {
    actions: [8, 3],
    endpoint: undefined,
    core: ["words"],
    groups: [
      { name: "expert/shops/shop", tasks: ["shop"] },
      { name: "eudaimonia/harm", tasks: ["harmless"] },
      { name: "edge_of_chaos/accuracy", tasks: ["words"] },
    ],
  });
});

Deno.test("who is there is asked for constraints where trials are held to any, and else not", async () => {
  for (const [more, times] of [[{ max_trials: 1 }, 1], [{ evaluation: {} }, 0]] as const) {
    const w = world(more as Partial<StudyRequestInput>);
    const asked: string[] = [];
    const ask: Ask = {
      interactive: true,
      number(question) {
        asked.push(question);
        return Promise.resolve(null);
      },
    };
    const input = w.input();
    await kindOf(input.request).drive(input, {
      ...w.ports,
      ask,
      idOfBytes: ({ artifact_id }) => Promise.resolve(artifact_id),
    });
    assert.equal(asked.length, times, JSON.stringify(more));
  }
});
