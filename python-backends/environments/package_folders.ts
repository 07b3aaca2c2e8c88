import { execa } from "execa";
import { UsageError } from "../../core/mod.ts";
import { lastWords } from "./pip.ts";

const ASK_FOLDERS = "import json, os, sys\n" +
  "ends = ('site-packages', 'dist-packages')\n" +
  "print(json.dumps([p for p in sys.path if os.path.basename(p) in ends]))";

/** Folders of packages that an interpreter imports from, its own first. */
export async function packageFolders(python: string, name: string): Promise<string[]> {
  const asked = await execa(python, ["-I", "-c", ASK_FOLDERS], { reject: false, stdin: "ignore" });
  if (!asked.failed) return JSON.parse(asked.stdout);
  const said = lastWords(asked.stderr);
  throw new UsageError(`Cannot make the Python environment ${name} with ${python}: ${said}`);
}
