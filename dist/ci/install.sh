#!/bin/sh
# Fetches a release of agentry for this machine, verifies its checksum, and unpacks its programs into a folder.
#
#   INSTALL_INTO     the folder
#   INSTALL_VERSION  a version, such as v1.2.3; by default the latest one; installed uses the agentry on the PATH
#   INSTALL_SHA256   the checksum of the archive; by default from the release's checksums.txt
#   INSTALL_FROM     where releases are, for a mirror of them
set -eu
from=${INSTALL_FROM:-https://github.com/agentry-dev/agentry/releases}
fail() {
  echo "agentry: $1" >&2
  exit 1
}
if [ "${INSTALL_VERSION:-}" = installed ]; then
  command -v agentry >/dev/null || fail "no agentry is on the PATH: run the job in an image that has it"
  agentry version
  exit 0
fi
case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "there is no release for $(uname -s): use a runner with Linux or macOS" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no release for $(uname -m): use a runner with amd64 or arm64" ;;
esac
case ${INSTALL_VERSION:-latest} in
latest) release=$from/latest/download ;;
*[!A-Za-z0-9.+-]*) fail "\"$INSTALL_VERSION\" is not a version: write it like v1.2.3" ;;
*) release=$from/download/$INSTALL_VERSION ;;
esac
archive=agentry_${os}_${arch}.tar.gz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fetch() {
  curl -fsSL --proto =https --retry 3 --max-time 300 --max-filesize 200000000 -o "$work/$1" "$release/$1" ||
    fail "$release/$1 cannot be fetched: does this release exist, and does it include this platform?"
}
fetch "$archive"
want=${INSTALL_SHA256:-}
if [ -z "$want" ]; then
  fetch checksums.txt
  want=$(awk -v name="$archive" '$2 == name { print $1 }' "$work/checksums.txt")
  [ -n "$want" ] || fail "$release/checksums.txt has no checksum of $archive"
fi
if command -v sha256sum >/dev/null; then
  got=$(sha256sum <"$work/$archive")
else
  got=$(shasum -a 256 <"$work/$archive") # macOS
fi
got=${got%% *}
[ "$got" = "$want" ] || fail "$release/$archive has the checksum $got instead of $want: nothing is installed"
mkdir -p "$INSTALL_INTO"
tar -xzf "$work/$archive" -C "$INSTALL_INTO" agentry agentry-charts agentry-sops
"$INSTALL_INTO/agentry" version
