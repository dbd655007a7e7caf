#include "sources/url_stop.h"

#include <gtest/gtest.h>
#include <stop_token>

#include "engine/iterator_context.h"

namespace infeed {
namespace {

TEST(UrlStop, IsRequestedByACancellationBeforeItOrAfterIt) {
  IteratorContext run{IterateOptions{}};
  const StageContext context{.run = run, .counters = nullptr};
  UrlOptions before;
  const detail::UrlStop made_before(context, before);
  EXPECT_FALSE(before.stop.stop_requested());
  run.cancel();
  EXPECT_TRUE(before.stop.stop_requested());
  // As an input of repeat is, whose next pass is opened while the consumer waits for it.
  UrlOptions after;
  const detail::UrlStop made_after(context, after);
  EXPECT_TRUE(after.stop.stop_requested());
  EXPECT_FALSE(made_after.stopped_by_user());
}

TEST(UrlStop, KnowsThatTheUserStopped) {
  IteratorContext run{IterateOptions{}};
  std::stop_source user;
  UrlOptions url{.stop = user.get_token()};
  const detail::UrlStop stop({.run = run, .counters = nullptr}, url);
  EXPECT_FALSE(url.stop.stop_requested());
  user.request_stop();
  EXPECT_TRUE(url.stop.stop_requested());
  EXPECT_TRUE(stop.stopped_by_user());
}

}  // namespace
}  // namespace infeed
