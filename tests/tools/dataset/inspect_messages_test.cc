#include <clicks.pb.h>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <infeed/records/record_writer.h>

#include "matchers.h"
#include "temporary_folder.h"
#include "tools/run_program.h"

/// `infeed inspect --proto`, by the real program.
namespace infeed::test {
namespace {

class InspectMessages : public ::testing::Test {
 protected:
  void write(const std::vector<std::string>& messages) const {
    RecordWriter writer(folder_.file("clicks"), {.existing = ExistingFile::replace});
    for (const std::string& message : messages) writer.write(message);
    writer.close();
  }
  ProgramResult inspect(std::vector<std::string> more) const {
    more.insert(more.begin(), {"inspect", folder_.file("clicks")});
    return run_infeed(more);
  }

  const TemporaryFolder folder_;
  const std::string set_ = INFEED_TEST_DESCRIPTOR_SET;
};

TEST_F(InspectMessages, ShowsFields) {
  shop::Click click;
  click.set_id(7);
  click.set_query("red \x1b[31mshoes");
  click.mutable_user()->set_name("Ada");
  click.set_picture(std::string(5'000, '\xff'));
  write({click.SerializeAsString(), "\x12\x05sho", ""});
  const ProgramResult result =
      inspect({"--proto", set_, "--message", "shop.Click", "--json", folder_.file("json")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("all 3 records"), HasSubstr("  1 record is no shop.Click\n"),
                    HasSubstr("\n  id: 7\n"), HasSubstr("\n  user {\n    name: \"Ada\"\n  }\n"),
                    HasSubstr("5 bytes are no shop.Click: the field at byte 0"),
                    HasSubstr("\n  (no field is set)\n"), Not(HasSubstr("\x1b"))));
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < result.out.size();) {
    const std::size_t end = result.out.find('\n', begin);
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  EXPECT_LE(longest, 140);
  const auto json = nlohmann::json::parse(std::ifstream(folder_.file("json")));
  EXPECT_EQ(json.at("message"), "shop.Click");
  EXPECT_EQ(json.at("records"), 3);
  EXPECT_EQ(json.at("other_records"), 1);
}

TEST_F(InspectMessages, LongMessagesAreCut) {
  shop::Click click;
  for (int i = 0; i < 1'000; ++i) click.add_items()->set_sku("a");
  write({click.SerializeAsString()});
  const ProgramResult result = inspect({"--proto", set_, "--message", "shop.Click"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\n  ... 3,000 lines in all\n"));
}

TEST_F(InspectMessages, WrongUsage) {
  write({""});
  EXPECT_EQ(inspect({"--proto", set_}).status, 0) << "the last file has one message";
  ProgramResult result = inspect({"--message", "shop.Click"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("--proto"));
  result = inspect({"--proto", set_, "--picture", "image"});
  EXPECT_EQ(result.status, 2);
  result = inspect({"--proto", set_, "--message", "shop.Clack"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("no message 'shop.Clack'"), HasSubstr(set_)));
  result = inspect({"--proto", folder_.file("none.pb")});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("none.pb"));
}

/// The first Ctrl-C did nothing while the pipe of --proto was waited for.
TEST_F(InspectMessages, CtrlCEndsWaitingForAPipe) {
  write({""});
  const std::string pipe = folder_.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  int writer = -1;  // which says nothing
  const auto is_waiting = [&] {
    writer = writer < 0 ? ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK) : writer;
    return writer >= 0;
  };
  const ProgramResult ended = run_infeed({"inspect", folder_.file("clicks"), "--proto", pipe},
                                         {.send_signal_when = is_waiting, .signal = SIGINT});
  ::close(writer);
  EXPECT_EQ(ended.status, 130) << ended.err;
  EXPECT_LT(ended.seconds_after_signal, kSoonSeconds);
}

TEST_F(InspectMessages, ARecordWhoseFeatureListsAreDamagedCountsAsNoExample) {
  RecordWriter writer(folder_.file("damaged"));
  writer.write("\x12\x01\xff");
  writer.close();
  const std::string out = run_infeed({"inspect", folder_.file("damaged")}).out;
  EXPECT_THAT(out, AllOf(HasSubstr("1 record is no tf.train.Example"),
                         HasSubstr("no tf.train.Example: 3 bytes: 12 01 ff")));
}

}  // namespace
}  // namespace infeed::test
