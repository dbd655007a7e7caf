#include "python/rng.h"

#include "python/python_object.h"

namespace infeed::python {

PyRng::PyRng(std::uint64_t seed, std::uint64_t epoch, std::uint64_t position)
    : rng_(seed, epoch, position), key_{seed, epoch, position} {}

nb::object PyRng::numpy() const {
  // NumPy's Philox takes 128 bits of key and 256 of counter.
  const nb::object random = nb::module_::import_("numpy").attr("random");
  nb::list counter;
  counter.append(0);
  counter.append(0);
  counter.append(key_[1]);
  counter.append(key_[2]);
  const nb::object bits = random.attr("Philox")(
      nb::arg("key") = nb::int_(key_[0]),
      nb::arg("counter") = nb::module_::import_("numpy").attr("array")(counter, "uint64"));
  return random.attr("Generator")(bits);
}

void bind_rng(nb::module_& module) {
  nb::class_<PyRng>(module, "Rng",
                    "Random numbers of one batch: a function of the seed, the pass and the batch's "
                    "position, so they are the same with any number of workers and after a resume.")
      .def(nb::init<std::uint64_t, std::uint64_t, std::uint64_t>(), nb::arg("seed"),
           nb::arg("epoch"), nb::arg("position"))
      .def(
          "uniform", [](PyRng& self) { return self.rng().uniform(); }, "Returns 0 <= x < 1.")
      .def(
          "below", [](PyRng& self, std::uint32_t bound) { return self.rng().below(bound); },
          nb::arg("bound"), "Returns an integer from 0 up to bound - 1.")
      .def(
          "chance", [](PyRng& self, float p) { return self.rng().chance(p); },
          nb::arg("probability"), "Returns True with this probability.")
      .def(
          "bits", [](PyRng& self) { return self.rng()(); }, "Returns 32 random bits.")
      .def("numpy", &PyRng::numpy, "Returns a numpy.random.Generator of the same key.")
      .def_prop_ro("key", [](const PyRng& self) {
        return nb::make_tuple(self.key()[0], self.key()[1], self.key()[2]);
      });
}

}  // namespace infeed::python
