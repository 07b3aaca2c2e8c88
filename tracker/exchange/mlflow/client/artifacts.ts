import { lstatSync } from "node:fs";
import { z } from "zod";
import { UsageError } from "../../../../core/mod.ts";
import { checkArtifactPath, encodedPath } from "./artifact_path.ts";
import { type Caller, paged } from "./http.ts";
import type { FileBody } from "./send_file.ts";
import { Anything, type FileInfo, FilesFound } from "./answers.ts";

/** The folder behind a run's `artifact_uri`, as the proxied calls name it. */
function proxiedFolder(artifact_uri: string): string {
  const match = /^mlflow-artifacts:(?:\/\/[^/]*)?\/+(.+?)\/*$/.exec(artifact_uri);
  if (match !== null) return match[1]!;
  throw new UsageError(
    `Cannot reach artifacts at ${artifact_uri} through the MLflow server: it does not serve them; ` +
      `start it with --serve-artifacts, as npx -y deno task mlflow does`,
  );
}

/** A plain file as a body; a link could lead anywhere and is refused. */
function plainFile(path: string, quiet: () => Promise<void>): FileBody {
  const info = lstatSync(path);
  if (info.isFile()) return { path, bytes: info.size, quiet };
  throw new UsageError(`Cannot upload ${path} as it is no plain file: links are not followed`);
}

/** Files of runs and logged models, through the server's proxy. */
export function artifactCalls(call: Caller) {
  const place = (artifact_uri: string, path: string) => {
    checkArtifactPath(path);
    return `api/2.0/mlflow-artifacts/artifacts/${encodedPath(proxiedFolder(artifact_uri))}/${
      encodedPath(path)
    }`;
  };
  const put = async (
    artifact_uri: string,
    path: string,
    body: () => Uint8Array<ArrayBuffer> | FileBody,
  ) => {
    const to = place(artifact_uri, path); // a wrong path is refused before the file is read
    await call({ method: "put", path: to, body: body(), answer: Anything });
  };

  return {
    /**
     * Writes a text as a file; what was there is replaced.
     *
     * @throws UsageError for a path that leaves the folder, or a run whose files are elsewhere.
     */
    putText: (artifact_uri: string, path: string, text: string) =>
      put(artifact_uri, path, () => new TextEncoder().encode(text)),

    /** Uploads a plain file as it is read; `quiet` is awaited before each part of it. */
    putFile: (
      artifact_uri: string,
      path: string,
      file: string,
      quiet = () => Promise.resolve(),
    ) => put(artifact_uri, path, () => plainFile(file, quiet)),

    /** One level of a run's files. */
    files: (run_id: string, path?: string): AsyncGenerator<FileInfo> =>
      paged((page_token) => {
        const query = { run_id, path, page_token };
        const place = "api/2.0/mlflow/artifacts/list";
        return call({ method: "get", path: place, query, answer: FilesFound });
      }, ({ files }) => files),

    /** A JSON file's content. */
    getJson: (artifact_uri: string, path: string): Promise<unknown> =>
      call({ method: "get", path: place(artifact_uri, path), answer: z.unknown() }),
  };
}
