import assert from "node:assert/strict";
import { countRooms, roomsOf } from "./rooms.ts";
import { circles, sayGone, typeScript } from "./sources.ts";

/** The floors of core, the lowest first: a room imports rooms of the floors below its own alone. */
const FLOORS: readonly (readonly string[])[] = [
  ["errors.ts", "random.ts", "conversion"],
  ["serving"],
  ["metrics"],
  ["schemas"],
  ["calls"],
  ["ports.ts"],
  ["contract", "evidence", "jobs"],
  ["distance", "strategies", "tasks"],
  ["front", "spec"],
  ["advice", "resume", "search"],
  ["loop"],
  ["runs"],
  ["experiments"],
  ["mod.ts"],
];

/** Imports that go sideways or up, as `room target`. */
function upwards(
  rooms: ReadonlyMap<string, readonly string[]>,
  floors: readonly (readonly string[])[],
): string[] {
  const floorOf = (room: string) => floors.findIndex((floor) => floor.includes(room));
  return [...rooms].flatMap(([room, targets]) =>
    targets.filter((target) => floorOf(target) >= floorOf(room)).map((to) => `${room} ${to}`)
  );
}

Deno.test("core's rooms import the floors below them alone", async () => {
  const rooms = roomsOf("core", await typeScript(["core"]));
  const known = FLOORS.flat();
  assert.deepEqual([...rooms.keys()].filter((room) => !known.includes(room)), []);
  assert.deepEqual(upwards(rooms, FLOORS), []);
  assert.deepEqual(circles(rooms), []);
  sayGone("core_rooms_test.ts", known.filter((room) => !rooms.has(room)));
  console.log(countRooms("core", rooms)); // what anyone can count again
});

Deno.test("upwards() and roomsOf() see an import that goes up, sideways or in a circle", () => {
  const files = {
    "core/a/one.ts": ["core/b/two.ts", "core/a/three.ts", "zod"],
    "core/a/three.ts": [],
    "core/b/two.ts": ["core/c.ts", "core/a/one.ts"],
    "core/c.ts": ["core/b/two.ts"],
    "tracker/d.ts": ["core/c.ts"],
  };
  const rooms = roomsOf(
    "core",
    new Map(Object.entries(files).map(([path, imports]) => [path, { imports }])),
  );
  assert.deepEqual(Object.fromEntries(rooms), { a: ["b"], b: ["a", "c.ts"], "c.ts": ["b"] });
  assert.deepEqual(upwards(rooms, [["c.ts"], ["a", "b"]]), ["a b", "b a", "c.ts b"]);
  assert.deepEqual(circles(rooms), [["a", "b", "c.ts"]]);
  assert.match(countRooms("core", rooms), /3 rooms, .* 4 arrows; .* circle: 3\n {2}a b c\.ts$/);
});
