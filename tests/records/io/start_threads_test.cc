#include <array>
#include <pthread.h>
#include <string>
#include <thread>

#include <infeed/detail/begin_thread.h>
#include <infeed/detail/start_threads.h>

#include "thrown_error.h"

namespace infeed::test {
namespace {

/// Threads of a system that gives only so many.
class FewThreads {
 public:
  explicit FewThreads(std::size_t left) : left_(left) {}
  template <class Work>
  void emplace_back(const Work& work) {
    if (left_ == size_) {
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    }
    work();
    ++size_;
  }
  std::size_t size() const { return size_; }

 private:
  std::size_t left_;
  std::size_t size_ = 0;
};

TEST(StartThreads, FewerWillDo) {
  int begun = 0;
  const auto work = [&begun] { ++begun; };
  FewThreads plenty(100);
  detail::start_threads(plenty, 4, work);
  EXPECT_EQ(begun, 4);
  FewThreads two(2);
  detail::start_threads(two, 8, work);
  EXPECT_EQ(begun, 6);
  detail::start_threads(two, 8, work);
  EXPECT_EQ(begun, 6);
}

TEST(StartThreads, NoneIsAnErrorThatSaysWhatToDo) {
  FewThreads none(0);
  const Error error = error_of([&] { detail::start_threads(none, 2, [] {}); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_EQ(error.message(),
            "the system gives no further thread (Resource temporarily unavailable): ask for fewer "
            "threads, or raise the limit of processes (ulimit -u, or that of the container)");
  EXPECT_TRUE(error.is_terminal()) << "no element is at fault";
  FewThreads one(1);
  detail::start_threads(one, 1, [] {});
  EXPECT_EQ(error_of([&] {
              detail::start_threads(
                  one, 1, [] {}, 2);
            }).code(),
            ErrorCode::resource_exhausted);
}

TEST(StartThreads, AThreadDoesItsWork) {
  bool is_done = false;
  detail::start_thread([&is_done] { is_done = true; }).join();
  EXPECT_TRUE(is_done);
}

TEST(BeginThread, NamesTheThreadForDebuggersAndForWhomItTells) {
  std::array<char, 16> kept{};
  std::string told;
  std::thread([&] {
    detail::begin_thread("0123456789abcdefgh", [&](std::string_view name) { told = name; });
    ::pthread_getname_np(::pthread_self(), kept.data(), kept.size());
    detail::begin_thread("nobody is told", {});
  }).join();
  EXPECT_STREQ(kept.data(), "0123456789abcde");
  EXPECT_EQ(told, "0123456789abcdefgh");
}

}  // namespace
}  // namespace infeed::test
