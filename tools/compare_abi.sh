#!/usr/bin/env bash
# Compares the libraries' symbols and types with those of an earlier commit by abidiff (Debian's
# abigail-tools), and prints what a program that was compiled with the earlier headers would trip over.
#
#   tools/compare_abi.sh COMMIT [LIBRARY...]   libraries: records pipeline device ... (default: all)
#
# Builds both with types (-g) in build/abi, which takes half an hour from nothing on two cores. Exit status 1
# if a symbol is gone or a type changed: that needs a new minor version before 1.0, and a major one behind it.
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/shell_common.sh"
(($#)) || die "which commit? see --help" 2
all=(records protobuf pipeline image describe world feed device)
libraries=("${@:2}")
((${#libraries[@]})) || libraries=("${all[@]}")
for library in "${libraries[@]}"; do
  [[ " ${all[*]} " == *" $library "* ]] || die "there is no library '$library': there are ${all[*]}" 2
done
command -v abidiff >/dev/null || die "abidiff is not installed; Debian's package is called abigail-tools"

cd "$infeed_root"
before="$(git rev-parse --verify -q "$1^{commit}")" || die "there is no commit '$1'" 2
work="$infeed_root/build/abi"
mkdir -p "$work"

# build NAME SOURCES: one shared object of all its libraries' objects, and a folder of its public headers.
build() {
  local name=$1 sources=$2 archives=()
  cmake -S "$sources" -B "$work/$name" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG='-O1 -g' \
    -DINFEED_BUILD_TESTS=OFF -DINFEED_BUILD_BENCHMARKS=OFF -DINFEED_BUILD_TOOLS=OFF -DINFEED_MPI=OFF >"$work/$name.log"
  cmake --build "$work/$name" --target "${libraries[@]/#/infeed_}" | show_ninja_progress
  for library in "${libraries[@]}"; do archives+=("$(find "$work/$name" -name "libinfeed_$library.a")"); done
  # Nothing is left to resolve for abidiff: the libraries below are not its matter.
  c++ -shared -o "$work/$name.so" -Wl,--whole-archive "${archives[@]}" -Wl,--no-whole-archive -Wl,--unresolved-symbols=ignore-all
  rm -rf "$work/$name.headers"
  mkdir "$work/$name.headers"
  find "$sources"/{records,pipeline,device} -path '*/include/infeed/*' -name '*.h' ! -path '*/detail/*' \
    -exec cp --backup=numbered -t "$work/$name.headers" {} +
}

say "the libraries of ${before:0:10}"
git worktree prune
[[ -d $work/sources ]] || git worktree add -q --detach "$work/sources" "$before"
git -C "$work/sources" checkout -q --detach "$before"
build before "$work/sources"
say "the libraries of this tree"
build now "$infeed_root"
say "what changed"
status=0
abidiff --headers-dir1 "$work/before.headers" --headers-dir2 "$work/now.headers" --drop-private-types --no-added-syms \
  "$work/before.so" "$work/now.so" >"$work/report.txt" || status=$?
((status & 3)) && die "abidiff failed: $work/report.txt" # its bit 2 is a change
head -40 "$work/report.txt"
((status == 0)) || die "not compatible with ${before:0:10}: $work/report.txt"
say "compatible with ${before:0:10}"
