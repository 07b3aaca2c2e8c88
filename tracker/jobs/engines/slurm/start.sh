#!/bin/sh
# The batch script of every attempt: its folder, then the program that runs it and that program's words.
if ! test -r "$1/attempt.json"; then
  echo "pare: $(hostname) does not see $1" >&2
  exit 76
fi
shift
exec "$@"
