// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/read/read_operation.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Where the stored bytes of an inner chunk are.
struct stored_chunk {
  dims index;              ///< its place among all inner chunks of the array
  std::size_t offset = 0;  ///< where they begin: a multiple of 16
  bytes_view bytes{};      ///< without a crc32c at their end; none where they are not there
  std::optional<std::uint32_t> crc32c{};  ///< that they are to have, if nobody has compared it
};

/// Reads inner chunks as they are stored: the steps of a read but for the last two.
class stored_read {
 public:
  /// Those that a selection meets, one after another, as far as they fit. Left out is what is not
  /// stored, or does not have the crc32c at its end. With `device_verify` checksums are not
  /// compared. `options` name a context. Errors: those of `array::read`.
  static result<std::vector<stored_chunk>> run(const array& of, const selection& part,
                                               mutable_bytes into, const read_options& options);

 private:
  stored_read(const array_state& of, const selection& part, const read_options& options);

  result<std::vector<stored_chunk>> read(mutable_bytes into);
  /// Without bytes where the chunk is left out.
  result<stored_chunk> read_chunk(const plan_item& item, const read_operation::opened& from,
                                  mutable_bytes into) const;

  const array_state& of_;
  const mutable_host_view nowhere_;
  read_operation steps_;
};

}}}  // namespace zarrpoint::v0::detail
