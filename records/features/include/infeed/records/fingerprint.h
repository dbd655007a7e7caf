#pragma once

#include <cstdint>
#include <string_view>

/// Why: ids that come from hashes outlive a program: a model is trained with them, and served by
/// another one. So this hash never changes, and other libraries have it: it is FarmHash's
/// Fingerprint64 (tf.fingerprint, tf.strings.to_hash_bucket_fast, BigQuery's FARM_FINGERPRINT).
///
///     const std::uint64_t bucket = infeed::fingerprint64("Rome") % 1000;
///
/// It withstands chance, not an attacker. Thread-safety: a function of its argument.
namespace infeed {

std::uint64_t fingerprint64(std::string_view text);

}  // namespace infeed
