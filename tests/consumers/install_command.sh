#!/usr/bin/env bash
# install_command.sh INFEED_BUILD_FOLDER WORK_FOLDER: the installed command runs where it was moved to,
# has its manual page, and is all that its component installs.
set -euo pipefail
infeed_build=$1 work=$2

fail() {
  echo "$*"
  exit 1
}

rm -rf "$work"
cmake --install "$infeed_build" --prefix "$work/before" --component infeed_runtime >/dev/null
mv "$work/before" "$work/prefix"
# The plug-in for mpirun is there where the build found MPI.
found="$(cd "$work/prefix" && find . -type f ! -name libinfeed_mpi.so | sort)"
[[ $found == $'./bin/infeed\n./share/man/man1/infeed.1' ]] || fail "the component infeed_runtime installs: $found"

export PATH="$work/prefix/bin:$PATH"
cd "$work"
[[ $(command -v infeed) == "$work/prefix/bin/infeed" ]] || fail "infeed is not found on the PATH"
version="$(infeed --version)"
[[ $version == 'infeed '[0-9]* ]] || fail "infeed --version printed: $version"
readelf -d prefix/bin/infeed | grep -E 'R(UN)?PATH' && fail "the installed program looks for libraries in a folder of the build"
printf 'a,b\n1,2\n' >table.csv
infeed convert table.csv -o shards --shards 1 >/dev/null || fail "the installed command converts nothing"
infeed verify shards >/dev/null || fail "the installed command verifies nothing"

page=prefix/share/man/man1/infeed.1
cmp "$page" <(infeed help --man) || fail "the manual page is not what the program says"
if command -v groff >/dev/null; then
  warnings="$(groff -man -ww -z "$page" 2>&1)"
  [[ -z $warnings ]] || fail "groff says of the manual page: $warnings"
fi
