/** The rooms of a folder: its folders and loose files, and which imports which. */
import { circles, type Source } from "./sources.ts";

/** The room of a file in a folder: `loop` for core/loop/rungs/joining.ts, `mod.ts` for core/mod.ts. */
export function roomOf(folder: string, path: string): string {
  return path.slice(folder.length + 1).split("/")[0]!;
}

/** Rooms to those that they import, each once, types too. */
export function roomsOf(
  folder: string,
  sources: ReadonlyMap<string, Pick<Source, "imports">>,
): Map<string, string[]> {
  const arrows = [...sources].filter(([path]) => path.startsWith(`${folder}/`)).map(
    ([path, { imports }]) => {
      const own = roomOf(folder, path);
      const targets = imports.filter((target) => target.startsWith(`${folder}/`))
        .map((target) => roomOf(folder, target)).filter((target) => target !== own);
      return [own, targets] as const;
    },
  );
  const grouped = Map.groupBy(arrows, ([own]) => own);
  return new Map(
    [...grouped].map(([own, all]) => [own, [...new Set(all.flatMap(([, to]) => to))].sort()]),
  );
}

/** How many floors rooms stand on where each imports those below it alone; rooms in a circle: one. */
function floorsOf(rooms: ReadonlyMap<string, readonly string[]>): number {
  const below = new Map<string, number>();
  const under = (room: string, above: readonly string[]): number => {
    const known = below.get(room);
    if (known !== undefined || above.includes(room)) return known ?? 0;
    const targets = (rooms.get(room) ?? []).map((target) => under(target, [...above, room]));
    const height = 1 + Math.max(0, ...targets);
    below.set(room, height);
    return height;
  };
  return Math.max(0, ...[...rooms.keys()].map((room) => under(room, [])));
}

/** How many rooms, floors and arrows a folder has, and which rooms import each other in a circle. */
export function countRooms(folder: string, rooms: ReadonlyMap<string, readonly string[]>): string {
  const knots = circles(rooms).sort((a, b) => b.length - a.length);
  const arrows = [...rooms.values()].reduce((sum, targets) => sum + targets.length, 0);
  return [
    `${folder}: ${rooms.size} rooms, ${floorsOf(rooms)} floors, ${arrows} arrows; rooms in the ` +
    `largest circle: ${knots[0]?.length ?? 0}`,
    ...knots.map((one) => `  ${one.join(" ")}`),
  ].join("\n");
}
