/** What stands in the place of a run's journal, or begins it, and is none. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { UsageError } from "../../../core/mod.ts";
import { appendTo } from "../../../tracker/store/journal/journal.ts";
import { readJournal } from "../../../tracker/store/journal/reader.ts";
import { encodeLine } from "../../../tracker/store/journal/record_line.ts";
import { QueueDisk } from "../../../tracker/store/queue/queue_disk.ts";
import { shelfJournals } from "../../../tracker/store/shelf/shelf.ts";
import { ownStudies, studyIds } from "../../../tracker/store/shelf/study_reader.ts";
import { storePaths } from "../../../tracker/store/store_paths.ts";
import { journalOf } from "../../fixtures/stores/journals.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { studyOpened } from "../../fixtures/stores/records.ts";

/** The record that opens a study on a dataset of this name. */
function opened(study_id: string, dataset = "tiny"): Uint8Array {
  const record = studyOpened(study_id);
  assert.ok(record.type === "study_opened");
  return encodeLine({ ...record, request: { ...record.request, dataset } });
}

/** A store with a sound run `sound`, and what `put` makes of the path of another one's journal. */
function beside(put: (journal: string) => void, work: (root: string) => Promise<void>) {
  return inDirectory(async (root) => {
    mkdirSync(dirname(journalOf(root, "other")), { recursive: true });
    mkdirSync(dirname(journalOf(root, "sound")));
    writeFileSync(journalOf(root, "sound"), opened("sound"));
    put(journalOf(root, "other"));
    await work(root);
  });
}

/** In a pipe's place of which nobody writes, who opens it waits: after 5 s somebody does. */
async function unhung(pipe: string, work: () => Promise<void>): Promise<void> {
  const words = ["-c", 'sleep 5; exec 3<>"$1"; sleep 1', "sh", pipe];
  const rescue = new Deno.Command("sh", { args: words, stdout: "null", stderr: "null" }).spawn();
  try {
    await work();
  } finally {
    rescue.kill("SIGKILL");
    await rescue.status;
  }
}

const NO_FILES: Readonly<Record<string, (journal: string) => void>> = {
  "a folder": (journal) => mkdirSync(journal),
  "a pipe or device": (journal) => execFileSync("mkfifo", [journal]),
  "a pipe or device, by a link": (journal) => symlinkSync("/dev/null", journal),
};

for (const [what, put] of Object.entries(NO_FILES)) {
  Deno.test(`what is no file in a journal's place is refused before it is opened: ${what}`, () =>
    beside(put, async (root) => {
      const journal = journalOf(root, "other");
      const paths = storePaths(root);
      const asked: (() => unknown)[] = [
        () => studyIds(paths),
        () => ownStudies(paths),
        () => shelfJournals(paths),
        () => Array.fromAsync(readJournal(journal)),
        () => appendTo(journal, studyOpened("other")),
        () => new QueueDisk(journal).current(),
        () => new QueueDisk(journal).transact(() => []),
      ];
      await unhung(journal, async () => {
        for (const ask of asked) {
          const said = await (async () => await ask())().then(() => null, (error) => error);
          assert.ok(said instanceof UsageError, `${ask}: ${said}`);
          assert.equal(
            said.message,
            `Cannot read ${journal} as it is ${
              what.split(",")[0]
            }, and no journal: move it away, ` +
              "and put back the file that stood there",
          );
        }
      });
    }));
}

const whole = opened("other");
const LARGE = opened("other", "x".repeat(10e6));

/** By what a journal begins with: whether its study is one. */
const BEGINNINGS: readonly (readonly [what: string, bytes: Uint8Array, known: boolean])[] = [
  ["nothing", new Uint8Array(), false],
  ["half a record", whole.subarray(0, whole.length >> 1), false],
  ["a record without its newline", whole.subarray(0, -1), false],
  ["the same record twice", new Uint8Array([...whole, ...whole]), true],
  ["a record of 10 MB", LARGE, true],
  ["half a record of 10 MB", LARGE.subarray(0, 9e6), false],
  ["a newline", new Uint8Array([10, ...whole]), true],
  ["zeros", new Uint8Array(1e6), false],
];

Deno.test("a store's studies are told whatever a journal begins with", async () => {
  for (const [what, bytes, known] of BEGINNINGS) {
    await beside((journal) => writeFileSync(journal, bytes), async (root) => {
      const due = known ? ["other", "sound"] : ["sound"];
      assert.deepEqual(await studyIds(storePaths(root)), due, what);
      assert.deepEqual(await ownStudies(storePaths(root)), due, what);
    });
  }
});

Deno.test("other programs' files among the folders of runs, and links without an end, are passed over", () =>
  beside((journal) => symlinkSync("nowhere", journal), async (root) => {
    writeFileSync(join(root, "runs", ".DS_Store"), "of a file manager");
    assert.deepEqual(await studyIds(storePaths(root)), ["sound"]);
    assert.deepEqual(shelfJournals(storePaths(root)).map(({ study_id }) => study_id), ["sound"]);
  }));
