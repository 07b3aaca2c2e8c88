/** Tools that say what could be done, and put it in line where that is allowed. */
import { existsSync } from "node:fs";
import { z } from "zod";
import { initialQueue, PRIORITIES, type StudyRequestInput, UsageError } from "../../../core/mod.ts";
import { PlanQuery } from "../../board/api/operations.ts";
import { listStudies, type StudyLine } from "../../board/resources/studies.ts";
import { openedRecord } from "../../lab/find_study.ts";
import { shippedRules } from "../../lab/search/strategy_rules.ts";
import { planModel } from "../../lab/serving/plan_model.ts";
import { openLab } from "../../session/lab.ts";
import { type AssistantWorld, defineTool } from "../tool.ts";

/** Recipes of a proposal that are shown. */
const RECIPES_SHOWN = 12;

const Document = z.record(z.string(), z.unknown()).describe(
  'a study document, such as {"model_name": "demo", "dataset": "demo", "max_trials": 8}; the ' +
    "resource pare://schema/study has every field",
);

/** What a path would let an assistant read: it names models and data, no files of this machine. */
function refusePath(what: string, name: unknown): void {
  if (typeof name !== "string") return;
  if (!/^[/.~]|\\|^[a-z]+:\/\//i.test(name) && !existsSync(name)) return;
  throw new UsageError(
    `Cannot take ${what} "${name.slice(0, 200)}" as it is a path: an assistant gives names; ` +
      "start `pare mcp --allow-submit` to let it name files of this machine",
  );
}

/** Every text of a document that may name a file. */
function refusePaths(document: unknown, field = "this field"): void {
  if (Array.isArray(document)) { for (const one of document) refusePaths(one, field); }
  else if (document !== null && typeof document === "object") {
    for (const [name, value] of Object.entries(document)) refusePaths(value, name);
  } else refusePath(field, document);
}

export const plan = defineTool("plan", {
  title: "What it takes to serve a model",
  description: "Memory, cards, longest context and each server's command for a model on given " +
    "cards. The model is a trial of the store or a name on the hub, of which the config is read.",
  input: PlanQuery,
  run: async ({ stores, allow_submit }, asked) => {
    if (!allow_submit) refusePath("the model", asked.model);
    return await planModel({ store: stores.roots[0]!, ...asked }, Deno.env.toObject());
  },
});

/** The document of a study that was run. */
async function documentOf({ stores }: AssistantWorld, study: string) {
  const store = await stores.of(study);
  return openedRecord(await store.journalOf(study), study).request;
}

export const propose = defineTool("propose", {
  title: "What pare would try",
  description:
    "Inspects model and data, and says what follows: objectives, constraints, runtime, " +
    "which methods can run and why others cannot, and the recipes that would be tried first. " +
    "Nothing is compressed. Name a study, or give a document.",
  input: z.strictObject({ study: z.string().max(300).optional(), document: Document.optional() }),
  run: async (world, { study, document }) => {
    if ((study === undefined) === (document === undefined)) {
      throw new UsageError("Cannot propose for this: give either a study or a document");
    }
    if (document !== undefined && !world.allow_submit) refusePaths(document);
    const request = study === undefined ? document : await documentOf(world, study);
    // Nobody who asks what would be tried waits for a quiet machine, or for a runtime to be compiled.
    await using lab = await openLab({
      ...{ store: world.stores.roots[0]!, notebook: false, chooseRuntimes: "kept" },
    });
    const session = await lab.open(request as StudyRequestInput); // which checks it
    const { facts, spec } = session;
    const { queue, refused } = initialQueue(
      {
        ...{ facts, request: session.request, methods: lab.registry.methods },
        rules: shippedRules(),
      },
      spec,
      [],
      [],
    );
    return {
      ...{ model_name: facts.model.model_name, device: facts.device.device_name, spec },
      // Null: the study times the original in each runtime as it begins, and may take another one.
      original_timed: facts.runtimes ?? null,
      first_recipes: queue.slice(0, RECIPES_SHOWN).map(({ actions, origin }) => ({
        actions,
        reason: origin.reason,
      })),
      ...{ recipes: queue.length, refused },
    };
  },
});

export const submit = defineTool("submit", {
  title: "Put a study in line",
  description:
    "Puts a study document in the queue; it runs when its turn comes. Ask `status` how " +
    "it stands. Off unless pare was started with --allow-submit.",
  input: z.strictObject({
    document: Document,
    priority: z.enum(PRIORITIES).default("P1"),
    title: z.string().min(1).max(200).optional(),
  }),
  writes: true,
  run: async ({ stores, queue, allow_submit, drives }, { document, priority, title }) => {
    if (!allow_submit) {
      throw new UsageError(
        "Cannot put a study in line as assistants may not here: start `pare mcp --allow-submit`",
      );
    }
    const options = { priority, ...(title === undefined ? {} : { title }) };
    const job = await queue.submit(document, stores.roots[0]!, options);
    const nobody = drives();
    return { ...job, ...(nobody === null ? {} : { note: nobody }) };
  },
});

function stands({ study_id, kind, state, trials, stop }: StudyLine) {
  return { study_id, kind, state, trials, stop };
}

export const status = defineTool("status", {
  title: "What runs and what waits",
  description: "Studies that run, the queue with the reason why each job stands where it does, " +
    "and how far each is; with `study` what its program printed last.",
  input: z.strictObject({ study: z.string().max(300).optional() }),
  run: async ({ stores, queue, drives }, { study }) => {
    const { answers } = await listStudies(stores);
    if (study !== undefined) {
      const line = answers.find(({ study_id }) => study_id === study);
      const job = queue.get(study);
      if (line === undefined && job === undefined) await stores.of(study); // which says it
      return { study: line === undefined ? null : stands(line), job: job ?? null };
    }
    const jobs = queue.all().map(({ said: _, ...job }) => job);
    const waits = jobs.some(({ section }) => section !== "ended");
    const nobody = waits ? drives() : null;
    return {
      running: answers.filter(({ state }) => state === "running").map(stands),
      latest: answers.slice(0, 5).map(stands),
      jobs: jobs.slice(0, 30),
      ...(nobody === null ? {} : { note: nobody }),
    };
  },
});
