#!/usr/bin/env bash
# Lets libFuzzer look for inputs that break the readers of files: clang++ with the address and
# undefined-behaviour sanitizers.
#
#   tests/fuzz/run.sh [--seconds N] [TARGET...]
#
#   --seconds N   time for each target (60; an hour is 3600)
#   TARGET        a name of a folder in tests/fuzz/corpus (all of them)
#   --help        this text
#
# An input takes at most 5 s and 512 MB. What it learns stays in build/fuzz/corpus, so that the next run
# goes on from there. An input that breaks
# something is kept in build/fuzz/findings, with the command that repeats it. Exit status 1 if there is any.
set -uo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../tools/shell_common.sh"

# As in tests/run.sh: sanitizers need room at fixed addresses.
if [[ -z ${INFEED_FIXED_ADDRESSES:-} ]] && setarch --addr-no-randomize true 2>/dev/null; then
  INFEED_FIXED_ADDRESSES=1 exec setarch --addr-no-randomize "${BASH_SOURCE[0]}" "$@"
fi

fuzz_root="$infeed_root/tests/fuzz"
build="$infeed_root/build/fuzz"
seconds=60
targets=()
while (($#)); do
  case $1 in
    --seconds)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || die "--seconds needs a number, not '${2:-}'" 2
      seconds=$2
      shift
      ;;
    *)
      [[ -d $fuzz_root/corpus/$1 ]] || die "unknown target '$1': they are the folders in $fuzz_root/corpus" 2
      targets+=("$1")
      ;;
  esac
  shift
done
if ! ((${#targets[@]})); then
  for folder in "$fuzz_root"/corpus/*/; do targets+=("$(basename "$folder")"); done
fi

"$infeed_root/tools/install_packages.sh" all || exit 1
say "building in $build"
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER="${CMAKE_CXX_COMPILER_LAUNCHER:-ccache}"; fi
mkdir -p "$build/findings"
(cd "$infeed_root" && cmake --preset asan -B "$build" -DINFEED_BUILD_FUZZERS=ON -DINFEED_BUILD_TESTS=ON \
  -DINFEED_BUILD_BENCHMARKS=OFF -DINFEED_BUILD_TOOLS=ON \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=8) >"$build/configure.log" 2>&1 ||
  { cat "$build/configure.log" >&2; die "CMake could not configure $build"; }
build_targets fuzz "${targets[@]/#/infeed_fuzz_}" || die "the targets could not be built"

failed=()
for target in "${targets[@]}"; do
  say "$target: $seconds s"
  learnt="$build/corpus/$target"
  mkdir -p "$learnt"
  "$build/tests/fuzz/infeed_fuzz_$target" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=512 -max_len=32768 \
    -print_final_stats=1 -verbosity=0 -artifact_prefix="$build/findings/$target-" \
    "$learnt" "$fuzz_root/corpus/$target" >"$build/$target.log" 2>&1 || failed+=("$target")
  grep -E 'number_of_executed_units|Test unit written|does not hold|ERROR|SUMMARY' "$build/$target.log" | sed 's/^/    /'
done
if ((${#failed[@]})); then
  for target in "${failed[@]}"; do
    complain "$target: the log is $build/$target.log; to repeat: $build/tests/fuzz/infeed_fuzz_$target $build/findings/$target-..."
  done
  exit 1
fi
printf 'no findings in %s s for each of: %s\n' "$seconds" "${targets[*]}"
