#!/usr/bin/env bash
# packages.sh: every Debian package that an error of CMake names is one that install_packages.sh installs.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
installed="$("$root/tools/install_packages.sh" --list test)"
named="$(sed -n 's/^set(infeed_debian_package_[^ ]* "\{0,1\}\([^")]*\)"\{0,1\})$/\1/p' \
  "$root/tools/cmake/infeedDependencies.cmake" | sed 's/ and /\n/g')"
[[ $(wc -l <<<"$named") -gt 10 ]] || { echo "infeedDependencies.cmake names hardly any packages: has its form changed?" && exit 1; }
status=0
while read -r package; do
  # What g++ brings along.
  [[ $package == libc6-dev ]] && continue
  grep -qxF "$package" <<<"$installed" && continue
  echo "tools/cmake/infeedDependencies.cmake names $package, which tools/install_packages.sh doesn't install"
  status=1
done <<<"$named"
exit $status
