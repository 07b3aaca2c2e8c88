import { escapeHtml } from "../pages/client/table.js";
import { type Shown, shown } from "../../ground/terminal/kernel.ts";

/**
 * A sentence that a cell shows and that arrives before the cell ends. A plain string goes its own way to
 * the notebook, and one that comes after the end is dropped.
 */
export function showText(text: string): Shown {
  return shown({ "text/html": `<p>${escapeHtml(text)}</p>`, "text/plain": text });
}
