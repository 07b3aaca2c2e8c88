/** Who may ask a board, and what its JSON interface answers. */
import assert from "node:assert/strict";
import { request } from "node:http";
import { join } from "node:path";
import { z } from "zod";
import { type Operation, OPERATIONS } from "../../../tracker/board/api/operations.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { type TestBoard, testBoard } from "../../fixtures/stores/board.ts";
import { until } from "../../python-backends/scripted_worker.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { STUDY, studyRecords } from "../../fixtures/stores/records.ts";

const HOSTILE = `"><script>alert(1)</script>'`;

/** A store with a study, and one whose name would run a script where it is not escaped. */
async function recorded(root: string): Promise<string> {
  const at = join(root, "store");
  await using store = await openStore(at, { write: true });
  for (const id of [STUDY, HOSTILE]) {
    await Promise.all(studyRecords(id).map((record) => store.record(record)));
  }
  await store.flush({ wait_ms: 60_000 });
  return at;
}

/** A request with headers that `fetch` does not let anybody set. */
function rawStatus(board: TestBoard, headers: Record<string, string>, path = "/api/studies") {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const sent = request(board.address + path, { headers }, (answer) => {
      let text = "";
      answer.on("data", (part) => text += part);
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    sent.on("error", reject);
    sent.end();
  });
}

