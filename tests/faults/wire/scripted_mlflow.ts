/** A double of MLflow's server that keeps what it was told: runs, logged models, registered versions. */
import { startFakeServer } from "../../tracker/exchange/mlflow/fake_server.ts";
import { proxyTo } from "./changed_answers.ts";

export interface ScriptedMlflow extends AsyncDisposable {
  readonly url: string;
  /** By the runs' names, as its own ids are of the order in which requests came. */
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

/** The registry's part of it; null: another's. */
class Registry {
  readonly models: Model[] = [];
  readonly versions: Version[] = [];
  readonly aliases = new Map<string, string>();

  async answer({ method }: Request, path: string, read: () => Promise<Asked>) {
    if (path === "logged-models/search") {
      const { filter = "" } = await read();
      return { models: this.models.filter(({ run_id }) => filter.includes(`'${run_id}'`)) };
    }
    if (path === "logged-models") {
      const { name, source_run_id: run_id } = await read();
      const model_id = `m-${this.models.length}`;
      const artifact_uri = `mlflow-artifacts:/1/models/${model_id}/artifacts`;
      const model = { info: { model_id, name, artifact_uri, status: "PENDING" }, run_id };
      this.models.push(model);
      return { model };
    }
    if (method === "PATCH") {
      const { model_id, status } = await read();
      const model = this.models.find(({ info }) => info.model_id === model_id);
      if (model !== undefined) model.info.status = status;
      return {};
    }
    if (path === "model-versions/search") return { model_versions: this.versions.toReversed() };
    if (path === "model-versions/create") {
      const { name, source, run_id } = await read();
      const model_version = { name, source, run_id, version: String(this.versions.length + 1) };
      this.versions.push(model_version);
      return { model_version };
    }
    if (path === "registered-models/alias" && method === "POST") {
      const { name, alias, version } = await read();
      this.aliases.set(`${name} ${alias}`, version);
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

export function scriptedMlflow(): ScriptedMlflow {
  const told = new Map<string, Set<string>>();
  const registry = new Registry();
  const fake = startFakeServer(({ run_id, metrics, params, tags }) => {
    const own = told.get(run_id) ?? new Set();
    for (const one of [...metrics, ...params, ...tags]) own.add(JSON.stringify(one));
    told.set(run_id, own);
    return null;
  });
  const proxy = proxyTo(fake.uri, async (request, run, body) => {
    const path = new URL(request.url).pathname.replace("/api/2.0/mlflow/", "");
    const read = () => Promise.resolve(JSON.parse(new TextDecoder().decode(body ?? undefined)));
    const own = await registry.answer(request, path, read);
    return own === null ? await run() : Response.json(own);
  });
  const nameOf = (id: string) => fake.runs.get(id) ?? id;
  return {
    url: proxy.url,
    held: () => ({
      runs: [...fake.runs].map(([id, name]) => [name, [...told.get(id) ?? []].sort()])
        .sort(([a], [b]) => String(a).localeCompare(String(b))),
      models: registry.models.map(({ info, run_id }) => [info.name, info.status, nameOf(run_id)]),
      versions: registry.versions.map(({ name, run_id }) => [name, nameOf(run_id)]),
      aliases: [...registry.aliases],
    }),
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await fake.stop();
    },
  };
}
