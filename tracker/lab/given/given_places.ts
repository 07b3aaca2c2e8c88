import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { writeWhole } from "../../../python-backends/whole_file.ts";
import { canonicalJson } from "../../artifacts/action_key.ts";
import type { ArtifactStore } from "../../artifacts/artifact_store.ts";
import { listFiles, sha256Text } from "../../ground/storage/file_hash.ts";
import type { Home } from "../../ground/home.ts";
import { ggufParts } from "../runner/gather_facts.ts";

/** Where checkpoints that were made elsewhere lie on this machine: no journal names a path. */
interface Places {
  readonly home: Pick<Home, "root">;
  readonly artifacts: Pick<ArtifactStore, "checksums">;
}

const Place = z.strictObject({ file: z.string(), paths: z.array(z.string()) });
/** Copies of a checkpoint that are remembered, the latest first. */
const MOST_PATHS = 8;

/** Of a directory's files those that say what its weights are. */
const OF_CHECKPOINT = /^[^/]*(\.safetensors|config\.json|\.index\.json|tokenizer\.(json|model))$/;

const CONTENT = /^[0-9a-f]{16}$/;

function placeOf({ home }: Pick<Places, "home">, content: string): string {
  return join(home.root, "given", `${content}.json`);
}

/** Hash of a checkpoint's files, whatever its name: 16 hexadecimal digits. */
async function contentOf({ artifacts }: Pick<Places, "artifacts">, path: string): Promise<string> {
  const isFolder = (await stat(path)).isDirectory();
  const folder = isFolder ? path : dirname(path);
  const names = isFolder
    ? (await listFiles(path, { hidden: false })).filter((name) => OF_CHECKPOINT.test(name))
    : ggufParts(path).map((part) => basename(part));
  const files = await artifacts.checksums(folder, names);
  const said = files.map(({ path, sha256 }) => isFolder ? [path, sha256] : [sha256]);
  return sha256Text(canonicalJson(said)).slice(0, 16);
}

/** Where copies of a checkpoint were; none: nobody said. */
async function pathsOf(places: Places, content: string): Promise<readonly string[]> {
  try {
    return Place.parse(JSON.parse(await readFile(placeOf(places, content), "utf8"))).paths;
  } catch {
    return []; // not there, unreadable, or of another form
  }
}

/** Writes down where a checkpoint lies. Gives the content that it is known by. */
export async function keepPlace(places: Places, file: string, path: string): Promise<string> {
  const content = await contentOf(places, path);
  const paths = [...new Set([path, ...await pathsOf(places, content)])].slice(0, MOST_PATHS);
  writeWhole(placeOf(places, content), { file, paths });
  return content;
}

/** Where a checkpoint of this content lies; null: nowhere any more, or nobody said. */
export async function givenPath(places: Places, content: string): Promise<string | null> {
  if (!CONTENT.test(content)) return null;
  for (const path of await pathsOf(places, content)) {
    // A folder that lost a file, or a part of a split one, is not it any more either.
    const found = existsSync(path) ? await contentOf(places, path).catch(() => null) : null;
    if (found === content) return path;
  }
  return null;
}
