#!/usr/bin/env bash
# Makes the reference with Doxygen (Debian's doxygen): build/reference/index.html. It has the README and the rooms'
# pages with their pictures, the public headers, and the Python package.
#
#   tools/reference.sh [--check] [--package FOLDER]
#
#   --package   the Python package, where it is built or installed, as build/release/tools/python/infeed, which is
#               taken if it is there. Without any the reference has no pages of Python
#   --check     writes nothing. Exit status 1 if Doxygen has a warning of a comment or a page, or if something that
#               the Python package offers has no docstring
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/shell_common.sh"

check=false package="$infeed_root/build/release/tools/python/infeed"
[[ -f $package/__init__.pyi ]] || package=''
while (($#)); do
  case $1 in
    --check) check=true ;;
    --package)
      package="${2:-}"
      [[ -f $package/__init__.pyi ]] || die "there is no Python package in '$package': it has no __init__.pyi" 2
      shift
      ;;
    *) die "unknown option '$1': see --help" 2 ;;
  esac
  shift
done
command -v doxygen >/dev/null || die "doxygen is not installed; Debian's package is called doxygen"

cd "$infeed_root"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
tools/reference/pages.py "$work/pages"
if [[ -n $package ]]; then
  tools/reference/python_pages.py "$package" "$work/pages" || die "write the docstrings that are missing, above"
fi
output=build/reference more='GENERATE_HTML = YES'
if $check; then
  # A comment is only looked at where something is written.
  output="$work" more=$'GENERATE_HTML = NO\nGENERATE_XML = YES\nXML_OUTPUT = xml'
else
  rm -rf "$output" # pages of what is gone
  mkdir -p "$output"
fi
headers="$(find records pipeline device tools/convert -type d -name include -printf '%p ')"
{
  cat tools/reference/Doxyfile
  printf 'INPUT = %s\nSTRIP_FROM_PATH = %s\nOUTPUT_DIRECTORY = %s\n%s\n' \
    "$work/pages $headers" "$work/pages $headers" "$output" "$more"
  printf 'USE_MDFILE_AS_MAINPAGE = %s\nHTML_EXTRA_FILES = %s\n' "$work/pages/index.md" "$(echo benchmarks/pictures/*.[ps][nv]g)"
} | doxygen - || die "Doxygen has warnings, above: mend the comments"
$check && exit
[[ -n $package ]] || say "without the Python package: build it (-DINFEED_PYTHON=ON), or name it by --package"
say "the reference: $infeed_root/$output/index.html"
