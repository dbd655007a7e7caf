#include "world/mpi_plugin.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <vector>

#include <infeed/error.h>

namespace infeed::detail {
namespace {

constexpr const char* kFileName = "libinfeed_mpi.so";

/// Returns the files to try, in order. The last one, a bare name, is looked for by the system.
std::vector<std::string> candidates(const std::string& file) {
  if (!file.empty()) return {file};
  const char* const given = std::getenv("INFEED_MPI_PLUGIN");
  if (given != nullptr && *given != '\0') return {given};
  std::vector<std::string> files;
  std::error_code failure;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (!failure) {
    const std::filesystem::path folder = program.parent_path();
    for (const char* const below : {"", "../lib", "../lib64"}) {
      files.push_back((folder / below / kFileName).lexically_normal().string());
    }
  }
  files.emplace_back(kFileName);
  return files;
}

const InfeedMpiFunctions& functions_of(void* plugin, const std::string& file) {
  const auto entry = reinterpret_cast<InfeedMpiEntry>(dlsym(plugin, "infeed_mpi_functions"));
  const InfeedMpiFunctions* const functions = entry == nullptr ? nullptr : entry(kInfeedMpiAbi);
  if (functions != nullptr) return *functions;
  throw Error(ErrorCode::failed_precondition,
              entry == nullptr
                  ? "the file is no MPI plug-in of infeed: it has no infeed_mpi_functions; name "
                    "libinfeed_mpi.so in INFEED_MPI_PLUGIN"
                  : fmt::format("the MPI plug-in belongs to another version of infeed: this one "
                                "needs interface {}; install both from the same build",
                                kInfeedMpiAbi))
      .at_file(file);
}

}  // namespace

const InfeedMpiFunctions& load_mpi_plugin(const std::string& file) {
  std::string tried;
  for (const std::string& candidate : candidates(file)) {
    // A file that isn't there says no more than its name; any other failure does.
    const bool is_path = candidate.find('/') != std::string::npos;
    if (is_path && !std::filesystem::exists(candidate)) {
      tried += fmt::format("\n  {}: there is no such file", candidate);
      continue;
    }
    // Open MPI's own plug-ins look for its symbols among the global ones.
    if (void* const plugin = dlopen(candidate.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
      return functions_of(plugin, candidate);
    }
    const char* const why = dlerror();
    tried += fmt::format("\n  {}: {}", candidate, why == nullptr ? "it can't be loaded" : why);
  }
  throw Error(ErrorCode::not_found,
              fmt::format("the MPI plug-in can't be loaded; build infeed where mpi.h is found "
                          "(Debian's libopenmpi-dev) and name libinfeed_mpi.so in "
                          "INFEED_MPI_PLUGIN. Tried:{}",
                          tried));
}

}  // namespace infeed::detail
