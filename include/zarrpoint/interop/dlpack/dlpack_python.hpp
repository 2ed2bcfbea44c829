// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// For extension modules: arrays of Python, of whatever library, by `__dlpack__` and its capsules,
// as the Python array API standard has them. Needs Python.h. Every function here is called with the
// GIL held, and leaves no Python exception set but `set_python_error`.

// Before all others, as it wants to be.
#include <zarrpoint/interop/dlpack/dlpack_export.hpp>

#include <Python.h>

#include <limits>

namespace zarrpoint { inline namespace v0 { namespace dlpack {

namespace detail {

struct release_object {
  void operator()(PyObject* object) const noexcept { Py_XDECREF(object); }
};
using object_ptr = std::unique_ptr<PyObject, release_object>;

template <managed_tensor M>
inline constexpr const char* capsule_name = versioned_tensor<M> ? "dltensor_versioned" : "dltensor";
template <managed_tensor M>
inline constexpr const char* used_name =
    versioned_tensor<M> ? "used_dltensor_versioned" : "used_dltensor";

/// The exception that is set, which is cleared.
inline object_ptr take_exception() {
#if PY_VERSION_HEX >= 0x030c0000
  return object_ptr(PyErr_GetRaisedException());
#else
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return object_ptr(value);
#endif
}

/// What Python raised, as an error of ours.
inline error python_failure(const char* where) {
  const object_ptr raised = take_exception();
  if (raised == nullptr) return {errc::invalid_argument, std::string(where) + " failed"};
  errc code = errc::invalid_argument;
  if (PyObject_TypeCheck(raised.get(), reinterpret_cast<PyTypeObject*>(PyExc_BufferError)))
    code = errc::unsupported;
  if (PyObject_TypeCheck(raised.get(), reinterpret_cast<PyTypeObject*>(PyExc_MemoryError)))
    code = errc::resource_limit;
  std::string text = std::string(where) + ": " + Py_TYPE(raised.get())->tp_name;
  const object_ptr said(PyObject_Str(raised.get()));
  const char* const words = said != nullptr ? PyUnicode_AsUTF8(said.get()) : nullptr;
  if (words != nullptr) text.append(": ").append(words, 0, 400);
  PyErr_Clear();  // of an exception that has no text
  return {code, std::move(text)};
}

inline bool is_given(const PyObject* argument) {
  return argument != nullptr && argument != Py_None;
}

/// A tuple of two integers. Errors: `invalid_argument` for anything else.
inline result<device_id> read_pair(PyObject* pair, const char* where) {
  const error wrong{errc::invalid_argument, std::string(where) + " is not a pair of integers"};
  if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) return wrong;
  std::int32_t read[2] = {};
  for (int i = 0; i < 2; ++i) {
    const long long number = PyLong_AsLongLong(PyTuple_GET_ITEM(pair, i));
    if (number == -1 && PyErr_Occurred() != nullptr) return PyErr_Clear(), wrong;
    if (number < std::numeric_limits<std::int32_t>::min() ||
        number > std::numeric_limits<std::int32_t>::max())
      return wrong;
    read[i] = static_cast<std::int32_t>(number);
  }
  return device_id{read[0], read[1]};
}

/// Sets `name` to a new reference in `dictionary`.
inline bool set_item(PyObject* dictionary, const char* name, PyObject* value) {
  const object_ptr owned(value);
  return owned != nullptr && PyDict_SetItemString(dictionary, name, owned.get()) == 0;
}

/// The capsule that `object.__dlpack__` gives for work on `space`.
template <class Space>
result<object_ptr> ask_capsule(PyObject* object, const Space& space, std::optional<bool> copy) {
  const object_ptr method(PyObject_GetAttrString(object, "__dlpack__"));
  const object_ptr nothing(PyTuple_New(0)), named(PyDict_New());
  if (method == nullptr || nothing == nullptr || named == nullptr)
    return python_failure("__dlpack__");
  bool set = set_item(named.get(), "max_version",
                      Py_BuildValue("(II)", current_version.major, current_version.minor));
  if constexpr (!Space::host_accessible) {
    const long long stream = device_traits<Space>::stream_number(space);
    set = set && set_item(named.get(), "stream", PyLong_FromLongLong(stream));
  }
  if (copy) set = set && set_item(named.get(), "copy", PyBool_FromLong(*copy ? 1 : 0));
  if (!set) return python_failure("__dlpack__");
  object_ptr capsule(PyObject_Call(method.get(), nothing.get(), named.get()));
  if (capsule == nullptr && !copy && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
    // Of before DLPack 1.0: it knows a stream only.
    PyErr_Clear();
    if (PyDict_DelItemString(named.get(), "max_version") == 0)
      capsule.reset(PyObject_Call(method.get(), nothing.get(), named.get()));
  }
  if (capsule == nullptr) return python_failure("__dlpack__");
  return capsule;
}

template <managed_tensor M>
void free_unused(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, capsule_name<M>) == 0) return;  // somebody took it
  managed_ptr<M>(static_cast<M*>(PyCapsule_GetPointer(capsule, capsule_name<M>))).reset();
}

template <managed_tensor M, class Space>
result<basic_tensor<Space>> take_capsule_of(PyObject* capsule, const Space& space) {
  auto* const managed = static_cast<M*>(PyCapsule_GetPointer(capsule, capsule_name<M>));
  if (managed == nullptr || PyCapsule_SetName(capsule, used_name<M>) != 0)
    return python_failure("DLPack capsule");
  return basic_tensor<Space>::take(managed, space);
}

/// The stream that asks `__dlpack__` for elements on a device: `stream` as the array API standard
/// counts.
template <class Space>
result<consumer_of<Space>> read_stream(PyObject* stream, const Space& space) {
  long long number = 1;  // of none: the legacy default stream
  if (is_given(stream)) {
    number = PyLong_AsLongLong(stream);
    if (number == -1 && PyErr_Occurred() != nullptr)
      return python_failure("the stream of __dlpack__");
  }
  if (number == -1) return consumer_of<Space>{std::nullopt, false};
  ZARRPOINT_TRY(consumer, device_traits<Space>::on_stream(space, number));
  return consumer_of<Space>{std::move(consumer), true};
}

}  // namespace detail

