#!/usr/bin/env bash
# The main job on a machine with nothing installed: installs what is missing from Debian's packages,
# builds infeed and runs `infeed train`: Fashion-MNIST becomes record shards, a pipeline feeds a
# simulated TPU v3-8, each trick shows its gain, and the classifier learns.
#
#   tools/quickstart.sh [--short] [--json FILE] [more options of infeed train]
#
#   --short       a few minutes less: each pipeline runs for a shorter time
#   --json FILE   also writes the results as JSON
#   --help        this text; the options of the job itself: tools/quickstart.sh --help-train
#
# Needs root or sudo the first time only. Works from any folder and may be repeated.
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/shell_common.sh"

if [[ ${1:-} == --help-train ]]; then set -- --help; fi
require_known "--help $(grep -o '"--[a-z-]*"' "$infeed_root/tools/train/train_command.cc")" "$@"

"$infeed_root/tools/install_packages.sh" run

folder="$infeed_root/build/release"
# A folder that is configured already (with the tests, perhaps) stays as it is: ninja runs CMake again
# when it must. A new one leaves out what this job doesn't need.
if ! is_configured release; then
  say "configuring in $folder"
  configure_preset release -DINFEED_BUILD_TESTS=OFF -DINFEED_BUILD_BENCHMARKS=OFF
fi
build_targets release tools/infeed || die "the build failed: what the compiler said is above"

exec "$folder/tools/infeed" train "$@"
