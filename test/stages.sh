#!/usr/bin/env bash
# Makes each target that is named, one after the other, until one fails, and prints how many seconds each took.
set -uo pipefail
table=
for stage in "$@"; do
	before=$SECONDS
	make --no-print-directory "$stage"
	code=$?
	table+=$(printf '%-14s %6d s' "$stage" $((SECONDS - before)))$'\n'
	[ "$code" -eq 0 ] || break
done
printf '\n%s%-14s %6d s\n' "$table" together "$SECONDS"
exit "$code"
