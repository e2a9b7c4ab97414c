#!/bin/sh
# Checks a change of a repository, and writes what it would change into the pull request.
#
#   REVIEW_PATHS    the folders to review, one on each line: each by the pipeline file in it or above it
#   REVIEW_FORMAT   how findings are printed: see agentry check --format
#   REVIEW_BASE     the commit to compare with; by default the first parent of REVIEW_MERGE
#   REVIEW_MERGE    the checked out merge commit that the forge made to test the merge
#   REVIEW_COMMENT  the address of the pull request; without it there is no comment
#   FORGE_TOKEN     a token that may comment
#
# Options of agentry are set by their variables, such as AGENTRY_BUILD=flux. The exit code is 1 if there are errors.
set -eu
fail() {
  echo "agentry: $1" >&2
  exit 2
}
base=${REVIEW_BASE:-}
if [ -z "$base" ]; then
  [ "$(git rev-parse HEAD)" = "${REVIEW_MERGE:-}" ] ||
    fail "HEAD is not the forge's merge commit of the pull request: leave out 'ref' of actions/checkout, and run on pull_request"
  base=$(git cat-file commit HEAD | awk '$1 == "parent" { print $2; exit }') # a shallow clone has it, too
fi
git cat-file -e "$base^{commit}" 2>/dev/null || git fetch -q --no-tags --depth=1 origin "$base"
set -f
IFS='
'
# shellcheck disable=SC2086 # each line is one word
set -- $REVIEW_PATHS
unset IFS
[ $# -gt 0 ] || fail "REVIEW_PATHS is empty"
code=0
for path; do
  agentry check --format "${REVIEW_FORMAT:-text}" -- "$path" || code=$?
  [ $code -le 1 ] || exit $code
done
format=text
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
  format=markdown
  exec >>"$GITHUB_STEP_SUMMARY"
fi
for path; do
  agentry diff --format $format --comment "${REVIEW_COMMENT:-}" -- "$base..HEAD" "$path" || code=$?
done
exit $code
