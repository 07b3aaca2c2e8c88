/** A recommended checkpoint goes to a hub on this machine, whole or not at all, and no secret with it. */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pushCheckpoint, type PushOptions } from "../../tracker/commands/exchange/push.ts";
import { privateWords } from "../../tracker/show/report_sql/withheld.ts";
import { openStore } from "../../tracker/store/store.ts";
import { viewStudy } from "../../tracker/show/view/view_study.ts";
import { pareHome } from "../../python-backends/home.ts";
import type { StudyView } from "../../tracker/show/view/study_view.ts";
import { startPushHub } from "../fixtures/hub_push_server.ts";
import { STUDY, studyRecords } from "../fixtures/stores/records.ts";
import { temporaryFolder } from "../temporary_folder.ts";

const TOKEN = "hf_thisTokenStandsNowhere";

/** A study's view whose recommended checkpoint lies in a folder. */
async function viewWith(folder: string): Promise<StudyView> {
  await using store = await openStore(join(folder, "store"), { write: true });
  for (const record of studyRecords()) {
    if (record.type !== "samples_written") await store.record(record);
  }
  const view = await viewStudy(store, STUDY);
  const trial = view.trials.find(({ artifact_ids }) => artifact_ids.length > 0)!;
  const artifact = view.artifacts.get(trial.artifact_ids.at(-1)!)!;
  const location = join(folder, "artifact");
  await mkdir(location);
  const config = { _name_or_path: "/home/ada/models/tiny", hidden_size: 64 };
  await writeFile(join(location, "config.json"), JSON.stringify(config));
  await writeFile(
    join(location, "model.safetensors"),
    crypto.getRandomValues(new Uint8Array(60_000)),
  );
  await writeFile(join(location, "tokenizer.json"), '{"at":"/usr/share/dict"}');
  const files = ["config.json", "model.safetensors", "tokenizer.json"]
    .map((path) => ({ path, bytes: 1, sha256: "0" }));
  const artifacts = new Map(view.artifacts);
  artifacts.set(artifact.artifact_id, { ...artifact, location, files });
  return { ...view, recommended: trial.trial_id, artifacts };
}

