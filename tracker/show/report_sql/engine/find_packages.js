/** Prints where the engine's packages lie, as JSON; brings them the first time. Run with engine_packages.json. */
import { findPackageJSON } from "node:module";
import { dirname } from "node:path";

const places = {};
for (const name of ["@duckdb/duckdb-wasm", "apache-arrow"]) {
  await import(name); // what is not here yet is brought, at the pinned version
  places[name] = dirname(findPackageJSON(name, import.meta.url));
}
console.log(JSON.stringify(places));
