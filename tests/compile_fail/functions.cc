// Requirements of a user's function; run.py explains the format of this file.
#include <memory>
#include <string>
#include <vector>

using namespace infeed;

struct Sample {
  std::array<float, 4> image;
  std::int64_t label;
};

const Dataset<std::int64_t> numbers = range(10);
const Dataset<std::string> words = slices(std::vector<std::string>{"a", "b"});
const Dataset<Sample> samples = slices(std::vector<Sample>{});

// case: all that the others misuse
// compiles
numbers | map([](std::int64_t x) { return x + 1; }) | filter([](std::int64_t x) { return x > 1; });
zip(numbers, words) | map([](std::int64_t x, const std::string& word) { return word.size() + x; });
numbers | map([p = std::make_unique<int>(1)](std::int64_t x) { return x + *p; });
numbers | flat_map([](std::int64_t x) { return range(x); });
numbers | scan(0, [](int sum, std::int64_t x) { return std::pair(sum + 1, x); });
numbers | map([](std::int64_t x, Rng& rng) { return x + static_cast<std::int64_t>(rng() % 2); });
numbers | enumerate() | map([](std::int64_t i, std::int64_t x, Rng&) { return i + x; });

// case: map with a mutable lambda
// error: infeed::map: the function changes itself (a mutable lambda)
// shows: Element = long int
numbers | map([n = 0](std::int64_t x) mutable { return x + n++; });

// case: map with a mutable lambda that draws
// error: infeed::map: the function changes itself (a mutable lambda)
numbers | map([n = 0](std::int64_t x, Rng&) mutable { return x + n++; });

// case: map with a function of another type
// error: infeed::map: the function can't be called with the dataset's Element
// shows: Element = std::__cxx11::basic_string<char>
words | map([](int x) { return x; });

// case: map with a function of another type, and what follows it
// error: infeed::map: the function can't be called with the dataset's Element
// shows: Element = std::__cxx11::basic_string<char>
auto batches =
    words | map([](int x) { return x; }) | filter([](int x) { return x > 1; }) | batch(3);
for (const int x : batches.iterate()) static_cast<void>(x);

// case: map with a function that takes a reference to change
// error: infeed::map: the function can't be called with the dataset's Element
// shows: Element = std::__cxx11::basic_string<char>
words | map([](std::string& word) { return word + "!"; });

// case: map with a function that returns nothing
// error: infeed::map: the function returns nothing: it must return the new element
// shows: Element = long int
numbers | map([](std::int64_t) {});

// case: map of a zip with too few arguments
// error: infeed::map: the function can't be called with the dataset's Element
// shows: Element = std::tuple<long int, long int, std::__cxx11::basic_string<char
zip(numbers, numbers, words) | map([](std::int64_t a, std::int64_t b) { return a + b; });

// case: map of a zip with arguments in another order
// error: infeed::map: the function can't be called with the dataset's Element
// shows: Element = std::tuple<long int, std::__cxx11::basic_string<char
zip(numbers, words) | map([](const std::string& word, std::int64_t) { return word; });

// case: map with a function whose results can't be moved
// error: infeed::map: the function returns what can't be an element
numbers | map([](std::int64_t) { return std::atomic<int>(1); });

// case: filter that returns a string
// error: infeed::filter: the predicate must return a bool
// shows: Element = long int
numbers | filter([](std::int64_t x) { return std::to_string(x); });

// case: filter that returns a string literal, which is always true
// error: infeed::filter: the predicate must return a bool
numbers | filter([](std::int64_t x) { return x > 1 ? "yes" : "no"; });

// case: filter that returns nothing
// error: infeed::filter: the predicate must return a bool
numbers | filter([](std::int64_t) {});

// case: filter of another type
// error: infeed::filter: the predicate can't be called with the dataset's Element
// shows: Element = Sample
samples | filter([](std::int64_t label) { return label > 0; }) | batch(3);

// case: filter with a mutable lambda
// error: infeed::filter: the predicate changes itself
numbers | filter([n = 0](std::int64_t) mutable { return ++n < 3; });

// case: take_while of another type
// error: infeed::take_while: the predicate can't be called with the dataset's Element
// shows: Element = Sample
samples | take_while([](double loss) { return loss > 0.1; });

// case: take_while that returns a string
// error: infeed::take_while: the predicate must return a bool
numbers | take_while([](std::int64_t x) { return std::to_string(x); });

// case: flat_map of another type
// error: infeed::flat_map: the function can't be called with the dataset's Element
// shows: Element = long int
numbers | flat_map([](const std::string& file) { return records(file); }) | prefetch();

// case: flat_map with a mutable lambda
// error: infeed::flat_map: the function changes itself
numbers | flat_map([n = 0](std::int64_t) mutable { return range(++n); });

// case: flat_map that returns a vector
// error: infeed::flat_map: the function must return an infeed::Dataset
numbers | flat_map([](std::int64_t x) { return std::vector{x, x}; }) | batch(3);

// case: interleave of another type
// error: infeed::interleave: the function can't be called with the dataset's Element
// shows: Element = long int
numbers | interleave([](const std::string& file) { return records(file); });

// case: interleave that returns a vector
// error: infeed::interleave: the function must return an infeed::Dataset
numbers | interleave([](std::int64_t x) { return std::vector{x, x}; }, {.cycle_length = 2});

// case: scan of another type
// error: infeed::scan: the function can't be called with the State and the dataset's Element
// shows: Element = std::__cxx11::basic_string<char>
words | scan(0, [](int sum, int x) { return std::pair(sum, x); });

// case: scan that returns no pair
// error: infeed::scan: the function must return a std::pair
numbers | scan(0, [](int sum, std::int64_t) { return sum; });

// case: scan with a mutable lambda
// error: infeed::scan: the function changes itself
numbers | scan(0, [n = 0](int sum, std::int64_t) mutable { return std::pair(sum, ++n); });

// case: batch_into of another type
// error: infeed::batch_into: the function can't be called as const with the dataset's Element
// shows: Element = long int
numbers | batch_into<Sample>(3, [](const Record&, const Row<Sample>&) {}) | prefetch();

// case: rejection_resample by something that is no class
// error: infeed::rejection_resample: class_of must be callable as const
numbers | rejection_resample([](std::int64_t x) { return std::to_string(x); }, {.target = {1}});
