// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The extension module `zarrpoint_cuda_array`, which py/cuda_array_check.py tries.

#include <zarrpoint/cuda_array_interface.hpp>
#include <zarrpoint/interop/dlpack/cuda_array_interface.hpp>

#include "interop/python_device.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using zarrpoint_test::device_tensor;
using zarrpoint_test::fake_space;
using zarrpoint_test::python_device;

namespace {

namespace zp = zarrpoint;
namespace dl = zarrpoint::dlpack;

using value = device_tensor<float>;
constexpr const char* tag = "zarrpoint_cuda_array.value";

value* find(PyObject* object) { return static_cast<value*>(PyCapsule_GetPointer(object, tag)); }
PyObject* object_or(const zp::result<PyObject*>& made) {
  return made ? *made : dl::set_python_error(made.failure());
}
fake_space space_of(Py_ssize_t stream) {
  return {&python_device().device, static_cast<std::size_t>(stream)};
}

/// put(count) -> 0.5, 1.5, ... on the device, by its stream 0, some time later
PyObject* put(PyObject*, PyObject* argument) {
  static std::vector<std::unique_ptr<std::vector<float>>> sent;  // until the copy has been made
  const auto count = PyLong_AsSize_t(argument);
  auto made = std::make_unique<value>(space_of(0), std::vector<std::size_t>{count});
  sent.push_back(std::make_unique<std::vector<float>>(count));
  for (std::size_t i = 0; i < count; ++i) (*sent.back())[i] = static_cast<float>(i) + 0.5F;
  made->upload(*sent.back());
  return PyCapsule_New(made.release(), tag, [](PyObject* capsule) { delete find(capsule); });
}

/// interface(value, read_only) -> dictionary
PyObject* interface_of(PyObject*, PyObject* arguments) {
  PyObject* held = nullptr;
  int read_only = 0;
  if (PyArg_ParseTuple(arguments, "Op", &held, &read_only) == 0) return nullptr;
  value& there = *find(held);
  return object_or(read_only != 0 ? dl::to_cuda_array_interface(std::as_const(there))
                                  : dl::to_cuda_array_interface(there));
}

/// typestr(dtype, strides): of an array of no memory -> dictionary
PyObject* odd(PyObject*, PyObject* arguments) {
  const char* name = nullptr;
  long long stride = 0;
  if (PyArg_ParseTuple(arguments, "sL", &name, &stride) == 0) return nullptr;
  const auto type = zp::parse_dtype(name);
  if (!type) Py_RETURN_NONE;
  zp::tensor_view<fake_space> view{nullptr, *type, {0, 3}, {stride, stride}, space_of(1), {}};
  return object_or(dl::to_cuda_array_interface(view));
}

/// describe(array) -> (spec, strides in bytes, read_only)
PyObject* describe(PyObject*, PyObject* array) {
  const auto taken = dl::from_cuda_array_interface(array, space_of(0));
  if (!taken) return dl::set_python_error(taken.failure());
  return Py_BuildValue("(ssi)", zp::to_string(taken->spec()).c_str(),
                       zp::to_string(taken->view().strides).c_str(), taken->read_only() ? 1 : 0);
}

/// sum(array, stream) -> of a row of float32, read on that stream after nothing but `ready`
PyObject* sum(PyObject*, PyObject* arguments) {
  PyObject* array = nullptr;
  Py_ssize_t stream = 0;
  if (PyArg_ParseTuple(arguments, "On", &array, &stream) == 0) return nullptr;
  auto taken = dl::from_cuda_array_interface(array, space_of(stream));
  if (!taken) return dl::set_python_error(taken.failure());
  const zp::tensor_view<fake_space> view = taken->view();
  std::vector<float> values(static_cast<std::size_t>(view.shape[0]));
  view.space.follow(view.ready).value();
  for (std::size_t i = 0; i < values.size(); ++i) {
    view.space
        .copy_to_host(reinterpret_cast<std::byte*>(&values[i]),
                      view.data + static_cast<std::ptrdiff_t>(i) * view.strides[0], {.width = 4})
        .value();
  }
  view.space.wait(view.space.record().value()).value();
  // It goes where there is no GIL.
  Py_BEGIN_ALLOW_THREADS;
  std::thread([&] { *taken = {}; }).join();
  Py_END_ALLOW_THREADS;
  double out = 0;
  for (const float each : values) out += static_cast<double>(each);
  return PyFloat_FromDouble(out);
}

/// watch() -> how often the device was waited for since, by a thread that holds the GIL or not
PyObject* watch(PyObject*, PyObject*) {
  static long waits[2] = {};
  python_device().on_settle = [] { ++waits[PyGILState_Check()]; };
  PyObject* const out = Py_BuildValue("(ll)", waits[1], waits[0]);
  waits[0] = waits[1] = 0;
  return out;
}

/// fail(yes): the next copy fails when it runs; or all is well again
PyObject* fail(PyObject*, PyObject* argument) {
  if (PyObject_IsTrue(argument) == 1) {
    python_device().device.fail_after(0);
  } else {
    python_device().device.recover();
  }
  Py_RETURN_NONE;
}

/// live() -> how many allocations the device has
PyObject* live(PyObject*, PyObject*) {
  return PyLong_FromSize_t(python_device().device.live_allocations());
}

PyMethodDef methods[] = {
    {"put", put, METH_O, nullptr},          {"interface", interface_of, METH_VARARGS, nullptr},
    {"odd", odd, METH_VARARGS, nullptr},    {"describe", describe, METH_O, nullptr},
    {"sum", sum, METH_VARARGS, nullptr},    {"live", live, METH_NOARGS, nullptr},
    {"watch", watch, METH_NOARGS, nullptr}, {"fail", fail, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "zarrpoint_cuda_array",
                          nullptr,
                          -1,
                          methods,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_zarrpoint_cuda_array() { return PyModule_Create(&definition); }
