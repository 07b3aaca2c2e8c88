import assert from "node:assert/strict";
import { openStore } from "../../../../tracker/store/store.ts";
import { join } from "node:path";
import { main } from "../../../../tracker/cli.ts";
import { findHome } from "../../../../tracker/ground/home.ts";
import { openLabMirror } from "../../../../tracker/exchange/mlflow/lab_mirror.ts";
import { lockMirror } from "../../../../tracker/exchange/mlflow/lock_mirror.ts";
import { recordStudy } from "./mirror_world.ts";

/** Runs a command line; its exit code and what it said on standard error. */
async function pare(...words: string[]): Promise<{ code: number; said: string }> {
  const lines: string[] = [];
  const error = console.error;
  console.error = (...parts: unknown[]) => lines.push(parts.join(" "));
  try {
    return { code: await main(words), said: lines.join("\n") };
  } finally {
    console.error = error;
  }
}

Deno.test("pare mlflow sync: what is wrong is said in a sentence, and shows no password", async () => {
  const root = await Deno.makeTempDir();
  const before = Deno.env.get("MLFLOW_TRACKING_URI");
  Deno.env.delete("MLFLOW_TRACKING_URI");
  try {
    await recordStudy(root, "s1");
    const away = "http://ann:hunter22@127.0.0.1:1";
    const cases: [string[], RegExp][] = [
      [[], /Cannot mirror without a server: .*npx -y deno task mlflow/],
      [["--mlflow", "sqlite:///x.db"], /only http and https are spoken/],
      [["s2", "--mlflow", away], /Unknown study "s2"\. Did you mean "s1"\?/],
      [["--mlflow", away], /Cannot reach the MLflow server .*127\.0\.0\.1:1.*sync again/],
    ];
    for (const [words, expected] of cases) {
      const { code, said } = await pare("mlflow", "sync", ...words, "--store", root);
      assert.equal(code, 2, said);
      assert.match(said, expected);
      assert.doesNotMatch(said, /hunter22/);
    }
    using _held = lockMirror(root, "s1");
    const { said } = await pare("mlflow", "sync", "--mlflow", away, "--store", root);
    assert.match(said, /mirrors the study s1 .* already/);
    const missing = await pare("import", "mlflow", join(root, "no"), "--store", root);
    assert.match(missing.said, /it is not there: give a server's address, an mlruns folder/);
  } finally {
    if (before !== undefined) Deno.env.set("MLFLOW_TRACKING_URI", before);
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("a tracking variable meant for others is a note; an address that was asked for is not", async () => {
  const folder = await Deno.makeTempDir();
  const home = findHome({ PARE_HOME: folder });
  const variable = { MLFLOW_TRACKING_URI: "sqlite:///mlflow.db" };
  assert.match(openLabMirror(home, undefined, variable).note ?? "", /^not mirrored to MLflow: /);
  assert.throws(() => openLabMirror(home, "sqlite:///mlflow.db", {}), /only http and https/);
  assert.equal(openLabMirror(home, undefined, {}).note, null);
  {
    await using running = openLabMirror(home, "http://127.0.0.1:1", {});
    assert.equal(running.mirror?.shown, "http://127.0.0.1:1");
    using _held = lockMirror(home.store, "s1");
    const said: string[] = [];
    await using other = openLabMirror(home, "http://127.0.0.1:1", {}, (one) => said.push(one));
    await using store = await openStore(home.store, { write: true });
    assert.equal(other.mirror!.attach(store, { study_id: "s1", isNew: true }), store);
    assert.match(said.join(), /mirrors the study s1 .* already: it is not mirrored from here/);
  }
  await using later = openLabMirror(home, "http://127.0.0.1:1", {});
  assert.notEqual(later.mirror, null);
  await Deno.remove(folder, { recursive: true });
});
