#!/bin/sh
# Prints the folder for temporary files of tests: TMPDIR, or one in memory if there is room, or /tmp. Some file systems take longer
# to make and remove the thousands of repositories of the tests than the tests do for all the rest.
set -eu

# The name is the same each time, because Go keeps no results of a test that finds TMPDIR changed.
folder=/dev/shm/agentry-test-$(id -u)

# Programs must be able to run there, other users must reach them, and the folder must be the user's own.
usable() {
	[ "$(df -Pk /dev/shm | awk 'END {print $4 + 0}')" -gt 4000000 ] &&
		{ [ -d "$folder" ] || mkdir -m 755 "$folder"; } && [ -O "$folder" ] && [ ! -h "$folder" ] || return 1
	program=$folder/runs.$$
	printf '#!/bin/sh\n' >"$program" && chmod +x "$program" && "$program" && rm "$program"
}

if [ -n "${TMPDIR:-}" ]; then
	echo "$TMPDIR"
elif usable 2>/dev/null; then
	echo "$folder"
else
	echo /tmp
fi