Deno.test("a checkpoint goes to a hub byte for byte, and what goes wrong is one sentence", async (t) => {
  const folder = temporaryFolder("hub-push");
  const view = await viewWith(folder);
  const at = (name: string) => readFile(join(folder, "artifact", name));
  const hub = startPushHub({
    owners: { [TOKEN]: ["ada"] },
    repositories: { "ada/taken": { "other.bin": "mine" } },
  });
  const hidden = privateWords({
    ...{ home: join(folder, "home"), checkout: "/srv/pare", host: "lovelace" },
    variables: { HOME: "/home/ada", HF_TOKEN: TOKEN },
  });
  const before = Deno.env.get("HF_TOKEN");
  Deno.env.set("HF_TOKEN", TOKEN);
  const push = (repository: string, more: Partial<PushOptions> = {}) =>
    pushCheckpoint({ view, home: pareHome(), hidden }, {
      ...{ repository, endpoint: hub.endpoint, ...more },
    });
  try {
    await t.step("a dry run lists the files and asks nobody", async () => {
      const said = (await push("ada/model", { dryRun: true })).join("\n");
      assert.match(said, /would push .* to ada\/model:\n {2}README\.md/);
      assert.match(said, /model\.safetensors {2}60\.0 kB/);
      assert.deepEqual(hub.requests, []);
    });

    await t.step("what arrives is what lies here, but for places of this machine", async () => {
      const said = (await push("ada/model")).join("\n");
      assert.match(said, /pushed to http.*ada\/model, private, commit 89abcdef/);
      assert.ok(!said.includes(TOKEN));
      const there = hub.repositories.get("ada/model")!;
      assert.equal(hub.hidden.get("ada/model"), true);
      assert.deepEqual([...there.keys()].sort(), [
        ...[".gitattributes", "README.md", "config.json", "model.safetensors", "tokenizer.json"],
      ]);
      for (const name of ["model.safetensors", "tokenizer.json"]) {
        assert.deepEqual(there.get(name), new Uint8Array(await at(name)), name);
      }
      const texts = new TextDecoder();
      const config = JSON.parse(texts.decode(there.get("config.json")));
      assert.deepEqual(config, { _name_or_path: "…/tiny", hidden_size: 64 });
      const card = texts.decode(there.get("README.md"));
      assert.match(card, /^---\n[\s\S]*pipeline_tag: text-generation[\s\S]*\n---\n/);
      assert.ok(!card.includes(folder) && !card.includes(TOKEN));
    });

    await t.step("the same again is another commit; files of others are left alone", async () => {
      await push("ada/model");
      await assert.rejects(push("ada/taken"), {
        message:
          /^Cannot push to "ada\/taken": it has files that are not of this checkpoint \(other\.bin\)\. Name/,
      });
      await push("ada/taken", { force: true });
      assert.equal(
        new TextDecoder().decode(hub.repositories.get("ada/taken")!.get("other.bin")),
        "mine",
      );
      await push("ada/open", { public: true });
      assert.equal(hub.hidden.get("ada/open"), false);
    });

    await t.step("a hub in trouble for a moment is asked again", async () => {
      hub.faults = [{ words: "PUT /lfs/", fault: "500", times: 1 }];
      await push("ada/again");
      assert.ok(hub.repositories.get("ada/again")!.has("model.safetensors"));
    });

    await t.step("a commit that fails shows nothing, and says so", async () => {
      hub.faults = [{ words: "/commit/main", fault: "500", times: 1 }];
      await assert.rejects(push("ada/failed"), {
        message:
          /out of order \(status 500\); the repository was made and is empty\. Push again later/,
      });
      hub.faults = [{ words: "/commit/main", fault: "break", times: 1 }];
      await assert.rejects(push("ada/failed"), { message: /broke off \(.*no commit was made/ });
      assert.deepEqual([...hub.repositories.get("ada/failed")!.keys()], [".gitattributes"]);
      hub.faults = [{ words: "/paths-info/", fault: "lose", times: 1 }];
      await assert.rejects(push("ada/lost"), {
        message: /is not whole: README\.md has \d+ bytes here, and missing in commit/,
      });
      hub.faults = [];
    });

    await t.step(
      "a wrong token, another's place, no name and no hub: one sentence each",
      async () => {
        await assert.rejects(push("bob/model"), {
          message: /HF_TOKEN has no right to write there \(status 403\)/,
        });
        await assert.rejects(push("model"), {
          message: /that is no repository's name; give OWNER\/NAME/,
        });
        Deno.env.set("HF_TOKEN", "hf_aTokenOfNobody");
        await assert.rejects(push("ada/model"), {
          message:
            'Cannot push to "ada/model": the hub does not accept HF_TOKEN (status 401). Make a new token, and set HF_TOKEN to it',
        });
        Deno.env.set("HF_TOKEN", TOKEN);
        await assert.rejects(push("ada/model", { endpoint: "http://127.0.0.1:9" }), {
          message: /the hub at http:\/\/127\.0\.0\.1:9 cannot be reached, or broke off/,
        });
        const none = { ...view, recommended: null };
        await assert.rejects(
          pushCheckpoint({ view: none, home: pareHome(), hidden }, { repository: "ada/x" }),
          /recommends none/,
        );
      },
    );

    await t.step("a folder that pare convert made goes in its place", async () => {
      const converted = join(folder, "converted");
      await mkdir(converted);
      await assert.rejects(push("ada/gguf", { checkpoint: converted }), /it has no weights/);
      await writeFile(join(converted, "model.gguf"), "GGUF");
      await push("ada/gguf", { checkpoint: converted });
      const there = hub.repositories.get("ada/gguf")!;
      assert.equal(new TextDecoder().decode(there.get("model.gguf")), "GGUF");
      assert.match(
        new TextDecoder().decode(there.get("README.md")),
        /llama-cli -m model\.gguf[\s\S]*a conversion/,
      );
    });
  } finally {
    if (before === undefined) Deno.env.delete("HF_TOKEN");
    else Deno.env.set("HF_TOKEN", before);
    await hub.close();
  }
});
