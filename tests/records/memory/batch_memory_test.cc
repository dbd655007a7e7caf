#include "infeed/records/batch_memory.h"

#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "counting_memory.h"
#include "infeed/error.h"
#include "infeed/records/detail/aligned_array.h"
#include "infeed/records/dlpack.h"
#include "infeed/records/tensor.h"
#include "sanitizers.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

TEST(BatchMemory, ABlockGoesBackWithThePoolAndTheLastView) {
  auto memory = std::make_shared<CountingMemory>();
  const std::weak_ptr<CountingMemory> alive = memory;
  const CountingMemory& count = *memory;
  auto pool = std::make_unique<TensorPool>(TensorPoolOptions{.memory = memory});
  memory.reset();
  Tensor tensor(DType::float32, {1000}, *pool);
  EXPECT_TRUE(count.holds(tensor.data(), tensor.bytes()));
  { const Tensor other(DType::float32, {1000}, *pool); }
  { const Tensor again(DType::float32, {1000}, *pool); }
  EXPECT_EQ(count.allocations(), 2U) << "the pool keeps what comes back";
  pool.reset();
  Tensor slice = tensor.slice(10, 10);
  dlpack::DLManagedTensor* const exported = export_dlpack_unversioned(slice);
  tensor = slice = Tensor();
  EXPECT_GE(count.held_bytes(), 4000U);
  EXPECT_LE(count.held_bytes(), 5000U) << "the other block went back with the pool";
  EXPECT_EQ(count.faults(), 0U);
  std::size_t held_at_last = 1;
  exported->deleter(exported);
  if (const auto still = alive.lock()) held_at_last = still->held_bytes();
  EXPECT_TRUE(alive.expired()) << "nobody needs the memory any more; it holds " << held_at_last;
}

class OddMemory final : public std::pmr::memory_resource {
 public:
  enum class Kind : std::uint8_t { gives_null, is_misaligned, throws_its_own };
  explicit OddMemory(Kind kind) : kind_(kind) {}
  bool was_given_back = false;

 private:
  void* do_allocate(std::size_t, std::size_t) override {
    if (kind_ == Kind::throws_its_own) throw std::runtime_error("the device is lost");
    return kind_ == Kind::gives_null ? nullptr : place_ + 8;
  }
  void do_deallocate(void* block, std::size_t, std::size_t) override {
    was_given_back = block == place_ + 8;
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  const Kind kind_;
  alignas(64) std::byte place_[128];
};

void expect_misaligned_is_refused() {
  const auto misaligned = std::make_shared<OddMemory>(OddMemory::Kind::is_misaligned);
  const TensorPool pool({.memory = misaligned});
  const Error odd = error_of([&] { Tensor(DType::uint8, {100}, pool); });
  EXPECT_EQ(odd.code(), ErrorCode::failed_precondition);
  EXPECT_THAT(odd.message(), testing::MatchesRegex(
                                 "the memory resource of a batch gave 0x[0-9a-f]+ for 128 bytes, "
                                 "which is no multiple of 64: do_allocate\\(\\) must heed its "
                                 "alignment"));
  EXPECT_TRUE(misaligned->was_given_back);
}

TEST(BatchMemory, ErrorsSayWhatTheResourceDid) {
  const auto pool_of = [](std::shared_ptr<std::pmr::memory_resource> memory) {
    return TensorPool({.memory = std::move(memory)});
  };
  using Kind = OddMemory::Kind;
  const auto take = [](const TensorPool& pool) {
    return error_of([&] { Tensor(DType::uint8, {100}, pool); });
  };
  std::vector<std::shared_ptr<std::pmr::memory_resource>> empty = {
      std::make_shared<CountingMemory>(64)};
  // The standard library says that no resource gives null or a misaligned block. With the sanitizer a program
  // ends where one does.
  if (!kAddressSanitizer) empty.push_back(std::make_shared<OddMemory>(Kind::gives_null));
  for (const auto& memory : empty) {
    const Error none = take(pool_of(memory));
    EXPECT_EQ(none.code(), ErrorCode::resource_exhausted);
    EXPECT_EQ(none.message(),
              "there is no memory for a tensor of 128 bytes in the memory resource that the stage "
              "was given; make the batch smaller");
  }
  if (!kAddressSanitizer) expect_misaligned_is_refused();
  const TensorPool lost = pool_of(std::make_shared<OddMemory>(Kind::throws_its_own));
  EXPECT_THROW(Tensor(DType::uint8, {100}, lost), std::runtime_error);
  EXPECT_EQ(lost.free_bytes(), 0U);
}

TEST(BatchMemory, OnlyAResourceIsNamedWhereThereIsNone) {
  EXPECT_EQ(detail::where_none_is(nullptr), "");
  EXPECT_EQ(detail::where_none_is(std::make_shared<CountingMemory>()),
            " in the memory resource that the stage was given");
}

TEST(BatchMemory, APoolGoesOnAfterAnError) {
  const auto memory = std::make_shared<CountingMemory>(256);
  const TensorPool pool({.memory = memory});
  for (int round = 0; round < 3; ++round) {
    const Tensor first(DType::uint8, {128}, pool);
    const Tensor second(DType::uint8, {128}, pool);
    EXPECT_EQ(error_of([&] { Tensor(DType::uint8, {128}, pool); }).code(),
              ErrorCode::resource_exhausted);
  }
  EXPECT_EQ(memory->allocations(), 2U);
}

TEST(BatchMemory, AnArrayMovesWithItsMemory) {
  const auto memory = std::make_shared<CountingMemory>();
  {
    detail::AlignedArray<std::string> texts(1, memory);
    for (int i = 0; i < 100; ++i) texts.push_back(std::string(100, 'x'));
    EXPECT_TRUE(memory->holds(texts.values().data(), texts.values().size_bytes()));
    detail::AlignedArray<std::string> plain(3);
    plain.push_back("of the system");
    std::swap(plain, texts);
    EXPECT_EQ(texts.values()[0], "of the system");
    texts = std::move(plain);
    detail::AlignedArray<std::string> taken = std::move(texts);
    EXPECT_TRUE(memory->holds(taken.values().data(), taken.values().size_bytes()));
  }
  EXPECT_EQ(memory->held_bytes(), 0U);
  EXPECT_EQ(memory->faults(), 0U);
  EXPECT_EQ(error_of([] {
              detail::AlignedArray<double>(100, std::make_shared<CountingMemory>(64));
            }).message(),
            "there is no memory for a column of 832 bytes in the memory resource that the stage "
            "was given; make the batch smaller");
}

TEST(BatchMemory, ThreadsTakeAndDrop) {
  const auto memory = std::make_shared<CountingMemory>();
  {
    const TensorPool pool({.free_bytes_max = 100'000, .memory = memory});
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&pool] {
        for (std::int64_t i = 1; i < 1000; ++i) Tensor(DType::uint8, {i % 97 * 64 + 1}, pool);
      });
    }
  }
  EXPECT_EQ(memory->held_bytes(), 0U);
  EXPECT_EQ(memory->faults(), 0U);
}

}  // namespace
}  // namespace infeed::test
