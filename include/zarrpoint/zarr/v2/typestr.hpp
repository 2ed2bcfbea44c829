// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/record.hpp>
#include <zarrpoint/zarr/data_type.hpp>
#include <zarrpoint/zarr/fill_value.hpp>

#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A data type of Zarr v2, with the byte order that v2 makes a part of it.
struct v2_dtype {
  dtype type;
  endian order = endian::little;
  /// Of a record whose fields are not all of one order: that of each field, records in records
  /// taken apart. Else empty.
  std::vector<endian> field_orders{};

  friend bool operator==(const v2_dtype&, const v2_dtype&) = default;
};

/// Types below NumPy's have no typestr; TensorStore, and so JAX, writes the bare name (little
/// endian).
constexpr bool has_bare_name_in_v2(const dtype& type) {
  const dtype part = type.component();
  const bool small_float = part.is_floating() && part.kind() != dtype_kind::float16 &&
                           part.kind() != dtype_kind::float32 && part.kind() != dtype_kind::float64;
  return small_float || (type.is_number() && type.is_below_byte()) ||
         type.kind() == dtype_kind::complex_float16;
}

/// The `dtype` of a `.zarray`. It is a NumPy typestr such as `<f4`, `|S12` or `<M8[25us]`, `|O` for
/// strings, a list of fields, or the bare name of a type that NumPy does not have. Errors:
/// `corrupt`; `unsupported`, naming it.
result<v2_dtype> parse_v2_dtype(const json& value);

/// The `dtype` of a `.zarray`. Errors: `unsupported` for a big-endian bfloat16, which has no name.
result<json> to_v2_dtype(const v2_dtype& value);

/// The `bytes` codec of v3 that stores elements as `value` says.
codec_spec v2_bytes_codec(const v2_dtype& value);

/// What `v2_bytes_codec` was made of.
v2_dtype v2_dtype_of(const dtype& type, const json& bytes_configuration);

/// The fill value of a record whose bytes are as `stored` says, as memory has it; or with
/// `to_stored` the other way round. What the codec of the elements does.
result<fill_value> reorder_record(const fill_value& fill, const v2_dtype& stored, bool to_stored);

}}}  // namespace zarrpoint::v0::detail
