#!/usr/bin/env bash
# Makes the reference of the public headers with Doxygen (Debian's doxygen): build/reference/index.html.
#
#   tools/reference.sh [--check]
#
#   --check   writes nothing. Exit status 1 if Doxygen has a warning of a header's comment
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/shell_common.sh"

more='GENERATE_HTML = YES'
case ${1:-} in
  '') ;;
  --check) more=$'GENERATE_HTML = NO\nGENERATE_XML = YES\nXML_OUTPUT = .' ;;
  --help | -h) print_help && exit 0 ;;
  *) die "unknown option '$1': see --help" 2 ;;
esac
command -v doxygen >/dev/null || die "doxygen is not installed; Debian's package is called doxygen"

cd "$infeed_root"
output=build/reference
if [[ ${1:-} == --check ]]; then
  output="$(mktemp -d)" # a comment is only looked at where something is written
  trap 'rm -rf "$output"' EXIT
fi
mkdir -p "$output"
headers="$(find records pipeline device tools/convert -type d -name include -printf '%p ')"
{
  cat tools/Doxyfile
  printf 'INPUT = %s\nSTRIP_FROM_PATH = %s\nOUTPUT_DIRECTORY = %s\n%s\n' "$headers" "$headers" "$output" "$more"
} | doxygen - || die "Doxygen has warnings, above: mend the comments"
[[ ${1:-} == --check ]] || say "the reference: $infeed_root/$output/index.html"
