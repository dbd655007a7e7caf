#pragma once

/// The sanitizer of this build: GCC tells by macros, Clang by __has_feature. INFEED_TESTS_SANITIZED is defined if
/// there is one, which brings an allocator of its own.
namespace infeed::test {

#if defined(__has_feature)
#define INFEED_TESTS_HAVE_FEATURE(feature) __has_feature(feature)
#else
#define INFEED_TESTS_HAVE_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || INFEED_TESTS_HAVE_FEATURE(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;
#define INFEED_TESTS_SANITIZED
#else
inline constexpr bool kAddressSanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__) || INFEED_TESTS_HAVE_FEATURE(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#define INFEED_TESTS_SANITIZED
#else
inline constexpr bool kThreadSanitizer = false;
#endif

/// How many times as long something may take as users are promised.
inline constexpr double kTimesSlower = kAddressSanitizer || kThreadSanitizer ? 10 : 1;

#undef INFEED_TESTS_HAVE_FEATURE

}  // namespace infeed::test
