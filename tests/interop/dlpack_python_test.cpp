// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The extension module `zarrpoint_dlpack`, which py/dlpack_check.py tries with NumPy and PyTorch.

#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/dlpack_python.hpp>
#include <zarrpoint/interop/dlpack/dlpack_python.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "interop/python_device.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using zarrpoint_test::device_tensor;
using zarrpoint_test::fake_space;
using zarrpoint_test::one_device;
using zarrpoint_test::python_device;

namespace {

namespace zp = zarrpoint;
namespace dl = zarrpoint::dlpack;

one_device& fake() { return python_device(); }

/// A value that several capsules and Python objects share.
template <class T>
struct handle {
  static constexpr const char* name = "zarrpoint_dlpack.value";
  std::shared_ptr<T> value;

  static PyObject* wrap(T&& value) {
    auto* const made = new handle{std::make_shared<T>(std::move(value))};
    return PyCapsule_New(made, tag(), [](PyObject* capsule) {
      delete static_cast<handle*>(PyCapsule_GetPointer(capsule, tag()));
    });
  }
  static handle* find(PyObject* object) {
    if (PyCapsule_IsValid(object, tag()) == 0) return nullptr;
    return static_cast<handle*>(PyCapsule_GetPointer(object, tag()));
  }
  static const char* tag() {
    return std::is_same_v<T, zp::tensor> ? "zarrpoint_dlpack.tensor" : "zarrpoint_dlpack.fake";
  }
};
using host_handle = handle<zp::tensor>;
using fake_handle = handle<device_tensor<float>>;

PyObject* none_or(const zp::result<void>& status) {
  if (!status) return dl::set_python_error(status.failure());
  Py_RETURN_NONE;
}
PyObject* object_or(const zp::result<PyObject*>& made) {
  return made ? *made : dl::set_python_error(made.failure());
}

/// describe(array, copy=None) -> (spec, strides in bytes, read_only, is_copied, address)
PyObject* describe(PyObject*, PyObject* arguments) {
  PyObject *array = nullptr, *copy = nullptr;
  if (PyArg_ParseTuple(arguments, "O|O", &array, &copy) == 0) return nullptr;
  std::optional<bool> copies;
  if (dl::detail::is_given(copy)) copies = PyObject_IsTrue(copy) == 1;
  const auto taken = dl::from_python(array, {}, copies);
  if (!taken) return dl::set_python_error(taken.failure());
  const zp::host_view view = taken->view();
  return Py_BuildValue(
      "(ssiiK)", zp::to_string(taken->spec()).c_str(), zp::to_string(view.strides).c_str(),
      taken->read_only() ? 1 : 0, taken->is_copied() ? 1 : 0,
      static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(view.data)));
}

/// save(path, {name: array})
PyObject* save(PyObject*, PyObject* arguments) {
  const char* path = nullptr;
  PyObject* arrays = nullptr;
  if (PyArg_ParseTuple(arguments, "sO!", &path, &PyDict_Type, &arrays) == 0) return nullptr;
  std::vector<zp::leaf> leaves;
  PyObject *name = nullptr, *array = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(arrays, &at, &name, &array) != 0;) {
    auto taken = dl::from_python(array);
    if (!taken) return dl::set_python_error(taken.failure());
    leaves.emplace_back(PyUnicode_AsUTF8(name), *std::move(taken));
  }
  const auto report = zp::save(path, leaves, {.overwrite = true});
  if (!report) return dl::set_python_error(report.failure());
  Py_RETURN_NONE;
}

/// load(path, name) -> value
PyObject* load(PyObject*, PyObject* arguments) {
  const char *path = nullptr, *name = nullptr;
  if (PyArg_ParseTuple(arguments, "ss", &path, &name) == 0) return nullptr;
  auto loaded = zp::open(path).and_then(
      [&](const zp::checkpoint& from) { return from.load<zp::tensor>(name); });
  if (!loaded) return dl::set_python_error(loaded.failure());
  return host_handle::wrap(*std::move(loaded));
}

