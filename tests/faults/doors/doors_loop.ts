/** How every loop of doors walks: attacks that were made, then damaged files that are drawn. */
import { execFileSync } from "node:child_process";
import { cpSync, linkSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { streamRandom } from "../../../core/random.ts";
import { createBackendClient } from "../../../python-backends/client.ts";
import { ensureEnvironment } from "../../../python-backends/environments/environments.ts";
import { trainedTinyModel } from "../../tiny_model.ts";
import { denoWords } from "../../fixtures/programs.ts";
import { type Attack, SECRET } from "./attacks.ts";
import type { Door } from "./door.ts";
import { mutate, mutateHead, mutateHeader } from "./mutate.ts";
import { type Ended, Reading } from "./reading.ts";
import { type Injected, type Loop, sometimes, type Walk } from "../loop.ts";
import { fileURLToPath } from "node:url";

/** Inputs of a door in one walk. */
const INPUTS = 10_000;
const LONGEST_SENTENCE = 4_000;
const BACKENDS = fileURLToPath(new URL("../../../python-backends", import.meta.url));

const bytesOf = (content: Uint8Array | string) =>
  typeof content === "string" ? new TextEncoder().encode(content) : new Uint8Array(content);

/** The input `n` of a door, in a folder: a valid one with one or more files damaged. */
function writeInput(door: Door, folder: string, seed: number, n: number): string {
  const random = streamRandom(seed, `${door.name} ${n}`);
  const names = Object.keys(door.files);
  const hit = door.hit ?? names.slice(0, 1);
  const meant = hit[Math.floor(random() * hit.length)];
  for (const name of door.linked === undefined ? [] : readdirSync(door.linked)) {
    if (!(name in door.files)) linkSync(join(door.linked!, name), join(folder, name));
  }
  for (const [name, content] of Object.entries(door.files)) {
    const bytes = bytesOf(content);
    const damaged = name !== meant || n === 0
      ? bytes
      : name.endsWith(".safetensors") && random() < 0.7
      ? mutateHeader(bytes, random)
      : door.head !== undefined && random() < 0.8
      ? mutateHead(bytes, door.head, random)
      : mutate(bytes, typeof content === "string", random);
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), damaged);
  }
  return door.folder ? folder : join(folder, names[0]!);
}

/** Throws where what a door said is no sentence. */
function checkSaid(door: string, { ended, said }: Ended): void {
  if (said.includes(SECRET)) throw new Error(`${door} read what it was not given: ${said}`);
  if (ended === "fault") throw new Error(`${door} ends in a stack: ${said.slice(0, 2_000)}`);
  if (ended === "result") return;
  // deno-lint-ignore no-control-regex
  if (/[\u0000-\u001f\u007f-\u009f]/.test(said)) {
    throw new Error(`${door} says what a terminal would act on: ${JSON.stringify(said)}`);
  }
  if (/\n\s+at /.test(said) || said.length > LONGEST_SENTENCE) {
    throw new Error(`${door} says no sentence: ${JSON.stringify(said.slice(0, 400))}`);
  }
}

/** Attacks first, one a point, then these doors in turn, a damaged input each. */
export function doorsLoop(
  doorsIn: (folder: string) => Promise<readonly Door[]>,
  attacks: readonly Attack[],
): Loop["open"] {
  return async (seed, folder): Promise<Walk> => {
    const doors = await doorsIn(folder);
    const readers = await readersIn(folder);
    const points = attacks.length + doors.length * INPUTS;
    const attack = async (one: Attack, place: string): Promise<Injected> => {
      const { door, side, name } = one;
      const { ended, said } = await readers[side].read(door, one.write(place));
      checkSaid(door, { ended, said });
      return { file: door, call: name, kind: "hopeless" };
    };
    const input = async (door: Door, n: number, place: string): Promise<Injected> => {
      const ended = await readers[door.side].read(door.name, writeInput(door, place, seed, n));
      if (n === 0 && ended.ended !== "result") {
        throw new Error(`${door.name} refuses a valid file: ${ended.said}`);
      }
      checkSaid(door.name, ended);
      if (ended.ended === "sentence") sometimes(`doors: ${door.side} refused in a sentence`);
      return { file: door.name, call: `input ${n}`, kind: "hopeless" };
    };
    return {
      points,
      async at(point) {
        if (point >= points) return undefined;
        const place = join(folder, "input");
        rmSync(place, { recursive: true, force: true });
        mkdirSync(place);
        const own = attacks[point];
        const nth = point - attacks.length;
        try {
          if (own !== undefined) return await attack(own, place);
          return await input(doors[nth % doors.length]!, Math.floor(nth / doors.length), place);
        } catch (error) {
          const what = own === undefined
            ? doors[nth % doors.length]!.name
            : `${own.door}, ${own.name}`;
          throw new Error(`${what}: ${(error as Error).message}`);
        }
      },
      async [Symbol.asyncDispose]() {
        for (const one of Object.values(readers)) await one[Symbol.asyncDispose]();
      },
    };
  };
}

async function readersIn(folder: string) {
  const script = fileURLToPath(new URL("./deno_readers.ts", import.meta.url));
  const env = { ...Deno.env.toObject(), PARE_HOME: join(folder, "home") };
  const { python } = await ensureEnvironment("default");
  const own = fileURLToPath(new URL("./python_readers.py", import.meta.url));
  const words = [python, own, join(folder, "model"), join(folder, "seeds", "original")];
  return {
    deno: new Reading(denoWords(script), { cwd: folder, env }),
    python: new Reading(words, {
      cwd: folder,
      env: { ...env, PYTHONPATH: BACKENDS, HF_HUB_OFFLINE: "1" },
    }),
  };
}

/** Valid files that Python's libraries alone write. */
export async function pythonSeeds(folder: string): Promise<string> {
  const { python } = await ensureEnvironment("default");
  const script = fileURLToPath(new URL("./python_seeds.py", import.meta.url));
  const seeds = join(folder, "seeds");
  mkdirSync(seeds);
  execFileSync(python, [script, seeds], {
    cwd: folder,
    env: { ...Deno.env.toObject(), PYTHONPATH: BACKENDS, HF_HUB_OFFLINE: "1" },
    stdio: "ignore",
  });
  return seeds;
}

/** A copy of the tiny model in the loop's folder, of which every input is linked. */
export async function tinyModel(folder: string): Promise<string> {
  const client = createBackendClient({ logs: join(folder, "logs") });
  const model = await trainedTinyModel(client).finally(() => client.close());
  cpSync(model, join(folder, "model"), { recursive: true });
  return join(folder, "model");
}
