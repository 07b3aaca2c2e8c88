/** A rectangle in pixels, y downwards. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** A label's point and its words. */
export interface Labelled {
  readonly x: number;
  readonly y: number;
  readonly text: string;
}

/** Where a label stands from its point: of its middle, to the right and downwards. */
export interface Offset {
  readonly dx: number;
  readonly dy: number;
}

const HEIGHT = 13;
const CHARACTER = 6.9;

export function labelWidth(text: string): number {
  return text.length * CHARACTER;
}

/** The box of a label at an offset from its point; its text is centred. */
export function labelBox({ x, y, text }: Labelled, { dx, dy }: Offset): Box {
  const half = labelWidth(text) / 2;
  return {
    left: x + dx - half,
    right: x + dx + half,
    top: y + dy - HEIGHT / 2,
    bottom: y + dy + HEIGHT / 2,
  };
}

/** The area that two boxes share. */
export function overlap(a: Box, b: Box): number {
  const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  return width > 0 && height > 0 ? width * height : 0;
}

/** Points nearer than this are read as neighbours: the lower one's label stands below it. */
const NEAR = 30;

/**
 * Places round a point, the nearest first: right above as labels usually stand (right below, under a
 * point that is near), then all round.
 */
function offsets(text: string, below: boolean): Offset[] {
  const half = labelWidth(text) / 2;
  return [0, 1, 2, 3, 4, 5].flatMap((ring) => {
    const out = 12 + half + 11 * ring;
    const up = 15 + 13 * ring;
    return [[out, -up], [-out, -up], [out, up], [-out, up], [out, 0], [-out, 0], [0, -up], [0, up]]
      .map(([dx, dy]) => ({ dx: dx!, dy: below ? -dy! : dy! }));
  });
}

/**
 * Offsets at which no label covers another, an obstacle (a point, an interval) or the frame's edge; where
 * there is no such place, the one that covers least. In the order given.
 */
export function placeLabels(
  labels: readonly Labelled[],
  obstacles: readonly Box[],
  frame: Box,
): Offset[] {
  const taken: Box[] = [...obstacles];
  const outside = (box: Box) =>
    (box.right - box.left) * (box.bottom - box.top) - overlap(box, frame);
  return labels.map((one) => {
    const below = labels.some(({ x, y }) =>
      y < one.y && one.y - y < NEAR && Math.abs(x - one.x) < NEAR
    );
    let best: { offset: Offset; cost: number } | null = null;
    for (const offset of offsets(one.text, below)) {
      const box = labelBox(one, offset);
      const cost = taken.reduce((sum, other) => sum + overlap(box, other), outside(box));
      if (best === null || cost < best.cost) best = { offset, cost };
      if (cost === 0) break;
    }
    taken.push(labelBox(one, best!.offset));
    return best!.offset;
  });
}
