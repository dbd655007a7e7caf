#include "infeed/pipeline/fixed_length_records.h"

#include <fmt/format.h>
#include <mutex>
#include <utility>

#include <infeed/error.h>
#include <infeed/records/fixed_length.h>
#include <infeed/records/whole_set.h>

#include "sources/data_identity.h"
#include "sources/file_readers_stage.h"

namespace infeed {
namespace {

class FixedLengthFile final : public detail::FileReader<Record> {
 public:
  FixedLengthFile(const std::string& file, const FixedLengthFormat& format,
                  std::shared_ptr<SpareBlocks> spare_blocks)
      : reader_(file, format, std::move(spare_blocks)) {}

  void read(std::vector<Record>& out, std::size_t want) override {
    out.resize(want);
    out.resize(reader_.read(out));
  }
  std::uint64_t skip(std::uint64_t count) override { return reader_.skip(count); }

 private:
  FixedLengthReader reader_;
};

class FixedLengthRecordsNode final : public Node {
 public:
  FixedLengthRecordsNode(std::vector<std::string> files, FixedLengthFormat format)
      : Node("fixed_length_records", type_info<Record>()),
        identity_(files, format.url),
        files_(std::make_shared<const std::vector<std::string>>(std::move(files))),
        format_(std::move(format)) {}

  std::string signature() const override {
    return fmt::format(
        "fixed_length_records({}, record_bytes={}, header_bytes={}, footer_bytes={})",
        identity_.text(), format_.record_bytes.value(), format_.header_bytes.value(),
        format_.footer_bytes.value());
  }
  StageTraits traits() const override { return {.reads_files = true}; }
  /// Looks at the files on the first call, so a program that doesn't need the number opens none.
  Cardinality cardinality() const override {
    std::call_once(counted_, [this] { cardinality_ = count(); });
    return cardinality_;
  }
  std::uint64_t element_bytes_min() const override { return type().size + format_.record_bytes; }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    const auto open = [files = files_, format = format_](std::size_t file,
                                                         detail::FileReaderContext readers) {
      FixedLengthFormat own = format;
      own.url = std::move(readers.url);
      return std::make_unique<FixedLengthFile>((*files)[file], own,
                                               std::move(readers.spare_blocks));
    };
    return std::make_unique<detail::FileReadersStage<Record>>(context, files_, format_.url, open);
  }

 private:
  Cardinality count() const {
    std::uint64_t total = 0;
    bool is_beyond = false;
    for (const std::string& file : *files_) {
      const auto records = count_fixed_length_records(file, format_);
      if (!records) return Cardinality::unknown();
      is_beyond |= __builtin_add_overflow(total, *records, &total);
    }
    return is_beyond ? Cardinality::infinite() : Cardinality::finite(total);
  }

  const detail::DataIdentity identity_;
  const std::shared_ptr<const std::vector<std::string>> files_;
  const FixedLengthFormat format_;
  mutable std::once_flag counted_;
  mutable Cardinality cardinality_ = Cardinality::unknown();
};

}  // namespace

Dataset<Record> fixed_length_records(std::vector<std::string> files, Count record_bytes,
                                     FixedLengthRecordsOptions options) {
  if (record_bytes.of("fixed_length_records", "record_bytes") == 0) {
    throw Error(ErrorCode::invalid_argument,
                "fixed_length_records: record_bytes is 0; give the bytes of one record");
  }
  options.header_bytes.of("fixed_length_records", "header_bytes");
  options.footer_bytes.of("fixed_length_records", "footer_bytes");
  FixedLengthFormat format{.record_bytes = record_bytes,
                           .header_bytes = options.header_bytes,
                           .footer_bytes = options.footer_bytes,
                           .compression = options.compression,
                           .url = std::move(options.url)};
  return Dataset<Record>(detail::named(
      std::make_shared<FixedLengthRecordsNode>(std::move(files), std::move(format)), options.name));
}

Dataset<Record> fixed_length_records(std::initializer_list<std::string> files, Count record_bytes,
                                     FixedLengthRecordsOptions options) {
  return fixed_length_records(std::vector(files), record_bytes, std::move(options));
}

Dataset<Record> fixed_length_records(const std::string& pattern, Count record_bytes,
                                     FixedLengthRecordsOptions options) {
  return fixed_length_records(match_whole_sets(pattern), record_bytes, std::move(options));
}

}  // namespace infeed
