#!/bin/bash
# mpirun_convert_test.sh INFEED PLUGIN: ranks of mpirun convert one dataset to the bytes of one process, also when
# ranks are killed or stopped at drawn moments. INFEED_TEST_SEED draws others; with INFEED_TEST_KILLS=50 so many are
# killed, and as many stopped, which takes 6 s each.
set -u -o pipefail
export INFEED_MPI_PLUGIN=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
seed=${INFEED_TEST_SEED:-20261128}
kills=${INFEED_TEST_KILLS:-5}
stops=${INFEED_TEST_KILLS:-1}
RANDOM=$seed
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Tells its processes from those of other tests, which convert at the same time.
infeed=$work/infeed
ln -s "$(realpath "$1")" "$infeed"
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

# Prints the process of rank $2 of the job $1 in the background: it runs timeout, that mpirun, and that the ranks.
rank_pid() {
  local launcher pid
  launcher=$(pgrep -P "$(pgrep -P "$1" -x timeout)" -x mpirun) || return 0
  for pid in $(pgrep -P "$launcher" -f "$infeed convert"); do
    if grep -qzxF "OMPI_COMM_WORLD_RANK=$2" "/proc/$pid/environ" 2>/dev/null; then echo "$pid"; fi
  done
}

# strike SIGNAL JOB RANK: sends the signal; false if there is no such process (any more).
strike() {
  local pid
  pid=$(rank_pid "$2" "$3")
  [[ -n $pid ]] && kill "-$1" "$pid" 2>/dev/null
}

rm -rf out
round=0
while ((kills > 0)); do
  ((++round < 60 + 4 * kills)) || die "no kill met a running job"
  count=$((2 + RANDOM % 2))
  ranks "$count" &
  job=$!
  sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
  strike KILL "$job" "$((RANDOM % count))" && kills=$((kills - 1))
  if wait "$job"; then  # it was over before, or the job could do without
    same
    rm -rf out
  fi
done
ranks 3 || die "the next call after a kill"
same

# Stops rank 1 or 2 in the middle of its shards: the others make them.
for ((round = 0; stops > 0; ++round)); do
  ((round < 20 + 4 * stops)) || die "no stop met a running job"
  rm -rf out
  rank=$((1 + RANDOM % 2))
  ranks 3 &
  job=$!
  for ((i = 0; i < 500; ++i)); do
    compgen -G 'out/data-*.tfrecord.gz' >/dev/null && break
    sleep 0.01
  done
  sleep "0.0$((RANDOM % 10))"
  strike STOP "$job" "$rank"
  wait "$job"
  if grep -q "rank $rank is silent, so it must be ended" log; then
    grep -q "rank $rank has given no sign of life" log || die "the silent rank isn't named"
    stops=$((stops - 1))
  elif grep -q "rank $rank has not answered" log; then # before the first shard, or when all were made
    ranks 2 || die "the next call after a stop"
  fi
  same
done

# Rank 0 hands out the shards: without it the job ends, and the next call goes on.
if ((${INFEED_TEST_KILLS:-0} > 0)); then
  rm -rf out
  ranks 2 &
  job=$!
  for ((i = 0; i < 500; ++i)); do
    compgen -G 'out/data-*.tfrecord.gz' >/dev/null && break
    sleep 0.01
  done
  strike STOP "$job" 0
  if ! wait "$job"; then
    grep -Eq 'rank 0 has (given no sign of life|not answered)' log || die "the silent rank 0 isn't named"
    ranks 2 || die "the next call after a stop of rank 0"
  fi
  same
fi
for _ in {1..300}; do # a rank that was killed may take a moment to go
  [[ -z $(pgrep -f "^$infeed convert") ]] && break
  sleep 0.1
done
[[ -z $(pgrep -f "^$infeed convert") ]] || die "processes are left: $(pgrep -af "^$infeed convert")"
echo "passed"
