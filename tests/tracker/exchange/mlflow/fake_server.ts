/** A double of MLflow's server that keeps runs and tells of each batch: for more than a real one takes. */

interface Pair {
  key: string;
  value: string;
}

/** What a `runs/log-batch` call carried. */
export interface Batch {
  readonly run_id: string;
  readonly metrics: readonly { key: string; value: number; timestamp: number; step: number }[];
  readonly params: readonly Pair[];
  readonly tags: readonly Pair[];
}

/** A run as the server keeps it. */
export interface FakeRun {
  readonly name: string;
  readonly tags: readonly Pair[];
}

export interface FakeServer {
  readonly uri: string;
  /** Names of the runs by id. */
  readonly runs: ReadonlyMap<string, string>;
  readonly requests: () => number;
  stop(): Promise<void>;
}

/** Starts one; `onBatch` may refuse by an answer of its own, after it has taken what it likes. */
export function startFakeServer(
  onBatch: (batch: Batch) => Response | null | Promise<Response | null>,
  runs: Map<string, FakeRun> = new Map(),
): FakeServer {
  let requests = 0;
  const info = (id: string) => ({
    run_id: id,
    run_name: runs.get(id)!.name,
    experiment_id: "1",
    status: "RUNNING",
    artifact_uri: `mlflow-artifacts:/1/${id}/artifacts`,
  });
  const answers: Record<string, (body: Record<string, unknown>) => unknown> = {
    "experiments/get-by-name": () => ({ experiment: { experiment_id: "1", name: "pare" } }),
    "runs/search": () => ({
      runs: [...runs].map(([id, { tags }]) => ({ info: info(id), data: { tags } })),
    }),
    "runs/get": ({ run_id }) => ({ run: { info: info(String(run_id)) } }),
    "runs/create": ({ run_name, tags }) => {
      const id = `r${runs.size}`;
      runs.set(id, { name: String(run_name), tags: tags as Pair[] }); // as the client writes them
      return { run: { info: info(id) } };
    },
  };
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => {
      requests += 1;
      const { pathname, searchParams } = new URL(request.url);
      const path = pathname.replace("/api/2.0/mlflow/", "");
      const text = await request.text();
      if (path === "runs/log-batch") {
        const batch = { metrics: [], params: [], tags: [], ...JSON.parse(text) } as Batch;
        return await onBatch(batch) ?? Response.json({});
      }
      const json = request.headers.get("content-type") === "application/json";
      const asked = json && text !== "" ? JSON.parse(text) : Object.fromEntries(searchParams);
      return Response.json(answers[path]?.(asked) ?? {});
    },
  );
  return {
    uri: `http://127.0.0.1:${server.addr.port}`,
    get runs() {
      return new Map([...runs].map(([id, { name }]) => [id, name]));
    },
    requests: () => requests,
    stop: () => server.shutdown(),
  };
}
