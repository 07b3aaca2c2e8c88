"""The processes of pare: one call a process, spoken to by `python-backends/client.ts`."""
