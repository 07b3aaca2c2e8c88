/** The tasks of deno.json, as a newcomer runs them first. */
import assert from "node:assert/strict";
import config from "../../deno.json" with { type: "json" };

Deno.test("a task's first word is its own: no line a package that Deno fetches", () => {
  const tasks = Object.entries(config.tasks);
  assert.ok(tasks.length > 10);
  // Errors are said all the same: --quiet leaves out the lines of downloads and checks.
  for (const [name, command] of tasks) assert.match(command, /^deno run --quiet /, name);
});
