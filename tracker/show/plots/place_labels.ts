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

/** What a ring further out costs beside what a label covers, in square pixels: an interval's line under a
 * label is read through, a label far from its point is not read as that point's. */
const RING_COST = 12;
/** Of what is no line: points and labels are covered last. */
const SOLID_WEIGHT = 1000;
const LINE_WIDTH = 3;
/** The same of a place that is nearer another label's point than its own. */
const MISREAD_COST = 400;

/** Places round a point, the nearest ring first: right above as labels usually stand (right below, under a
 * point that is near), then all round. */
function places(text: string, below: boolean): { offset: Offset; ring: number }[] {
  const half = labelWidth(text) / 2;
  return [0, 1, 2, 3, 4, 5].flatMap((ring) => {
    const out = 12 + half + 11 * ring;
    const up = 15 + 13 * ring;
    return [[out, -up], [-out, -up], [out, up], [-out, up], [out, 0], [-out, 0], [0, -up], [0, up]]
      .map(([dx, dy]) => ({ offset: { dx: dx!, dy: below ? -dy! : dy! }, ring }));
  });
}

function weight({ left, right, top, bottom }: Box): number {
  return Math.min(right - left, bottom - top) <= LINE_WIDTH ? 1 : SOLID_WEIGHT;
}

function isMisread(own: Labelled, { dx, dy }: Offset, labels: readonly Labelled[]): boolean {
  const [x, y] = [own.x + dx, own.y + dy];
  return labels.some((other) =>
    other !== own && Math.hypot(other.x - x, other.y - y) < Math.hypot(dx, dy)
  );
}

/**
 * Offsets at which no label covers another, an obstacle (a point, an interval) or the frame's edge, or
 * stands nearer another's point; where there is no such place near by, the one that costs least. In the
 * order given.
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
    for (const { offset, ring } of places(one.text, below)) {
      const box = labelBox(one, offset);
      const covered = taken.reduce(
        (sum, other) => sum + weight(other) * overlap(box, other),
        SOLID_WEIGHT * outside(box),
      );
      const cost = covered + ring * RING_COST + (isMisread(one, offset, labels) ? MISREAD_COST : 0);
      if (best === null || cost < best.cost) best = { offset, cost };
      if (cost === 0) break;
    }
    taken.push(labelBox(one, best!.offset));
    return best!.offset;
  });
}