/// Takes over what a capsule of `__dlpack__` holds, which can be done once. Errors: those of
/// `basic_tensor::take`; `invalid_argument` for what is not such a capsule, or was used.
template <dlpack_space Space = host_space>
result<basic_tensor<Space>> take_capsule(PyObject* capsule, const Space& space = {}) {
  if (PyCapsule_IsValid(capsule, detail::capsule_name<managed_versioned>) != 0)
    return detail::take_capsule_of<managed_versioned>(capsule, space);
  if (PyCapsule_IsValid(capsule, detail::capsule_name<managed_legacy>) != 0)
    return detail::take_capsule_of<managed_legacy>(capsule, space);
  return error{errc::invalid_argument,
               "the object is not a DLPack capsule, or the capsule was used already"};
}

/// The elements of any array of Python that has `__dlpack__`, where they are, ready for work on the
/// stream of `space`. `copy`: whether the array must be copied, or must not; old libraries know
/// neither. The array lives until the tensor goes, which may be on any thread, without the GIL.
/// Errors: those of `take_capsule`; `unsupported` for arrays that are elsewhere, or that their
/// library cannot export; `invalid_argument` with the words of any other exception.
template <dlpack_space Space = host_space>
result<basic_tensor<Space>> from_python(PyObject* object, const Space& space = {},
                                        std::optional<bool> copy = {}) {
  const detail::object_ptr where(PyObject_CallMethod(object, "__dlpack_device__", nullptr));
  if (where == nullptr) return detail::python_failure("__dlpack_device__");
  ZARRPOINT_TRY(device, detail::read_pair(where.get(), "__dlpack_device__"));
  if (!device_traits<Space>::holds(space, device))
    return error{errc::unsupported, "an array on " + to_string(device) + ", which is not " +
                                        to_string(device_traits<Space>::id(space))};
  ZARRPOINT_TRY(capsule, detail::ask_capsule(object, space, copy));
  return take_capsule(capsule.get(), space);
}

/// A new capsule that frees the tensor, unless somebody takes it. Errors: `resource_limit`.
template <managed_tensor M>
result<PyObject*> to_capsule(managed_ptr<M> managed) {
  PyObject* const capsule =
      PyCapsule_New(managed.get(), detail::capsule_name<M>, &detail::free_unused<M>);
  if (capsule == nullptr) return detail::python_failure("DLPack capsule");
  static_cast<void>(managed.release());
  return capsule;
}

