"""Says whether generated code can be run here, and ends with 1 where it cannot:
`python -m pare_backends.sandbox`."""

from __future__ import annotations

import sys

from pare_backends.sandbox.verdict import sandbox_problem

problem = sandbox_problem()
print(problem or "a program ran in bubblewrap")
sys.exit(0 if problem is None else 1)
