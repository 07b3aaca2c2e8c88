/** A double of MLflow's server that keeps what it was told: runs, logged models, registered versions. */
import { type FakeRun, startFakeServer } from "../../tracker/exchange/mlflow/fake_server.ts";
import { proxyTo } from "./changed_answers.ts";

export interface ScriptedMlflow extends AsyncDisposable {
  readonly url: string;
  readonly held: () => unknown;
}

interface Model {
  readonly info: { model_id: string; name: string; artifact_uri: string; status: string };
  readonly run_id: string;
}

interface Version {
  readonly name: string;
  readonly version: string;
  readonly run_id: string;
  readonly source: string;
}

/** All that a server was told: another one goes on from a copy of it. */
export interface Memory {
  readonly runs: Map<string, FakeRun>;
  readonly told: Map<string, Set<string>>;
  readonly models: Model[];
  readonly versions: Version[];
  readonly aliases: Map<string, string>;
}

export const nothingTold = (): Memory => ({
  ...{ runs: new Map(), told: new Map(), models: [], versions: [], aliases: new Map() },
});

/** What it holds, by the runs' names, as its own ids are of the order in which requests came. */
export function heldIn({ runs, told, models, versions, aliases }: Memory): unknown {
  const nameOf = (id: string) => runs.get(id)?.name ?? id;
  return {
    runs: [...runs].map(([id, { name }]) => [name, [...told.get(id) ?? []].sort()])
      .sort(([a], [b]) => String(a).localeCompare(String(b))),
    models: models.map(({ info, run_id }) => [info.name, info.status, nameOf(run_id)]),
    versions: versions.map(({ name, run_id }) => [name, nameOf(run_id)]),
    aliases: [...aliases],
  };
}

/** The registry's part of it; null: another's. */
class Registry {
  constructor(readonly memory: Memory) {}

  async answer({ method }: Request, path: string, read: () => Promise<Asked>) {
    if (path === "logged-models/search") {
      const { filter = "" } = await read();
      return { models: this.memory.models.filter(({ run_id }) => filter.includes(`'${run_id}'`)) };
    }
    if (path === "logged-models") {
      const { name, source_run_id: run_id } = await read();
      const model_id = `m-${this.memory.models.length}`;
      const artifact_uri = `mlflow-artifacts:/1/models/${model_id}/artifacts`;
      const model = { info: { model_id, name, artifact_uri, status: "PENDING" }, run_id };
      this.memory.models.push(model);
      return { model };
    }
    if (method === "PATCH") {
      const { model_id, status } = await read();
      const model = this.memory.models.find(({ info }) => info.model_id === model_id);
      if (model !== undefined) model.info.status = status;
      return {};
    }
    if (path === "model-versions/search") {
      return { model_versions: this.memory.versions.toReversed() };
    }
    if (path === "model-versions/create") {
      const { name, source, run_id } = await read();
      const model_version = {
        name,
        source,
        run_id,
        version: String(this.memory.versions.length + 1),
      };
      this.memory.versions.push(model_version);
      return { model_version };
    }
    if (path === "registered-models/alias" && method === "POST") {
      const { name, alias, version } = await read();
      this.memory.aliases.set(`${name} ${alias}`, version);
      return {};
    }
    return null;
  }
}

type Asked = Record<string, string> & {
  filter?: string;
  name: string;
  source_run_id: string;
  model_id: string;
  status: string;
  source: string;
  run_id: string;
  alias: string;
  version: string;
};

export function scriptedMlflow(memory: Memory = nothingTold()): ScriptedMlflow {
  const { told, runs } = memory;
  const registry = new Registry(memory);
  const fake = startFakeServer(({ run_id, metrics, params, tags }) => {
    const own = told.get(run_id) ?? new Set();
    for (const one of [...metrics, ...params, ...tags]) own.add(JSON.stringify(one));
    told.set(run_id, own);
    return null;
  }, runs);
  const proxy = proxyTo(fake.uri, async (request, run, body) => {
    const path = new URL(request.url).pathname.replace("/api/2.0/mlflow/", "");
    const read = () => Promise.resolve(JSON.parse(new TextDecoder().decode(body ?? undefined)));
    const own = await registry.answer(request, path, read);
    return own === null ? await run() : Response.json(own);
  });
  return {
    url: proxy.url,
    held: () => heldIn(memory),
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await fake.stop();
    },
  };
}
