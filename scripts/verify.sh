#!/usr/bin/env bash
# Check the built-in example and replay what was found. One of its properties holds and one is violated, so
# `vernal check` has to end with 10; any other exit code is a failure of this script.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

vernal=${VERNAL:-.venv/bin/vernal}
task=examples/vcas/vcas.toml
trace=build/vcas.trace.json
expected=10

show() { printf '\n$ vernal'; printf ' %s' "$@"; printf '\n'; }

mkdir -p "$(dirname "$trace")"
rm -f "$trace"

show check "$task" --trace "$trace"
code=0
"$vernal" check "$task" --trace "$trace" || code=$?
if [ "$code" -ne "$expected" ]; then
    echo "verify: vernal check ended with $code, expected $expected (one property of $task is violated)" >&2
    exit 1
fi
if [ ! -s "$trace" ]; then
    echo "verify: the violated property left no trace in $trace" >&2
    exit 1
fi

show replay "$trace"
"$vernal" replay "$trace"

printf '\nverify: one property violated as expected (exit %d), its trace replayed\n' "$expected"
