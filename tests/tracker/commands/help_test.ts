/** What a person sees who asks for help, or presses Tab. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { OPTION_GROUPS } from "../../../tracker/commands/input/study_option.ts";
import { flagName, STUDY_OPTIONS } from "../../../tracker/commands/study/study_options.ts";

const CLI = fileURLToPath(new URL("../../../tracker/cli.ts", import.meta.url));
const DENO = ["run", "--no-check", "--quiet", "--allow-all", CLI];

Deno.test("pare run --help shows what most people need first, and every option in one group", async () => {
  const { stdout } = await execa(Deno.execPath(), [...DENO, "run", "--help"], { stdin: "ignore" });
  const parts = stdout.split(/^(?=\S.*:$)/m);
  const headings = parts.map((part) => part.split("\n")[0]!);
  assert.deepEqual(headings.slice(2, 8), Object.values(OPTION_GROUPS));
  const shown = parts.map((part) =>
    [...part.matchAll(/^ +(?:-\w, )?(--[a-z-]+)/gm)].map(([, f]) => f)
  );
  assert.ok(shown[2]!.length <= 10, `${shown[2]}`);
  assert.ok(["--model", "--dataset", "--yes"].every((flag) => shown[2]!.includes(flag)));
  for (const option of STUDY_OPTIONS) {
    const places = shown.filter((flags) => flags.includes(flagName(option)));
    assert.equal(places.length, 1, option.flag);
  }
});

/** A bash that completes a line, with what its package of completions gives a function. */
async function completed(...words: readonly string[]): Promise<string[]> {
  const script = `
    pare() { "$DENO" run --no-check --quiet --allow-all "$CLI" "$@"; }
    _get_comp_words_by_ref() { cur="\${COMP_WORDS[COMP_CWORD]}"; words=("\${COMP_WORDS[@]}"); cword=$COMP_CWORD; }
    compopt() { :; }
    eval "$(pare complete bash)"
    COMP_WORDS=(pare "$@"); COMP_CWORD=$#
    __pare_complete
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await execa("bash", ["-c", script, "bash", ...words], {
    ...{ stdin: "ignore", env: { DENO: Deno.execPath(), CLI } },
  });
  return stdout.split("\n").map((line) => line.split(/\s/)[0]!);
}

Deno.test("bash completes commands, those below them and their options", async () => {
  assert.deepEqual((await completed("stu")).filter((word) => word !== ""), ["studies"]);
  assert.deepEqual(await completed("run", "--max-acc"), ["--max-accuracy-drop"]);
  const below = await completed("store", "");
  assert.ok(["rebuild", "check", "forget"].every((word) => below.includes(word)), below.join());
});

for (const shell of ["zsh", "fish"]) {
  Deno.test(`pare complete ${shell} prints a script that asks pare`, async () => {
    const { stdout } = await execa(Deno.execPath(), [...DENO, "complete", shell]);
    assert.match(stdout, /pare.*complete/);
  });
}
