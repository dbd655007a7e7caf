#!/usr/bin/env bash
# mpirun_feed_test.sh INFEED PLUGIN [ROUNDS]: one rank takes batches that others make. They are the same at any number of
# workers. In ROUNDS rounds, by hand, a worker is stopped (SIGSTOP), which changes nothing but is named, and killed, which
# ends the job: by hand, since a worker that is stopped while MPI begins or ends stops all ranks, and the time limit
# here. Feed.EachBatchComesOnceThoughAWorkerDiesOrIsSilentTwiceOrLate tests the same without MPI.
set -uo pipefail
infeed=$1
export INFEED_MPI_PLUGIN=$2
rounds=${3:-0}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
failures=0
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
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

# worker NUMBER: the process of a worker of the job that runs.
worker() {
  pgrep -f "^$infeed feed\$" | sed -n "$1p"
}

# during COMMAND...: runs it once the job's workers are there.
during() {
  for _ in {1..200}; do
    [[ -n "$(worker 2)" ]] && break
    read -rt 0.05 <> <(:) || true
  done
  read -rt "0.$((RANDOM % 9))" <> <(:) || true
  "$@"
}

job 1 100000
[[ $status == 0 && $said == *"1200 batches"* ]] || failed "one worker: status $status"
expected=$order
for workers in 2 3; do
  job "$workers" 100000
  [[ $status == 0 && $order == "$expected" ]] || failed "$workers workers: status $status, $order instead of $expected"
done

stop_worker() { kill -STOP "$(worker 1)"; }
kill_worker() { kill -KILL "$(worker 1)"; }
for ((round = 0; round < rounds; ++round)); do
  during stop_worker &
  job 2 100000
  wait
  [[ $status != 0 && $status != 124 && $said == *"is silent, so it must be ended"* ]] ||
    failed "a stopped worker: status $status"
  [[ $order == "$expected" ]] || failed "a stopped worker: $order instead of $expected"
  [[ $said == *"given to others"* && $said == *"is silent"* ]] || failed "the stopped worker isn't named"

  during kill_worker &
  job 2 100000
  wait
  [[ $status != 0 && $status != 124 && $said == *"signal 9"* ]] || failed "a killed worker: status $status"
done

left="$(pgrep -f "^$infeed feed" || true)"
[[ -z $left ]] || failed "processes are left: $left"
((failures == 0))
