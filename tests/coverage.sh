#!/usr/bin/env bash
# Says which lines and branches of the libraries and the infeed command the tests reach: builds them with clang's
# counters, runs the tests that run in this build's own programs, and lists each source.
#
#   tests/coverage.sh [--lines-min PERCENT] [--again] [options of ctest]
#
#   --lines-min PERCENT   exit status 1 if fewer of all lines are reached (92)
#   --again               adds to what the last run has counted: --again -R Window after a new test, say
#   --help                this text
#
# The table goes to build/coverage/sources.txt, and every line with its count to build/coverage/html. A process that
# is killed counts nothing, so what only killed ones run looks unreached. It takes an hour on two cores.
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tools/shell_common.sh"

lines_min=92
again=false
ctest_options=()
while (($#)); do
  case $1 in
    --lines-min)
      [[ ${2:-} =~ ^[0-9]+([.][0-9]+)?$ ]] || die "$1 needs a percentage, not '${2:-}'" 2
      lines_min=$2
      shift
      ;;
    --again) again=true ;;
    *) ctest_options+=("$1") ;;
  esac
  shift
done
check_ctest_options "${ctest_options[@]}"

"$infeed_root/tools/install_packages.sh" all
build="$infeed_root/build/coverage"
is_configured coverage || configure_preset coverage
say "building with counters"
build_targets coverage all || die "the build failed: what the compiler said is above"

counts="$build/counts"
$again || rm -rf "$counts"
mkdir -p "$counts"
say "running the tests"
# The others build programs of their own, without counters, or judge what counters change: the time, each call, and
# what a user who may write nowhere leaves behind.
others='^(compile_fail|consumers|examples|faults|growth|hostile|mutation|odd_machines|python|resume|static)'
others+='|FolderThatMayNotBe'
tests_failed=0
(cd "$build" && ctest --output-on-failure --no-label-summary --no-tests=error -j "$(nproc)" -E "$others" \
  "${ctest_options[@]}") >"$build/ctest.log" 2>&1 || tests_failed=$?
tail -n 30 "$build/ctest.log" | sed -n '/tests passed/,$p'

say "what they reached"
"$infeed_root/tests/coverage/sources.py" "$build" "$counts" --lines-min "$lines_min"
((tests_failed == 0)) || die "tests failed under the counters: see $build/ctest.log"
