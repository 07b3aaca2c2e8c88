import { existsSync } from "node:fs";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { UsageError } from "../../../../core/mod.ts";
import { convertedLines } from "../../../artifacts/loader_lines.ts";
import { licenseOf } from "../../../artifacts/model_license.ts";
import { type Authorship } from "../../../show/reports/answer_blocks.ts";
import { modelCard } from "../../../show/reports/formats/model_card.ts";
import { recommendedLoader } from "../../../show/reports_of_study.ts";
import { listFiles } from "../../../ground/storage/file_hash.ts";
import { bytes } from "../../../show/view/number_text.ts";
import { checkpointOf, originalPlace, type StudyView } from "../../../show/view/study_view.ts";
import { cleanText, cleanValue, type Private } from "../../../show/report_sql/withheld.ts";

/** A file as it goes to a hub. */
export interface HubFile {
  /** In the repository. */
  readonly name: string;
  /** Here. */
  readonly path: string;
  readonly bytes: number;
}

/** What goes to a hub, and what is to be known of it. */
export interface HubCheckpoint {
  readonly files: readonly HubFile[];
  readonly notes: readonly string[];
}

export interface HubCheckpointOptions extends Authorship {
  readonly hidden: Private;
  /** For the card and what is cleaned. */
  readonly scratch: string;
  /** A folder that `pare convert` made of the recommended trial; absent: pare's own files. */
  readonly checkpoint?: string;
}

/** Documents of a checkpoint that name where they came from; the others are weights and vocabularies. */
const NAMES_PLACES = new Set(["config.json", "generation_config.json", "tokenizer_config.json"]);
const PLACE_KEYS = /"(_name_or_path|name_or_path)"/;

const WEIGHTS = /\.(safetensors|gguf)$|^openvino_model\.bin$/;

/** The lines that load a converted folder. */
function convertedLoader(names: readonly string[]): string {
  const gguf = names.some((name) => name.endsWith(".gguf"));
  return convertedLines(
    gguf ? "gguf" : names.includes("openvino_model.xml") ? "openvino" : "checkpoint",
  );
}

/** Where the files lie, by their names. */
async function namedFiles(view: StudyView, checkpoint: string | undefined) {
  if (checkpoint !== undefined) {
    const folder = resolve(checkpoint);
    if (!existsSync(folder)) {
      throw new UsageError(`Cannot push the checkpoint ${folder}: there is no such folder`);
    }
    const names = await listFiles(folder, { hidden: false });
    if (!names.some((name) => WEIGHTS.test(name))) {
      throw new UsageError(`Cannot push the checkpoint ${folder}: it has no weights`);
    }
    return names.map((name) => ({ name, path: join(folder, name) }));
  }
  const artifact = checkpointOf(view, view.recommended!); // the caller has seen that there is one
  const weights = artifact?.weights_id === undefined
    ? []
    : [view.artifacts.get(artifact.weights_id)].filter((one) => one !== undefined);
  const all = [...weights, ...(artifact === undefined ? [] : [artifact])];
  const found = all.flatMap(({ location, files }) =>
    files.map(({ path }) => ({ name: path, path: join(location, path) }))
  );
  const gone = found.find(({ path }) => !existsSync(path));
  if (found.length > 0 && gone === undefined) return found;
  throw new UsageError(
    `Cannot push the checkpoint of ${view.recommended}: ` +
      `${gone === undefined ? "none was made" : `${gone.path} is gone`}; ` +
      `\`npx -y deno task pare reproduce ${view.recommended}\` makes it again`,
  );
}

/** Every file of the recommended checkpoint, with its card, without what is private. */
export async function hubCheckpoint(
  view: StudyView,
  { hidden, scratch, checkpoint, ...by }: HubCheckpointOptions,
): Promise<HubCheckpoint> {
  if (view.recommended === null) {
    throw new UsageError(
      `Cannot push a checkpoint of ${view.study_id} as it recommends none; ` +
        "name another study, or publish the folder alone",
    );
  }
  const found = await namedFiles(view, checkpoint);
  const own = await recommendedLoader(view);
  const artifact = checkpointOf(view, view.recommended);
  const loader = checkpoint === undefined
    ? artifact === undefined ? own : own.replaceAll(artifact.location, ".")
    : convertedLoader(found.map(({ name }) => name));
  const license = licenseOf(originalPlace(view));
  const card = modelCard(view, { ...by, loader, ...(license === null ? {} : { license }) });
  const notes: string[] = [];
  const kept = async (name: string, text: string) => {
    const path = join(scratch, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
    return path;
  };
  const told = await toldOf(found, checkpoint);
  const files = [{
    name: "README.md",
    path: await kept("README.md", cleanText(card!, hidden) + told),
  }];
  for (const one of found.filter(({ name }) => name !== "README.md")) {
    const text = NAMES_PLACES.has(one.name) ? await readFile(one.path, "utf8") : "";
    if (!PLACE_KEYS.test(text)) files.push(one);
    else {
      const clean = JSON.stringify(cleanValue(JSON.parse(text), hidden), null, 2);
      files.push({ name: one.name, path: await kept(one.name, `${clean}\n`) });
    }
  }
  if (checkpoint === undefined && /load_dequantized/.test(loader)) {
    notes.push(
      "transformers does not load these files as they are; pare's reader does (its lines are in the " +
        `card). \`npx -y deno task pare convert ${view.recommended} FOLDER --to compressed-tensors\`, ` +
        "then --checkpoint FOLDER, pushes what it loads",
    );
  }
  if (license === null) notes.push("the card names no licence: the model's own files name none");
  const sized = await Promise.all(
    files.map(async (one) => ({ ...one, bytes: (await stat(one.path)).size })),
  );
  return { files: sized, notes };
}

/** What a card says of files that are a conversion of those that were measured. */
async function toldOf(
  found: readonly { readonly name: string; readonly path: string }[],
  checkpoint: string | undefined,
): Promise<string> {
  if (checkpoint === undefined) return "";
  const weights = found.filter(({ name }) => WEIGHTS.test(name));
  const sizes = await Promise.all(weights.map(async ({ path }) => (await stat(path)).size));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return `\nThe weights here are a conversion of those that were measured, with the same integers: ` +
    `${bytes(total)}.\n`;
}
