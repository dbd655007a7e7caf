#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <system_error>
#include <utility>

#include <infeed/records/file.h>

#include "convert/inputs/input_count.h"
#include "convert/inputs/open_input.h"

namespace infeed::tools {
namespace {

using ContentByName = std::map<std::string, std::string>;

/// True for a pipe or a device. An example may be read several times, the first time to choose a
/// number of shards.
bool gives_its_bytes_once(const std::string& name) {
  std::error_code ignored;
  const auto type = std::filesystem::status(name, ignored).type();
  return type == std::filesystem::file_type::fifo || type == std::filesystem::file_type::character;
}

class PlainFileReader final : public FeatureReader {
 public:
  PlainFileReader(const Files& names, const ContentByName& held, std::stop_token stop)
      : names_(names), held_(held), stop_(std::move(stop)) {}

 private:
  void add_features(std::uint64_t index, ExampleBuilder& builder) override {
    const std::string& name = names_[index];
    const auto held = held_.find(name);
    if (held != held_.end()) {
      builder.bytes("content", held->second);
    } else {
      builder.bytes("content", read_stream(name, stop_));
    }
    builder.bytes("filename", input_file_name(name));
  }

  const Files& names_;
  const ContentByName& held_;
  const std::stop_token stop_;
};

class PlainFilesInput final : public ExampleInput {
 public:
  PlainFilesInput(Files names, std::stop_token stop)
      : names_(std::move(names)), stop_(std::move(stop)) {
    for (const std::string& name : names_) {
      files_.push_back(examine_input_file(name));
      if (gives_its_bytes_once(name) && !held_.contains(name)) {
        held_.emplace(name, read_stream(name, stop_));
      }
    }
  }

  std::uint64_t size() const override { return names_.size(); }
  std::unique_ptr<ExampleReader> open_reader() const override {
    return std::make_unique<PlainFileReader>(names_, held_, stop_);
  }
  std::vector<std::string> columns() const override { return {"content", "filename"}; }
  std::string describe() const override { return input_count(size(), "file"); }
  std::string name_of(std::uint64_t index) const override { return input_file_name(names_[index]); }
  std::vector<InputFile> files() const override { return files_; }

 private:
  const Files names_;
  const std::stop_token stop_;
  std::vector<InputFile> files_;
  ContentByName held_;
};

}  // namespace

std::unique_ptr<ExampleInput> open_plain_files(const Files& files, std::stop_token stop) {
  return std::make_unique<PlainFilesInput>(files, std::move(stop));
}

}  // namespace infeed::tools
