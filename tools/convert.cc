#include "convert.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <mutex>
#include <system_error>
#include <thread>

#include <infeed/error.h>
#include <infeed/pipeline/executor.h>
#include <infeed/records/files.h>

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

void make_folder_of(const std::string& prefix) {
  const fs::path folder = fs::path(prefix).parent_path();
  if (folder.empty()) return;
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return;
  const bool full = error == std::errc::no_space_on_device;
  throw Error(
      full ? ErrorCode::resource_exhausted : ErrorCode::permission_denied,
      fmt::format("cannot make folder '{}': {}; choose another", folder.string(), error.message()));
}

void refuse_existing(const std::vector<std::string>& files) {
  const auto exists = [](const std::string& file) {
    std::error_code ignored;
    return fs::exists(file, ignored);
  };
  const auto first = std::find_if(files.begin(), files.end(), exists);
  if (first == files.end()) return;
  throw Error(ErrorCode::already_exists,
              fmt::format("{} of the {} shards exist already, '{}' is the first; nothing was "
                          "written: use --overwrite to replace them, or choose another folder",
                          std::count_if(files.begin(), files.end(), exists), files.size(), *first));
}

/// The shards as a list of jobs for some threads.
class Conversion {
 public:
  Conversion(const ExampleInput& input, const ConvertOptions& options)
      : input_(input), options_(options), files_(shard_files(options)) {}

  void run() {
    const int cores = options_.threads > 0 ? options_.threads : usable_cores();
    const int count = std::min(cores, static_cast<int>(files_.size()));
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back([this] { work(); });
    report(count);
    threads.clear();  // joins
    if (error_ != nullptr) std::rethrow_exception(error_);
    if (shards_done_ < files_.size()) {
      throw Error(ErrorCode::cancelled,
                  fmt::format("stopped: {} of {} shards are whole and were kept, unfinished ones "
                              "were removed",
                              shards_done_.load(), files_.size()));
    }
  }

  const std::vector<std::string>& files() const { return files_; }

 private:
  bool must_end() const { return options_.stop.stop_requested() || failed_; }

  void work() noexcept {
    try {
      for (std::size_t i = next_++; i < files_.size() && !must_end(); i = next_++) {
        if (write_shard(i)) ++shards_done_;
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (error_ == nullptr) error_ = std::current_exception();
      failed_ = true;
    }
    const std::lock_guard lock(mutex_);
    ++threads_done_;
    changed_.notify_all();
  }

  /// False when stopped before its end: the writer then removes what it wrote.
  bool write_shard(std::size_t index) {
    RecordWriter writer(files_[index],
                        {.compression = options_.compression, .existing = options_.existing});
    const std::uint64_t begin = input_.size() * index / files_.size();
    const std::uint64_t end = input_.size() * (index + 1) / files_.size();
    ExampleBuilder builder;
    std::string bytes;
    for (std::uint64_t i = begin; i < end; ++i) {
      if (must_end()) return false;
      builder.clear();
      input_.add_features(i, builder);
      bytes.clear();
      builder.encode_to(bytes);
      writer.write(bytes);
      examples_done_.fetch_add(1, std::memory_order_relaxed);
    }
    writer.close();
    return true;
  }

  void report(int threads) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(100),
                              [&] { return threads_done_ == threads; })) {
      if (options_.on_progress) options_.on_progress(examples_done_);
    }
  }

  const ExampleInput& input_;
  const ConvertOptions& options_;
  const std::vector<std::string> files_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> shards_done_{0};
  std::atomic<std::uint64_t> examples_done_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  int threads_done_ = 0;
  std::exception_ptr error_;
};

}  // namespace

std::vector<std::string> shard_files(const ConvertOptions& options) {
  const std::string_view extension =
      options.compression == Compression::gzip ? "tfrecord.gz" : "tfrecord";
  std::vector<std::string> files;
  for (std::uint32_t i = 0; i < options.shard_count; ++i) {
    files.push_back(
        shard_name(options.prefix, {.index = i, .count = options.shard_count}, extension));
  }
  return files;
}

ConvertResult convert(const ExampleInput& input, const ConvertOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  make_folder_of(options.prefix);
  Conversion conversion(input, options);
  if (options.existing == ExistingFile::refuse) refuse_existing(conversion.files());
  conversion.run();
  ConvertResult result{.files = conversion.files(), .examples = input.size()};
  for (const std::string& file : result.files) result.bytes += fs::file_size(file);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace infeed::tools
