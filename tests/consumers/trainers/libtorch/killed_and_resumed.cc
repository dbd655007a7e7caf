#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <infeed/records/example.h>
#include <infeed/records/record_writer.h>

#include "../require.h"

// Runs the README's training once in one go. Then it kills it with -9 at drawn steps and starts it
// again until it is through: every step must have the loss of the run in one go, to the last digit.

namespace {

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift);
  return bytes;
}

std::string png_chunk(std::string type, const std::string& data) {
  type += data;
  const auto* const bytes = reinterpret_cast<const Bytef*>(type.data());
  const uLong crc = crc32(0, bytes, static_cast<uInt>(type.size()));
  return big_endian(static_cast<std::uint32_t>(data.size())) + type +
         big_endian(static_cast<std::uint32_t>(crc));
}

/// A picture of 40 x 40 with stripes across or along.
std::string picture(std::mt19937_64& random, bool along) {
  constexpr int kSize = 40;
  std::string rows;
  for (int y = 0; y < kSize; ++y) {
    rows += '\0';  // no filter
    for (int x = 0; x < 3 * kSize; ++x) {
      const bool is_bright = (along ? y : x / 3) / 4 % 2 == 0;
      rows += static_cast<char>((is_bright ? 120 : 0) + random() % 100);
    }
  }
  std::string packed(compressBound(rows.size()), '\0');
  uLongf size = packed.size();
  require(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                   reinterpret_cast<const Bytef*>(rows.data()), rows.size()) == Z_OK,
          "the picture is compressed");
  packed.resize(size);
  return "\x89PNG\r\n\x1a\n" +
         png_chunk("IHDR",
                   big_endian(kSize) + big_endian(kSize) + std::string("\x08\x02\0\0\0", 5)) +
         png_chunk("IDAT", packed) + png_chunk("IEND", "");
}

void write_shards(const std::filesystem::path& folder, std::mt19937_64& random) {
  std::filesystem::create_directories(folder / "shards");
  for (int shard = 0; shard < 2; ++shard) {
    infeed::RecordWriter writer(
        (folder / "shards" / (std::to_string(shard) + ".tfrecord")).string());
    for (int n = 0; n < 100; ++n) {
      const bool along = random() % 2 == 0;
      writer.write(infeed::ExampleBuilder()
                       .bytes("image", picture(random, along))
                       .integers("label", along ? 1 : 0)
                       .encode());
    }
    writer.close();
  }
}

/// Runs the training in the folder, and kills it behind `lines_max` lines. Returns true if it came to
/// its end. `losses` gets the lines by their steps; a step that comes again must have the same loss.
bool train(const std::filesystem::path& folder, int lines_max, std::map<int, std::string>& losses) {
  int ends[2];
  require(pipe(ends) == 0, "there is a pipe");
  const pid_t trainer = fork();
  if (trainer == 0) {
    dup2(ends[1], STDOUT_FILENO);
    std::filesystem::current_path(folder);
    execl(TRAINER, TRAINER, nullptr);
    _exit(127);
  }
  close(ends[1]);
  FILE* const output = fdopen(ends[0], "r");
  char line[256];
  for (int count = 0; std::fgets(line, sizeof line, output) != nullptr;) {
    int step = 0;
    require(std::sscanf(line, "step %d:", &step) == 1, std::string("a step is printed: ") + line);
    const auto [at, is_new] = losses.emplace(step, line);
    require(is_new || at->second == line, "again " + at->second + "not " + line);
    if (++count == lines_max) kill(trainer, SIGKILL);
  }
  std::fclose(output);
  int status = 0;
  waitpid(trainer, &status, 0);
  const bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  require(was_killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0),
          "it ends well or is killed");
  return !was_killed;
}

}  // namespace

int main() {
  const char* const given = std::getenv("INFEED_TEST_SEED");
  const std::uint64_t seed = given == nullptr ? 1 : std::strtoull(given, nullptr, 10);
  std::printf("INFEED_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  const std::filesystem::path folder = fresh_folder("libtorch_data");
  write_shards(folder / "whole", random);
  std::filesystem::copy(folder / "whole", folder / "killed",
                        std::filesystem::copy_options::recursive);

  std::map<int, std::string> whole;
  require(train(folder / "whole", 0, whole), "the training ends");
  require(whole.size() == 60, "it has 60 steps");

  std::map<int, std::string> killed;
  int kills = 0;
  while (!train(folder / "killed", 3 + static_cast<int>(random() % 30), killed)) ++kills;
  require(kills >= 2, "it was killed more than once");
  require(killed == whole, "every step has the loss that it has in one go");
  double first = 0;
  double last = 0;
  require(std::sscanf(whole[1].c_str(), "step 1: loss %lf", &first) == 1 &&
              std::sscanf(whole[60].c_str(), "step 60: loss %lf", &last) == 1 && last < first,
          "it learns");
  std::printf("killed %d times, and the same losses: %s", kills, whole[60].c_str());
}
