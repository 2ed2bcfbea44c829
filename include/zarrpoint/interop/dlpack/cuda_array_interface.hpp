// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// For extension modules: arrays of Python on a device by `__cuda_array_interface__`, versions 0 to
// 3, for libraries and classes that have it and not DLPack (interop/dlpack/dlpack_python.hpp).
// Every function here is called with the GIL held, and leaves no Python exception set. Arrays of
// CUDA need interop/dlpack/dlpack_cuda.hpp as well, which is not included, so that this needs no
// toolkit.

// Before all others, as Python.h wants to be.
#include <zarrpoint/interop/dlpack/dlpack_python.hpp>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dlpack {

namespace detail {

inline constexpr const char* interface_name = "__cuda_array_interface__";

inline error bad_interface(std::string what, errc code = errc::invalid_argument) {
  return {code, std::string(interface_name) + ": " + std::move(what)};
}

/// An array that is read by its dictionary; the object is kept for as long.
struct interface_array {
  managed_versioned managed;
  object_ptr owner;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< in bytes, then in elements; none: row-major
  std::optional<long long> stream;

  /// On any thread; without the GIL, or with it.
  static void destroy(managed_versioned* managed) {
    auto* const self = static_cast<interface_array*>(managed->manager_ctx);
    if (Py_IsInitialized() == 0) {
      static_cast<void>(self->owner.release());  // it went with the interpreter
      delete self;
      return;
    }
    const PyGILState_STATE held = PyGILState_Ensure();
    delete self;
    PyGILState_Release(held);
  }
};

/// What a dictionary has under `name`; null for nothing and for None. Held, as `__index__` of what
/// is in there may change the dictionary.
inline object_ptr find_item(PyObject* dictionary, const char* name) {
  PyObject* const found = PyDict_GetItemString(dictionary, name);
  if (!is_given(found)) return nullptr;
  Py_INCREF(found);
  return object_ptr(found);
}

/// Lets other threads have the GIL for as long as it lives.
class without_gil {
 public:
  without_gil() = default;
  without_gil(const without_gil&) = delete;
  without_gil& operator=(const without_gil&) = delete;
  ~without_gil() { PyEval_RestoreThread(state_); }