/// The arguments of `__dlpack__`; null or `None`: not given.
struct python_request {
  PyObject* stream = nullptr;
  PyObject* max_version = nullptr;
  PyObject* dl_device = nullptr;
  PyObject* copy = nullptr;
};

namespace detail {

template <managed_tensor M, class T>
result<PyObject*> make_capsule(std::shared_ptr<T> value, const python_request& asked) {
  using space = space_of_t<T>;
  const auto view = handler_of<T>::view(std::as_const(*value));
  const bool copies = is_given(asked.copy) && PyObject_IsTrue(asked.copy) == 1;
  if constexpr (space::host_accessible) {
    if (is_given(asked.stream))
      return error{errc::invalid_argument,
                   "a stream was given, but the elements are in host memory"};
    ZARRPOINT_TRY(made, copies ? copy_to_dlpack<M>(view) : to_dlpack<M>(std::move(value)));
    return to_capsule(std::move(made));
  } else {
    if (copies)
      return error{errc::unsupported,
                   "elements on a device cannot be copied for the consumer (copy=True)"};
    ZARRPOINT_TRY(consumer, read_stream(asked.stream, view.space));
    ZARRPOINT_TRY(made, lend<M>(std::move(value), consumer,
                                [](std::shared_ptr<T>& kept) -> T& { return *kept; }));
    return to_capsule(std::move(made));
  }
}

}  // namespace detail

/// What the method `__dlpack__` of a class of yours returns for a value that its objects share: a
/// new capsule, of DLPack 1 if `max_version` allows for it. Errors: those of `to_dlpack`;
/// `unsupported` for another device than the value's, and for a copy on a device;
/// `invalid_argument` for arguments that make no sense.
template <class T>
  requires(savable<T>&& dlpack_space<space_of_t<T>>)
result<PyObject*> to_python(std::shared_ptr<T> value, const python_request& asked = {}) {
  using handler = handler_of<T>;
  ZARRPOINT_CHECK(result<tensor_spec>(handler::spec(std::as_const(*value))));
  const device_id here =
      device_traits<space_of_t<T>>::id(handler::view(std::as_const(*value)).space);
  if (detail::is_given(asked.dl_device)) {
    ZARRPOINT_TRY(there, detail::read_pair(asked.dl_device, "dl_device"));
    if (there.device_type != here.device_type || there.device_id != here.device_id)
      return error{errc::unsupported,
                   "elements on " + to_string(here) + " are not copied to " + to_string(there)};
  }
  device_id version{0, 0};
  if (detail::is_given(asked.max_version)) {
    ZARRPOINT_TRY(read, detail::read_pair(asked.max_version, "max_version"));
    version = read;
  }
  if (version.device_type >= 1)
    return detail::make_capsule<managed_versioned>(std::move(value), asked);
  return detail::make_capsule<managed_legacy>(std::move(value), asked);
}

/// What the method `__dlpack_device__` returns: a new tuple. Errors: `resource_limit`.
template <class T>
  requires(savable<T>&& dlpack_space<space_of_t<T>>)
result<PyObject*> device_to_python(const T& value) {
  const device_id here = device_traits<space_of_t<T>>::id(handler_of<T>::view(value).space);
  PyObject* const pair = Py_BuildValue("(ii)", here.device_type, here.device_id);
  if (pair == nullptr) return detail::python_failure("__dlpack_device__");
  return pair;
}

/// Raises the error as an exception of Python, as the array API standard wants it; returns null.
inline PyObject* set_python_error(const error& failure) {
  PyObject* kind = PyExc_ValueError;
  if (failure.code == errc::unsupported) kind = PyExc_BufferError;
  if (failure.code == errc::resource_limit) kind = PyExc_MemoryError;
  if (failure.code == errc::device) kind = PyExc_RuntimeError;
  if (failure.code == errc::io || failure.code == errc::not_found) kind = PyExc_OSError;
  PyErr_SetString(kind, zarrpoint::to_string(failure).c_str());
  return nullptr;
}

}}}  // namespace zarrpoint::v0::dlpack
