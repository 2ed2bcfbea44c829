// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/types/float_bits.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/byteswap.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

// The arithmetic of NumPy, which the filters of numcodecs are defined by.

/// Whether NumPy itself has the number type.
bool is_numpy_number(const dtype& type);

dtype float_of_size(std::size_t bytes);
dtype integer_of_size(bool is_signed, std::size_t bytes);

/// The type in which NumPy adds numbers of these types.
dtype promote(const dtype& a, const dtype& b);

/// A float as an integer as NumPy makes it on common processors: truncated, and the lowest bits of
/// what is too large; no value is undefined.
template <class To>
To numpy_truncate(double value) {
  constexpr double two31 = 0x1p31;
  constexpr double two63 = 0x1p63;
  if constexpr (sizeof(To) < 8 && !std::same_as<To, std::uint32_t>) {
    const bool fits = value > -two31 - 1 && value < two31;
    return static_cast<To>(fits ? static_cast<std::int32_t>(value) : INT32_MIN);
  } else if constexpr (std::same_as<To, std::uint32_t>) {
    if (value >= 2 * two31) return 0;
    return static_cast<To>(value > -two31 - 1 ? static_cast<std::int64_t>(value) : INT32_MIN);
  } else if constexpr (std::same_as<To, std::int64_t>) {
    return value >= -two63 && value < two63 ? static_cast<To>(value) : INT64_MIN;
  } else {
    if (value >= 2 * two63) return 0;
    if (value >= two63) return static_cast<To>(value);
    return static_cast<To>(value >= -two63 ? static_cast<std::int64_t>(value) : INT64_MIN);
  }
}

/// Casts dense runs of equal length as NumPy's `astype` does.
result<void> numpy_cast(const mutable_host_view& to, const host_view& from);

// What the array -> array codecs of numcodecs have in common. They see a chunk as one run of bytes,
// which they look at as elements of a type of their own.

/// A type as a filter names it: `<f8`, `|u1`, `u1`, `float64`.
struct filter_dtype {
  dtype type;
  /// Whether the bytes of each element are taken in reverse: a chunk comes as little-endian
  /// elements, whatever the machine's order is, and `>` says otherwise. The mapping of Zarr v2
  /// (zarr/v2/v2_codecs.hpp) tells types in these words.
  bool swapped = false;
  std::string text;

  friend bool operator==(const filter_dtype&, const filter_dtype&) = default;
};

result<filter_dtype> parse_filter_dtype(std::string_view text);

/// The elements of type `as` in the bytes of a chunk: of the same shape when they are as large,
/// else along one axis.
result<tensor_spec> viewed_spec(const tensor_spec& chunk, const dtype& as);

/// Memory for a chunk that does not lie as a filter needs it.
struct filter_memory {
  explicit filter_memory(memory_resource& from) : resource(&from) {}

  result<std::byte*> take(buffer& held, std::size_t bytes);

  memory_resource* resource;
  buffer in;
  buffer out;
};

/// The bytes of `view` as a dense run of `as`, in order; a copy where they do not lie so.
result<host_view> dense_elements(const host_view& view, const filter_dtype& as,
                                 codec_workspace& scratch);

/// Bytes that were written as other elements, made valid ones of `type`.
void tidy_elements(mutable_bytes bytes, const dtype& type);

/// What a filter makes of a dense run of elements: `f(to, from)`, which returns a `result<void>`
/// and lives as long as this.
class filter_step {
 public:
  template <class F>
  filter_step(const F& f)
      : f_(&f), call_([](const void* of, const mutable_host_view& to, const host_view& from) {
          return result<void>((*static_cast<const F*>(of))(to, from));
        }) {}

  result<void> operator()(const mutable_host_view& to, const host_view& from) const {
    return call_(f_, to, from);
  }

 private:
  const void* f_;
  result<void> (*call_)(const void* of, const mutable_host_view& to, const host_view& from);
};

/// Calls `f(to, from)` with the elements of `from` as a dense run of `seen`, and with memory for a
/// dense run of `made`, which becomes the elements of `to`.
result<void> run_filter(const mutable_host_view& to, const filter_dtype& made,
                        const host_view& from, const filter_dtype& seen, codec_workspace& scratch,
                        filter_step f);

/// The two types of a filter, which it is given or finds out.
struct filter_types {
  std::optional<filter_dtype> decoded;
  std::optional<filter_dtype> encoded;  ///< the decoded one when it is not told

  /// The members of a configuration that name them; null is as good as absent.
  void fields(configuration_fields& all, std::string_view decoded_key,
              std::string_view encoded_key);
  /// With both of them set, for chunks of `chunk`.
  result<filter_types> resolve(const tensor_spec& chunk) const;
  /// What is made of a chunk; these types are resolved, and the chunk has passed `resolve`.
  tensor_spec encoded_spec(const tensor_spec& chunk) const;
  /// The fill value as zarr-python hands it on: the same number in the encoded type.
  result<std::vector<std::byte>> encode_fill(bytes_view fill, const tensor_spec& chunk) const;
};

/// What filters have in common that take elements of one type for those of another. `Self` has
/// `forward(to, from)` and `backward(to, from)`, of dense runs, and `check()` of both types.
template <class Self>
struct number_filter {
  filter_types types;

  result<Self> resolve(const tensor_spec& decoded) const {
    Self out = self();
    ZARRPOINT_TRY(bound, types.resolve(decoded));
    out.types = std::move(bound);
    ZARRPOINT_CHECK(out.check());
    return out;
  }
  tensor_spec encoded_spec(const tensor_spec& decoded) const { return types.encoded_spec(decoded); }
  result<void> encode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const {
    return run_filter(
        to, {types.encoded->type, false, {}}, from, *types.decoded, scratch,
        [&](const auto& made, const auto& seen) { return self().forward(made, seen); });
  }
  result<void> decode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const {
    return run_filter(
        to, *types.decoded, from, {types.encoded->type, false, {}}, scratch,
        [&](const auto& made, const auto& seen) { return self().backward(made, seen); });
  }
  result<std::vector<std::byte>> encode_fill(bytes_view fill, const tensor_spec& decoded) const {
    return types.encode_fill(fill, decoded);
  }

  result<void> check() const { return {}; }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
};

}}}  // namespace zarrpoint::v0::detail
