#include <cmath>
#include <fmt/format.h>
#include <string>
#include <vector>

#include <infeed/error.h>
#include <infeed/pipeline/batch.h>
#include <infeed/pipeline/iterator.h>
#include <infeed/pipeline/range.h>
#include <infeed/pipeline/reshard_checkpoint.h>
#include <infeed/pipeline/shard.h>
#include <infeed/pipeline/snapshot.h>
#include <infeed/records/line_journal.h>
#include <infeed/records/output_file.h>
#include <infeed/records/record_writer.h>
#include <infeed/records/training_checkpoint.h>

/// Reads what only programs read, no command: snapshots, checkpoints that go to other hosts, and
/// training checkpoints. hostile.py runs it as it runs the commands; exit status 3 means a wrong
/// result.
///
///     snapshot FOLDER LINE...   reads it with these lines in its journal, with right checksums
///     read FOLDER               reads it with the journal that is there
///     reshard POSITION HOSTS ROWS HOSTS ROWS
///     checkpoint FOLDER
///     record FILE               records a run until that ends, as a file may only have some bytes
///     write FILE                writes records until that ends
namespace infeed {
namespace {

constexpr int kWrong = 3;
constexpr std::uint64_t kReadsMax = 10'000;

void write_journal(const std::string& folder, std::vector<std::string> lines) {
  lines.insert(lines.begin(), {"infeed elements 1", "is\telements string"});
  replace_file(folder + "/elements.journal",
               LineJournal::text_of(lines, LineChecksum::behind_text));
}

int read_elements(const std::string& folder) {
  auto iterator = read_snapshot<std::string>(folder).iterate();
  std::uint64_t elements = 0;
  std::string failure;
  for (std::uint64_t i = 0; i < kReadsMax; ++i) {
    try {
      if (!iterator.next()) {
        fmt::print("{} elements, {}\n", elements, failure);
        return failure.empty() ? 0 : 1;
      }
      ++elements;
    } catch (const Error& error) {
      failure = error.what();
    }
  }
  fmt::print("it does not end\n");
  return kWrong;
}

int reshard(const std::vector<std::uint64_t>& numbers) {
  const auto share = [](std::uint64_t hosts, std::uint64_t rows) {
    return range(std::int64_t{1} << 62) | shard({.count = hosts, .index = 0}) |
           batch(static_cast<std::int64_t>(rows));
  };
  const auto before = share(numbers.at(1), numbers.at(2));
  const auto now = share(numbers.at(3), numbers.at(4));
  Checkpoint checkpoint = before.iterate().checkpoint();
  checkpoint.position = numbers.at(0);
  const Checkpoint there = reshard_checkpoint(checkpoint, now);
  fmt::print("taken {}\n", there.taken.elements);
  // The numbers have no 128 bits, so nearly: an overflow is far off.
  const double wanted = static_cast<double>(numbers[0]) * static_cast<double>(numbers[1]) *
                        static_cast<double>(numbers[2]);
  return std::abs(static_cast<double>(there.taken.elements) - wanted) <= wanted * 1e-9 ? 0 : kWrong;
}

/// A recording that can't go on ends, and the run goes on.
int record(const std::string& file) {
  auto iterator = range(std::int64_t{1} << 40).iterate({.recording = {.file = file}});
  std::uint64_t elements = 0;
  while (iterator.recording().problem.empty() && iterator.next()) ++elements;
  for (int i = 0; i < 1000; ++i) {
    if (!iterator.next()) return kWrong;
  }
  fmt::print("{} elements, then {}\n", elements, iterator.recording().problem);
  return 0;
}

int write_records(const std::string& file) {
  RecordWriter writer(file);
  while (true) writer.write(std::string(1000, 'x'));
}

int run(const std::vector<std::string>& words) {
  const std::string& what = words.at(0);
  if (what == "snapshot") write_journal(words.at(1), {words.begin() + 2, words.end()});
  if (what == "snapshot" || what == "read") return read_elements(words.at(1));
  if (what == "checkpoint") {
    const TrainingCheckpoint checkpoint = TrainingCheckpoint::open(words.at(1));
    for (const auto& tensor : checkpoint.tensors()) checkpoint.read(tensor);
    for (const auto& bytes : checkpoint.bytes()) checkpoint.read(bytes);
    fmt::print("step {}\n", checkpoint.step());
    return 0;
  }
  if (what == "record") return record(words.at(1));
  if (what == "write") return write_records(words.at(1));
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 1; i < words.size(); ++i) numbers.push_back(std::stoull(words[i]));
  return reshard(numbers);
}

}  // namespace
}  // namespace infeed

int main(int argc, char** argv) {
  try {
    return infeed::run({argv + 1, argv + argc});
  } catch (const infeed::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
