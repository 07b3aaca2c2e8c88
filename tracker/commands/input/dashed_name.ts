/** Says how a study is named that looks like an option: of a model in other letters its name begins so. */
export function hintAtDashedName(words: readonly string[]): void {
  const dashed = words.find((word) => /^-.*-\d{8}-\d{6}/.test(word));
  if (dashed === undefined) return;
  console.error(`(a study whose name begins with a dash stands behind --: -- ${dashed})`);
}
