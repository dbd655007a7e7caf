#!/usr/bin/env bash
# Releases the version that this tree names: checks it, tags it, and makes what people install.
#
#   tools/release.sh [--tag] [--output FOLDER]
#
#   --tag             makes the tag vMAJOR.MINOR.PATCH; without it, only says what would be done
#   --output FOLDER   for the source distribution and the Debian packages (default: build/release-VERSION)
#
# The tree must be clean. CMakeLists.txt, pyproject.toml and the first heading of CHANGELOG.md must name one
# version, whose files tests/versions keeps (tests/versions/keep.sh). Run before it: INFEED_CI_FULL=1 .ci/run,
# and tools/compare_abi.sh with the last tag. Nothing is pushed or uploaded.
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/shell_common.sh"

tag=false
output=''
while (($#)); do
  case $1 in
    --tag) tag=true ;;
    --output)
      (($# > 1)) || die "$1 needs a folder: see --help" 2
      output="$(realpath -m "$2")"
      shift
      ;;
    *) die "unknown option '$1': see --help" 2 ;;
  esac
  shift
done
cd "$infeed_root"

version="$(sed -n 's/^project(infeed VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)"
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || die "CMakeLists.txt names '$version', which is no MAJOR.MINOR.PATCH"
of_python="$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)"
[[ $of_python == "$version" ]] || die "pyproject.toml names $of_python, but CMakeLists.txt $version: make them one"
of_changes="$(sed -n 's/^## \([0-9.]*\).*/\1/p' CHANGELOG.md | head -1)"
[[ $of_changes == "$version" ]] || die "CHANGELOG.md begins with $of_changes, but CMakeLists.txt names $version: make them one"
[[ -d tests/versions/${version%.*} ]] || die "tests/versions/${version%.*} is not there: tests/versions/keep.sh writes it"
changed="$(git status --porcelain)"
[[ -z $changed ]] || die "the tree has changes that are not committed: $(head -3 <<<"$changed" | tr '\n' ' ')"
! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || die "the tag v$version is there already: raise the version"
if ! $tag; then
  say "ready: tag v$version at $(git rev-parse --short HEAD), source distribution and Debian packages; --tag does it"
  exit 0
fi

output="${output:-$infeed_root/build/release-$version}"
mkdir -p "$output"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
git clone -q "$infeed_root" "$work/clone" # what is committed, and nothing else

say "the source distribution"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q build
"$work/venv/bin/python" -m build --sdist --outdir "$output" "$work/clone" >"$work/log" 2>&1 ||
  { tail -5 "$work/log" >&2; die "the source distribution failed"; }

say "the Debian packages"
cmake -S "$work/clone" -B "$work/build" --preset install -DCMAKE_INSTALL_PREFIX=/usr \
  -DINFEED_INSTALL_ZSHDIR=share/zsh/vendor-completions >"$work/log" || die "CMake failed: $(tail -3 "$work/log")"
cmake --build "$work/build" | show_ninja_progress
cpack --config "$work/build/CPackConfig.cmake" -B "$output" >"$work/log" 2>&1 || die "cpack failed: $(tail -3 "$work/log")"
rm -rf "$output/_CPack_Packages"
tests/consumers/debian_packages.sh "$work/build" "$work/unpacked" "$output"/*.deb || die "the packages are not as they should be"

git tag -a "v$version" -m "infeed $version"
say "tagged v$version; in $output:"
ls -sh "$output"
