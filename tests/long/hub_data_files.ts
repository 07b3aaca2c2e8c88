import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { UsageError } from "../../core/mod.ts";
import { openLab, silentAsk } from "../../tracker/mod.ts";
import {
  dataDirectory,
  hubTasks,
  hubVariables,
  longModel,
  ownRows,
  type Place,
  prepared,
  repositoriesOf,
  scored,
} from "../fixtures/hub_data_world.ts";
import { startHub } from "../fixtures/hub_server.ts";
import { shareDefaultEnvironment } from "../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";

/** One of each kind: a chain of thought, examples of a split, parts of the hub, a generation. */
const CHOSEN = ["arc_challenge", "gsm8k", "hendrycks_math", "mmlu", "triviaqa"];
const tasks = hubTasks.filter(({ name }) => CHOSEN.includes(name));
const chosen = Object.fromEntries(CHOSEN.map((name) => [name, ownRows[name]!]));

Deno.test("the same records give the same numbers from the hub, its cache and a folder", async () => {
  await shareDefaultEnvironment();
  const asked = { model_dir: await longModel(), tasks, rows: () => [0, 2] };
  const hub = startHub({}, await repositoriesOf(chosen));
  try {
    const here: Place = { hub, hf: temporaryFolder("hub-data-cache"), offline: false };
    const fetched = await scored(asked, null, here);
    assert.deepEqual(fetched.refused, []);
    assert.equal(fetched.samples.length, 2 * CHOSEN.length);
    const files = hub.requests.filter((line) => /^GET .*parquet$/.test(line));
    assert.equal(new Set(files).size, files.length, "each file is fetched once");
    const before = hub.requests.length;
    assert.deepEqual(await scored(asked, null, { ...here, offline: true }), fetched);
    const empty = { hub, hf: temporaryFolder("empty-cache"), offline: true };
    assert.deepEqual(await scored(asked, dataDirectory(chosen), empty), fetched);
    assert.deepEqual(hub.requests.slice(before), [], "neither cache nor folder asks the hub");
  } finally {
    await hub.close();
  }
});

Deno.test("data that the hub does not give are one sentence each, and the others are read", async (t) => {
  await shareDefaultEnvironment();
  const all = await repositoriesOf(ownRows, () => true);
  const { "tau/commonsense_qa": _, ...known } = all;
  const without = (name: string, part: string) => ({
    files: Object.fromEntries(
      Object.entries(all[name]!.files).filter(([file]) => !file.includes(part)),
    ),
  });
  const hub = startHub({}, {
    ...known,
    "openai/gsm8k": { ...all["openai/gsm8k"]!, gated_for: ["hf_ofAnother"] },
    "allenai/ai2_arc": { ...all["allenai/ai2_arc"]!, status: 401 },
    "Rowan/hellaswag": { ...all["Rowan/hellaswag"]!, status: 404 },
    "mandarjoshi/trivia_qa": without("mandarjoshi/trivia_qa", "validation-00000"),
  });
  const place: Place = { hub, hf: temporaryFolder("hub-refusals"), offline: false };
  const expect = (said: ReadonlyMap<string, string>, expected: Record<string, RegExp>) => {
    const refused = [...said].filter(([, words]) => words.includes(" "));
    assert.deepEqual(refused.map(([task]) => task).sort(), Object.keys(expected).sort());
    for (const [task, words] of Object.entries(expected)) {
      assert.match(said.get(task)!, words);
      assert.doesNotMatch(said.get(task)!, /\n|Traceback|hf_/);
    }
  };
  try {
    await t.step("a hub that is there", async () => {
      const names = ["gsm8k", "arc_challenge", "hellaswag", "commonsense_qa", "triviaqa"]
        .concat(["winogrande"]);
      expect(await prepared(names, null, place), {
        gsm8k:
          /of gsm8k \(openai\/gsm8k, main, split test\): its authors gate it and HF_TOKEN is not/,
        arc_challenge:
          /arc_challenge \(.*\): the hub answers with status 401: HF_TOKEN is not set\. Name/,
        hellaswag: /: the hub at http\S+ cannot be reached or is out of order\. Name a folder/,
        commonsense_qa: /\(tau\/commonsense_qa, split validation\): the hub has no dataset of that/,
        triviaqa: /rc\.nocontext, split validation\): Couldn't infer the same data file format/,
      });
    });
    await t.step("a token without access", async () => {
      const said = await prepared(["gsm8k", "winogrande"], null, place, { HF_TOKEN: "hf_mine" });
      expect(said, { gsm8k: /its authors gate it and HF_TOKEN has no access to it\. Accept its/ });
    });
  } finally {
    await hub.close();
  }
});

Deno.test("offline with an empty cache: the study goes on without, or nothing is begun", async () => {
  await shareDefaultEnvironment();
  const hub = startHub({}, await repositoriesOf({ winogrande: ownRows["winogrande"]! }));
  const home = temporaryFolder("hub-offline");
  const hf = join(home, "hf");
  const before = { ...process.env };
  try {
    Object.assign(process.env, hubVariables(hub.endpoint, hf));
    const place = join(hf, "datasets", "allenai___winogrande", "winogrande_xl");
    await using lab = await openLab({ store: join(home, "store") });
    const study = {
      model_name: "tiny",
      offline: true,
      evaluation: { chat_template: false },
      samples: { full: 4 },
    };
    const alone = await lab.open({ ...study, dataset: "winogrande" }, "alone");
    await assert.rejects(alone.run({ ask: silentAsk() }), (error) => {
      assert.ok(error instanceof UsageError);
      assert.match(
        error.message,
        /winogrande_xl, split validation\): nothing may be fetched and the/,
      );
      assert.match(
        error.message,
        /Name a folder that holds it as winogrande\/validation\.jsonl\.gz by/,
      );
      assert.ok(error.message.endsWith(`without --offline: the data are then kept in ${place}`));
      return true;
    });
    assert.equal((await lab.studies()).length, 0, "nothing was begun");
    const both = await lab.open({ ...study, dataset: "tiny,winogrande" }, "both");
    const { stop } = await both.run({ ask: silentAsk() });
    assert.equal(stop, "evaluated");
    const { spec } = await lab.view("both");
    assert.deepEqual(spec?.missing_tasks.map(({ task }) => task), ["winogrande"]);
    assert.match(spec?.warnings.join() ?? "", /winogrande is left out .*nothing may be fetched/);
    assert.deepEqual(hub.requests, []);

    await prepared(["winogrande"], null, { hub, hf, offline: false });
    assert.ok(readdirSync(place).length > 0, "the data came to where it was said");
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
    await hub.close();
  }
});
