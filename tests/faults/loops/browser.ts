/** Texts of strangers that would run in a page, in every field of every page, in a real browser. */
import { lacksBrowser, launchBrowser } from "../../fixtures/chromium.ts";
import { openPages, TURNS, watchedTab } from "../doors/hostile_pages.ts";
import { injecting, type Loop } from "../loop.ts";
import { folderIn } from "../runs/run_faults.ts";

export const browser: Loop = {
  name: "browser",
  about: "hostile names, notes, samples and answers in every page, opened in Chromium",
  reaches: [],
  async open(_seed, folder) {
    const lacks = lacksBrowser();
    if (lacks !== null) console.log(`skipped: the loop browser: ${lacks}`);
    const started = lacks === null ? await launchBrowser() : null;
    const tab = started === null ? null : await watchedTab(started, folder);
    return {
      points: tab === null ? 0 : TURNS,
      async at(n) {
        if (tab === null || n >= TURNS) return undefined;
        const injected = {
          file: "every page",
          call: `texts of turn ${n}`,
          kind: "hopeless",
        } as const;
        return await injecting(injected, () => openPages(tab, n, folderIn(folder, `${n}`)));
      },
      async [Symbol.asyncDispose]() {
        await started?.close();
      },
    };
  },
};
