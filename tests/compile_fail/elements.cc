// Elements that a stage takes; run.py explains the format of this file.
#include <memory>
#include <string>
#include <vector>

#include <infeed/records/files.h>

using namespace infeed;

struct Sample {
  std::array<float, 4> image;
  std::int64_t label;
};
struct WithArray {
  float image[4];
  std::int64_t label;
};
struct WithLargeArray {
  std::int64_t label;
  float image[28][28];
};
struct WithNames {
  std::string names[3];
};
struct WithBase : Sample {
  float weight;
};
struct WithEmptyBase : std::true_type {
  float weight;
};
struct WithNested {
  Sample sample;
};
class Whole {
 public:
  explicit Whole(int value) : value(value) {}
  int value;
};
struct Sentence {
  std::vector<int> tokens;
  char language[2];
};

const Dataset<std::int64_t> numbers = range(10);
const Dataset<std::string> words = slices(std::vector<std::string>{"a", "b"});
const Dataset<Sample> samples = slices(std::vector<Sample>{});
const auto schema =
    ExampleSchema<Sample>().feature("image", &Sample::image).feature("label", &Sample::label);

// case: all that the others misuse
// compiles
samples | batch(3) | unbatch() | concatenate(samples);
slices(std::vector<WithArray>{}) | shuffle({.buffer = 3}) |
    map([](const WithArray& x) { return x.label; });
slices(std::vector<WithBase>{}) | cache();
slices(std::vector<Whole>{}) | batch(3);
sample_from_datasets({numbers, numbers}, {.weights = {1, 2}});
sample_from_datasets({numbers});
choose_from_datasets({numbers, numbers}, numbers);
records({"a", "b"}) | parse_batch(schema, 3);
records({"a"}, {.parallelism = 2});
files({"a", "b"});
match_files({"a", "b"});
auto tail = shuffle({.buffer = 3}) | batch(3) | prefetch();
samples | tail;
samples | take(3) | tail;
auto own = [](const auto& input) { return input | take(1); };
samples | (own | batch(3)) | prefetch();
samples | (batch(3) | own) | prefetch();
std::size_t bytes = 3;
unsigned threads = 2;
int world = 3, rank = 1;
samples | shard({.count = world, .index = rank}) | shuffle({.buffer = bytes});
numbers |
    map([](std::int64_t x) { return x; }, {.parallelism = threads, .guard = {.retries = bytes}});
numbers | window({.size = bytes, .shift = rank}) |
    skip_errors({.count_max = world, .share_after = 3});
files({"a"}) | interleave([](const std::string& file) { return records(file); },
                          {.cycle_length = bytes, .block_length = rank, .parallelism = threads});

// case: batch of a struct with a C array
// error: infeed: a member of the batch's Row is a C array, which can't be a column: make it a std::array
// shows: Row = WithArray
slices(std::vector<WithArray>{}) | batch(3) | prefetch();

// case: batch of a struct with a large C array
// error: infeed: a member of the batch's Row is a C array
// shows: Row = WithLargeArray
slices(std::vector<WithLargeArray>{}) | batch(3);

// case: batch of a struct with a C array of strings
// error: infeed: a member of the batch's Row is a C array
// shows: Row = WithNames
slices(std::vector<WithNames>{}) | batch(3);

// case: batch of a struct with a base class
// error: infeed: the batch's Row has a base class, whose members can't be columns
// shows: Row = WithBase
slices(std::vector<WithBase>{}) | batch(3);

// case: batch of a struct with an empty base class
// error: infeed: the batch's Row has a base class
// shows: Row = WithEmptyBase
slices(std::vector<WithEmptyBase>{}) | batch(3);

// case: padded_batch of a struct with a C array
// error: infeed: a member of the batch's Row is a C array
// shows: Row = Sentence
slices(std::vector<Sentence>{}) | padded_batch(3);

// case: padded_batch of numbers
// error: infeed::padded_batch: the elements must be std::vectors
// shows: long int
numbers | padded_batch(3) | prefetch();

// case: a column of a class
// error: infeed::Batch: only a plain struct of up to 64 members has a column for each
// shows: T = Whole
Batch<Whole>().column(&Whole::value);

// case: a column of a row of a class
// error: infeed::Row: only a plain struct of up to 64 members has a column for each
// shows: T = Whole
const auto write = [](const Row<Whole>& row) { row.column(&Whole::value) = 1; };

// case: parse_batch of strings
// error: infeed::parse_batch: the dataset's Element must be an infeed::Record
// shows: Element = std::__cxx11::basic_string<char>
auto batches = words | parse_batch(schema, 3) | prefetch();
for (const Batch<Sample>& batch : batches.iterate()) batch.column(&Sample::label);

