#include "infeed/pipeline/leave_out.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <span>
#include <utility>

namespace infeed::detail {
namespace {

/// The records that are left out.
class LeftOut {
 public:
  explicit LeftOut(const std::vector<RecordPlace>& rows) {
    for (const RecordPlace& row : rows) {
      for (std::uint64_t i = 0; i < row.count; ++i) numbers_[row.file].push_back(row.record + i);
    }
    for (auto& [file, numbers] : numbers_) std::sort(numbers.begin(), numbers.end());
  }

  bool contains(const Record& record) const {
    if (numbers_.empty() || !record.number()) return false;
    const auto file = numbers_.find(record.file());
    return file != numbers_.end() &&
           std::binary_search(file->second.begin(), file->second.end(), *record.number());
  }

 private:
  std::map<std::string, std::vector<std::uint64_t>, std::less<>> numbers_;  ///< by file, sorted
};

class LeaveOutStage final : public PassThroughStage {
 public:
  LeaveOutStage(const StageContext& context, const LeftOut& left_out, const Record& instead,
                std::unique_ptr<Stage> input)
      : PassThroughStage(context, std::move(input)), left_out_(left_out), instead_(instead) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    const Pull pulled = input().pull(out, want);
    replace_in(out);
    return pulled;
  }

 protected:
  Pull do_pull_at(Chunk& out, std::span<const std::uint64_t> positions) override {
    const Pull pulled = input().pull_at(out, positions);
    replace_in(out);
    return pulled;
  }

 private:
  void replace_in(Chunk& out) const {
    for (std::size_t i = 0; i < out.size(); ++i) {
      auto& record = *static_cast<Record*>(out.value(i));
      if (left_out_.contains(record)) record = instead_;
    }
  }

  const LeftOut& left_out_;
  const Record& instead_;
};

class LeaveOutNode final : public Node {
 public:
  LeaveOutNode(const std::vector<RecordPlace>& rows, const std::string& instead, NodePointer input)
      : Node("leave_out", input->type(), {input}), left_out_(rows), instead_(instead) {}

  /// The list changes neither positions nor order, and a checkpoint of before must go on.
  std::string signature() const override { return {}; }
  Cardinality cardinality() const override { return input().cardinality(); }
  bool is_indexable() const override { return input().is_indexable(); }
  std::optional<std::uint64_t> input_taken(std::uint64_t given) const override { return given; }
  StreamPlace input_resumed(std::size_t, const ResumedStage& stage) const override {
    return stage.place;
  }
  std::uint64_t element_bytes_min() const override { return type().size; }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<LeaveOutStage>(context, left_out_, instead_, input().open(context));
  }

 private:
  const LeftOut left_out_;
  const Record instead_;
};

}  // namespace

NodePointer make_leave_out(std::vector<RecordPlace> rows, const std::string& instead,
                           NodePointer input) {
  constexpr std::uint64_t kRowsMax = 1'000'000;
  std::uint64_t count = 0;
  for (const RecordPlace& row : rows) {
    count = row.count > kRowsMax ? row.count : count + row.count;
    if (row.count == 0 || count > kRowsMax) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("leave_out: {} has {} records from record {} on; give 1 or more, and "
                              "at most {} in all",
                              row.file, row.count, row.record, kRowsMax));
    }
  }
  return std::make_shared<LeaveOutNode>(rows, instead, std::move(input));
}

}  // namespace infeed::detail
