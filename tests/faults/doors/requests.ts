/** Requests that a board and an assistant's server know, and what is done to them. */
import { STUDY } from "../../fixtures/stores/records.ts";

type Random = () => number;
type Mutate = (bytes: Uint8Array, isText: boolean, random: Random) => Uint8Array;

/** Markup that no page may repeat as it stands. */
export const PROBE = "<pare-probe";
const MARKUP = `"'>${PROBE} onload=alert(1)><script>alert(2)</script>`;

/** One request. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: Uint8Array;
  /** It has no right to an answer. */
  readonly stranger: boolean;
}

const PATHS = [
  ...["/", "/queue", "/compare", "/sql", "/plan", "/assets/board.css", "/favicon.ico"],
  ...[
    `/studies/${STUDY}`,
    `/studies/${STUDY}/trials/t01`,
    `/compare?first=${STUDY}/t00&second=${STUDY}/t01`,
  ],
  ...[
    "/sql?sql=SELECT+1",
    `/studies/${STUDY}?order=rank&find=x&page=1`,
    "/plan?model=demo&gpus=H100",
  ],
  ...[
    "/api/studies",
    `/api/studies/${STUDY}`,
    `/api/studies/${STUDY}/trials?page_size=2&order=accuracy`,
  ],
  ...[
    `/api/studies/${STUDY}/front`,
    `/api/studies/${STUDY}/weigh?weights=accuracy=1`,
    "/api/views",
  ],
  ...[`/api/studies/${STUDY}/trials/t01`, `/api/studies/${STUDY}/trials/t01/samples?which=lost`],
  ...[
    `/api/studies/${STUDY}/figures/pareto`,
    "/api/queue",
    "/api/openapi.json",
    `/api/studies/${STUDY}/events`,
  ],
  ...[`/api/compare?first=${STUDY}/t00&second=${STUDY}/t01`, "/api/events"],
];

const SENT: readonly (readonly [path: string, body: unknown])[] = [
  ["/api/query", { sql: "SELECT * FROM trials", params: { a: 1 }, max_rows: 10 }],
  ["/api/studies", { model_name: "tiny", dataset: "tiny" }],
  [`/api/studies/${STUDY}/notes`, { text: "a note" }],
  [`/api/studies/${STUDY}/trials/t01/notes`, { text: "a note" }],
  [`/api/studies/${STUDY}/job`, { hold: "later" }],
  [`/api/studies/${STUDY}/stop`, {}],
];

const CALLS: readonly (readonly [tool: string, asked: unknown])[] = [
  ["studies", {}],
  ["show", { name: STUDY }],
  ["trials", { study: STUDY, order: "number" }],
  ["query", { sql: "SELECT 1 AS n", params: { study: STUDY } }],
  ["report", { study: STUDY }],
  ["views", { name: "leaderboard" }],
  ["compare", { first: `${STUDY}/t00`, second: `${STUDY}/t01` }],
  ["plan", { model: "demo", gpus: "H100" }],
  ["propose", { study: STUDY }],
  ["submit", { document: { model_name: "tiny", dataset: "tiny" } }],
  ["status", {}],
];

const RPC: readonly (readonly [method: string, params: unknown])[] = [
  ["tools/list", {}],
  ["resources/list", {}],
  ["resources/read", { uri: `pare://studies/${STUDY}/report` }],
  ["prompts/get", { name: "which_to_deploy", arguments: { study: STUDY } }],
];

/** Statements that would leave the store, of DuckDB's own ways to files, settings and extensions. */
const leaving = (secret: string) => [
  ...[
    "read_text",
    "read_csv",
    "read_blob",
    "read_json",
    "read_parquet",
    "sniff_csv",
    "parquet_metadata",
  ]
    .map((name) => `SELECT * FROM ${name}('${secret}')`),
  ...[
    `SELECT * FROM '${secret}'`,
    `SELECT * FROM glob('${secret}')`,
    "SELECT * FROM glob('/etc/*')",
  ],
  ...[
    `COPY trials TO '${secret}.out'`,
    `EXPORT DATABASE '${secret}.dir'`,
    `ATTACH '${secret}.db' AS x`,
  ],
  ...[
    `COPY (SELECT 1) TO '${secret}' (FORMAT csv)`,
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA database_list",
  ],
  ...[
    "SET enable_external_access = true",
    "SET temp_directory = '/tmp/x'",
    "CALL pragma_version()",
  ],
  ...[
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT getenv('HOME')",
    "SELECT * FROM duckdb_secrets()",
  ],
  ...[
    "CREATE TABLE x AS SELECT 1",
    `IMPORT DATABASE '${secret}'`,
    "SELECT * FROM sqlite_scan('/x', 'y')",
  ],
  ...["SELECT query FROM query('SELECT 1')", `SELECT * FROM query_table('${secret}')`, "RESET ALL"],
  ...[
    "SELECT repeat('x', 600000000)",
  ],
  ...[
    `CREATE SECRET s (TYPE s3, KEY_ID 'a')`,
    "FORCE CHECKPOINT",
    "VACUUM",
    `SELECT '${MARKUP}' AS x`,
  ],
];

