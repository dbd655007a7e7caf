#!/usr/bin/env bash
# Makes a Python environment, once, and prints the path of its python.
#
#   python="$(benchmarks/venv.sh)"            with the peers: TensorFlow, mlx-data, Grain, DALI, SPDL, JAX
#   python="$(benchmarks/venv.sh --small)"    what builds and tests the Python package: nanobind, NumPy, pyarrow
#
# They lie in build/venv and build/python-venv, and are made anew when their requirements change; about 1 GB
# and 100 MB are downloaded. INFEED_VENV=FOLDER uses an environment that is there already.
set -euo pipefail
# shellcheck source=tools/shell_common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tools/shell_common.sh"

# Everything but the path goes to the error stream, so that the caller can take the path.
exec 3>&1 1>&2

if [[ -n ${INFEED_VENV:-} ]]; then
  [[ -x $INFEED_VENV/bin/python ]] || die "INFEED_VENV is $INFEED_VENV, but there is no bin/python in it" 2
  echo "$INFEED_VENV/bin/python" >&3
  exit 0
fi

requirements="$infeed_root/benchmarks/requirements.txt"
venv="$infeed_root/build/venv"
size='1 GB'
if [[ ${1:-} == --small ]]; then
  requirements="$infeed_root/tests/python/requirements.txt"
  venv="$infeed_root/build/python-venv"
  size='100 MB'
fi
stamp="$venv/installed-requirements.txt"

if [[ -x $venv/bin/python ]] && cmp -s "$requirements" "$stamp"; then
  echo "$venv/bin/python" >&3
  exit 0
fi

# Debian's own Python: the pinned packages are built for it.
python=/usr/bin/python3
[[ -x $python ]] || python="$(command -v python3 || true)"
[[ -n $python ]] || die "there is no python3: install the packages python3 and python3-venv"

mkdir -p "$infeed_root/build"
exec 4>"$venv.lock"
flock 4 # a second caller waits and finds it ready
if ! cmp -s "$requirements" "$stamp"; then
  say "making a Python environment in $venv (once; about $size to download)"
  log="$venv.log"
  rm -rf "$venv"
  if ! "$python" -m venv "$venv" >"$log" 2>&1; then
    rm -rf "$venv"
    cat "$log" >&2
    die "could not make a Python environment with $python: install the package python3-venv (apt-get install python3-venv), then try again"
  fi
  "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --progress-bar off \
    --requirement "$requirements" >"$log" 2>&1 4>&- &
  installer=$!
  shown=$SECONDS
  while kill -0 "$installer" 2>/dev/null; do
    if ((SECONDS - shown >= 10)); then
      printf '    %s\n' "$(tail -n 1 "$log" | cut -c 1-100)"
      shown=$SECONDS
    fi
    sleep 0.3
  done
  if ! wait "$installer"; then
    tail -n 5 "$log" >&2
    die "could not install what $requirements names: the reason is above, all of it in $log; check the network, then try again"
  fi
  cp "$requirements" "$stamp"
fi
echo "$venv/bin/python" >&3
