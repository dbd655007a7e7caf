#!/usr/bin/env bash
# Tests of the Python package, in a Python environment that is made for them (build/python-venv).
#
#   tests/python/run.sh [--build FOLDER | --installed] [--long] [test_NAME.py...]
#
#   --build FOLDER   take the package from this build folder, as it is; without it the release preset is
#                    built first
#   --installed      take the package that INFEED_VENV has installed
#   --long           all frameworks (benchmarks/venv.sh installs them, 1 GB), more steps and elements, and the
#                    training scripts; PyTorch is used where INFEED_VENV has it
#   --help           this text
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../tools/shell_common.sh"

build='' installed=false environment=(--small) tests=()
while (($#)); do
  case $1 in
    --build)
      [[ -d ${2:-} ]] || die "there is no build folder '${2:-}'" 2
      build="$(cd "$2" && pwd -P)"
      shift
      ;;
    --installed) installed=true ;;
    --long)
      environment=()
      export INFEED_PYTHON_LONG=1
      ;;
    test_*.py) tests+=("$1") ;;
    *) die "unknown argument '$1' (see --help)" 2 ;;
  esac
  shift
done
folder="$infeed_root/tests/python"
((${#tests[@]})) || tests=("$folder"/test_*.py)

python="$("$infeed_root/benchmarks/venv.sh" "${environment[@]}")"
if ! $installed; then
  if [[ -z $build ]]; then
    "$infeed_root/tools/install_packages.sh"
    configure_preset release -DINFEED_PYTHON=ON "-DPython_EXECUTABLE=$python"
    build_targets release infeed_python || die "the build failed: what the compiler said is above"
    build="$infeed_root/build/release"
  fi
  [[ -d $build/tools/python/infeed ]] ||
    die "there is no Python package in $build: configure it with -DINFEED_PYTHON=ON and build infeed_python" 2
  export PYTHONPATH="$build/tools/python"
fi
export TF_CPP_MIN_LOG_LEVEL=2 PYTHONDONTWRITEBYTECODE=1
status=0
for test in "${tests[@]}"; do
  (cd "$folder" && "$python" "$(basename "$test")") || status=1
done
exit "$status"
