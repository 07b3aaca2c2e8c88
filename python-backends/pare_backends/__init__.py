"""The processes of pare: one stage a process, spoken to by `python-backends/client.ts`."""
