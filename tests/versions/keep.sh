#!/usr/bin/env bash
# Keeps the files that this version writes for the tests of all later ones (KeptFiles in
# tests/tools/versions): run it when a version is about to be released, and commit the new folder.
#
#   tests/versions/keep.sh [--build FOLDER]   writes tests/versions/MAJOR.MINOR, which must not exist
#
#   --build FOLDER   where the tests are built (default: build/release)
#
# A folder that is there is never written again: it is what people have on their disks.
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../tools/shell_common.sh"

build="$infeed_root/build/release"
while (($#)); do
  case $1 in
    --build)
      (($# > 1)) || die "$1 needs a value: see --help" 2
      build=$2
      shift
      ;;
    *) die "unknown option '$1': see --help" 2 ;;
  esac
  shift
done

version="$(sed -n 's/^project(infeed VERSION \([0-9]*\.[0-9]*\)\..*/\1/p' "$infeed_root/CMakeLists.txt")"
folder="$infeed_root/tests/versions/$version"
[[ ! -e $folder ]] || die "$folder is there already; what a version wrote stays as it is"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
tests="$(find "$build" -name infeed_tools_tests -type f | head -1)"
[[ -n $tests ]] || die "there is no infeed_tools_tests in $build: build it first"
mkdir "$work/kept"
INFEED_KEEP_FILES_IN="$work/kept" "$tests" --gtest_filter=KeptFiles.OfThisVersionAreWrittenAndRead
find "$work/kept" -name lock -empty -delete
mv "$work/kept" "$folder"
echo "written: $folder"
