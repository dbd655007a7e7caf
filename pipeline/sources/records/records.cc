#include "infeed/pipeline/records.h"

#include <fmt/format.h>

#include <infeed/records/whole_set.h>

#include "sources/data_identity.h"
#include "sources/dropped_counts.h"
#include "sources/records/records_stage.h"

namespace infeed {
namespace {

class RecordsNode final : public Node {
 public:
  RecordsNode(std::vector<std::string> files, RecordsOptions options)
      : Node("records", type_info<Record>()),
        identity_(files, options.url),
        sources_(std::make_shared<detail::RecordSources>(std::move(files), std::move(options))) {}

  std::string signature() const override {
    const RecordsOptions& options = sources_->options;
    std::string text = fmt::format("records({}", identity_.text());
    if (options.verify == Verify::lengths) text += ", verify=lengths";
    if (options.damage == DamagePolicy::skip_and_resynchronise) {
      text += ", damage=skip_and_resynchronise";
    }
    if (options.damage == DamagePolicy::stop_like_tensorflow) {
      text += ", damage=stop_like_tensorflow";
    }
    return text + ")";
  }
  StageTraits traits() const override {
    return {.has_parallelism = true,
            .reads_files = true,
            .counts = detail::kDroppedCounts,
            .text = &detail::dropped_text};
  }
  Cardinality cardinality() const override {
    if (sources_->files.empty()) return Cardinality::finite(0);
    const bool may_lose_records = sources_->options.damage != DamagePolicy::fail;
    return may_lose_records ? Cardinality::unknown() : sources_->listed.sum();
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return detail::make_records_stage(context, sources_);
  }

 private:
  const detail::DataIdentity identity_;
  const std::shared_ptr<detail::RecordSources> sources_;
};

}  // namespace

Dataset<Record> records(std::vector<std::string> files, RecordsOptions options) {
  options.parallelism = detail::checked_parallelism("records", options.parallelism);
  options.block_bytes.of("records", "block_bytes");
  options.record_bytes_max.of("records", "record_bytes_max");
  if (options.read_ahead_bytes != autotune)
    options.read_ahead_bytes.of("records", "read_ahead_bytes");
  return Dataset<Record>(
      detail::named(std::make_shared<RecordsNode>(std::move(files), options), options.name));
}

Dataset<Record> records(std::initializer_list<std::string> files, RecordsOptions options) {
  return records(std::vector(files), std::move(options));
}

Dataset<Record> records(const std::string& pattern, RecordsOptions options) {
  return records(match_whole_sets(pattern), std::move(options));
}

}  // namespace infeed
