import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { execa, ExecaError } from "execa";
import { z } from "zod";
import { UsageError } from "../../../core/mod.ts";

/** Characters of one piece: a multiple of 4, so that each is base64 of its own. */
const PIECE = 4 << 20;

/** Bytes as a script that hands them over, gzipped: a page of a disk may load scripts, and nothing else. */
export function scriptOf(name: string, bytes: Uint8Array): string {
  const text = gzipSync(bytes, { level: 9 }).toString("base64");
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += PIECE) pieces.push(`"${text.slice(at, at + PIECE)}"`);
  return `pareSql(${JSON.stringify(name)}, [\n${pieces.join(",\n")}\n]);\n`;
}

const Places = z.object({ "@duckdb/duckdb-wasm": z.string(), "apache-arrow": z.string() });

/**
 * Where the engine's packages lie; they are brought here the first time, as few reports need their
 * 150 MB. They have a list of their own: their types would stand in the way of the checks of all else.
 */
async function findPackages(): Promise<z.infer<typeof Places>> {
  const at = (name: string) => fileURLToPath(new URL(`./engine/${name}`, import.meta.url));
  const config = ["--no-lock", "--config", at("engine_packages.json")];
  const run = ["run", "--quiet", "--allow-all", ...config, at("find_packages.js")];
  try {
    return Places.parse(JSON.parse((await execa(Deno.execPath(), run)).stdout));
  } catch (error) {
    const said = error instanceof ExecaError ? error.stderr || error.shortMessage : String(error);
    throw new UsageError(
      `Cannot write the SQL box as DuckDB for browsers cannot be had: ${said}; run this once with ` +
        "the network, or leave --sql out",
    );
  }
}

/** A CommonJS module as an expression. */
const moduleOf = (source: string, required: string) =>
  `(() => { const module = { exports: {} }, exports = module.exports, require = () => ${required};\n` +
  `${source}\nreturn module.exports; })()`;

/** DuckDB for browsers, by file name below the report's SQL folder, with its licences. */
export async function engineFiles(): Promise<
  Record<"LICENSE.txt" | "worker.js" | "engine.js", string>
> {
  const { "@duckdb/duckdb-wasm": duckdb, "apache-arrow": arrow } = await findPackages();
  const own = (name: string) => readFile(new URL(name, import.meta.url), "utf8");
  const of = (...path: string[]) => readFile(join(...path), "utf8");
  const worker = [
    `const pareArrow = ${moduleOf(await of(arrow, "Arrow.es2015.min.js"), "undefined")};`,
    `const pareEngine = ${
      moduleOf(await of(duckdb, "dist", "duckdb-browser-blocking.cjs"), "pareArrow")
    };`,
    await own("./client/worker.js"),
  ].join("\n").replaceAll(/^\/\/# sourceMappingURL=.*$/gm, "");
  const licences = [
    await own("./engine/duckdb_license.txt"),
    await of(arrow, "LICENSE.txt"),
    await of(arrow, "NOTICE.txt"),
  ];
  return {
    "LICENSE.txt": licences.join("\n"),
    "worker.js": scriptOf("worker", new TextEncoder().encode(worker)),
    "engine.js": scriptOf("engine", await readFile(join(duckdb, "dist", "duckdb-eh.wasm"))),
  };
}
