#include <fmt/format.h>
#include <set>

#include <infeed/convert/example_input.h>
#include <infeed/error.h>
#include <infeed/records/example.h>
#include <infeed/records/record_reader.h>

#include "convert/convert.h"
#include "temporary_folder.h"
#include "thrown_error.h"

/// A split into training and validation by the value of a column.
namespace infeed::test {
namespace {

using tools::ExistingDataset;

/// Rows of users, whose files may have any name.
class UserInput final : public ExampleInput {
 public:
  explicit UserInput(std::string file, std::set<std::uint64_t> bad = {})
      : file_(std::move(file)), bad_(std::move(bad)) {}
  std::uint64_t size() const override { return 1000; }
  std::unique_ptr<ExampleReader> open_reader() const override {
    return std::make_unique<Reader>(*this);
  }
  std::vector<std::string> columns() const override { return {"label", "user"}; }
  std::string describe() const override { return "rows"; }
  std::string name_of(std::uint64_t index) const override {
    return fmt::format("{}#{}", file_, index);
  }
  std::vector<InputFile> files() const override { return {}; }

 private:
  class Reader final : public FeatureReader {
   public:
    explicit Reader(const UserInput& input) : input_(input) {}

   private:
    void add_features(std::uint64_t index, ExampleBuilder& builder) override {
      if (input_.bad_.contains(index)) throw Error(ErrorCode::data_loss, "it is bad");
      builder.integers("label", std::int64_t(index));
      if (index % 10 != 0) builder.bytes("user", fmt::format("user {}", index % 97));
    }
    const UserInput& input_;
  };

  const std::string file_;
  const std::set<std::uint64_t> bad_;
};

struct SplitRows {
  std::set<std::int64_t> rows;
  std::set<std::string> users;
};

SplitRows split_rows(const std::vector<std::string>& files) {
  SplitRows found;
  const ExampleParser parser({"label", "user"});
  std::vector<FeatureView> views(2);
  for (const std::string& file : files) {
    RecordReader reader(file);
    Record record;
    while (reader.next(record)) {
      parser.parse(record, views);
      std::int64_t row = 0;
      views[0].read_integers(std::span(&row, 1));
      found.rows.insert(row);
      if (views[1].is_present()) found.users.emplace(views[1].single_bytes());
    }
  }
  return found;
}

TEST(ConvertSplit, ASplitByAColumnKeepsAUserInOneSetWhateverTheFileIsCalled) {
  const TemporaryFolder folder;
  const auto validation = [&](const std::string& file, tools::SplitPart part) {
    const auto result = tools::convert(UserInput(file), {.prefix = folder.file(file + "/set"),
                                                         .shard_count = 3,
                                                         .existing = ExistingDataset::replace,
                                                         .part = part,
                                                         .validation_share = 0.3,
                                                         .split_column = "user"});
    return split_rows(result.files);
  };
  const SplitRows kept = validation("a.csv", tools::SplitPart::validation);
  const SplitRows rest = validation("a.csv", tools::SplitPart::train);
  EXPECT_EQ(kept.rows.size() + rest.rows.size(), 1000);
  EXPECT_EQ(kept.users.size() + rest.users.size(), 97) << "no user is in both";
  EXPECT_NEAR(static_cast<double>(kept.users.size()), 29, 15);
  EXPECT_EQ(validation("renamed.csv", tools::SplitPart::validation).users, kept.users);
  const Error error = error_of([&] {
    tools::convert(UserInput("a"), {.prefix = folder.file("x"),
                                    .part = tools::SplitPart::train,
                                    .validation_share = 0.3,
                                    .split_column = "person"});
  });
  EXPECT_THAT(error.message(), HasSubstr("a column 'person', but there are label, user"));
}

TEST(ConvertSplit, ABadExampleOfASplitByAColumnIsReportedOnce) {
  const TemporaryFolder folder;
  const UserInput input("a.csv", {1, 2, 3, 500, 501, 502});
  std::size_t quarantined = 0;
  for (const auto part : {tools::SplitPart::train, tools::SplitPart::validation}) {
    const auto result = tools::convert(input, {.prefix = folder.file(fmt::format("{}", int(part))),
                                               .shard_count = 3,
                                               .part = part,
                                               .validation_share = 0.5,
                                               .split_column = "user",
                                               .quarantine_max = 6});
    quarantined += result.manifest.quarantined.size();
  }
  EXPECT_EQ(quarantined, 6);
}

}  // namespace
}  // namespace infeed::test
