#include <algorithm>
#include <climits>
#include <memory>
#include <mpi.h>
#include <string>

#include "world/mpi/mpi_functions.h"

namespace {

constexpr int kChannels = 3;

struct State {
  MPI_Comm channels[kChannels];
  bool has_begun = false;  ///< this plug-in called MPI_Init_thread()
};
State state;

thread_local std::string failure_text;

/// Returns null for success, or a text of what failed.
const char* failure(const char* what, int code) {
  if (code == MPI_SUCCESS) return nullptr;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  failure_text = std::string(what) + ": " + std::string(text, static_cast<std::size_t>(length));
  return failure_text.c_str();
}

const char* refusal(std::string text) {
  failure_text = std::move(text);
  return failure_text.c_str();
}

const char* check_threads() {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level >= MPI_THREAD_SERIALIZED) return nullptr;
  return refusal(
      "MPI was begun without support for threads; ask for MPI_THREAD_SERIALIZED or more in "
      "MPI_Init_thread()");
}

const char* start(int* rank, int* size) {
  int is_ended = 0;
  MPI_Finalized(&is_ended);
  if (is_ended != 0) return refusal("MPI has ended in this process; it can't begin again");
  int is_begun = 0;
  MPI_Initialized(&is_begun);
  if (is_begun == 0) {
    int level = MPI_THREAD_SINGLE;
    // The library makes one call at a time, so MPI needn't lock in each.
    const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);
    if (code != MPI_SUCCESS) return failure("MPI_Init_thread", code);
    state.has_begun = true;
  }
  if (const char* const text = check_threads()) return text;
  for (MPI_Comm& channel : state.channels) {
    int code = MPI_Comm_dup(MPI_COMM_WORLD, &channel);
    if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(channel, MPI_ERRORS_RETURN);
    if (code != MPI_SUCCESS) return failure("MPI_Comm_dup", code);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  MPI_Comm_size(MPI_COMM_WORLD, size);
  return nullptr;
}

const char* send(int channel, int to, int tag, const void* bytes, size_t size, void** request) {
  if (size > INT_MAX) return refusal("a message is larger than 2 GiB");
  auto made = std::make_unique<MPI_Request>();
  const int code = MPI_Isend(bytes, static_cast<int>(size), MPI_BYTE, to, tag,
                             state.channels[channel], made.get());
  if (code != MPI_SUCCESS) return failure("MPI_Isend", code);
  *request = made.release();
  return nullptr;
}

const char* receive(int channel, int from, int tag, void* bytes, size_t size, void** request) {
  if (size > INT_MAX) return refusal("a message is larger than 2 GiB");
  auto made = std::make_unique<MPI_Request>();
  const int code = MPI_Irecv(bytes, static_cast<int>(size), MPI_BYTE, from, tag,
                             state.channels[channel], made.get());
  if (code != MPI_SUCCESS) return failure("MPI_Irecv", code);
  *request = made.release();
  return nullptr;
}

const char* test(void** request, int* is_done, size_t* size) {
  auto* const tested = static_cast<MPI_Request*>(*request);
  MPI_Status status;
  const int code = MPI_Test(tested, is_done, &status);
  if (code != MPI_SUCCESS) return failure("MPI_Test", code);
  if (*is_done == 0) return nullptr;
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  *size = static_cast<size_t>(std::max(count, 0));
  delete tested;
  *request = nullptr;
  return nullptr;
}

const char* probe(int channel, int* is_there, int* from, int* tag, size_t* size) {
  MPI_Status status;
  const int code =
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, state.channels[channel], is_there, &status);
  if (code != MPI_SUCCESS) return failure("MPI_Iprobe", code);
  if (*is_there == 0) return nullptr;
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  *from = status.MPI_SOURCE;
  *tag = status.MPI_TAG;
  *size = static_cast<size_t>(std::max(count, 0));
  return nullptr;
}

const char* finish() {
  for (MPI_Comm& channel : state.channels) MPI_Comm_free(&channel);
  return state.has_begun ? failure("MPI_Finalize", MPI_Finalize()) : nullptr;
}

void abort_job(int status) { MPI_Abort(MPI_COMM_WORLD, status); }

const char* version() {
  static const std::string text = [] {
    char name[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(name, &length);
    const std::string whole(name, static_cast<std::size_t>(length));
    return whole.substr(0, whole.find_first_of(",\n"));
  }();
  return text.c_str();
}

constexpr InfeedMpiFunctions kFunctions{&start, &send,   &receive,   &test,
                                        &probe, &finish, &abort_job, &version};

}  // namespace

extern "C" __attribute__((visibility("default"))) const InfeedMpiFunctions* infeed_mpi_functions(
    uint32_t abi) {
  return abi == kInfeedMpiAbi ? &kFunctions : nullptr;
}
