#!/usr/bin/env bash
# install_and_build.sh INFEED_BUILD_FOLDER SOURCE_FOLDER WORK_FOLDER [cmake options]: installs infeed's
# libraries into WORK_FOLDER/prefix and builds an outside project that finds them there.
set -euo pipefail
infeed_build=$1 source_folder=$2 work=$3
shift 3

rm -rf "$work"
cmake --install "$infeed_build" --prefix "$work/before" --component infeed_development
# Elsewhere than where it was installed: a package may be moved.
mv "$work/before" "$work/prefix"
if grep -rlF -e "$infeed_build" -e "$work/before" "$work/prefix" --include='*.cmake'; then
  echo "the files above name folders of the build"
  exit 1
fi
exec "$(dirname "${BASH_SOURCE[0]}")/build_and_run.sh" "$source_folder" "$work/build" \
  -DCMAKE_PREFIX_PATH="$work/prefix" "$@"
