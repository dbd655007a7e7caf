#include "infeed/pipeline/tar.h"

#include <array>
#include <fmt/format.h>
#include <functional>
#include <span>
#include <utility>

#include <infeed/records/whole_set.h>

#include "sources/data_identity.h"
#include "sources/file_readers_stage.h"

namespace infeed {
namespace {

/// The reasons why members are left out, and the counts that the stage keeps of them.
constexpr std::array<LeftOut, 3> kReasons{LeftOut::hidden, LeftOut::other_name, LeftOut::no_file};
constexpr std::array<std::string_view, 3> kCounts{"hidden_members", "unnamed_members",
                                                  "special_members"};

/// "left out by tar: 6 hidden members, 1 without an extension", where there were some.
std::string left_out_text(std::string_view label, std::span<const std::uint64_t> counts) {
  constexpr std::array<std::string_view, 3> kNames{"hidden", "without an extension",
                                                   "that are no files"};
  std::string text;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (counts[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[i], kNames[i]);
  }
  return text.empty() ? text : fmt::format("members left out by {}: {}\n", label, text);
}

class TarFile final : public detail::FileReader<TarSample> {
 public:
  TarFile(const std::string& file, TarOptions options, detail::FileReaderContext context)
      : reader_(file, options_for(std::move(options), context), std::move(context.spare_blocks)),
        note_count_(std::move(context.note_count)) {}
  ~TarFile() override { note_left_out(); }

  /// Reads only one sample, since members may be large.
  void read(std::vector<TarSample>& out, std::size_t) override {
    TarSample sample;
    if (reader_.read(sample)) out.push_back(std::move(sample));
    note_left_out();
  }
  std::uint64_t skip(std::uint64_t) override { return reader_.skip() ? 1 : 0; }

 private:
  static TarOptions options_for(TarOptions options, const detail::FileReaderContext& context) {
    options.url = context.url;
    return options;
  }

  void note_left_out() {
    for (std::size_t i = 0; i < kReasons.size(); ++i) {
      const std::uint64_t count = reader_.left_out()[kReasons[i]].count;
      if (count != noted_[i]) note_count_(i, count - noted_[i]);
      noted_[i] = count;
    }
  }

  TarSampleReader reader_;
  const std::function<void(std::size_t, std::uint64_t)> note_count_;
  std::array<std::uint64_t, kReasons.size()> noted_{};
};

class TarNode final : public Node {
 public:
  TarNode(std::vector<std::string> files, TarOptions options)
      : Node("tar", type_info<TarSample>()),
        identity_(files, options.url),
        files_(std::make_shared<const std::vector<std::string>>(std::move(files))),
        options_(std::move(options)) {}

  std::string signature() const override { return fmt::format("tar({})", identity_.text()); }
  StageTraits traits() const override {
    return {.reads_files = true, .counts = kCounts, .text = &left_out_text};
  }
  Cardinality cardinality() const override {
    return files_->empty() ? Cardinality::finite(0) : Cardinality::unknown();
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    const auto open = [files = files_, options = options_](std::size_t file,
                                                           detail::FileReaderContext readers) {
      return std::make_unique<TarFile>((*files)[file], options, std::move(readers));
    };
    return std::make_unique<detail::FileReadersStage<TarSample>>(context, files_, options_.url,
                                                                 open);
  }

 private:
  const detail::DataIdentity identity_;
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
