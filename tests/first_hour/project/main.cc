// A newcomer's second program: a struct of their own, read from the shards that `infeed convert` made
// of a CSV file, in batches whose order survives the process.
//
//   people SHARDS                        prints all batches
//   people SHARDS stop 2 CHECKPOINT      prints two, and keeps its place
//   people SHARDS resume CHECKPOINT      prints those that follow
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include <infeed/infeed.h>

namespace {

struct Person {
  std::string name;
  std::int64_t age;
  float price;
};

infeed::Dataset<infeed::Batch<Person>> people(const std::string& shards) {
  const auto schema = infeed::ExampleSchema<Person>()
                          .feature("name", &Person::name)
                          .feature("age", &Person::age)
                          .feature("price", &Person::price);
  return infeed::records(shards) | infeed::parse<Person>(schema) | infeed::map([](Person person) {
           person.price *= 2;
           return person;
         }) |
         infeed::shuffle({.buffer = 4, .seed = 7}) | infeed::repeat(3) | infeed::batch(2) |
         infeed::prefetch();
}

void print(const infeed::Batch<Person>& batch) {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    std::printf("%s %lld %.1f  ", batch.column(&Person::name)[i].c_str(),
                static_cast<long long>(batch.column(&Person::age)[i]),
                static_cast<double>(batch.column(&Person::price)[i]));
  }
  std::printf("\n");
}

infeed::Checkpoint read_checkpoint(const char* file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return infeed::Checkpoint::from_text(text.str());
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string_view mode = argc > 2 ? argv[2] : "";
  const auto batches = people(argv[1]);
  auto iterator =
      mode == "resume" ? batches.iterate({.resume = read_checkpoint(argv[3])}) : batches.iterate();
  int left = mode == "stop" ? std::atoi(argv[3]) : -1;
  while (left-- != 0) {
    const auto batch = iterator.next();
    if (!batch) break;
    print(*batch);
  }
  if (mode == "stop") std::ofstream(argv[4]) << iterator.checkpoint().to_text();
  return 0;
} catch (const infeed::Error& error) {
  std::fprintf(stderr, "people: %s\n", error.what());
  return 1;
}
