// What the bindings share: arrays in and out, threads, and handing work to C++ without the interpreter's lock.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "espalier/optimizer.hpp"
#include "espalier/parameters.hpp"
#include "espalier/synth.hpp"
#include "espalier/thread_pool.hpp"
#include "espalier/trainer.hpp"

namespace espalier::python {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using InArray = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
template <class T>
using OutArray = nb::ndarray<nb::numpy, T>;

template <class T>
std::span<const T> span_of(const InArray<T>& array) {
  return {array.data(), array.size()};
}

// "[3, 4]", for messages.
template <class Array>
std::string shape_text(const Array& array) {
  std::string text = "[";
  for (std::size_t i = 0; i < array.ndim(); ++i) text += (i ? ", " : "") + std::to_string(array.shape(i));
  return text + "]";
}

// A new array of this shape, not yet filled, and where its elements are.
template <class T>
struct NewArray {
  explicit NewArray(std::vector<std::size_t> dimensions) : shape(std::move(dimensions)) {
    std::size_t count = 1;
    for (const std::size_t n : shape) count *= n;
    storage = std::make_unique<T[]>(count ? count : 1);
    data = storage.get();
  }
  nb::object take() {  // with the interpreter's lock
    nb::capsule owner(storage.release(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::cast(OutArray<T>(data, shape.size(), shape.data(), owner));
  }
  std::vector<std::size_t> shape;
  std::unique_ptr<T[]> storage;
  T* data;
};

template <class T>
nb::object to_array(std::span<const T> values, std::vector<std::size_t> shape) {
  NewArray<T> array(std::move(shape));
  std::copy(values.begin(), values.end(), array.data);
  return array.take();
}

// An object that several Python threads may call: one call at a time. Long work waits and runs without the
// interpreter's lock; short calls keep it, which cannot lock up, because nothing in work() needs it.
class Guarded {
 public:
  template <class Body>
  auto work(Body&& body) {
    nb::gil_scoped_release release;
    const auto guard = lock();
    return body();
  }
  std::unique_lock<std::recursive_mutex> lock() { return std::unique_lock(mutex_); }

 private:
  std::recursive_mutex mutex_;
};

// The same for what nobody else has: a result made without the interpreter's lock.
template <class Body>
auto unlocked(Body&& body) {
  nb::gil_scoped_release release;
  return body();
}

nb::object to_python(const FieldValue& value);
nb::dict to_python(const Facts& facts);
nb::list to_python(const Provenance& provenance);
Provenance provenance_from(const nb::list& list);
FieldValue to_field(nb::handle value, const std::string& name);
// Pairs of names and values.
void set_fields(Fields& fields, const nb::list& settings);

// Shared with a network that may grow: its state moves along.
struct PyOptimizer {
  std::shared_ptr<Optimizer> held;
};

// The tensors as a dict of views; `owner` keeps the arrays alive. Only for parameters that never grow.
nb::dict tensor_views(Parameters& parameters, bool gradients, nb::handle owner);

// What all that have Parameters of a fixed shape offer alike.
template <class Owner>
void bind_parameters(nb::class_<Owner>& c) {
  c.def("values", [](nb::handle self) { return tensor_views(nb::cast<Owner&>(self).parameters(), false, self); })
      .def("gradients", [](nb::handle self) { return tensor_views(nb::cast<Owner&>(self).parameters(), true, self); })
      .def("zero_grad", [](Owner& o) { o.work([&] { o.parameters().zero_grad(o.pool()); }); })
      .def("gradient_norm", [](Owner& o) { return o.work([&] { return o.parameters().gradient_norm(o.pool()); }); })
      .def("clip_gradients",
           [](Owner& o, double norm) { return o.work([&] { return o.parameters().clip_gradients(norm, o.pool()); }); })
      .def("sgd", [](Owner& o, float lr) { o.work([&] { sgd_step(o.parameters(), lr, o.pool()); }); })
      .def("step", [](Owner& o, const PyOptimizer& optimizer,
                      float lr) { o.work([&] { optimizer.held->step(o.parameters(), lr, o.pool()); }); })
      .def("hash", [](Owner& o) { return o.parameters().hash(); })
      .def_prop_ro("num_parameters", [](Owner& o) { return o.parameters().num_parameters(); });
}

void bind_runs(nb::module_& m);
void bind_lattice(nb::module_& m);
void bind_circuit(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_networks(nb::module_& m);
void bind_tables(nb::module_& m);

}  // namespace espalier::python
