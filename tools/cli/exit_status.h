#pragma once

/// Exit statuses of `infeed`, so that scripts can tell the cases apart.
namespace infeed::tools {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;        ///< rightly asked for, but could not be done
inline constexpr int kExitWrongUsage = 2;     ///< an option or name that doesn't exist or fit
inline constexpr int kExitInterrupted = 130;  ///< Ctrl-C or SIGTERM

}  // namespace infeed::tools
