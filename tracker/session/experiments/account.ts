import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ExperimentsPlan, PlannedMember } from "../../../core/runs/experiments/plan.ts";
import { LedgerLine } from "../../../core/experiments/use.ts";
import { writeWhole, writeWholeText } from "../../../python-backends/whole_file.ts";
import { jsonOrNull } from "../../ground/json_or_null.ts";

const SALT = "salt";
const LEDGER = "ledger.jsonl";

/** Names the file of the account for whoever asks a model. */
export const ACCOUNT_VARIABLE = "PARE_ACCOUNT";

/** Where what all runs of one document share lies in a store. */
function accountFolder(store: string, account: string): string {
  return join(store, "experiments", account);
}

/** The file that workers read. */
export function accountFile(store: string, account: string): string {
  return join(accountFolder(store, account), "account.json");
}

/** Empty: none is kept, or what was kept is damaged. */
function keptSalt(store: string, account: string): string {
  const path = join(accountFolder(store, account), SALT);
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

/** What tells the members of this store from those of another one; drawn where none is kept. */
export function saltOf(store: string, account: string): string {
  return keptSalt(store, account) || crypto.randomUUID();
}

/**
 * Keeps a salt that members are named with, once all that they ask for is checked. On disk before they are: of
 * others' names all that was paid for would be asked again.
 */
export function keepSalt(store: string, account: string, salt: string): void {
  if (keptSalt(store, account) !== "") return;
  writeWholeText(join(accountFolder(store, account), SALT), salt);
}

/** What workers are told of budget and prices; they read it anew for each member, also those of another run. */
export function writeAccount(
  store: string,
  { account, budget, currency }: ExperimentsPlan,
  { study_id, price, base_url }: PlannedMember,
): void {
  const folder = accountFolder(store, account);
  const free = base_url === null ? 0 : null; // what this machine serves is asked for no money
  writeWhole(accountFile(store, account), {
    ...{ folder, of: study_id, in_dollars: currency === "USD" },
    ...{ input_price: price?.input ?? free, output_price: price?.output ?? free },
    ...{ most_money: budget.money ?? null, most_tokens: budget.tokens ?? null },
  });
}

/** Every line of the ledger so far; one that was cut off by a kill is none. */
export function ledgerLines(store: string, account: string): LedgerLine[] {
  const path = join(accountFolder(store, account), LEDGER);
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8").split("\n").flatMap((line) => {
    const read = LedgerLine.safeParse(jsonOrNull(line));
    return read.success ? [read.data] : [];
  });
}
