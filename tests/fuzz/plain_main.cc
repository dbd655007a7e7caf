#include <array>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <vector>

#include "fuzz.h"
#include "records/temporary_files.h"
#include "test_seed.h"

/// Runs a fuzz target without libFuzzer: the saved corpus, then mutations of it. This is how every
/// preset tests the targets, so that they don't rot.
///
///     infeed_fuzz_reader_replay CORPUS_FOLDER_OR_FILE [MUTATIONS]
namespace infeed::fuzz {
namespace {

std::string current_input;
std::string finding_file;

/// Only calls that a signal handler may make.
void keep_input(int signal) {
  const int descriptor = ::open(finding_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (descriptor >= 0 && ::write(descriptor, current_input.data(), current_input.size()) >= 0) {
    constexpr std::string_view kText = "the input is in ";
    (void)!::write(STDERR_FILENO, kText.data(), kText.size());
    (void)!::write(STDERR_FILENO, finding_file.data(), finding_file.size());
    (void)!::write(STDERR_FILENO, "\n", 1);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void run(std::string input) {
  current_input = std::move(input);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(current_input.data()),
                         current_input.size());
}

std::vector<std::string> load(const std::filesystem::path& place) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(place)) {
    for (const auto& entry : std::filesystem::directory_iterator(place)) {
      files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
  } else {
    files.push_back(place);
  }
  std::vector<std::string> inputs;
  for (const auto& file : files) inputs.push_back(read_whole(file.string()));
  return inputs;
}

class Mutator {
 public:
  Mutator(const std::vector<std::string>& corpus, std::uint64_t seed)
      : corpus_(corpus), random_(seed) {}

  std::string draw() {
    std::string bytes = any();
    for (std::size_t i = 1 + pick(5); i > 0; --i) mutate(bytes);
    return bytes;
  }

 private:
  std::size_t pick(std::size_t n) { return random_() % n; }
  const std::string& any() { return corpus_[pick(corpus_.size())]; }

  void mutate(std::string& bytes) {
    if (bytes.empty()) bytes.push_back(static_cast<char>(random_()));
    const std::size_t at = pick(bytes.size());
    switch (pick(8)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << pick(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(random_());
        break;
      case 2: {
        constexpr std::array<char, 5> kEdges = {0, 1, 0x7f, -128, -1};
        bytes[at] = kEdges.at(pick(kEdges.size()));
        break;
      }
      case 3:
        bytes.erase(at, 1 + pick(pick(4) == 0 ? bytes.size() : 4));
        break;
      case 4:
        bytes.insert(at, test::random_bytes(random_, 1 + pick(8)));
        break;
      case 5: {
        const std::string part = bytes.substr(at, 1 + pick(64));
        bytes.insert(pick(bytes.size()), part);
        break;
      }
      case 6: {
        const std::string& other = any();
        if (!other.empty()) bytes.replace(at, bytes.size(), other.substr(pick(other.size())));
        break;
      }
      default:
        bytes.resize(at);
        break;
    }
  }

  const std::vector<std::string>& corpus_;
  std::mt19937_64 random_;
};

int run_all(const std::filesystem::path& place, std::uint64_t mutations) {
  const std::vector<std::string> corpus = load(place);
  if (corpus.empty()) {
    std::fprintf(stderr, "no inputs in %s\n", place.c_str());
    return 2;
  }
  for (const std::string& input : corpus) run(input);
  const std::uint64_t seed = test::test_seed();
  std::printf("%zu inputs held; %llu mutations with INFEED_TEST_SEED=%llu\n", corpus.size(),
              static_cast<unsigned long long>(mutations), static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  Mutator mutator(corpus, seed);
  for (std::uint64_t i = 0; i < mutations; ++i) run(mutator.draw());
  return 0;
}

}  // namespace
}  // namespace infeed::fuzz

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER_OR_FILE [MUTATIONS]\n", argv[0]);
    return 2;
  }
  infeed::fuzz::finding_file =
      std::filesystem::path(argv[0]).filename().string() + "." + std::to_string(::getpid());
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    std::signal(signal, infeed::fuzz::keep_input);
  }
  return infeed::fuzz::run_all(argv[1], argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 0);
}
