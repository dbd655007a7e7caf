#!/usr/bin/env bash
# Makes the Python environment with the peers (TensorFlow, tensorboard, mlx-data, Grain, DALI), once, and prints
# the path of its python.
#
#   python="$(benchmarks/venv.sh)"
#
# It lies in build/venv and is made anew when requirements.txt changes; about 800 MB are downloaded.
# INFEED_VENV=FOLDER uses an environment that is there already.
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
exec 4>"$infeed_root/build/venv.lock"
flock 4 # a second caller waits and finds it ready
if ! cmp -s "$requirements" "$stamp"; then
  say "making the Python environment with the peers in $venv (once; about 800 MB to download)"
  log="$infeed_root/build/venv.log"
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
    die "could not install the peers that requirements.txt names: the reason is above, all of it in $log; check the network, then try again"
  fi
  cp "$requirements" "$stamp"
fi
echo "$venv/bin/python" >&3
