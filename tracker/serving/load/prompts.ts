/** Short words that most tokenizers have whole. */
const WORDS = (
  "the of and to in is it that was for on are with as at be this have from or one had by word but " +
  "not what all were we when your can said there use an each which she do how their if will up other " +
  "about out many then them these so some her would make like him into time has look two more write " +
  "go see number no way could people my than first water been call who oil its now find long down day"
).split(" ");

/** A text of about so many tokens that no other begins like: no cache of prefixes has it. */
export function loadPrompt(tokens: number, random: () => number): string {
  const word = () => WORDS[Math.floor(random() * WORDS.length)]!;
  return Array.from({ length: Math.max(1, tokens) }, word).join(" ");
}