async function strangersAreRefused(test: TestBoard): Promise<void> {
  const { token, port } = test.board;
  const authorization = `Bearer ${token}`;
  const host = `127.0.0.1:${port}`;
  const refused = async (headers: Record<string, string>, status: number, sentence: RegExp) => {
    const answer = await rawStatus(test, headers);
    assert.equal(answer.status, status, JSON.stringify(headers));
    assert.match(JSON.parse(answer.text).error, sentence);
  };
  assert.equal((await rawStatus(test, { authorization, host })).status, 200);
  await refused({ host }, 401, /no token came with it/);
  await refused({ host, authorization: `Bearer ${token.slice(0, -1)}` }, 401, /open the address/);
  // A name that a stranger's server has made point at this machine.
  await refused({ authorization, host: `evil.example:${port}` }, 403, /for the host "evil/);
  await refused({ authorization, host: "127.0.0.1" }, 403, /for the host/);
  await refused({ authorization, host, origin: "http://127.0.0.1:1" }, 403, /another address/);
  await refused({ authorization, host, origin: "null" }, 403, /another address/);
  await refused({ authorization, host, "sec-fetch-site": "cross-site" }, 403, /another address/);
  await refused({ authorization, host, "sec-fetch-site": "same-site" }, 403, /another address/);
  const followed = { host, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
  assert.equal((await rawStatus(test, { ...followed, authorization })).status, 200);
  const framed = { ...followed, authorization, "sec-fetch-dest": "iframe" };
  await refused(framed, 403, /another address/);
}

async function tokenBecomesCookie(test: TestBoard): Promise<void> {
  const { token, port } = test.board;
  const answer = await fetch(`${test.address}//evil.example/?token=${token}&order=rank`);
  const cookie = answer.headers.get("set-cookie") ?? "";
  assert.match(
    cookie,
    new RegExp(`^pare_board_${port}=${token}; Path=/; HttpOnly; SameSite=Strict$`),
  );
  const text = await answer.text();
  assert.match(text, /url=\/evil.example\/\?order=rank"/); // of this host, and without the token
  assert.equal(text.includes(token), false);
  const own = await fetch(`${test.address}/`, { headers: { cookie: cookie.split(";")[0]! } });
  assert.equal(own.status, 200);
  await own.body?.cancel();
  const wrong = await fetch(`${test.address}/?token=other`, { headers: { accept: "text/html" } });
  assert.equal(wrong.status, 401);
  assert.match(await wrong.text(), /its token is another one/);
}

async function answersFitTheirShapes(test: TestBoard): Promise<void> {
  const asked: [keyof typeof OPERATIONS, string, RequestInit?][] = [
    ["listStudies", "/api/studies"],
    ["readStudy", `/api/studies/${STUDY}`],
    ["listTrials", `/api/studies/${STUDY}/trials?page_size=2&order=accuracy`],
    ["readFront", `/api/studies/${STUDY}/front`],
    ["weigh", `/api/studies/${STUDY}/weigh?weights=accuracy=1`],
    ["readTrial", `/api/studies/${STUDY}/trials/t01`],
    ["listFlips", `/api/studies/${STUDY}/trials/t01/samples?which=lost`],
    ["compare", `/api/compare?first=${STUDY}&second=${encodeURIComponent(HOSTILE)}`],
    ["listViews", "/api/views"],
    ["query", "/api/query", {
      method: "POST",
      body: JSON.stringify({ sql: "SELECT 'nan'::DOUBLE AS n" }),
    }],
  ];
  for (const [name, path, init] of asked) {
    const { status, body } = await test.json(path, init);
    const { answer, status: wanted } = OPERATIONS[name] as Operation;
    assert.equal(status, wanted, `${path}: ${JSON.stringify(body).slice(0, 300)}`);
    (answer as z.ZodType).parse(body);
    if (name === "query") assert.deepEqual((body as { rows: unknown }).rows, [{ n: "NaN" }]);
    if (name === "compare") {
      const { second, rows } = body as { second: string; rows: Record<string, unknown>[] };
      assert.equal(second, HOSTILE);
      assert.deepEqual(rows[0], { what: "trials", first: 4, second: 4 });
    }
    if (name === "listTrials") {
      const { rows, total } = body as { rows: { accuracy: number }[]; total: number };
      assert.deepEqual([rows.map((row) => row.accuracy), total], [[0.8, 0.79], 4]);
    }
  }
  const svg = await test.ask(`/api/studies/${STUDY}/figures/pareto`);
  assert.match(await svg.text(), /^<svg/);
  assert.match(
    svg.headers.get("content-security-policy") ?? "",
    /default-src 'none'; style-src 'unsafe-inline'/,
  );
}

async function badInputIsSaid(test: TestBoard): Promise<void> {
  const post = (body: string, headers = {}) => ({ method: "POST", body, headers });
  const sql = (text: string) => post(JSON.stringify({ sql: text }));
  const cases: [string, RequestInit, number, RegExp][] = [
    ["/api/studies/dmo-1", {}, 404, /Unknown study "dmo-1"\. Did you mean "demo-1"/],
    [`/api/studies/${STUDY}/trials/t9`, {}, 404, /Unknown trial .* Did you mean/],
    [`/api/studies/${STUDY}/trials?order=rnk`, {}, 400, /Did you mean "rank"/],
    [`/api/studies/${STUDY}/trials?page=0`, {}, 400, /Cannot take "page": "0" is refused/],
    [`/api/studies/${STUDY}/trials?pge=1`, {}, 400, /Unknown field "pge"\. Did you mean "page"/],
    [`/api/studies/${STUDY}/figures/x`, {}, 404, /Unknown figure "x"/],
    [`/api/studies/${STUDY}/weigh`, {}, 400, /without "weights"/],
    ["/api/compare?first=demo-1/t00&second=demo-1/t01", {}, 400, /no full evaluation/],
    [`/api/compare?first=${STUDY}/t00&second=${STUDY}`, {}, 400, /name two studies, or two trials/],
    [`/api/compare?first=${STUDY}&second=${STUDY}`, {}, 400, /with itself: name two studies/],
    ["/compare?study=a&study=b&study=c", {}, 400, /Cannot compare 3 studies: mark two/],
    ["/api/query", sql("DELETE FROM trials"), 400, /must only read/],
    ["/api/query", sql("SELECT 1; SELECT 2"), 400, /must be one statement: found 2/],
    ["/api/query", sql("SELECT 1\0 FROM nowhere"), 400, /holds a null byte at character 9/],
    ["/api/query", sql("SELECT * FROM read_csv('/etc/passwd')"), 400, /./],
    ["/api/query", sql("SELECT $n"), 400, /parameters are \$n: values were given for none/],
    ["/api/query", post("{"), 400, /Cannot read the body as JSON/],
    [
      "/api/query",
      post("sql=1", { "content-type": "text/plain" }),
      400,
      /send it as application\/json/,
    ],
    ["/api/query", post(" ".repeat(1_100_000)), 413, /more than 1048576 bytes/],
    [`/api/studies/${STUDY}`, { method: "DELETE" }, 409, /Cannot stop demo-1 as it does not run/],
    ["/api/studies", post('{"model_name":"demo"}'), 400, /study: Cannot start without "dataset"/],
    [
      "/api/studies",
      post('{"model_name":"demo","dataset":"demo","sed":1}'),
      400,
      /Did you mean "seed"/,
    ],
    ["/api/studies?store=/x", post("{}"), 404, /Unknown store/],
    [`/api/studies/${STUDY}/notes`, post('{"text":""}'), 400, /Cannot take "text"/],
    ["/nothing", {}, 404, /Cannot find \/nothing/],
  ];
  for (const [path, init, wanted, sentence] of cases) {
    const { status, body } = await test.json(path, init);
    const { error } = body as { error: string };
    assert.equal(status, wanted, `${path}: ${error}`);
    assert.match(error, sentence);
  }
}

async function pagesEscape(test: TestBoard): Promise<void> {
  const name = encodeURIComponent(HOSTILE);
  const pages = ["/", `/studies/${name}`, `/studies/${name}/trials/t01`, `/sql?sql=${name}`];
  const compared = [`first=${name}&second=${name}`, `study=${STUDY}&study=${name}`];
  pages.push(...compared.map((query) => `/compare?${query}`), `/studies/${name}x`);
  for (const page of pages) {
    const answer = await test.ask(page, { headers: { accept: "text/html" } });
    const text = await answer.text();
    assert.match(text, /<main id="main"/, page);
    assert.match(text, /&lt;script&gt;alert\(1\)/, page);
    assert.equal(/<script>|"><script|<script[^>]*>alert/.test(text), false, page);
    assert.match(
      answer.headers.get("content-security-policy") ?? "",
      /script-src 'self'; style-src 'self'/,
    );
  }
}

async function openApiIsWhole(test: TestBoard): Promise<void> {
  const { body } = await test.json("/api/openapi.json");
  const { openapi, paths } = body as { openapi: string; paths: Record<string, object> };
  assert.equal(openapi, "3.1.0");
  const described = Object.values(paths).flatMap((one) => Object.keys(one));
  assert.equal(described.length, Object.keys(OPERATIONS).length);
  const text = JSON.stringify(body);
  for (const word of ["model_name", "max_rows", "bearer", "text/event-stream"]) {
    assert.ok(text.includes(word), word);
  }
}

Deno.test("A board answers whoever has its token, on this machine, and says what it refuses", () =>
  inDirectory(async (root) => {
    const at = await recorded(root);
    await using test = testBoard([at]);
    await strangersAreRefused(test);
    await tokenBecomesCookie(test);
    await answersFitTheirShapes(test);
    await badInputIsSaid(test);
    await pagesEscape(test);
    await openApiIsWhole(test);
    assert.throws(
      () => testBoard([at], { port: test.board.port }),
      /Cannot open the board at port \d+ as it is in use: name another/,
    );
  }));

type Job = z.infer<typeof JobShape>;
const JobShape = OPERATIONS.submitStudy.answer as z.ZodType<
  { study_id: string; job_id: string; section: string; state: string; place: number }
>;

Deno.test("A board over an empty store takes studies, one at a time, and stops them", () =>
  inDirectory(async (root) => {
    await using test = testBoard([join(root, "empty")]);
    assert.match(await (await test.ask("/")).text(), /Nothing is recorded/);
    assert.match(await (await test.ask("/queue")).text(), /The queue is empty/);
    assert.deepEqual((await test.json("/api/studies")).body, []);
    const sql = { method: "POST", body: '{"sql":"SELECT 1"}' };
    assert.match(JSON.stringify(await test.json("/api/query", sql)), /nothing is recorded there/);
    const submit = { method: "POST", body: '{"model_name":"tiny","dataset":"tiny"}' };
    const jobs: Job[] = [];
    for (const priority of ["P1", "P1", "P1"]) {
      const { status, body } = await test.json(`/api/studies?priority=${priority}`, submit);
      assert.equal(status, 202);
      jobs.push(JobShape.parse(body));
    }
    assert.deepEqual(jobs.map(({ job_id }) => job_id), ["EXP-001", "EXP-002", "EXP-003"]);
    const [first, second, third] = jobs.map(({ study_id }) => study_id);
    assert.equal(new Set([first, second, third]).size, 3);
    const now = async () => {
      const { body } = await test.json("/api/queue");
      const all = JobShape.array().parse(body);
      return (study_id?: string) => all.find((one) => one.study_id === study_id)!;
    };
    await until("the first runs", async () => (await now())(first).state === "running", 30_000);
    assert.deepEqual([(await now())(second).section, (await now())(second).place], ["queued", 2]);
    const change = async (study: string | undefined, body: object) =>
      await test.json(`/api/studies/${study}/job`, { method: "POST", body: JSON.stringify(body) });
    // Moved before another, held with a reason, released, and taken out of the line.
    assert.equal((await change(third, { before: "EXP-002" })).status, 202);
    assert.equal((await now())(third).place, 2);
    assert.match(
      JSON.stringify(await change(third, { before: "EXP-0002" })),
      /Did you mean \\"EXP-002/,
    );
    await change(third, { hold: "waiting on Coding Agent" });
    assert.equal((await now())(third).section, "blocked");
    assert.match(await (await test.ask("/queue")).text(), /held: waiting on Coding Agent/);
    await change(third, { release: true });
    await test.json(`/api/studies/${second}`, { method: "DELETE" });
    assert.deepEqual([(await now())(second).state, (await now())(third).section], [
      "cancelled",
      "queued",
    ]);
    assert.match(
      await (await test.ask(`/studies/${third}`)).text(),
      /EXP-003, waiting: no slot free: 1 of 1 CPU taken by EXP-001, place 2 of P1 in line/,
    );
    await test.json(`/api/studies/${first}`, { method: "DELETE" });
    await test.json(`/api/studies/${first}`, { method: "DELETE" });
    await until("the third runs", async () => (await now())(third).state === "running", 30_000);
    assert.equal((await now())(first).state, "cancelled");
    // What runs goes on without the board; the next one ends it.
    assert.deepEqual((await test.board.close()).map(({ job_id }) => job_id), ["EXP-003"]);
    await using later = testBoard([join(root, "empty")]);
    await later.json(`/api/studies/${third}`, { method: "DELETE" });
    await until("the third has ended", async () => {
      const { body } = await later.json("/api/queue");
      return JobShape.array().parse(body).every(({ section }) => section === "ended");
    }, 30_000);
  }));

/** The sentence with which a document is refused; fails where it is taken. */
async function refusedDocument(test: TestBoard, document: object): Promise<string> {
  const { status, body } = await test.json("/api/studies", {
    method: "POST",
    body: JSON.stringify({ model_name: "tiny", dataset: "tiny", ...document }),
  });
  assert.equal(status, 400, JSON.stringify([document, body]));
  return (body as { error: string }).error;
}

Deno.test("A board refuses a study that cannot begin, as the command line does, and keeps no trace of it", () =>
  inDirectory(async (root) => {
    await using test = testBoard([join(root, "empty")]);
    const broken = join(root, "broken.jsonl");
    await Deno.writeTextFile(broken, '{"prompt": "a"}\n');
    await Deno.mkdir(join(root, "folder"));
    const cases: [object, RegExp][] = [
      [{ dataset: "nofile.jsonl" }, /Cannot read the dataset nofile.jsonl: there is no such file/],
      [{ dataset: broken }, /Cannot read line 1 of .*broken.jsonl as .* it has no "answer"/],
      [{ model_name: `${root}/none` }, /Cannot find the model .*none: there is no such file/],
      [{ model_name: `${root}/folder` }, /Cannot use .*folder as a model: it has no config.json/],
      [{ student: "./none.gguf" }, /Cannot find the model .\/none.gguf/],
      [{ methods: ["rtm"] }, /Unknown method "rtm"\. Did you mean "rtn"/],
      [{ plugins: ["./nothere.ts"] }, /Cannot load plugin .\/nothere.ts: there is no such file/],
      [{ runtime: "onix" }, /Unknown runtime "onix"/],
      [{ calibration_data: "nofile.jsonl" }, /Cannot calibrate on nofile.jsonl/],
    ];
    for (const [document, sentence] of cases) {
      assert.match(await refusedDocument(test, document), sentence);
    }
    assert.deepEqual((await test.json("/api/studies")).body, []);
    assert.deepEqual((await test.json("/api/queue")).body, []);
  }));

Deno.test("A submitted study that ended before it recorded anything stays listed with its last words", () =>
  inDirectory(async (root) => {
    const said = ["reading the model", "pare: Cannot go on as the hub is down"];
    const script = `for (const line of ${JSON.stringify(said)}) console.log(line); Deno.exit(2);`;
    const stores = [join(root, "empty")];
    await using test = testBoard(stores, { script });
    const body = JSON.stringify({ model_name: "tiny", dataset: "tiny" });
    const { body: asked } = await test.json("/api/studies", { method: "POST", body });
    const { study_id } = asked as { study_id: string };
    await until("its process is over", async () => {
      const { body: stands } = await test.json(`/api/studies/${study_id}`);
      return (stands as { state: string }).state === "ended";
    }, 30_000);
    const { body: lines } = await test.json("/api/studies");
    const [line] = (OPERATIONS.listStudies.answer as z.ZodType<Record<string, unknown>[]>)
      .parse(lines);
    assert.deepEqual(
      [line?.["state"], line?.["stop"], line?.["model_name"]],
      ["ended", "failed", "tiny"],
    );
    assert.match(JSON.stringify(line?.["said"]), /the hub is down/);
    const page = await (await test.ask("/queue")).text();
    assert.match(
      page,
      /failed: exit code 2: reading the model; pare: Cannot go on as the hub is down/,
    );
    const own = await (await test.ask(`/studies/${line?.["study_id"]}`)).text();
    assert.match(own, /EXP-001, failed: exit code 2/);
    assert.match(own, /reading the model/);
    await test.board.close();
    // A later board of the store has it, too; one of other stores does not.
    await using later = testBoard(stores, { script });
    assert.deepEqual((await later.json("/api/studies")).body, lines);
    await using other = testBoard([join(root, "other")]);
    assert.deepEqual((await other.json("/api/studies")).body, []);
  }));
