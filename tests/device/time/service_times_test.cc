#include "infeed/device/service_times.h"

#include <gtest/gtest.h>
#include <map>

#include "device/error_message.h"

namespace infeed {
namespace {

std::vector<std::int64_t> first(const ServiceTimes& times, std::int32_t host, std::int64_t count) {
  std::vector<std::int64_t> ps;
  for (std::int64_t step = 0; step < count; ++step) ps.push_back(times.ps(host, step));
  return ps;
}

TEST(ServiceTimes, InOrderBeginAgain) {
  const std::vector<std::int64_t> expected{3, 1, 2, 3, 1};
  EXPECT_EQ(first(ServiceTimes::in_order({3, 1, 2}), 0, 5), expected);
  EXPECT_EQ(first(ServiceTimes::in_order({3, 1, 2}), 700, 5), expected);
  EXPECT_EQ(ServiceTimes::constant(9).ps(12, 1'000'000'007), 9);
}

TEST(ServiceTimes, ReplayedHostsBeginAtPlacesOfTheirOwn) {
  std::vector<std::int64_t> recorded;
  for (std::int64_t i = 0; i < 100; ++i) recorded.push_back(i);
  const ServiceTimes times = ServiceTimes::replayed(recorded, 5);
  std::map<std::int64_t, int> begins;
  for (std::int32_t host = 0; host < 200; ++host) {
    const std::int64_t begin = times.ps(host, 0);
    ++begins[begin];
    EXPECT_EQ(times.ps(host, 37), (begin + 37) % 100);
    EXPECT_EQ(times.ps(host, 137), (begin + 37) % 100);
  }
  EXPECT_GT(begins.size(), 60U);  // 87 of 100 are to be expected
}

TEST(ServiceTimes, DrawsAreEvenAndIndependent) {
  const ServiceTimes times = ServiceTimes::drawn({0, 1, 2, 3}, 11);
  std::map<std::pair<std::int64_t, std::int64_t>, int> pairs;
  for (std::int64_t step = 0; step < 16'000; ++step) {
    ++pairs[{times.ps(0, step), times.ps(1, step)}];
  }
  ASSERT_EQ(pairs.size(), 16U);
  for (const auto& [pair, count] : pairs) EXPECT_NEAR(count, 1000, 150);
  EXPECT_EQ(first(times, 3, 50), first(ServiceTimes::drawn({0, 1, 2, 3}, 11), 3, 50));
  EXPECT_NE(first(times, 3, 50), first(ServiceTimes::drawn({0, 1, 2, 3}, 12), 3, 50));
}

TEST(ServiceTimes, AReaderGivesTheSameOneByOne) {
  const std::vector<std::int64_t> recorded{7, 1, 5, 3, 9};
  const auto read = [](const ServiceTimes& times, std::int32_t host) {
    ServiceTimes::Reader reader(times, host);
    std::vector<std::int64_t> ps;
    for (int step = 0; step < 12; ++step) ps.push_back(reader.next());
    return ps;
  };
  std::vector<ServiceTimes> kinds{ServiceTimes::constant(4), ServiceTimes::in_order(recorded),
                                  ServiceTimes::replayed(recorded, 3),
                                  ServiceTimes::drawn(recorded, 3)};
  const ServiceTimes of_hosts = ServiceTimes::of_hosts(kinds);
  for (std::int32_t host = 0; host < 4; ++host) {
    EXPECT_EQ(read(of_hosts, host), first(of_hosts, host, 12));
    for (const ServiceTimes& times : kinds) EXPECT_EQ(read(times, host), first(times, host, 12));
  }
}

TEST(ServiceTimes, SayWhatIsWrong) {
  const auto message = [](const auto& call) { return error_message(call); };
  EXPECT_EQ(message([] { ServiceTimes::in_order({}); }),
            "there is no service time; give at least one");
  EXPECT_EQ(message([] {
              ServiceTimes::drawn({5, -1}, 1);
            }),
            "service time 1 of 2 is -1 ps; expected 0 to 1000000000000000000 ps");
  EXPECT_EQ(message([] { ServiceTimes::of_hosts({}); }),
            "there are service times of no host; give those of each host of the slice");
  const ServiceTimes two =
      ServiceTimes::of_hosts({ServiceTimes::constant(1), ServiceTimes::constant(2)});
  EXPECT_EQ(two.num_hosts(), 2);
  EXPECT_EQ(two.ps(1, 77), 2);
  EXPECT_EQ(message([&] { ServiceTimes::of_hosts({two}); }),
            "the service times of one host are those of 2 hosts; give one source of times for each "
            "host");
}

}  // namespace
}  // namespace infeed
