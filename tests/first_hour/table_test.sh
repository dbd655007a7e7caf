#!/usr/bin/env bash
# table_test.sh INFEED_BUILD_FOLDER: first_hour.sh fails where a command does something else than its
# table says, and names each that does.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
first_hour="$(dirname "${BASH_SOURCE[0]}")/../first_hour.sh"

fail() {
  echo "$1; it printed:"
  cat "$folder/output"
  exit 1
}

cat >"$folder/table" <<'END'
# Right:
0 | infeed && !train | infeed --version
2 | which command? | infeed
# Wrong: the status, a text that isn't there, one that is, the second of two, and no line on stderr.
1 | which command? | infeed
0 | nothing of the kind | infeed --version
0 | !infeed 0. | infeed --version
0 | infeed && nothing of the kind | infeed --version
1 | right | echo right; false
1 | two | printf 'infeed: one\ninfeed: two\n' >&2; false
END
status=0
"$first_hour" --build "$1" --table "$folder/table" >"$folder/output" 2>&1 || status=$?
[[ $status == 1 ]] || fail "first_hour.sh ended with status $status instead of 1"
grep -qF '6 of 8 are not as they should be' "$folder/output" || fail "first_hour.sh counts otherwise"
for text in 'exit status 2 instead of 1' 'does not print: nothing of the kind' 'prints: infeed 0.' \
  "stderr isn't one line"; do
  grep -qF -e "$text" "$folder/output" || fail "first_hour.sh does not say: $text"
done

printf 'infeed --version\n' >"$folder/table"
"$first_hour" --build "$1" --table "$folder/table" >"$folder/output" 2>&1 && fail "a line that says nothing was accepted"
grep -qF "not 'status | text | command'" "$folder/output" || fail "first_hour.sh does not say what is wrong with the table"
