#!/bin/bash
# mpirun_convert_test.sh INFEED PLUGIN: ranks of mpirun convert one dataset to the bytes of one process, also after
# ranks were killed or stopped at drawn moments. INFEED_TEST_SEED draws others, INFEED_TEST_KILLS more.
set -u -o pipefail
infeed=$1
export INFEED_MPI_PLUGIN=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
seed=${INFEED_TEST_SEED:-20261128}
kills=${INFEED_TEST_KILLS:-5}
RANDOM=$seed
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

die() {
  echo "FAILED (INFEED_TEST_SEED=$seed): $*" >&2
  [[ -f log ]] && sed 's/^/  /' log >&2
  exit 1
}

# ranks N WORDS...: mpirun with N ranks, which write into log; returns its status
ranks() {
  local count=$1
  shift
  timeout -k 5 100 mpirun --oversubscribe --mca mpi_yield_when_idle 1 -n "$count" \
    "$infeed" convert table.csv -o out --shards 24 --seed 3 --compression gzip --threads 1 "$@" >log 2>&1
}

same() { diff -r whole out >diffs || die "other bytes: $(head -3 diffs)"; }

awk 'BEGIN { print "id,price,note"; for (i = 0; i < 60000; ++i) printf "%d,%d.25,note %d\n", i, i * 7 % 1000, i % 97 }' >table.csv
"$infeed" convert table.csv -o whole --shards 24 --seed 3 --compression gzip >log || die "one process"

for count in 2 3; do
  rm -rf out
  ranks "$count" || die "$count ranks"
  same
done
[[ $(grep -c 'data: 60000 rows .* in 24 shards' log) == 1 ]] || die "not one report"
ranks 2 || die "complete already"
grep -q 'complete already' log || die "it is complete"

# Prints the ranks' processes of the job $1 in the background: it runs timeout, that mpirun, and that the ranks.
rank_pids() {
  local launcher
  launcher=$(pgrep -P "$(pgrep -P "$1" -x timeout)" -x mpirun) || return 0
  pgrep -P "$launcher" -f "$infeed convert" || true
}

rm -rf out
round=0
while ((kills > 0)); do
  ((++round < 60)) || die "no kill met a running job"
  count=$((2 + RANDOM % 2))
  ranks "$count" &
  job=$!
  sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
  mapfile -t pids < <(rank_pids "$job")
  if ((${#pids[@]} > 0)); then
    kill -KILL "${pids[RANDOM % ${#pids[@]}]}" 2>/dev/null && kills=$((kills - 1))
  fi
  if wait "$job"; then  # it was over before, or the job could do without
    same
    rm -rf out
  fi
done
ranks 3 || die "the next call after a kill"
same

stopped=false
for ((round = 0; round < 20; ++round)); do
  rm -rf out
  ranks 3 &
  job=$!
  for ((i = 0; i < 500; ++i)); do
    [[ -f out/data-00001-of-00024.tfrecord.gz ]] && break
    sleep 0.01
  done
  mapfile -t pids < <(rank_pids "$job")
  ((${#pids[@]} == 3)) && kill -STOP "${pids[1]}" 2>/dev/null
  if ! wait "$job"; then
    stopped=true
    break
  fi
  same # it was over before
done
$stopped || die "no stop met a running job"
grep -Eq 'rank 1 has (given no sign of life|not answered)' log || die "the silent rank isn't named"
ranks 2 || die "the next call after a stop"
same
echo "passed"
