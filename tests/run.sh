#!/usr/bin/env bash
# All tests, on a machine with nothing installed: installs what is missing from Debian's packages,
# builds, runs the tests, and says in the end what ran and how long it took. Exit status 1 if anything
# failed.
#
#   tests/run.sh [--builds | --sanitizers | --all | --preset NAME] [options of ctest]
#
#   (nothing)       checks of the sources, all tests of the release preset
#   --builds        also that every public header compiles alone, and that the benchmarks (in the release
#                   preset without optimisation: their scripts build what they measure) and the programs of
#                   tests/interop build
#   --sanitizers    that, and the same tests under clang++ with AddressSanitizer and
#                   UndefinedBehaviorSanitizer (asan), and with ThreadSanitizer (tsan)
#   --all           that, the debug preset and clang-tidy; tests that otherwise draw some of their cases run
#                   them all (INFEED_TEST_ALL)
#   --preset NAME   only that preset: release, debug, asan or tsan
#   --help          this text
#
#   tests/run.sh --preset tsan -R prefetch     one preset, the tests whose names match
#
# Needs root or sudo the first time only. Works from any folder and may be repeated.
set -uo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tools/shell_common.sh"

# Programs with these compilers' sanitizers need room at fixed addresses, which a kernel that randomises
# addresses by more than 28 bits gives them only sometimes: without randomisation they always start.
random_bits="$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0)"
if [[ -z ${INFEED_FIXED_ADDRESSES:-} ]] && ((random_bits > 28)) && setarch --addr-no-randomize true 2>/dev/null; then
  INFEED_FIXED_ADDRESSES=1 exec setarch --addr-no-randomize "${BASH_SOURCE[0]}" "$@"
fi

presets=(release)
with_checks=true
with_builds=false
with_tidy=false
ctest_options=()
while (($#)); do
  case $1 in
    --builds) with_builds=true ;;
    --sanitizers) presets=(release asan tsan) with_builds=true ;;
    --all)
      presets=(release debug asan tsan) with_builds=true with_tidy=true
      export INFEED_TEST_ALL=1
      ;;
    --preset)
      case ${2:-} in
        release | debug | asan | tsan) presets=("$2") ;;
        *) die "unknown preset '${2:-}': there are release, debug, asan and tsan" 2 ;;
      esac
      with_checks=false
      shift
      ;;
    *) ctest_options+=("$1") ;;
  esac
  shift
done
check_ctest_options "${ctest_options[@]}"

trap 'echo; complain "stopped"; exit 130' INT TERM

summary=()
failures=0
# part NAME COMMAND...: runs it, and keeps a line for the summary. What the command leaves in `note`
# goes there too.
part() {
  local name=$1 start=$SECONDS verdict=ok
  shift
  note=''
  say "$name"
  if ! "$@"; then
    verdict=FAILED
    failures=$((failures + 1))
  fi
  summary+=("$(printf '%-7s %10s  %s%s' "$verdict" "$(as_minutes $((SECONDS - start)))" "$name" "${note:+: $note}")")
  [[ $verdict == ok ]]
}

# Reads what ctest prints and leaves out the tests that pass, but for a count as in a build.
show_ctest_progress() {
  local line counter='' shown=$SECONDS
  local passed='^ *([0-9]+)/([0-9]+) Test +#[0-9]+: ([^ ]+) .* Passed '
  while IFS= read -r line; do
    if [[ $line =~ $passed ]]; then
      counter="${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
      if [[ -t 1 ]]; then
        printf '\r\e[K    %s  %.60s' "$counter" "${BASH_REMATCH[3]}"
      elif ((SECONDS - shown >= 10)); then
        printf '    %s\n' "$counter"
        shown=$SECONDS
      fi
    elif [[ ! $line =~ ^\ *(Start\ +[0-9]+:|Test\ project|$) ]]; then
      [[ -t 1 && -n $counter ]] && printf '\r\e[K'
      printf '%s\n' "$line"
    fi
  done
}

run_ctest() {
  local log="$infeed_root/build/$1/ctest.log" status without=()
  if $with_checks; then without=(--exclude-regex '^static\.check$'); fi # ran already
  rm -f "$log"
  # One more than cores: many tests wait for a process, the disk or a clock.
  local jobs=$(($(nproc) + 1))
  (
    cd "$infeed_root/build/$1" &&
      ctest --output-on-failure --no-label-summary --no-tests=error -j "$jobs" \
        --output-log "$log" "${without[@]}" "${ctest_options[@]}"
  ) 2>&1 | show_ctest_progress
  status=$?
  note="$(grep -E 'tests passed,.*out of' "$log" 2>/dev/null)"
  return $status
}

# The Python package is built and tested where its environment can be made. Elsewhere (no network) all
# else is; the summary says so, and with INFEED_CI_FULL it is a failure.
python_options=()
make_python_environment() {
  local python
  if python="$("$infeed_root/benchmarks/venv.sh" --small)"; then
    python_options=(-DINFEED_PYTHON=ON "-DPython_EXECUTABLE=$python")
    return
  fi
  note="the Python package is NEITHER BUILT NOR TESTED"
  [[ -z ${INFEED_CI_FULL:-} ]]
}

build_for_tests() {
  local preset=$1 targets=(all)
  shift
  if [[ $preset == release ]]; then
    set -- "$@" "${python_options[@]}"
    if $with_builds; then targets+=(interop_programs); fi
  fi
  configure_preset "$preset" -DINFEED_BUILD_TESTS=ON "$@" || return 1
  build_targets "$preset" "${targets[@]}"
}

test_preset() {
  local preset=$1 benchmarks=OFF only_check=OFF
  if $with_builds && [[ $preset == release || $preset == debug ]]; then benchmarks=ON; fi
  [[ $preset == release ]] && only_check=$benchmarks
  part "$preset: build" build_for_tests "$preset" "-DINFEED_BUILD_BENCHMARKS=$benchmarks" \
    "-DINFEED_CHECK_BENCHMARKS=$only_check" || return
  if $with_builds && [[ $preset == release ]]; then
    part "public headers compile alone" build_targets release headers_compile_alone
  fi
  part "$preset: tests" run_ctest "$preset"
}

start=$SECONDS
group='test'
if $with_tidy || [[ " ${presets[*]} " == *san\ * ]]; then group=all; fi
part "Debian's packages" "$infeed_root/tools/install_packages.sh" "$group" || exit 1
if $with_checks; then
  part "checks of the sources" "$infeed_root/tests/static/check.py"
fi
if [[ " ${presets[*]} " == *" release "* ]]; then
  part "Python environment" make_python_environment
fi
for preset in "${presets[@]}"; do
  test_preset "$preset"
  if [[ $preset == debug ]] && $with_tidy && is_configured debug; then
    part "clang-tidy" "$infeed_root/tests/static/tidy.py" "$infeed_root/build/debug"
  fi
done

say "summary"
printf '    %s\n' "${summary[@]}"
if ((failures)); then
  printf '%s in %s: %s\n' "FAILED" "$(as_minutes $((SECONDS - start)))" "$failures of ${#summary[@]} parts failed; what they said is above"
  exit 1
fi
printf 'all passed in %s\n' "$(as_minutes $((SECONDS - start)))"
