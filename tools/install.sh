#!/usr/bin/env bash
# Installs the infeed command, the libraries and their headers, from nothing on a Debian 12 machine.
#
#   tools/install.sh [--built FOLDER] [PREFIX]
#
#   PREFIX           where to install (default: $HOME/infeed)
#   --built FOLDER   installs what was built in FOLDER instead of building it in build/install
#   --help           this text
#
# Installs missing Debian packages first, which needs root or sudo. Works from any folder and may be
# repeated. Exit status 1 when something failed, 2 for wrong usage.
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/shell_common.sh"

built=''
prefix=''
while (($#)); do
  case $1 in
    --built)
      (($# > 1)) || die "--built needs a folder: see --help" 2
      built=$2
      shift
      ;;
    -*) die "unknown option '$1': see --help" 2 ;;
    *)
      [[ -z $prefix ]] || die "'$1' is a second folder to install into, after '$prefix': give one" 2
      prefix=$1
      ;;
  esac
  shift
done
prefix="${prefix:-$HOME/infeed}"

"$infeed_root/tools/install_packages.sh" run
if [[ -z $built ]]; then
  built="$infeed_root/build/install"
  if ! is_configured install; then
    say "configuring in $built"
    configure_preset install
  fi
  build_targets install all || die "the build failed: what the compiler said is above"
fi
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
if ! cmake --install "$built" --prefix "$prefix" >"$log" 2>&1; then
  tail -5 "$log" >&2
  die "could not install into $prefix: CMake's last lines are above"
fi
say "installed in $prefix; the command is $prefix/bin/infeed"
