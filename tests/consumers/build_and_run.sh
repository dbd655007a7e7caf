#!/usr/bin/env bash
# build_and_run.sh SOURCE_FOLDER BUILD_FOLDER [cmake options]: builds an outside project from nothing
# and runs all of its programs named consumer*. CMake runs it: see CMakeLists.txt.
set -euo pipefail
source_folder=$1 build_folder=$2
shift 2

rm -rf "$build_folder"
cmake -S "$source_folder" -B "$build_folder" -G Ninja "$@"
cmake --build "$build_folder"
count=0
for program in "$build_folder"/consumer*; do
  [[ -f $program && -x $program ]] || continue
  echo "running $(basename "$program")"
  "$program"
  count=$((count + 1))
done
((count > 0)) || { echo "the project built no program named consumer*" && exit 1; }
