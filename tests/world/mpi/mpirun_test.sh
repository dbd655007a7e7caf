#!/usr/bin/env bash
# mpirun_test.sh RANKS_PROGRAM PLUGIN STOPPING_PLUGIN: runs the program with mpirun and reads what its ranks say.
set -uo pipefail
program=$1
export INFEED_MPI_PLUGIN=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
failures=0

failed() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# job SECONDS RANKS CASE...: sets `status` and `said`.
job() {
  local seconds=$1 ranks=$2
  shift 2
  said="$(timeout -k 5 "$seconds" mpirun --oversubscribe --mca mpi_yield_when_idle 1 -n "$ranks" "$program" "$@" 2>&1)"
  status=$?
  echo "--- $ranks ranks, $*: status $status"
  echo "$said"
}

# says TEXT: the ranks have said it.
says() {
  [[ $said == *"$1"* ]] || failed "no rank says: $1"
}

for ranks in 1 2 4; do
  job 60 "$ranks" collectives
  [[ $status == 0 ]] || failed "$ranks ranks: status $status"
  [[ $(grep -c 'is done' <<<"$said") == "$ranks" ]] || failed "not all of $ranks ranks are done"
done

job 60 4 slow 500
[[ $status == 0 ]] || failed "a slow rank is taken for a dead one"

for ranks in 2 4; do
  last=$((ranks - 1))
  job 30 "$ranks" stopped
  [[ $status != 0 && $status != 124 ]] || failed "a stopped rank: status $status"
  says "rank $last has not answered for"
  says "in 'step 20'"
  says "ends the job: rank $last has not answered"
  seconds="$(sed -n 's/^rank [0-9]* after \([0-9.]*\) s:.*/\1/p' <<<"$said" | sort -n | tail -1)"
  awk -v s="${seconds:-99}" 'BEGIN { exit !(s < 5) }' || failed "a stopped rank was named after $seconds s; 5 are allowed"

  job 30 "$ranks" killed
  [[ $status != 0 && $status != 124 ]] || failed "a killed rank: status $status"
  says "signal 9"

  job 30 "$ranks" throws
  [[ $status != 0 && $status != 124 ]] || failed "a rank that throws: status $status"
  says "rank $last has left the job because of an error"
done

# A rank that is stopped before MPI has begun, or once nobody answers questions any more.
export INFEED_TEST_PLUGIN=$INFEED_MPI_PLUGIN INFEED_MPI_START_SECONDS=1
for part in start end; do
  [[ $part == end ]] && INFEED_MPI_START_SECONDS=3 # the start must not be taken for it
  said="$(INFEED_MPI_PLUGIN=$3 INFEED_TEST_STOP_IN=$part timeout -k 5 30 mpirun --oversubscribe \
    --mca mpi_yield_when_idle 1 -n 3 "$program" collectives 2>&1)"
  status=$?
  echo "--- 3 ranks, stopped in the $part of MPI: status $status"
  echo "$said"
  [[ $status != 0 && $status != 124 ]] || failed "a rank that is stopped in the $part of MPI: status $status"
  says "ends the job: the $part of MPI, to which all ranks must come, has taken $INFEED_MPI_START_SECONDS"
  grep -Eq 'rank 1 \(process [0-9]+\) of this host is stopped' <<<"$said" || failed "the stopped rank isn't named"
done
said="$(INFEED_MPI_START_SECONDS=soon "$program" collectives 2>&1)" && failed "a limit that is no number is no error"
says "INFEED_MPI_START_SECONDS is 'soon'"
unset INFEED_MPI_START_SECONDS

job 30 2 late 500 1000
[[ $status != 0 && $status != 124 ]] || failed "a rank that never comes: status $status"
says "rank 1 lives, but has not made its first call and has not come"

job 30 4 differs
[[ $status != 0 && $status != 124 ]] || failed "ranks that differ: status $status"
says "the ranks differ in 'seed': rank 3 has '43', rank 0 has '42'"

# Without mpirun, and with another launcher's variables.
said="$(INFEED_MPI_PLUGIN=/nowhere/libinfeed_mpi.so "$program" collectives 2>&1)" && failed "a missing plug-in is no error"
says "/nowhere/libinfeed_mpi.so: there is no such file"
said="$(INFEED_MPI_PLUGIN=$program "$program" collectives 2>&1)" && failed "a plug-in that is none is no error"
said="$(PMI_RANK=1 PMI_SIZE=2 timeout -k 5 30 "$program" collectives 2>&1)" && failed "another launcher is no error"
says "PMI_RANK and PMI_SIZE (PMI) says rank 1 of 2"

left="$(pgrep -f "^$program " || true)"
[[ -z $left ]] || failed "processes are left: $left"
((failures == 0))
