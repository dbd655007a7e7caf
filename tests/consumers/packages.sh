#!/usr/bin/env bash
# packages.sh WORK_FOLDER: who configures infeed without what it is built from reads which packages have
# it, and they are those that install_packages.sh installs. A project's own protobuf is taken. tools/README.md
# names each component and each option of the build.
set -euo pipefail
work=$1
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
failures=0

failed() {
  echo "$*"
  failures=$((failures + 1))
}

installed="$("$root/tools/install_packages.sh" --list test)"
named="$(sed -n 's/^set(infeed_debian_package_[^ ]* "\{0,1\}\([^")]*\)"\{0,1\})$/\1/p' \
  "$root/tools/cmake/infeedDependencies.cmake" | sed 's/ and /\n/g')"
[[ $(wc -l <<<"$named") -gt 10 ]] || failed "infeedDependencies.cmake names hardly any packages: has its form changed?"
while read -r package; do
  # What g++ brings along.
  [[ $package == libc6-dev ]] && continue
  grep -qxF "$package" <<<"$installed" ||
    failed "tools/cmake/infeedDependencies.cmake names $package, which tools/install_packages.sh doesn't install"
done <<<"$named"

# refused TEXT [cmake options]: infeed isn't configured, and CMake says so in one sentence.
refused() {
  local text=$1 said
  shift
  rm -rf "$work"
  if said="$(cmake -S "$root" -B "$work" -G Ninja -DCMAKE_CXX_COMPILER_WORKS=TRUE "$@" 2>&1)"; then
    failed "infeed was configured with $*; expected: $text"
    return
  fi
  [[ $(tr -s ' \n' '  ' <<<"$said") == *"$text"* ]] || failed "with $* CMake does not say: $text"$'\n'"but: $said"
}

refused "what infeed is built from is missing here: TBB (Debian package libtbb-dev); tools/install_packages.sh installs it on Debian Call Stack" \
  -DCMAKE_DISABLE_FIND_PACKAGE_TBB=TRUE
refused "Protobuf (Debian package libprotobuf-dev), Protoc (Debian package protobuf-compiler); tools/install_packages.sh installs it on Debian Call Stack" \
  -DCMAKE_DISABLE_FIND_PACKAGE_Protobuf=TRUE
refused "CURL 7.85 or newer (Debian package libcurl4-openssl-dev), OpenSSL 3 or newer (Debian package libssl-dev); tools/install_packages.sh installs it on Debian, and -DINFEED_REMOTE=OFF builds without it" \
  -DCMAKE_DISABLE_FIND_PACKAGE_CURL=TRUE -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=TRUE
refused "GTest (Debian package libgtest-dev and libgmock-dev); tools/install_packages.sh test installs it on Debian, and -DINFEED_BUILD_TESTS=OFF builds without it" \
  -DCMAKE_DISABLE_FIND_PACKAGE_GTest=TRUE
refused "the Python package needs Python 3.10 or newer with its headers (Debian package python3-dev); tools/install_packages.sh python installs it on Debian" \
  -DINFEED_PYTHON=ON -DINFEED_BUILD_TESTS=OFF -DCMAKE_DISABLE_FIND_PACKAGE_Python=TRUE
grep -qxF python3-dev <<<"$("$root/tools/install_packages.sh" --list python)" ||
  failed "tools/install_packages.sh python doesn't install python3-dev, which tools/python/CMakeLists.txt names"

# A project that builds protobuf itself: the system's isn't looked for.
mkdir -p "$work/parent"
cat >"$work/parent/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(parent CXX)
add_library(protobuf::libprotobuf INTERFACE IMPORTED GLOBAL)
add_executable(protobuf::protoc IMPORTED GLOBAL)
set_target_properties(protobuf::protoc PROPERTIES IMPORTED_LOCATION /bin/false)
add_subdirectory(${INFEED_SOURCE_FOLDER} infeed)
END
said="$(cmake -S "$work/parent" -B "$work/parent/build" -G Ninja -DCMAKE_CXX_COMPILER_WORKS=TRUE \
  -DINFEED_SOURCE_FOLDER="$root" -DCMAKE_DISABLE_FIND_PACKAGE_Protobuf=TRUE 2>&1)" ||
  failed "a project with a protobuf of its own can't embed infeed: $said"

# The page that names components and options names all of them.
page="$root/tools/README.md"
components="$(sed -n 's/^set(infeed_components \(.*\))$/\1/p' "$root/tools/cmake/infeedConfig.cmake.in")"
options="$(sed -nE 's/^(option|set)\((INFEED_[A-Z_]+) .*/\2/p' "$root/CMakeLists.txt")"
[[ $(wc -w <<<"$components $options") -gt 15 ]] || failed "hardly any components or options are found: has their form changed?"
for name in $components $options; do
  grep -qE "^\|.*\`$name\`" "$page" || failed "tools/README.md has no row of the component or option '$name'"
done

((failures == 0))
