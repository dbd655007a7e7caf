#!/usr/bin/env bash
# unreachable_header.sh COMPILER HEADER LOWER_INCLUDE_FOLDERS HIGHER_INCLUDE_FOLDERS
#
# Passes if HEADER compiles with the higher module's include folders (lists with ;) and is not found
# with the lower one's. CMake runs it: see CMakeLists.txt.
set -euo pipefail
compiler=$1 header=$2

compiles_with() { # its include folders
  local folder options=()
  while IFS= read -r -d ';' folder; do
    [[ -z $folder ]] || options+=("-I$folder")
  done <<<"$1;"
  "$compiler" -std=c++20 -fsyntax-only "${options[@]}" -x c++ - <<<"#include <$header>" 2>&1
}

if ! said="$(compiles_with "$4")"; then
  echo "$header does not even compile where it should; was it renamed? $said"
  exit 1
fi
if said="$(compiles_with "$3")"; then
  echo "$header can be included by a lower module"
  exit 1
fi
grep -qE "No such file|file not found" <<<"$said" || {
  echo "$header failed for another reason than being out of reach: $said"
  exit 1
}
