#pragma once

#include <stddef.h>
#include <stdint.h>

/// Why: a program is bound to one MPI when it is compiled, since each MPI has its own mpi.h. So only a
/// small plug-in is, which the library loads at run time, and this is all that both know of each
/// other. It has C types only.
///
/// Functions return null, or a text that says what failed; the text is valid until the thread's next
/// call. Thread-safety: any threads, one call at a time.
extern "C" {

/// Grows with each change of what follows. A plug-in of another number is refused.
inline constexpr uint32_t kInfeedMpiAbi = 1;

/// Messages of one channel never meet those of another.
enum InfeedMpiChannel { kInfeedMpiData = 0, kInfeedMpiService = 1, kInfeedMpiControl = 2 };

struct InfeedMpiFunctions {
  /// Begins MPI, unless the program has done so, and says who this is.
  const char* (*start)(int* rank, int* size);
  /// Begins to send `size` bytes, which must stay until test() says that it is done.
  const char* (*send)(int channel, int to, int tag, const void* bytes, size_t size, void** request);
  const char* (*receive)(int channel, int from, int tag, void* bytes, size_t size, void** request);
  /// Sets *is_done. Then the request is gone (null), and *size is what came, if it received.
  const char* (*test)(void** request, int* is_done, size_t* size);
  /// Looks for a message from any rank with any tag that nobody has asked for.
  const char* (*probe)(int channel, int* is_there, int* from, int* tag, size_t* size);
  /// Ends MPI, unless the program began it. Waits for all ranks.
  const char* (*finish)(void);
  /// Ends all processes of the job.
  void (*abort)(int status);
  /// Name and version of the MPI: "Open MPI v4.1.4".
  const char* (*version)(void);
};

/// The one symbol of the plug-in, "infeed_mpi_functions". Returns null for another `abi`.
typedef const InfeedMpiFunctions* (*InfeedMpiEntry)(uint32_t abi);
}
