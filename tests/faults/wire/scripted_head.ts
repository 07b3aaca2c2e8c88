/** The head of a Ray cluster as it was measured to answer, with a way to change what it says. */

interface Job {
  readonly submission_id: string;
  readonly folder: string;
  status: string;
}

type Between = (request: Request, run: () => Promise<Response>) => Promise<Response>;

export interface Head extends AsyncDisposable {
  readonly url: string;
  /** Every job that was ever begun. */
  readonly begun: readonly Job[];
  /** Nothing is changed from now on. */
  heal(): void;
}

const USAGE = {
  data: { clusterStatus: { loadMetricsReport: { usageByNode: { a: { CPU: [0, 8] } } } } },
};

const shown = ({ submission_id, folder, status }: Job) => ({
  ...{ submission_id, status, message: null, driver_exit_code: null },
  metadata: { folder },
});

/** What the head does and answers; 500 for an id that it has, as it was seen to. */
function answered(jobs: Job[], method: string, path: string, body: string): Response {
  if (path === "/api/cluster_status") return Response.json(USAGE);
  if (path === "/api/jobs/" && method === "GET") return Response.json(jobs.map(shown));
  if (path === "/api/jobs/") {
    const { submission_id, metadata } = JSON.parse(body);
    if (jobs.some((one) => one.submission_id === submission_id)) {
      return new Response(`ValueError: Job ${submission_id} already exists`, { status: 500 });
    }
    jobs.push({ submission_id, folder: metadata.folder, status: "PENDING" });
    return Response.json({ submission_id });
  }
  const [, id, what] = /^\/api\/jobs\/([^/]+)\/(stop|logs)$/.exec(path) ?? [];
  const job = jobs.find((one) => one.submission_id === id);
  if (job === undefined) return new Response("no such job", { status: 404 });
  if (what === "logs") return Response.json({ logs: "it waits\n" });
  job.status = "STOPPED";
  return Response.json({ stopped: true });
}

/** Listens on loopback; `between` stands before each answer. */
export function head(between: Between): Head {
  const jobs: Job[] = [];
  let change: Between = between;
  const server = Deno.serve(
    {
      hostname: "127.0.0.1",
      port: 0,
      onListen() {},
      onError: () => new Response(null, { status: 500 }),
    },
    async (request) => {
      const body = await request.text();
      const { pathname } = new URL(request.url);
      return await change(
        request,
        () => Promise.resolve(answered(jobs, request.method, pathname, body)),
      );
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    begun: jobs,
    heal: () => void (change = (_, run) => run()),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
