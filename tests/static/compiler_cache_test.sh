#!/usr/bin/env bash
# A changed comment in a precompiled header is built anew where ccache is used as the scripts set it.
# Compared after preprocessing, the two are the same to it: it gave the precompiled header of before,
# which `#pragma once` takes for another file, so that each declaration came twice.
set -euo pipefail
compiler=$1
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../tools/shell_common.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CCACHE_DIR=$folder/cache
unset CCACHE_DISABLE CCACHE_RECACHE CCACHE_READONLY
cd "$folder"
printf '#include "%s"\n' "$folder/block.h" >precompiled.h

build() {
  printf '#pragma once\n// %s\nstruct Block {};\n' "$1" >block.h
  printf '#include "%s"\nBlock %s;\n' "$folder/block.h" "$1" >"unit.cc"
  rm -f precompiled.h.gch
  ccache "$compiler" -x c++-header -MD -o precompiled.h.gch -c precompiled.h
  ccache "$compiler" -Winvalid-pch -include "$folder/precompiled.h" -MD -o unit.o -c unit.cc
}
build first
build second
build first
ccache --print-stats | grep -q '^direct_cache_hit[[:space:]]*2$' || die "ccache kept nothing: $(ccache -s)"