const pick = <T>(random: Random, from: readonly T[]): T =>
  from[Math.floor(random() * from.length)]!;
const bytes = (text: string) => new TextEncoder().encode(text);
/** A path's letters as a client may send them: others would not leave it. */
const sendable = (text: string) =>
  text.replaceAll(/[^\x21-\x7e]/g, (letter) => encodeURIComponent(letter.toWellFormed())).slice(
    0,
    6_000,
  );

function changedPath(path: string, random: Random, mutate: Mutate): string {
  const how = random();
  if (how < 0.15) return path;
  if (how < 0.35) {
    const parts = path.split(/(?<=[/=&?])/);
    parts[Math.floor(random() * parts.length)] = encodeURIComponent(MARKUP);
    return `/${parts.join("").replace(/^\/+/, "")}`;
  }
  if (how < 0.5) {
    const away = [
      "../../secret.csv",
      "..%2f..%2fsecret.csv",
      "%2e%2e/%2e%2e/etc/passwd",
      "/etc/passwd",
      "%00",
    ];
    return path.replace(/[^/]*$/, pick(random, away));
  }
  return `/${new TextDecoder().decode(mutate(bytes(path.slice(1)), true, random))}`;
}

/** What a stranger lacks, or brings. */
const STRANGE: readonly ((headers: Record<string, string>, random: Random) => void)[] = [
  (headers) => delete headers["authorization"],
  (headers) => headers["authorization"] = "Bearer wrong",
  (headers) => headers["authorization"] = "bearer",
  (headers) => headers["cookie"] = "pare_board_1=x; pare_board=y",
  (headers) => headers["host"] = "evil.example",
  (headers) => headers["host"] = "127.0.0.1.evil.example",
  (headers) => headers["origin"] = "http://evil.example",
  (headers) => headers["origin"] = "null",
  (headers) => {
    headers["sec-fetch-site"] = "cross-site";
    headers["sec-fetch-mode"] = "no-cors";
  },
];

/** The request `n` of a loop. `secret`: a file beside the store. */
export function askedOf(
  which: "board" | "assistant",
  { port, token }: { readonly port: number; readonly token: string },
  secret: string,
  n: number,
  random: Random,
  mutate: Mutate,
): Asked {
  const headers: Record<string, string> = {
    host: `127.0.0.1:${port}`,
    authorization: `Bearer ${token}`,
    accept: which === "board"
      ? pick(random, ["text/html", "application/json"])
      : "application/json, text/event-stream",
  };
  const stranger = random() < 0.15;
  if (stranger) pick(random, STRANGE)(headers, random);
  if (headers["cookie"] !== undefined) delete headers["authorization"];
  const body = bodyOf(which, secret, n, random);
  if (body === null) {
    const method = random() < 0.9
      ? "GET"
      : pick(random, ["HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"]);
    return {
      method,
      path: sendable(changedPath(pick(random, PATHS), random, mutate)),
      headers,
      stranger,
    };
  }
  headers["content-type"] = random() < 0.95
    ? "application/json"
    : pick(random, ["text/plain", "", "application/xml"]);
  const text = bytes(JSON.stringify(body.json));
  return {
    ...{ method: "POST", path: body.path, headers, stranger },
    body: random() < 0.3 || body.whole ? text : mutate(text, true, random),
  };
}

function bodyOf(which: string, secret: string, n: number, random: Random) {
  const sql = { sql: pick(random, leaving(secret)) };
  if (which === "board") {
    if (random() < 0.6) return null;
    if (random() < 0.5) return { path: "/api/query", json: sql, whole: true };
    const [path, json] = pick(random, SENT);
    return { path, json, whole: false };
  }
  const call = (name: string, asked: unknown) =>
    ["tools/call", { name, arguments: asked }] as const;
  const whole = random() < 0.3;
  const [method, params] = whole
    ? call("query", sql)
    : random() < 0.7
    ? call(...pick(random, CALLS))
    : pick(random, RPC);
  return { path: "/mcp", json: { jsonrpc: "2.0", id: n, method, params }, whole };
}
