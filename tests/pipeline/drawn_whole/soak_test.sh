#!/usr/bin/env bash
# A short form of tests/soak.sh, and what it says of pipelines that leave something behind.
#
#   soak_test.sh PROGRAM
set -uo pipefail
program=$1
soak="$(dirname "${BASH_SOURCE[0]}")/../../soak.sh"

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

# They take a minute; the time is for a busy machine, which would do fewer of them otherwise.
said=$("$soak" --program "$program" --minutes 15 --pipelines 6 --seed 20240511) ||
  fail "a short soak found something:" "$said"
[[ $said == *"6 pipelines of "*"0 with findings"* ]] || fail "it doesn't say what it ran:" "$said"

for left in bytes=9000 files=1; do
  plan="range(start=0, count=1) | leak($left)"
  said=$("$program" --seed 1 --only 1 --plan "$plan" --quick) && fail "nobody saw $plan:" "$said"
  [[ $said == *"again: infeed_drawn_stages --seed 1 --only 1 --plan '$plan'"* ]] ||
    fail "no command repeats $plan:" "$said"
done
