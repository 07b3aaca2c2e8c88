import { type KnobValue, UsageError } from "../../../core/mod.ts";

/** The words of an option that stand between commas. */
export function listedWords(list: string): string[] {
  return list.split(",").map((word) => word.trim()).filter((word) => word !== "");
}

/** A knob's value as it stands in an option. */
function knobValue(text: string): KnobValue {
  if (text === "true" || text === "false") return text === "true";
  return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** `window=16,kernel=5` as knobs with their values. */
export function knobsOf(list: string, option: string): Record<string, KnobValue> {
  return Object.fromEntries(
    listedWords(list).map((pair) => {
      const [name, value] = pair.split("=", 2);
      if (value !== undefined && name !== "") return [name!.trim(), knobValue(value)];
      throw new UsageError(
        `Cannot read ${option} ${list}: write knob=value, such as window=16`,
      );
    }),
  );
}
