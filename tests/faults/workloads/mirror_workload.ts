/** The mirror of a study: after each answer of its server the power may go. */
import assert from "node:assert/strict";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { connectionOf } from "../../../tracker/exchange/mlflow/client/connection.ts";
import { PATIENCE } from "../../../tracker/exchange/mlflow/client/http.ts";
import { readProgress, targetName } from "../../../tracker/exchange/mlflow/mirror_progress.ts";
import { mirrorTo, recordSmallStudy } from "../../tracker/exchange/mlflow/mirror_world.ts";
import { sometimes } from "../loop.ts";
import { proxyTo } from "../wire/changed_answers.ts";
import { heldIn, type Memory, nothingTold, scriptedMlflow } from "../wire/scripted_mlflow.ts";
import { acknowledge, numbersOf, type Workload } from "./workload.ts";

const STUDY = "s1";
const storeOf = (root: string) => join(root, "store");
const endOf = (root: string) => Number(Deno.readTextFileSync(join(root, "end")));
const HASTY = { retries: 0, backoff_ms: 5, longest_pause_ms: 20 };

/** What a target is called must be the same whichever port its server has. */
const SHOWN = "http://mlflow.example";

function mirrorOf(root: string, url: string) {
  const to = mirrorTo(url, storeOf(root), {
    checkpoints: "none",
    connection: { ...connectionOf(url, {}), shown: SHOWN },
    patience: { ...PATIENCE, ...HASTY },
  });
  to.follow(STUDY, null);
  return () => to.pass({ [STUDY]: endOf(root) });
}

/** In steps of one record: the first request fails, so that it writes down its place often. */
async function mirroredSlowly(
  root: string,
  server: { readonly url: string },
  answered: (n: number) => boolean,
  told: (n: number) => void = () => {},
): Promise<void> {
  let n = -1;
  const refused = () => new Response("the server is gone", { status: 400 });
  await using proxy = proxyTo(server.url, async (_, run) => {
    const own = n++;
    if (own < 0 || !answered(own)) return refused();
    const answer = await run();
    told(own);
    return answer;
  });
  const pass = mirrorOf(root, proxy.url);
  await pass().catch(() => {});
  await pass();
}

/** Says each request once its server has done it. */
async function work(root: string): Promise<void> {
  const server = scriptedMlflow();
  await mirroredSlowly(root, server, () => true, (n) => acknowledge(`told ${n}`));
  acknowledge("mirrored");
  Deno.exit(0);
}

/** A study's store whose mirror has not begun, beside the one that a fault hit. */
function beginning(root: string): string {
  const other = `${root}.beginning`;
  rmSync(other, { recursive: true, force: true });
  cpSync(root, other, { recursive: true });
  for (const { name } of Deno.readDirSync(join(storeOf(other), "runs", STUDY))) {
    if (name.startsWith("mlflow.json")) rmSync(join(storeOf(other), "runs", STUDY, name));
  }
  return other;
}

/** Places of artifacts are told as they lie, and a server is told from two folders: once each here. */
function samePlaces(held: unknown, root: string): unknown {
  const once = (_: string, value: unknown) => Array.isArray(value) ? [...new Set(value)] : value;
  return JSON.parse(JSON.stringify(held).replaceAll(`${root}.beginning`, root), once);
}

/** What servers had been told, by the folder and what it was: the same for many cuts. */
const memories = new Map<string, Memory>();

async function memoryOf(
  root: string,
  what: string,
  tell: (other: string, server: { readonly url: string }) => Promise<unknown>,
): Promise<Memory> {
  const key = `${root} ${what}`;
  const known = memories.get(key);
  if (known !== undefined) return structuredClone(known);
  const memory = nothingTold();
  {
    await using server = scriptedMlflow(memory);
    const other = beginning(root);
    await tell(other, server);
    rmSync(other, { recursive: true });
  }
  memories.set(key, memory);
  return structuredClone(memory);
}

const placeOf = (root: string) => readProgress(storeOf(root), targetName(SHOWN, "pare"), STUDY);
const isBehind = (root: string) => (placeOf(root)?.offset ?? 0) < endOf(root);

export const mirrorWorkload: Workload = {
  name: "mirror",
  script: import.meta.filename!,
  adds_up: false,
  isBehind,
  async prepare(root) {
    const end = await recordSmallStudy(storeOf(root), STUDY);
    Deno.writeTextFileSync(join(root, "end"), String(end));
  },
  async check(root, acknowledged, _nth, hit) {
    if (hit?.lied === true) return; // nobody promises what a disk has lied about
    const due = numbersOf(acknowledged, "told").length;
    // The server has what it had when the power went.
    const memory = await memoryOf(root, `${due} requests`, async (other, server) => {
      await mirroredSlowly(other, server, (n) => n < due).catch(() => {});
    });
    const whole = await memoryOf(root, "all", (other, { url }) => mirrorOf(other, url)());
    if (placeOf(root) !== undefined && isBehind(root)) {
      sometimes("a mirror goes on from its place after a fault");
    }
    await using server = scriptedMlflow(memory);
    await mirrorOf(root, server.url)();
    assert.deepEqual(
      samePlaces(server.held(), root),
      samePlaces(heldIn(whole), root),
      "the server holds what no study says, or lacks some",
    );
  },
};

if (import.meta.main) await work(Deno.args[0]!);
