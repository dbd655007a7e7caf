#!/usr/bin/env bash
# A misspelt option of a script is refused before anything is installed or built: it was found by what
# had been built for it.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

for program in cmake apt-get sudo python3; do
  printf '#!/bin/sh\necho "%s was called" >&2\nexit 99\n' "$program" >"$folder/$program"
  chmod +x "$folder/$program"
done

export INFEED_VENV="$folder"  # no environment is made either
# expect_refusal TEXT SCRIPT ARGUMENT...
expect_refusal() {
  local text=$1 status=0 said
  shift
  said="$(cd "$root" && PATH="$folder:$PATH" "$@" 2>&1)" || status=$?
  [[ $status == 2 && $said == *"$text"* ]] && return
  echo "$*: status $status; it printed:"
  echo "$said"
  failed=1
}

failed=0
for script in benchmarks/{autotune,blame,compare,growth,pictures,resume,what_if}.sh tools/{install,quickstart,reference,release}.sh \
  tests/{coverage,faults,first_hour,fresh_machine,odd_machines,run,soak}.sh tests/{hostile,interop,python}/run.sh tests/versions/keep.sh; do
  expect_refusal "'--shrot'" "$script" --shrot
done
expect_refusal "'--second'" tools/quickstart.sh --short --second=3
expect_refusal "'--parallell'" tests/run.sh --preset release --parallell 2
expect_refusal "there is no library 'record'" tools/compare_abi.sh HEAD pipeline record
exit "$failed"
