#include "infeed/pipeline/tar.h"

#include <fmt/format.h>
#include <utility>

#include <infeed/pipeline/files.h>
#include <infeed/records/whole_set.h>

#include "sources/file_readers_stage.h"

namespace infeed {
namespace {

class TarFile final : public detail::FileReader<TarSample> {
 public:
  TarFile(const std::string& file, const TarOptions& options,
          std::shared_ptr<SpareBlocks> spare_blocks)
      : reader_(file, options, std::move(spare_blocks)) {}

  /// Reads only one sample, since members may be large.
  void read(std::vector<TarSample>& out, std::size_t) override {
    TarSample sample;
    if (reader_.read(sample)) out.push_back(std::move(sample));
  }
  std::uint64_t skip(std::uint64_t) override { return reader_.skip() ? 1 : 0; }

 private:
  TarSampleReader reader_;
};

class TarNode final : public Node {
 public:
  TarNode(std::vector<std::string> files, TarOptions options)
      : Node("tar", type_info<TarSample>()),
        signature_(fmt::format("tar({})", detail::files_fingerprint(files))),
        files_(std::make_shared<const std::vector<std::string>>(std::move(files))),
        options_(std::move(options)) {}

  std::string signature() const override { return signature_; }
  StageTraits traits() const override { return {.reads_files = true}; }
  Cardinality cardinality() const override {
    return files_->empty() ? Cardinality::finite(0) : Cardinality::unknown();
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    const auto open = [files = files_, options = options_](std::size_t file,
                                                           detail::FileReaderContext readers) {
      TarOptions own = options;
      own.url = std::move(readers.url);
      return std::make_unique<TarFile>((*files)[file], own, std::move(readers.spare_blocks));
    };
    return std::make_unique<detail::FileReadersStage<TarSample>>(context, files_, options_.url,
                                                                 open);
  }

 private:
  const std::string signature_;
  const std::shared_ptr<const std::vector<std::string>> files_;
  const TarOptions options_;
};

}  // namespace

Dataset<TarSample> tar(std::vector<std::string> files, TarSourceOptions options) {
  options.format.member_bytes_max.of("tar", "member_bytes_max");
  return Dataset<TarSample>(detail::named(
      std::make_shared<TarNode>(std::move(files), std::move(options.format)), options.name));
}

Dataset<TarSample> tar(std::initializer_list<std::string> files, TarSourceOptions options) {
  return tar(std::vector(files), std::move(options));
}

Dataset<TarSample> tar(const std::string& pattern, TarSourceOptions options) {
  return tar(match_whole_sets(pattern), std::move(options));
}

}  // namespace infeed
