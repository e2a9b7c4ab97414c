#!/usr/bin/env bash
# Makes the targets that are named, one after the other, until one fails, and prints how many seconds each took. Targets
# with a + between them run side by side, because each waits for something; what one of them prints comes when it ends.
set -uo pipefail
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# stage makes a target, and keeps its row of the table.
stage() {
	local before=$SECONDS code=0
	make --no-print-directory "$1" || code=$?
	printf '%-14s %6d s\n' "$1" $((SECONDS - before)) >>"$logs/table"
	return "$code"
}

code=0
for stages in "$@"; do
	if [[ $stages != *+* ]]; then
		stage "$stages" || code=$?
	else
		jobs=()
		for name in ${stages//+/ }; do
			{
				stage "$name" >"$logs/$name" 2>&1
				failed=$?
				cat "$logs/$name"
				exit "$failed"
			} &
			jobs+=($!)
		done
		for job in "${jobs[@]}"; do
			wait "$job" || code=$?
		done
	fi
	[ "$code" -eq 0 ] || break
done
echo
cat "$logs/table"
printf '%-14s %6d s\n' together "$SECONDS"
exit "$code"
