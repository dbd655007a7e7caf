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

# tried FUNCTION ARGUMENTS...: calls it up to 4 times, until it calls failed no more. A busy machine may hold a rank up
# for as long as a silent one may be.
tried() {
  local before=$failures
  for _ in 1 2 3 4; do
    failures=$before
    "$@"
    ((failures == before)) && return
  done
}

for ranks in 1 2 4; do
  job 60 "$ranks" collectives
  [[ $status == 0 ]] || failed "$ranks ranks: status $status"
  [[ $(grep -c 'is done' <<<"$said") == "$ranks" ]] || failed "not all of $ranks ranks are done"
done

slow_rank() {
  job 60 4 slow 500
  [[ $status == 0 ]] || failed "a slow rank is taken for a dead one"
}
tried slow_rank

# stopped_rank RANKS: the last of them.
stopped_rank() {
  local last=$(($1 - 1)) seconds
  job 30 "$1" stopped
  [[ $status != 0 && $status != 124 ]] || failed "a stopped rank: status $status"
  says "rank $last has not answered for"
  says "in 'step 20'"
  says "ends the job: rank $last has not answered"
  seconds="$(sed -n 's/^rank [0-9]* after \([0-9.]*\) s:.*/\1/p' <<<"$said" | sort -n | tail -1)"
  awk -v s="${seconds:-99}" 'BEGIN { exit !(s < 5) }' || failed "a stopped rank was named after $seconds s; 5 are allowed"
}

for ranks in 2 4; do
  last=$((ranks - 1))
  tried stopped_rank "$ranks"

  job 30 "$ranks" killed
  [[ $status != 0 && $status != 124 ]] || failed "a killed rank: status $status"
  says "signal 9"

  job 30 "$ranks" throws
  [[ $status != 0 && $status != 124 ]] || failed "a rank that throws: status $status"
  says "rank $last has left the job because of an error"
done

# A rank that is stopped before MPI has begun, or once nobody answers questions any more.
export INFEED_TEST_PLUGIN=$INFEED_MPI_PLUGIN INFEED_MPI_START_SECONDS
stopping_plugin=$3
# stopped_in PART: its limit is three times the last one at each try, as a busy machine takes longer to come there.
stopped_in() {
  said="$(INFEED_MPI_PLUGIN=$stopping_plugin INFEED_TEST_STOP_IN=$1 timeout -k 5 60 mpirun --oversubscribe \
    --mca mpi_yield_when_idle 1 -n 3 "$program" collectives 2>&1)"
  status=$?
  echo "--- 3 ranks, stopped in the $1 of MPI: status $status"
  echo "$said"
  [[ $status != 0 && $status != 124 ]] || failed "a rank that is stopped in the $1 of MPI: status $status"
  says "ends the job: the $1 of MPI, to which all ranks must come, has taken $INFEED_MPI_START_SECONDS"
  grep -Eq 'rank 1 \(process [0-9]+\) of this host is stopped' <<<"$said" || failed "the stopped rank isn't named"
  INFEED_MPI_START_SECONDS=$((3 * INFEED_MPI_START_SECONDS))
}
INFEED_MPI_START_SECONDS=1
tried stopped_in start
INFEED_MPI_START_SECONDS=3 # the start must not be taken for it
tried stopped_in end
said="$(INFEED_MPI_START_SECONDS=soon "$program" collectives 2>&1)" && failed "a limit that is no number is no error"
says "INFEED_MPI_START_SECONDS is 'soon'"
unset INFEED_MPI_START_SECONDS

# Over TCP a large message needs its sender until its last byte.
OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo job 60 3 stopped_half_way
[[ $status == 0 ]] || failed "a rank that is stopped in the middle of a message: status $status"

late_rank() {
  job 30 2 late 500 1000
  [[ $status != 0 && $status != 124 ]] || failed "a rank that never comes: status $status"
  says "rank 1 lives, but has not made its first call and has not come"
}
tried late_rank

job 30 4 differs
[[ $status != 0 && $status != 124 ]] || failed "ranks that differ: status $status"
says "the ranks differ in 'seed': rank 3 has '43', rank 0 has '42'"

# Without mpirun, and with another launcher's variables.
said="$(INFEED_MPI_PLUGIN=/nowhere/libinfeed_mpi.so "$program" collectives 2>&1)" && failed "a missing plug-in is no error"
says "/nowhere/libinfeed_mpi.so: there is no such file"
said="$(INFEED_MPI_PLUGIN=$program "$program" collectives 2>&1)" && failed "a plug-in that is none is no error"
said="$(PMI_RANK=1 PMI_SIZE=2 timeout -k 5 30 "$program" collectives 2>&1)" && failed "another launcher is no error"
says "PMI_RANK and PMI_SIZE (PMI) says rank 1 of 2"

for _ in {1..300}; do # a rank that was killed may take a moment to go
  left="$(pgrep -f "^$program " || true)"
  [[ -z $left ]] && break
  sleep 0.1
done
[[ -z $left ]] || failed "processes are left: $left"
((failures == 0))
