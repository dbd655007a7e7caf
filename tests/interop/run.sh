#!/usr/bin/env bash
# Tests against the real TensorFlow, tensorboard, NumPy, pyarrow and others: they read what infeed writes, and the other way.
#
#   tests/interop/run.sh [--build FOLDER] [test_NAME.py...]
#
#   --build FOLDER   take the programs from this build folder as they are; without it the release
#                    preset is built first
#   --help           this text
#
# The first run installs TensorFlow into build/venv (shared with benchmarks/compare.sh).
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../tools/shell_common.sh"

build=''
tests=()
while (($#)); do
  case $1 in
    --build)
      [[ -d ${2:-} ]] || die "there is no build folder '${2:-}'" 2
      build="$(cd "$2" && pwd -P)"
      shift
      ;;
    test_*.py) tests+=("$1") ;;
    *) die "unknown argument '$1' (see --help)" 2 ;;
  esac
  shift
done
folder="$infeed_root/tests/interop"
((${#tests[@]})) || tests=("$folder"/test_*.py)

python="$("$infeed_root/benchmarks/venv.sh")"
if [[ -z $build ]]; then
  "$infeed_root/tools/install_packages.sh" test
  configure_preset release -DINFEED_BUILD_TESTS=ON
  build_targets release infeed_command interop_programs ||
    die "the build failed: what the compiler said is above"
  build="$infeed_root/build/release"
fi

export INFEED_PROGRAM="$build/tools/infeed" INFEED_INTEROP="$build/tests/interop/infeed_interop"
export INFEED_DRAWN_PIPELINES="$build/tests/interop/infeed_drawn_pipelines"
export INFEED_EVENTS="$build/tests/interop/infeed_events"
export INFEED_MESSAGES="$build/tests/interop/infeed_messages"
export INFEED_TEST_DESCRIPTOR_SET="$build/tests/messages/shop.pb"
export INFEED_PROFILES="$build/tests/interop/infeed_profiles"
export INFEED_TRAINING="$build/tests/interop/infeed_training"
export INFEED_COLUMNS_LIBRARY="$build/tests/interop/libinfeed_columns_library.so"
export INFEED_IMAGES_LIBRARY="$build/tests/interop/libinfeed_images_library.so"
export TF_CPP_MIN_LOG_LEVEL=2 PYTHONDONTWRITEBYTECODE=1
status=0
for test in "${tests[@]}"; do
  (cd "$folder" && "$python" "$(basename "$test")") || status=1
done
exit "$status"
