import assert from "node:assert/strict";
import {
  checkArtifactPath,
  encodedPath,
} from "../../../../tracker/exchange/mlflow/client/artifact_path.ts";
import {
  connectionOf,
  redact,
  withoutCredentials,
} from "../../../../tracker/exchange/mlflow/client/connection.ts";
import {
  checkKey,
  cut,
  LIMITS,
  safeKey,
} from "../../../../tracker/exchange/mlflow/client/server_limits.ts";
import { batchBodies } from "../../../../tracker/exchange/mlflow/client/log_batch.ts";
import { registeredName } from "../../../../tracker/exchange/mlflow/client/registry.ts";

function refusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    assert.equal((error as Error).name, "UsageError");
    return (error as Error).message;
  }
  return "";
}

Deno.test("an artifact's name that could leave its folder is refused in a sentence", () => {
  const hostile = [
    ...["../x", "a/../../x", "/etc/x", "%2e%2e/x", "%252e%252e%2fx", "..%2fx", "a%00b", "a\0b"],
    ...["c:\\x", "a\\b", "..%5cx", "./x", "a//b", "a/", "", "a\nb", "y".repeat(256)],
    ...["a/".repeat(600) + "b", "%2fetc/x", "C:/x"],
  ];
  for (const path of hostile) {
    assert.match(
      refusal(() => checkArtifactPath(path)),
      /^Cannot use ".*" as an artifact's path: /,
    );
  }
  for (const path of ["a.txt", "logs/quantize.log", "50% of it.json", "ä/ö.md", ".hidden", "..a"]) {
    checkArtifactPath(path);
  }
  assert.equal(encodedPath("a b/50%?#.md"), "a%20b/50%25%3F%23.md");
});

Deno.test("keys: what the server refuses is refused before, what the mirror writes is made fit", () => {
  for (const key of ["", "a:b", "../x", "a//b", "/a", "a/.", "x".repeat(251), "é"]) {
    assert.match(refusal(() => checkKey("metric", key)), /^Cannot log the metric /);
    checkKey("metric", safeKey(key));
  }
  checkKey("param", "x".repeat(250));
  checkKey("tag", "mlflow.source.git.commit");
  assert.equal(safeKey("full/gsm8k/accuracy"), "full/gsm8k/accuracy");
  const [long, other] = ["a", "b"].map((end) => safeKey("x".repeat(400) + end));
  assert.equal(long!.length, LIMITS.key);
  assert.notEqual(long, other);
  assert.equal(cut("abc", 3), "abc");
  assert.equal(cut("x".repeat(9_000), 100).length, 100);
  assert.match(cut("x".repeat(9_000), 100), /… \(9000 characters\)$/);
  assert.equal(registeredName("org/model:v1"), "org-model-v1");
});

Deno.test("batches keep to every limit and lose nothing", () => {
  const pairs = (n: number, length: number) =>
    Array.from({ length: n }, (_, i) => ({ key: `k${i}`, value: "é".repeat(length) }));
  const metrics = Array.from({ length: 2_500 }, (_, i) => ({
    key: "loss",
    value: i === 7 ? NaN : i === 8 ? Infinity : i / 3,
    timestamp: 1,
    step: i,
  }));
  const bodies = [
    ...batchBodies("r", { metrics, params: pairs(250, 5_000), tags: pairs(101, 10) }),
  ];
  const seen = { metrics: 0, params: 0, tags: 0 };
  for (const body of bodies) {
    assert.ok(new TextEncoder().encode(body).length <= LIMITS.body_bytes);
    const one = JSON.parse(body) as Record<keyof typeof seen, unknown[]> & { run_id: string };
    assert.equal(one.run_id, "r");
    assert.ok(one.metrics.length <= 1_000 && one.params.length <= 100 && one.tags.length <= 100);
    assert.ok(one.metrics.length + one.params.length + one.tags.length <= 1_000);
    for (const name of ["metrics", "params", "tags"] as const) seen[name] += one[name].length;
  }
  assert.deepEqual(seen, { metrics: 2_500, params: 250, tags: 101 });
  assert.match(bodies.join(), /"value":"NaN".*"value":"Infinity"/);
  assert.deepEqual([...batchBodies("r", {})], []);
});

Deno.test("user, password and token reach the header and nothing that is shown", () => {
  const words = (uri: string, variables = {}) => connectionOf(uri, variables);
  const inside = words("https://ann:s%40cret@host:5000/base/?token=abc#x");
  assert.equal(inside.base, "https://host:5000/base");
  assert.equal(inside.authorization, `Basic ${btoa("ann:s@cret")}`);
  assert.equal(
    redact("for https://ann:s%40cret@host/ with s@cret", inside),
    "for https://host/ with ***",
  );
  const both = words("http://h", {
    MLFLOW_TRACKING_USERNAME: "u",
    MLFLOW_TRACKING_PASSWORD: "pass word",
    MLFLOW_TRACKING_TOKEN: "tttt",
  });
  assert.equal(both.authorization, `Basic ${btoa("u:pass word")}`);
  assert.equal(words("http://h", { MLFLOW_TRACKING_TOKEN: "tttt" }).authorization, "Bearer tttt");
  assert.equal(words("http://h").authorization, null);
  for (const uri of ["nonsense", "sqlite:///x.db", "ftp://u:hidden@h", "http//u:hidden@h"]) {
    const said = refusal(() => words(uri));
    assert.match(said, /^Cannot use /);
    assert.doesNotMatch(said, /hidden/);
  }
  const insecure = { MLFLOW_TRACKING_INSECURE_TLS: "true" };
  assert.equal(words("https://h", insecure).insecure, true);
  assert.equal(words("https://h").insecure, false);
  assert.match(
    refusal(() => words("https://h", { ...insecure, MLFLOW_TRACKING_SERVER_CERT_PATH: "/x" })),
    /^Cannot both check .*unset MLFLOW_TRACKING_INSECURE_TLS or/,
  );
  assert.match(
    refusal(() => words("https://h", { MLFLOW_TRACKING_SERVER_CERT_PATH: import.meta.filename! })),
    /holds no certificate/,
  );
  assert.match(
    refusal(() => words("https://h", { MLFLOW_TRACKING_SERVER_CERT_PATH: "/no/such" })),
    /no such file/i,
  );
  assert.equal(
    withoutCredentials("run --mlflow=http://a:b@h/x y@z"),
    "run --mlflow=http://h/x y@z",
  );
});