/// load_into(path, name, array)
PyObject* load_into(PyObject*, PyObject* arguments) {
  const char *path = nullptr, *name = nullptr;
  PyObject* array = nullptr;
  if (PyArg_ParseTuple(arguments, "ssO", &path, &name, &array) == 0) return nullptr;
  auto target = dl::from_python(array);
  if (!target) return dl::set_python_error(target.failure());
  return none_or(zp::open(path).and_then(
      [&](const zp::checkpoint& from) { return from.load_into(name, *target); }));
}

/// dlpack(value, stream, max_version, dl_device, copy) -> capsule
PyObject* dlpack(PyObject*, PyObject* arguments) {
  PyObject* value = nullptr;
  dl::python_request asked;
  if (PyArg_ParseTuple(arguments, "OOOOO", &value, &asked.stream, &asked.max_version,
                       &asked.dl_device, &asked.copy) == 0)
    return nullptr;
  if (const auto* host = host_handle::find(value))
    return object_or(dl::to_python(host->value, asked));
  if (const auto* device = fake_handle::find(value))
    return object_or(dl::to_python(device->value, asked));
  return dl::set_python_error({zp::errc::invalid_argument, "no value"});
}

/// device(value) -> pair
PyObject* device(PyObject*, PyObject* value) {
  if (const auto* host = host_handle::find(value))
    return object_or(dl::device_to_python(*host->value));
  if (const auto* on = fake_handle::find(value)) return object_or(dl::device_to_python(*on->value));
  return dl::set_python_error({zp::errc::invalid_argument, "no value"});
}

/// fake_put(count) -> 0.5, 1.5, ... on the fake device, by its stream 0, some time later
PyObject* fake_put(PyObject*, PyObject* argument) {
  static std::vector<std::unique_ptr<std::vector<float>>> sent;  // until the copy has been made
  const auto count = PyLong_AsSize_t(argument);
  device_tensor<float> made(fake_space{&fake().device, 0}, {count});
  sent.push_back(std::make_unique<std::vector<float>>(count));
  for (std::size_t i = 0; i < count; ++i) (*sent.back())[i] = static_cast<float>(i) + 0.5F;
  made.upload(*sent.back());
  return fake_handle::wrap(std::move(made));
}

/// fake_sum(array, stream) -> the sum of its float32, read on that stream without any other wait
PyObject* fake_sum(PyObject*, PyObject* arguments) {
  PyObject* array = nullptr;
  Py_ssize_t stream = 0;
  if (PyArg_ParseTuple(arguments, "On", &array, &stream) == 0) return nullptr;
  const fake_space space{&fake().device, static_cast<std::size_t>(stream)};
  const auto taken = dl::from_python(array, space);
  if (!taken) return dl::set_python_error(taken.failure());
  std::vector<float> values(static_cast<std::size_t>(zp::element_count(taken->shape()).value()));
  const auto read =
      space.copy_to_host(reinterpret_cast<std::byte*>(values.data()), taken->view().data,
                         {.width = values.size() * sizeof(float)});
  if (!read) return dl::set_python_error(read.failure());
  space.wait(space.record().value()).value();
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  return PyFloat_FromDouble(sum);
}

/// fake_live() -> how many allocations the fake device has
PyObject* fake_live(PyObject*, PyObject*) {
  return PyLong_FromSize_t(fake().device.live_allocations());
}

PyMethodDef methods[] = {
    {"describe", describe, METH_VARARGS, nullptr},  {"save", save, METH_VARARGS, nullptr},
    {"load", load, METH_VARARGS, nullptr},          {"load_into", load_into, METH_VARARGS, nullptr},
    {"dlpack", dlpack, METH_VARARGS, nullptr},      {"device", device, METH_O, nullptr},
    {"fake_put", fake_put, METH_O, nullptr},        {"fake_sum", fake_sum, METH_VARARGS, nullptr},
    {"fake_live", fake_live, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "zarrpoint_dlpack",
                          nullptr,
                          -1,
                          methods,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_zarrpoint_dlpack() { return PyModule_Create(&definition); }
