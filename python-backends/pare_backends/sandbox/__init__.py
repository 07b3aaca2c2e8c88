"""Runs code that a language model wrote, which is taken for hostile, and says whether it is right.

Two guests, each in a bubblewrap sandbox of its own, and a host between them that only passes lines:

    candidate guest          host                        checker guest
    the generated program <- the next call, a new token <- the benchmark's own test
    what the call gave    -> the line, unread           -> builtin values; asserts; the verdict

- The program never meets its test: it is given one call at a time, never an expected result, and
  can answer only by plain data. No object of its own, so no `__eq__`, reaches an assert; a forged
  answer is nothing but an answer, which has to be right.
- The test runs whole and unchanged as a program of its own, so loops with reference solutions and
  float tolerances need no rewriting: each call of the candidate in it crosses over.
- The verdict comes from the checker alone, which holds no generated code, under a nonce that the
  candidate's guest never gets. No verdict, or one without the nonce, is a failure.

What a guest may take has limits that the kernel holds, and so many are judged at once as memory is
there for (`limits`, `seal`, `room`). Nothing here imports more than the standard library, and the
modules of this folder are all that the guests can see of pare.
"""
