#!/usr/bin/env bash
# mpirun_feed_test.sh INFEED PLUGIN: one rank takes batches that others make. They are the same at any number of workers.
# tests/ranks/campaign.py kills and stops ranks.
set -uo pipefail
export INFEED_MPI_PLUGIN=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
failures=0
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
infeed=$work/infeed # which tells its processes from those of others
ln -s "$(realpath "$1")" "$infeed"
cat >"$work/pipeline.json" <<'JSON'
{"stages": [
  {"stage": "range", "stop": 60000},
  {"stage": "shuffle", "buffer": 2000, "seed": 7},
  {"stage": "batch", "size": 50},
  {"stage": "prefetch"}], "step_us": 300}
JSON

failed() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# job WORKERS TAKE: sets `status`, `said` and `order`.
job() {
  said="$(timeout -k 5 60 mpirun --oversubscribe --mca mpi_yield_when_idle 1 \
    -n 1 "$infeed" feed --pipeline "$work/pipeline.json" --take "$2" --range-steps 4 --json "$work/taken.json" : \
    -n "$1" "$infeed" feed 2>&1)"
  status=$?
  order="$(grep -oE 'order [0-9a-f]{16}' <<<"$said")"
  echo "--- $1 workers, $2 batches: status $status"
  echo "$said"
}

job 1 100000
[[ $status == 0 && $said == *"1200 batches"* ]] || failed "one worker: status $status"
expected=$order
for workers in 2 3; do
  job "$workers" 100000
  [[ $status == 0 && $order == "$expected" ]] || failed "$workers workers: status $status, $order instead of $expected"
done

for _ in {1..300}; do # the last one may take a moment to go
  left="$(pgrep -f "^$infeed feed" || true)"
  [[ -z $left ]] && break
  sleep 0.1
done
[[ -z $left ]] || failed "processes are left: $left"
((failures == 0))
