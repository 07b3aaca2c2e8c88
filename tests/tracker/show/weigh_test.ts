/** `pare weigh`: profiles as a user reads and changes them, and what each picks of a study. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { buildView } from "../../../tracker/show/view/build_view.ts";
import {
  readProfiles,
  shippedProfilesText,
  weighView,
} from "../../../tracker/show/weight_profiles.ts";
import { weighedText } from "../../../tracker/commands/ask/search_data.ts";
import { parseObjectives } from "../../../tracker/ground/terminal/parse_values.ts";
import { run, world } from "../../core/study_world.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

const w = world({ max_trials: 6 });
const { study_id } = await run(w);
const view = await buildView(study_id, w.records, () => Promise.resolve(null));

Deno.test("every profile that ships picks a point of the front, or says that the original is kept", () => {
  const profiles = readProfiles();
  assert.deepEqual(profiles.map(({ name }) => name), ["edge", "cloud", "greenest"]);
  for (const { name, describes, weights } of profiles) {
    const weighed = weighView(view, weights);
    const sum = Object.values(weighed.weights).reduce<number>((total, one = 0) => total + one, 0);
    assert.ok(Math.abs(sum - 1) < 1e-12, name);
    const text = weighedText(view, `${name}: ${describes}`, weighed);
    assert.match(text, /picks t\d\d |the original is kept/);
    assert.equal(
      text.match(/picked$/gm)?.length ?? 0,
      weighed.recommendation.keep_original ? 0 : 1,
    );
    assert.doesNotMatch(text, /NaN|undefined/);
    const [first] = weighed.ranking;
    if (
      weighed.recommendation.keep_original || first!.trial_id === weighed.recommendation.trial_id
    ) continue;
    assert.match(text, /has the better reward.*was passed over/, "a better reward is explained");
  }
  assert.match(shippedProfilesText(), /^# What a finished study is weighed by/);
});

Deno.test("who has the same reward as the one picked is named", () => {
  const weighed = weighView(view, { size: 1 });
  const { trial_id } = weighed.recommendation;
  const of = (reward: number) =>
    weighedText(view, "x", {
      ...weighed,
      ranking: [{ trial_id, reward: -1 }, { trial_id: "study/t77", reward }],
    });
  assert.match(of(-1), /the same reward: t77; of equals/);
  assert.doesNotMatch(of(-1.5), /the same reward/);
});

Deno.test("profiles of one's own are read; broken ones are refused by file and place", () =>
  inDirectory(async (root) => {
    const path = join(root, "mine.yaml");
    await Deno.writeTextFile(path, "- { name: mine, describes: x, weights: { memory: 1 } }\n");
    assert.deepEqual(readProfiles(path), [{
      name: "mine",
      describes: "x",
      weights: { memory: 1 },
    }]);
    const refused = async (text: string, message: RegExp) => {
      await Deno.writeTextFile(path, text);
      assert.throws(() => readProfiles(path), { name: "UsageError", message });
    };
    await refused(
      "- { name: mine, describes: x, weights: { speed: 1 } }",
      /mine\.yaml: 0\.weights/,
    );
    await refused("- { name: mine", /Cannot read the profiles .*mine\.yaml/);
    await refused("name: mine", /Cannot take the profiles .*: the file: /);
    assert.throws(() => readProfiles(join(root, "none.yaml")), /Cannot read the profiles/);
    assert.throws(() => parseObjectives("speed=1", "--weights"), /Unknown objective "speed"/);
    assert.throws(() => parseObjectives("latency", "--weights"), /Cannot take --weights as NAME=/);
  }));
