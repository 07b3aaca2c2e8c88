/**
 * Every colour of a figure by name, on white and on black. The hues of the methods are those of Okabe
 * and Ito (2008), which colour-blind readers tell apart, darkened on white and lightened on black until
 * each has a contrast of 3 : 1 against its ground. No reader needs them: a shape, a place or a label says
 * the same.
 */
export const COLOURS: Readonly<Record<string, readonly [light: string, dark: string]>> = {
  paper: ["#ffffff", "#14181d"],
  ink: ["#1f2933", "#e6eaee"],
  quiet: ["#5b6672", "#a3adb8"],
  rule: ["#9aa5b1", "#66717d"],
  alarm: ["#b42318", "#ff8577"],
  hue0: ["#0072b2", "#56b4e9"],
  hue1: ["#d55e00", "#ff8f4d"],
  hue2: ["#00875f", "#2fc79a"],
  hue3: ["#b85c93", "#e8a2c8"],
  hue4: ["#a87400", "#f0b428"],
  hue5: ["#2a86b8", "#9ad4f5"],
  hue6: ["#8c6d31", "#d1b06b"],
  hue7: ["#5b6672", "#b9c2cc"],
  // From little to much: in grey each step is darker (on black: lighter) than the one before.
  heat0: ["#eef3f8", "#1d2732"],
  heat1: ["#d3e2f0", "#21405a"],
  heat2: ["#a9c9e4", "#275b83"],
  heat3: ["#74a8d1", "#316a94"],
  heat4: ["#3475a8", "#5d9fce"],
  heat5: ["#1a5c96", "#8dc3ea"],
  heat6: ["#0b3c6b", "#c9e4f8"],
  // Of a colour for what is lost; what is gained has the steps above.
  loss1: ["#f8e0c8", "#4a3018"],
  loss2: ["#f0bd8a", "#6d4218"],
  loss3: ["#df8f4a", "#8f551c"],
  loss4: ["#a5530e", "#e79a54"],
  loss5: ["#853f05", "#ffc796"],
};

/** A colour as the marks name it; `finish` gives it a value. */
export function colour(name: keyof typeof COLOURS & string): string {
  return `var(--pare-${name})`;
}

export const INK = colour("ink");
export const PAPER = colour("paper");
export const QUIET = colour("quiet");
export const RULE = colour("rule");
export const ALARM = colour("alarm");

const HUES = 8;
const STEPS = 6;

/** The colour of the nth of several; they repeat after eight, their shapes after seven. */
export function hue(index: number): string {
  return colour(`hue${index % HUES}`);
}

/** A triangle that stands on its tip; Plot has none. */
const DOWN = {
  draw(context: CanvasPath, size: number): void {
    const half = Math.sqrt(size / Math.sqrt(3));
    context.moveTo(0, half * 2 / Math.sqrt(3));
    context.lineTo(-half, -half / Math.sqrt(3));
    context.lineTo(half, -half / Math.sqrt(3));
    context.closePath();
  },
};

const SHAPES = ["circle", "square", "triangle", "diamond", DOWN, "cross", "hexagon"] as const;
export type Shape = (typeof SHAPES)[number] | "star" | "times";

/** The shape of the nth of several: with its colour it repeats after 56. */
export function shape(index: number): Shape {
  return SHAPES[index % SHAPES.length]!;
}

/** What stands for a name wherever it is drawn. */
export interface Sign {
  readonly colour: string;
  readonly shape: Shape;
}

/** A colour and a shape for every name, by the names' order, so that equal sets look alike. */
export function signsOf(names: Iterable<string>): Map<string, Sign> {
  const all = [...new Set(names)].sort();
  return new Map(all.map((name, index) => [name, { colour: hue(index), shape: shape(index) }]));
}

/** The fill of a share from 0 to 1, and the ink that is legible on it. */
export function heat(share: number): { fill: string; ink: string } {
  const step = Math.round(Math.min(1, Math.max(0, share)) * STEPS);
  return { fill: colour(`heat${step}`), ink: step >= 4 ? PAPER : INK };
}

/** The fill of a change: what is lost has warm steps, what is gained cold ones; 1 is the most. */
export function change(share: number): { fill: string; ink: string } {
  if (share >= 0) return heat(share * 5 / 6);
  const step = Math.round(Math.min(1, -share) * 5);
  if (step === 0) return heat(0);
  return { fill: colour(`loss${step}`), ink: step >= 4 ? PAPER : INK };
}