 private:
  PyThreadState* const state_ = PyEval_SaveThread();
};

inline result<long long> read_integer(PyObject* number, const char* name) {
  const long long out = number == nullptr ? -1 : PyLong_AsLongLong(number);
  if (number != nullptr && PyErr_Occurred() == nullptr) return out;
  PyErr_Clear();
  return bad_interface(std::string(name) + " is not an integer of 64 bits");
}

inline result<std::vector<std::int64_t>> read_tuple(PyObject* tuple, const char* name) {
  if (tuple == nullptr || !PyTuple_Check(tuple))
    return bad_interface(std::string(name) + " is not a tuple");
  const Py_ssize_t count = PyTuple_GET_SIZE(tuple);
  if (static_cast<std::size_t>(count) > max_rank)
    return bad_interface("its rank is " + std::to_string(count), errc::unsupported);
  std::vector<std::int64_t> out;
  for (Py_ssize_t i = 0; i < count; ++i) {
    ZARRPOINT_TRY(number, read_integer(PyTuple_GET_ITEM(tuple, i), name));
    out.push_back(number);
  }
  return out;
}

/// `"<f4"` and its like. Errors: `unsupported` for what no element type is, or is of another byte
/// order.
inline result<data_type> read_typestr(PyObject* text) {
  const char* const words =
      text != nullptr && PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : nullptr;
  PyErr_Clear();
  if (words == nullptr) return bad_interface("typestr is not text");
  const std::string_view said = words;
  constexpr std::string_view kinds = "iufcb";
  constexpr std::uint8_t codes[] = {code_int, code_uint, code_float, code_complex, code_bool};
  const std::size_t kind = said.size() < 3 ? kinds.npos : kinds.find(said[1]);
  unsigned bytes = 0;
  if (kind != kinds.npos) {
    const char* const end = said.data() + said.size();
    const auto [stop, status] = std::from_chars(said.data() + 2, end, bytes);
    if (status != std::errc() || stop != end || bytes > 16) bytes = 0;
  }
  const bool is_ours = bytes != 0 && (said[0] == '<' || (said[0] == '|' && bytes == 1));
  if (!is_ours)
    return bad_interface("cannot read elements of type \"" + std::string(said.substr(0, 40)) + '"',
                         errc::unsupported);
  return data_type{codes[kind], static_cast<std::uint8_t>(8 * bytes), 1};
}

/// Strides in elements, as DLPack counts.
inline result<void> read_strides(PyObject* strides, interface_array& out) {
  if (strides == nullptr) return {};
  ZARRPOINT_TRY(steps, read_tuple(strides, "strides"));
  if (steps.size() != out.shape.size())
    return bad_interface(std::to_string(steps.size()) + " strides for a shape of rank " +
                         std::to_string(out.shape.size()));
  const std::int64_t size = out.managed.dl_tensor.dtype.bits / 8;
  for (std::int64_t& step : steps) {
    if (step % size != 0)
      return bad_interface(
          "a stride of " + std::to_string(step) + " bytes is not a whole number of elements",
          errc::unsupported);
    step /= size;
  }
  out.strides = std::move(steps);
  return {};
}

inline result<void> read_interface(PyObject* all, interface_array& out) {
  if (!PyDict_Check(all)) return bad_interface("it is not a dictionary");
  ZARRPOINT_TRY(version, read_integer(find_item(all, "version").get(), "version"));
  // Versions 0 and 1 are like 2, except for masks and for arrays without elements.
  if (version < 0 || version > 3)
    return bad_interface("version " + std::to_string(version), errc::unsupported);
  if (find_item(all, "mask") != nullptr)
    return bad_interface("masked arrays are not supported", errc::unsupported);
  raw_tensor& raw = out.managed.dl_tensor;
  ZARRPOINT_TRY(type, read_typestr(find_item(all, "typestr").get()));
  raw.dtype = type;
  ZARRPOINT_TRY(shape, read_tuple(find_item(all, "shape").get(), "shape"));
  out.shape = std::move(shape);
  if (std::any_of(out.shape.begin(), out.shape.end(), [](std::int64_t n) { return n < 0; }))
    return bad_interface("a negative length in its shape");
  ZARRPOINT_CHECK(read_strides(find_item(all, "strides").get(), out));
  const object_ptr data = find_item(all, "data");
  if (data == nullptr || !PyTuple_Check(data.get()) || PyTuple_GET_SIZE(data.get()) != 2)
    return bad_interface("data is not a pair");
  const unsigned long long address = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(data.get(), 0));
  const bool is_address = PyErr_Occurred() == nullptr && address <= UINTPTR_MAX;
  const int read_only = is_address ? PyObject_IsTrue(PyTuple_GET_ITEM(data.get(), 1)) : -1;
  if (read_only < 0) {
    PyErr_Clear();
    return bad_interface("data must be an address and a read-only flag");
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): Python hands over addresses as numbers
  raw.data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  raw.ndim = static_cast<std::int32_t>(out.shape.size());
  raw.shape = out.shape.data();
  raw.strides = out.strides.empty() ? nullptr : out.strides.data();
  out.managed.version = current_version;
  out.managed.flags = read_only == 1 ? flag_read_only : 0;
  if (const object_ptr stream = find_item(all, "stream"); stream != nullptr && version >= 3) {
    ZARRPOINT_TRY(number, read_integer(stream.get(), "stream"));
    out.stream = number;
  }
  return {};
}

/// What must have happened on the producer's stream before the elements are there.
template <device_space Space>
result<typename Space::event> after_producer(const Space& space, std::optional<long long> stream) {
  if (!stream) return typename Space::event{};
  ZARRPOINT_TRY(producer, device_traits<Space>::on_stream(space, *stream));
  if (producer) return producer->record();
  // The stream of each thread; the interface does not say which. Its pending work may need the GIL.
  const without_gil released;
  ZARRPOINT_CHECK(device_traits<Space>::settle(space));
  return typename Space::event{};
}

inline result<std::string> typestr_of(const dtype& type) {
  const auto found = type_of(type);
  char kind = 0;
  if (found && found->code == code_int) kind = 'i';
  if (found && found->code == code_uint) kind = 'u';
  if (found && found->code == code_float) kind = 'f';
  if (found && found->code == code_complex && type.size() >= 8) kind = 'c';
  if (found && found->code == code_bool) kind = 'b';
  if (kind == 0)
    return bad_interface("it has no elements of " + std::string(zarrpoint::to_string(type)),
                         errc::unsupported);
  std::string out = type.size() == 1 ? "|" : "<";
  return out.append(1, kind).append(std::to_string(type.size()));
}

