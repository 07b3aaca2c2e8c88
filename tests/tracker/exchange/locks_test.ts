import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { readPins } from "../../../python-backends/environments/environment_pins.ts";
import { lockedEnvironments, lockFiles } from "../../../tracker/exchange/reproduce/locks.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { PROVENANCE } from "../../fixtures/stores/records.ts";

const DEFAULT = readPins("default").hash;
const environments = new Map<string, string>();
const trialWith = (hashes: Record<string, string>) => ({
  provenance: { ...PROVENANCE, environments: hashes },
});

async function written(folder: string, files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await Deno.mkdir(dirname(join(folder, name)), { recursive: true });
    await Deno.writeTextFile(join(folder, name), text);
  }
}

Deno.test("a lock is an environment's pins, whole; of other pins than the recorded ones there is none", async () => {
  const trials = [
    trialWith({ default: DEFAULT }),
    trialWith({ mlflow: "0123456789ab", theirs: "ba9876543210" }),
  ];
  const study = { trials: trials as unknown as Parameters<typeof lockFiles>[0]["trials"] };
  const { files, missing } = await lockFiles(study, { environments });
  assert.deepEqual(Object.keys(files), [
    "locks/default/environment.json",
    "locks/default/requirements.txt",
  ]);
  assert.deepEqual(missing, [
    `lock of the environment mlflow (0123456789ab): this checkout's is ${readPins("mlflow").hash}`,
    "lock of the environment theirs (ba9876543210): this checkout has none",
  ]);
});

Deno.test("an environment is made of its lock where the checkout's differs, by who asks for it alone", () =>
  inDirectory(async (folder) => {
    const study = { trials: [trialWith({ default: DEFAULT })] as never };
    const { files } = await lockFiles(study, { environments });
    const other = Object.fromEntries(
      Object.entries(files).map((
        [name, text],
      ) => [name, text.replace(/^numpy==.*$/m, "numpy==1.2.3")]),
    );
    await written(folder, other);
    const recorded = readPins("default", join(folder, "locks", "default")).hash;
    assert.notEqual(recorded, DEFAULT);
    const asked: string[][] = [];
    const make = (name: string, directory: string) => {
      asked.push([name, directory]);
      return Promise.resolve({ python: "/made/bin/python" });
    };
    const of = (hashes: Record<string, string>, wanted: boolean) =>
      lockedEnvironments(trialWith(hashes), folder, { wanted, environments, make });

    assert.deepEqual(await of({ default: DEFAULT }, true), { made: {}, others: [] });
    const told = await of({ default: recorded }, false);
    assert.match(told.others.join(), /is this checkout's, not the recorded .*: --locks makes that/);
    assert.deepEqual(asked, []);
    assert.deepEqual(await of({ default: recorded }, true), {
      made: { PARE_ENV_DEFAULT: "/made/bin/python" },
      others: [],
    });
    assert.deepEqual(asked, [["default", join(folder, "locks", "default")]]);

    const wrong = await of({ default: "0123456789ab" }, true);
    assert.match(wrong.others.join(), new RegExp(`the published lock is of ${recorded}`));
    const none = await of({ mlflow: "0123456789ab" }, true);
    assert.match(none.others.join(), /no lock of it was published/);
    assert.equal(asked.length, 1);

    await written(folder, { "locks/default/requirements.txt": "evil @ https://example.org/x\n" });
    await assert.rejects(of({ default: recorded }, true), /is no exact pin/);
  }));
