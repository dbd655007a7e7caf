#pragma once

#include <array>
#include <cstdint>

#include <infeed/pipeline/philox.h>

#include "python/nanobind_headers.h"

namespace infeed::python {

/// The engine's random numbers of one batch, for functions in Python.
class PyRng {
 public:
  PyRng(std::uint64_t seed, std::uint64_t epoch, std::uint64_t position);

  Rng& rng() { return rng_; }
  /// Seed, pass, position.
  const std::array<std::uint64_t, 3>& key() const { return key_; }
  /// Returns a numpy.random.Generator of the key.
  nb::object numpy() const;

 private:
  Rng rng_;
  std::array<std::uint64_t, 3> key_;
};

void bind_rng(nb::module_& module);

}  // namespace infeed::python