inline PyObject* tuple_of(const dims& numbers) {
  object_ptr out(PyTuple_New(static_cast<Py_ssize_t>(numbers.rank())));
  for (std::size_t i = 0; out != nullptr && i < numbers.rank(); ++i) {
    PyObject* const number = PyLong_FromLongLong(numbers[i]);
    if (number == nullptr) return nullptr;
    PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), number);
  }
  return out.release();
}

}  // namespace detail

/// The elements of any array of Python that has `__cuda_array_interface__`, where they are, once
/// the stream that it names has come so far. The array lives until the tensor goes, which may be on
/// any thread. The producer is not made to wait for what is done with it. That its stream follows
/// kernels of yours on `view()`, and that the tensor stays while they run, is yours to order.
/// Errors: those of `basic_tensor::take`, and of the device; `unsupported` for other versions,
/// masks, and elements that no dtype is; `invalid_argument` for a dictionary that makes no sense,
/// and with the words of any exception.
template <dlpack_space Space>
  requires device_space<Space> result<basic_tensor<Space>> from_cuda_array_interface(
      PyObject* object, const Space& space) {
    const detail::object_ptr all(PyObject_GetAttrString(object, detail::interface_name));
    if (all == nullptr) return detail::python_failure(detail::interface_name);
    auto made = std::make_unique<detail::interface_array>();
    ZARRPOINT_CHECK(detail::read_interface(all.get(), *made));
    const std::optional<long long> stream = made->stream;
    Py_INCREF(object);
    made->owner.reset(object);
    made->managed.dl_tensor.device = device_traits<Space>::id(space);
    made->managed.manager_ctx = made.get();
    made->managed.deleter = &detail::interface_array::destroy;
    // The memory first: of another device's array it is that which says so.
    ZARRPOINT_TRY(taken, basic_tensor<Space>::take(&made.release()->managed, space));
    ZARRPOINT_TRY(ready, detail::after_producer(space, stream));
    taken.set_ready(ready);
    return std::move(taken);
  }

/// What the property `__cuda_array_interface__` of a class of yours returns: a new dictionary, of
/// version 3. The value stays until its users are done, and its elements are ready for work
/// that follows on the stream that is named there. They are read-only if the value is not a target.
/// Errors: `unsupported` for dtypes that the interface does not have; those of the device.
template <class T>
  requires(detail::handed_value<T>&& device_space<space_of_t<T>>)
result<PyObject*> to_cuda_array_interface(T& value) {
  using space = space_of_t<T>;
  ZARRPOINT_CHECK(result<tensor_spec>(handler_of<T>::spec(std::as_const(value))));
  const tensor_view<space> view = handler_of<T>::view(std::as_const(value));
  ZARRPOINT_TRY(typestr, detail::typestr_of(view.type));
  ZARRPOINT_TRY(bytes, byte_count(view.spec()));
  ZARRPOINT_CHECK(view.space.follow(view.ready));
  detail::object_ptr out(PyDict_New());
  const auto set = [&](const char* name, PyObject* item) {
    return detail::set_item(out.get(), name, item);
  };
  const auto address = bytes == 0 ? std::uintptr_t{0} : reinterpret_cast<std::uintptr_t>(view.data);
  bool is_writable = false;
  if constexpr (!std::is_const_v<T>) is_writable = detail::is_target(value);
  const bool is_set =
      out != nullptr && set("version", PyLong_FromLong(3)) &&
      set("shape", detail::tuple_of(view.shape)) &&
      set("typestr", PyUnicode_FromString(typestr.c_str())) &&
      set("data", Py_BuildValue("(KO)", static_cast<unsigned long long>(address),
                                is_writable ? Py_False : Py_True)) &&
      set("strides", is_dense(view) ? Py_BuildValue("") : detail::tuple_of(view.strides)) &&
      set("stream", PyLong_FromLongLong(device_traits<space>::stream_number(view.space)));
  if (!is_set) return detail::python_failure(detail::interface_name);
  return out.release();
}

}}}  // namespace zarrpoint::v0::dlpack
