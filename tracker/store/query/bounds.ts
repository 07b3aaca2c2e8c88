/** Memory that the process of a query may take beside its own start. */
export const QUERY_MEMORY_BYTES = 3_000_000_000;

/** What DuckDB itself may hold of tables in it; beyond that it goes on with a folder on disk. */
export const DUCKDB_MEMORY = "2 GB";

/** An answer that is handed over at most; more is for a file. */
export const ANSWER_BYTES = 256_000_000;