// case: parse_ragged_batch of numbers
// error: infeed::parse_ragged_batch: the dataset's Element must be an infeed::Record
// shows: Element = long int
numbers | parse_ragged_batch(schema, 3);

// case: parse_padded_batch of numbers
// error: infeed::parse_padded_batch: the dataset's Element must be an infeed::Record
// shows: Element = long int
numbers | parse_padded_batch(schema, 3);

// case: parse of numbers
// error: infeed::parse: the dataset's Element must be a serialised tf.train.Example
// shows: Element = long int
numbers | parse<Sample>(schema) | batch(3);

// case: parse_message of a class that protoc didn't generate
// error: infeed::parse_message: M must be a class that protoc generated
records({"a"}) | parse_message<Sample>() | batch(3);

// case: parse_columns by a schema of structs
// error: infeed::parse_columns: give a ColumnSchema, or a parser
// shows: Parser = infeed::ExampleSchema<
records({"a"}) | parse_columns(schema, 3);

// case: concatenate with another type
// error: infeed::concatenate: the Element of the first dataset is not the T of the second
// shows: Element = long int
// shows: T = std::__cxx11::basic_string<char>
numbers | concatenate(words) | batch(3);

// case: sample_from_datasets of several types
// error: infeed: the datasets have elements of different types
// shows: First = long int
// shows: Others = {std::__cxx11::basic_string<char
sample_from_datasets({numbers, words}, {.weights = {1, 2}}) | batch(3);

// case: choose_from_datasets of several types
// error: infeed: the datasets have elements of different types
// shows: First = long int
choose_from_datasets({numbers, words}, numbers);

// case: unbatch of numbers
// error: infeed::unbatch: the dataset's Element must be an infeed::Batch, PaddedBatch
// shows: Element = long int
numbers | unbatch() | batch(3);

// case: the column of a member that is a struct
// error: infeed: this member is a struct whose own members are the columns
// shows: WithNested
Batch<WithNested>().column(&WithNested::sample);

// case: rebatch of numbers
// error: infeed::rebatch: the dataset's Element must be an infeed::Batch
// shows: Element = long int
numbers | rebatch(3) | prefetch();

// case: unique of structs without a hash
// error: infeed::unique: the elements that were seen are remembered
// shows: Element = Sample
samples | unique();

// case: a cache in files of what can't be written
// error: infeed: an Element of this type can't be written to files
// shows: Element = std::unique_ptr<int
numbers | map([](std::int64_t) { return std::unique_ptr<int>(); }) | cache({.path = "x"});

// case: unbatch_as of numbers
// error: infeed::unbatch_as: the dataset's Element must be an infeed::ColumnBatch
// shows: Element = long int
numbers | unbatch_as<std::int64_t>({"x"}) | batch(3);

// case: unbatch_as of a class of one's own
// error: infeed::unbatch_as: a member of T must be a number, a std::string
// shows: T = Whole
numbers | map([](std::int64_t) { return ColumnBatch(); }) | unbatch_as<Whole>({"x"}) | batch(3);

// case: features of numbers
// error: infeed::features: the dataset's Element must be an infeed::ColumnBatch
// shows: Element = long int
numbers | features({feature::Clip{.column = "x"}}) | batch(3);

// case: a size that is no number
// error: infeed::sample_from_datasets: the third argument is called with an element
// shows: T = long int
sample_from_datasets({numbers, numbers}, {}, [](std::int64_t) { return "long"; });

// case: a stage behind a vector
// error: infeed: what stands before `| stage` is no infeed::Dataset and no stage
// shows: std::vector<int>
std::vector<int>{1, 2} | map([](int x) { return x; }) | batch(3);

// case: a stage behind an iterator
// error: infeed: what stands before `| stage` is no infeed::Dataset and no stage
// shows: infeed::Iterator<long int>
numbers.iterate() | batch(3);

// case: a function of the elements where a stage must stand
// error: infeed: what stands behind `dataset |` can't be called with the dataset
// shows: T = long int
numbers | [](std::int64_t x) { return x + 1; };

// case: a number where a stage must stand
// error: infeed: what stands behind `dataset |` can't be called with the dataset
numbers | 3;

// case: a dataset where a stage must stand
// error: infeed: what stands behind `stage |` is no stage
batch(3) | numbers;

// case: a number that is no integer as a count
// error: infeed: a count must be an integer, such as 10'000 for 1e4
samples | shuffle({.buffer = 1e4});
