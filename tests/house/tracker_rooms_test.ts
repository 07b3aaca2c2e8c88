import assert from "node:assert/strict";
import { countRooms, roomsOf } from "./rooms.ts";
import { circles, typeScript } from "./sources.ts";

Deno.test("no rooms of the tracker import each other in a circle", async () => {
  const rooms = roomsOf("tracker", await typeScript(["tracker"]));
  assert.ok(rooms.size > 5, "the walk is broken");
  assert.deepEqual(circles(rooms), []); // tests/layers_test.ts holds their order
  console.log(countRooms("tracker", rooms)); // what anyone can count again
});
