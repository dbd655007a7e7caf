# shellcheck shell=bash
# What the scripts share: messages, progress and the build folder. Sourced, never run by itself.

infeed_root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"

if [[ -t 1 ]]; then
  bold=$'\e[1m' reset=$'\e[0m'
else
  bold='' reset=''
fi

say() { printf '%s\n' "${bold}==>${reset} $*"; }
complain() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }
die() {
  complain "$1"
  exit "${2:-1}"
}

# Whoever is asked for --help prints its comment, from the second line up to its `set`. A file that is
# sourced sees the arguments of its script.
for argument in "$@"; do
  if [[ $argument == --help || $argument == -h ]]; then
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
    exit 0
  fi
done

# require_known KNOWN ARGUMENT...: ends the script at an option that doesn't stand in the text, before
# anything is built.
require_known() {
  local known argument
  known="$(grep -oE -e '--[a-z][a-z-]*' <<<"$1")"
  shift
  for argument in "$@"; do
    [[ $argument != --?* ]] || grep -qxF -e "${argument%%=*}" <<<"$known" ||
      die "unknown option '${argument%%=*}': see --help" 2
  done
}

# check_options ARGUMENT...: does so at one that the script's comment doesn't list.
check_options() { require_known "$(sed -n '2,/^set/s/^#   \(--[a-z-]*\).*/\1/p' "$0")" "$@"; }

# check_ctest_options ARGUMENT...: does so at one that ctest doesn't have, if it is installed.
check_ctest_options() {
  if command -v ctest >/dev/null; then require_known "$(ctest --help)" "$@"; fi
}

as_minutes() { printf '%d:%02d min' $(($1 / 60)) $(($1 % 60)); }

# Reads what ninja prints. On a terminal its [done/total] lines become one line that counts up; in a
# log one line every ten seconds. All else (warnings, errors) passes through, and nothing at all is
# printed when there was nothing to build.
show_ninja_progress() {
  local line counter='' shown=$SECONDS
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      [[ $line == *globbed\ directories* ]] && continue
      counter="${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
      if [[ -t 1 ]]; then
        printf '\r\e[K    %s  %.60s' "$counter" "${line#*] }"
      elif ((SECONDS - shown >= 10)); then
        printf '    %s\n' "$counter"
        shown=$SECONDS
      fi
    elif [[ $line != 'ninja: no work to do.' && $line != 'ninja: Entering directory'* ]]; then
      [[ -t 1 && -n $counter ]] && printf '\r\e[K'
      printf '%s\n' "$line"
    fi
  done
  if [[ -n $counter ]]; then
    [[ -t 1 ]] && printf '\r\e[K'
    printf '    built (%s)\n' "$counter"
  fi
}

# Whether build/PRESET is configured, for this very checkout (not one that was moved or copied).
is_configured() {
  local folder="$infeed_root/build/$1"
  [[ -f $folder/build.ninja && -f $folder/CMakeCache.txt ]] &&
    grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$infeed_root" "$folder/CMakeCache.txt"
}

# Without the first ccache keeps nothing that is compiled with a precompiled header. With the second it
# compares the files that were included themselves, comments too: a precompiled header of the same code
# with another comment doesn't fit (tests/static/compiler_cache_test.sh). The third leaves aside what was
# kept without the second.
export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:-pch_defines,time_macros}"
export CCACHE_DEPEND=1 CCACHE_NAMESPACE=infeed-depend

# configure_preset PRESET [cmake options]: makes build/PRESET, quietly when it goes well. Eight sources
# a compilation: from nothing that takes half the time. The preset debug compiles each by itself,
# which shows a missing #include.
configure_preset() {
  local preset=$1 folder="$infeed_root/build/$1" log fresh=()
  shift
  mkdir -p "$folder" 2>/dev/null || true
  [[ -w $folder ]] ||
    die "cannot write to $folder: make it writable, or remove $infeed_root/build if somebody else built there"
  is_configured "$preset" || fresh=(--fresh)
  [[ $preset == debug ]] || set -- -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=8 "$@"
  if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER="${CMAKE_CXX_COMPILER_LAUNCHER:-ccache}"
  fi
  log="$folder/configure.log"
  if ! (cd "$infeed_root" && cmake --preset "$preset" "${fresh[@]}" "$@") >"$log" 2>&1; then
    cat "$log" >&2
    complain "CMake could not configure the preset $preset: its output is above, and in $log"
    return 1
  fi
}

# build_targets PRESET TARGET...
build_targets() {
  local preset=$1
  shift
  (
    set -o pipefail
    cmake --build "$infeed_root/build/$preset" --target "$@" 2>&1 | show_ninja_progress
  )
}

# build_benchmarks TARGET...: installs what is missing, and builds them in the release preset.
build_benchmarks() {
  "$infeed_root/tools/install_packages.sh" test
  if ! is_configured release ||
    grep -qx 'INFEED_BUILD_BENCHMARKS:BOOL=OFF' "$infeed_root/build/release/CMakeCache.txt"; then
    say "configuring in $infeed_root/build/release"
    configure_preset release -DINFEED_BUILD_BENCHMARKS=ON
  fi
  build_targets release "$@" || die "the build failed: what the compiler said is above"
}
