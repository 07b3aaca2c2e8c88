import { execa } from "execa";
import process from "node:process";
import { UsageError } from "../../core/mod.ts";

/** Oldest Python that the pins work with. */
const OLDEST_PYTHON = [3, 11] as const;

/** The pins are frozen from 3.11, so it is asked for first; later ones take the same pins. */
const CANDIDATES = ["python3.11", "python3.12", "python3.13", "python3", "python"];

export interface Python {
  readonly path: string;
  /** Such as 3.11.7. */
  readonly version: string;
  /** Such as 3.11: part of an environment's name, since wheels differ. */
  readonly minor: string;
}

/** What was tried, for the sentence that says why none serves. */
export interface Tried {
  readonly command: string;
  readonly found: string;
}

const PROBE = "import sys\nv = sys.version_info\nprint(v[0], v[1], v[2])\nprint(sys.executable)\n" +
  "try:\n import venv, ensurepip\n print('venv')\nexcept ImportError:\n print('no venv')\n";

/** The first interpreter that is new enough and can make environments; PARE_PYTHON alone if set. */
export async function findPython(
  commands: readonly string[] = process.env.PARE_PYTHON ? [process.env.PARE_PYTHON] : CANDIDATES,
): Promise<{ python: Python | null; tried: Tried[] }> {
  const tried: Tried[] = [];
  for (const command of commands) {
    const probe = await execa(command, ["-c", PROBE], { reject: false, timeout: 20_000 });
    const [version = "", path = "", venv = ""] = (probe.stdout ?? "").split("\n");
    const [major = 0, minor = 0, patch = 0] = version.split(" ").map(Number);
    if (probe.failed || path === "") {
      tried.push({ command, found: "not found" });
    } else if (major < OLDEST_PYTHON[0] || (major === 3 && minor < OLDEST_PYTHON[1])) {
      tried.push({ command, found: `${major}.${minor}.${patch}` });
    } else if (venv !== "venv") {
      tried.push({ command, found: `${major}.${minor}.${patch} without the venv module` });
    } else {
      const python = { path, version: `${major}.${minor}.${patch}`, minor: `${major}.${minor}` };
      return { python, tried };
    }
  }
  return { python: null, tried };
}

/** As `findPython`, but a machine without one is a user's mistake: one sentence. */
export async function requirePython(): Promise<Python> {
  const { python, tried } = await findPython();
  if (python !== null) return python;
  throw new UsageError(noPythonSentence(tried));
}

/** What was looked for, what was found, how to get it. */
export function noPythonSentence(tried: readonly Tried[]): string {
  const found = tried.filter((one) => one.found !== "not found")
    .map((one) => `${one.command} is ${one.found}`);
  const seen = found.length > 0
    ? found.join(", ")
    : `none of ${tried.map((one) => one.command).join(", ")} runs`;
  return `Cannot make the Python environment: it needs Python ${
    OLDEST_PYTHON.join(".")
  } or newer ` +
    `with its venv module, but ${seen}; install one (Debian and Ubuntu: sudo apt install ` +
    `python3.11 python3.11-venv; Fedora: sudo dnf install python3.11; macOS: brew install ` +
    `python@3.11) or name it with PARE_PYTHON`;
}
